//! The server: requests in, tools found, answers written as their client reads them.

use crate::answer::Answer;
use crate::desk::{Brought, Desks, Job};
use crate::failure::Failure;
use crate::name::Names;
use crate::refused::AskBy;
use crate::short::short;
use crate::style::{Answers, Style};
use crate::tool::{Name, Objects};
use crate::tools::Call;
use portcullis_client::Session;
use portcullis_client::protocol::session::{Identity, Progress};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::fmt;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The first version of the protocol in which a server asks by its answer.
const ASKS_BY_ANSWER_SINCE: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// Serves one session. Copies serve the same.
#[derive(Clone)]
pub struct Server {
    within: Arc<Within>,
}

struct Within {
    desks: Desks,
    names: Names,
    tools: Vec<Name>,
    answers: Answers,
    instructions: String,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("names", &self.within.names)
            .field("tools", &self.within.tools)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Serves this session, with answers as each client reads them.
    ///
    /// Fails where the session does not say what it may do, as the client library fails.
    pub fn of(session: Session) -> Result<Self, portcullis_client::Error> {
        Self::new(session, Answers::Auto, &[])
    }

    /// Serves this session.
    pub(crate) fn new(
        mut session: Session,
        answers: Answers,
        locations: &[(String, String)],
    ) -> Result<Self, portcullis_client::Error> {
        let identity = session.whoami()?;
        let names = Names::of(&identity, locations);
        let tools = Name::ALL
            .into_iter()
            .filter(|tool| tool.is_of_use(&identity));
        Ok(Self {
            within: Arc::new(Within {
                tools: tools.collect(),
                instructions: instructions(&identity, &names),
                desks: Desks::open(session, &identity),
                names,
                answers,
            }),
        })
    }

    fn style(&self, context: &RequestContext<RoleServer>) -> Style {
        let version = context.protocol_version();
        let client = context.client_info();
        Style::of(self.within.answers, client.as_ref(), version.as_ref())
    }

    fn offered(&self, style: Style) -> Vec<Tool> {
        let objects = if style.has_objects() {
            Objects::Promised
        } else {
            Objects::None
        };
        let tools = self.within.tools.iter();
        tools.map(|tool| tool.offered(objects)).collect()
    }

    /// Brings a call to its desk and passes on its progress until it is done.
    async fn work(
        &self,
        call: Call,
        context: &RequestContext<RoleServer>,
    ) -> Result<Answer, Failure> {
        let token = context.ct.clone();
        let (job, progress) = Job::new(move || token.is_cancelled());
        let within = Arc::clone(&self.within);
        let lane = call.lane();
        let brought = self
            .within
            .desks
            .bring(lane, move |session| {
                // Given up before its turn: it has done nothing, and will not.
                if job.is_cancelled() {
                    return Err(cancelled());
                }
                call.run(session, &within.names, &job)
            })
            .await;
        match brought {
            Some(Brought::Done(ended)) => ended,
            Some(Brought::Coming(answer)) => waited(answer, progress, context)
                .await
                .unwrap_or_else(|| Err(gone())),
            None => Err(gone()),
        }
    }
}

/// Waits for an answer and tells the client how far it is, where the client wants to know. There is
/// none when the desk is gone.
pub(crate) async fn waited<T>(
    mut answer: oneshot::Receiver<T>,
    mut progress: mpsc::Receiver<Progress>,
    context: &RequestContext<RoleServer>,
) -> Option<T> {
    let token = context.meta.get_progress_token();
    loop {
        tokio::select! {
            biased;
            ended = &mut answer => return ended.ok(),
            Some(so_far) = progress.recv() => {
                if let Some(token) = &token {
                    tell(token.clone(), &so_far, context).await;
                }
            }
        }
    }
}

