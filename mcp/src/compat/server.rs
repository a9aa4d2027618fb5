//! The reference server's side of the protocol.

use super::answer::{Answer, Trouble};
use super::call::Call;
use super::directories::Directories;
use super::tools::{ALL, Nature, Tool};
use crate::desk::{Brought, Desks, Job};
use crate::failure::Failure;
use crate::name::Names;
use crate::server::{GONE, ask_by, not_taken, waited};
use crate::short::short;
use portcullis_client::protocol::path::Label;
use portcullis_client::{Error, Session};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, model};
use serde_json::{Map, Value, json};
use std::fmt;
use std::io::Write as _;
use std::sync::Arc;

/// Serves one session as the reference server would. Copies serve the same.
#[derive(Clone)]
pub(crate) struct Reference {
    within: Arc<Within>,
}

struct Within {
    desks: Desks,
    names: Names,
    directories: Directories,
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reference")
            .field("directories", &self.within.directories)
            .finish_non_exhaustive()
    }
}

impl Reference {
    /// Serves this session. Each root has its places on the host; one that has none, as in a policy,
    /// is named by its label.
    pub(crate) fn new(mut session: Session, locations: &[(String, String)]) -> Result<Self, Error> {
        let identity = session.whoami()?;
        let mut roots: Vec<(Label, Vec<u8>)> = Vec::new();
        for root in identity.roots.as_slice() {
            let name = root.label.as_str();
            let known = locations.iter().filter(|(label, _)| label == name);
            let before = roots.len();
            roots.extend(known.map(|(_, place)| (root.label.clone(), place.clone().into_bytes())));
            if roots.len() == before {
                roots.push((root.label.clone(), format!("/{name}").into_bytes()));
            }
        }
        Ok(Self {
            within: Arc::new(Within {
                directories: Directories::new(roots),
                names: Names::of(&identity, locations),
                desks: Desks::open(session, &identity),
            }),
        })
    }

    /// Brings a call to its desk.
    async fn work(
        &self,
        call: Call,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, Trouble> {
        let token = context.ct.clone();
        let (job, progress) = Job::new(move || token.is_cancelled());
        let within = Arc::clone(&self.within);
        let lane = call.lane();
        let desks = &self.within.desks;
        let brought = desks.bring(lane, move |session| {
            // Given up before its turn: it has done nothing, and will not.
            if job.is_cancelled() {
                return Err(Trouble::Said("nothing was changed: cancelled".to_owned()));
            }
            call.run(session, &within.directories, &job)
        });
        let ended = match brought.await {
            Some(Brought::Done(ended)) => Some(ended),
            Some(Brought::Coming(answer)) => waited(answer, progress, context).await,
            None => None,
        };
        ended.unwrap_or_else(|| Err(Trouble::Said(format!("nothing was changed: {GONE}"))))
    }

    fn failed(&self, trouble: Trouble, context: &RequestContext<RoleServer>) -> CallToolResult {
        match trouble {
            Trouble::Said(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
            Trouble::Broker(error) => {
                Failure::Broker(*error).written(&self.within.names, ask_by(context))
            }
        }
    }
}

/// Writes an answer twice: as content, and as the content of an object.
fn written(answer: Answer) -> CallToolResult {
    let (blocks, content, notes) = match answer {
        Answer::Text { text, notes } => {
            let content = Value::String(text.clone());
            (vec![ContentBlock::text(text)], content, notes)
        }
        Answer::Media {
            kind,
            data,
            address,
        } => {
            let block = kind.block(data, address);
            let content = json!([block]);
            (vec![block], content, Vec::new())
        }
    };
    let mut blocks = blocks;
    if !notes.is_empty() {
        blocks.push(ContentBlock::text(format!("[{}]", notes.join("; "))));
    }
    let mut result = CallToolResult::success(blocks);
    let object = Map::from_iter([("content".to_owned(), content)]);
    result.structured_content = Some(Value::Object(object));
    result
}

impl Tool {
    /// The tool as it is offered.
    pub(super) fn offered(self) -> model::Tool {
        model::Tool::new(
            self.name(),
            self.description(),
            Arc::new(self.input_schema()),
        )
        .with_title(self.title())
        .with_raw_output_schema(Arc::new(self.output_schema()))
        .with_annotations(self.annotations())
    }

    fn annotations(self) -> ToolAnnotations {
        let closed = ToolAnnotations::new().open_world(false);
        let changing = closed.clone().read_only(false);
        match self.nature() {
            Nature::Reads => closed.read_only(true),
            Nature::Replaces => changing.destructive(true).idempotent(true),
            Nature::Changes => changing.destructive(true).idempotent(false),
            Nature::Adds => changing.destructive(false).idempotent(true),
        }
    }
}

impl ServerHandler for Reference {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities).with_server_info(
            Implementation::new("secure-filesystem-server", env!("CARGO_PKG_VERSION"))
                .with_title("Portcullis, as the reference server"),
        )
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let directories = self.within.directories.texts();
        let has_roots = context
            .peer
            .peer_info()
            .is_some_and(|client| client.capabilities.roots.is_some());
        // Nobody has to read it.
        if has_roots {
            writeln!(
                std::io::stderr().lock(),
                "Roots of the client change nothing, using allowed directories set from server \
                 args: {directories:?}"
            )
            .ok();
        } else {
            writeln!(
                std::io::stderr().lock(),
                "Client does not support MCP Roots, using allowed directories set from server \
                 args: {directories:?}"
            )
            .ok();
        }
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = ALL.into_iter().map(Tool::offered);
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(not_taken(&request))
    }

    fn get_tool(&self, name: &str) -> Option<model::Tool> {
        Tool::named(name).map(Tool::offered)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let read = match Tool::named(&request.name) {
            Some(tool) => Call::parse(tool, &arguments).map_err(|invalid| invalid.to_string()),
            None => Err(format!(
                "MCP error -32602: Tool {} not found",
                short(&request.name)
            )),
        };
        let ended = match read {
            Ok(call) => self.work(call, &context).await,
            Err(said) => Err(Trouble::Said(said)),
        };
        let result = match ended {
            Ok(answer) => written(answer),
            Err(trouble) => self.failed(trouble, &context),
        };
        Ok(result.into())
    }
}