/// Files that were looked at only ever grow in number, as progress must.
async fn tell(token: ProgressToken, so_far: &Progress, context: &RequestContext<RoleServer>) {
    let looked_at = so_far.files.saturating_add(so_far.directories);
    #[expect(
        clippy::cast_precision_loss,
        reason = "progress is a number for people"
    )]
    let param = ProgressNotificationParam::new(token, looked_at as f64)
        .with_message(portcullis_client::told::ticked(so_far));
    // A client that is gone is found out by the answer.
    context.peer.notify_progress(param).await.ok();
}

fn cancelled() -> Failure {
    Failure::Unshown {
        code: "cancelled",
        what: "the call was cancelled before it began".to_owned(),
    }
}

/// The session is over.
pub(crate) const GONE: &str = "this server has no session any more: start it again";

fn gone() -> Failure {
    Failure::Unshown {
        code: "connection_closed",
        what: GONE.to_owned(),
    }
}

/// Why a request that nothing else takes is not answered: what is asked is unknown, or how.
pub(crate) fn not_taken(request: &CustomRequest) -> ErrorData {
    const TAKEN: [&str; 3] = ["ping", "tools/list", "tools/call"];
    let method = short(&request.method);
    if TAKEN.contains(&method.as_str()) {
        let what = format!("nothing was done: the params are not those of {method}");
        return ErrorData::invalid_params(what, None);
    }
    let what = format!("nothing was done: there is no method {method}");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, what, None)
}

/// How a person could be asked through this client. Who takes addresses alone has no form.
pub(crate) fn ask_by(context: &RequestContext<RoleServer>) -> AskBy {
    let can = context
        .client_capabilities()
        .and_then(|can| can.elicitation)
        .is_some_and(|can| can.form.is_some() || can.url.is_none());
    let version = context.protocol_version();
    let by_answer =
        version.is_some_and(|version| version.as_str() >= ASKS_BY_ANSWER_SINCE.as_str());
    match (can, by_answer) {
        (false, _) => AskBy::None,
        (true, true) => AskBy::InputRequired,
        (true, false) => AskBy::Elicitation,
    }
}

/// What a model is told before it calls anything.
fn instructions(identity: &Identity, names: &Names) -> String {
    let changing = |at: usize| {
        let mut grants = identity.grants.as_slice().iter();
        grants.any(|grant| {
            usize::from(grant.root.0) == at
                && !grant
                    .verbs
                    .meet(portcullis_client::protocol::verb::VerbSet::WRITING)
                    .is_empty()
        })
    };
    let roots: Vec<String> = names
        .roots()
        .enumerate()
        .map(|(at, root)| {
            let how = if changing(at) {
                "read and change"
            } else {
                "read only"
            };
            format!("{root} ({how})")
        })
        .collect();
    format!(
        "Files of these directories, and no others: {}. Paths are relative to the first, or begin \
         with the name of one. Names with bytes that cannot be shown have escapes (\\xff); give them \
         back as they are. Some files are refused by rules, some changes need an approval: answers \
         say so, and what would help.",
        roots.join(", ")
    )
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("portcullis", env!("CARGO_PKG_VERSION"))
                    .with_title("Portcullis"),
            )
            .with_instructions(self.within.instructions.clone())
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // One page: some clients read no other.
        Ok(ListToolsResult::with_all_items(
            self.offered(self.style(&context)),
        ))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(not_taken(&request))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tool = Name::named(name).filter(|tool| self.within.tools.contains(tool));
        tool.map(|tool| tool.offered(Objects::Promised))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = Name::named(&request.name).filter(|tool| self.within.tools.contains(tool));
        let Some(tool) = tool else {
            let known: Vec<&str> = self.within.tools.iter().map(|tool| tool.name()).collect();
            let what = format!("unknown tool; there are {}", known.join(", "));
            return Err(ErrorData::invalid_params(what, None));
        };
        let ended = match Call::read(tool, request.arguments.unwrap_or_default()) {
            Ok(call) => self.work(call, &context).await,
            Err(failure) => Err(failure),
        };
        let result: CallToolResult = match ended {
            Ok(answer) => answer.written(self.style(&context)),
            Err(failure) => failure.written(&self.within.names, ask_by(&context)),
        };
        Ok(result.into())
    }
}
