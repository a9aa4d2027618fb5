//! The fixtures and the real server as one: what has the name of a fixture is theirs, all else real.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, CompleteRequestParams,
    CompleteResult, CompletionInfo, GetPromptRequestParams, GetPromptResponse, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, RequestStateCodec, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::asking::Round;
use crate::fixtures::{self, Act, broken};
use crate::live::Call;
use crate::pages;
use crate::subscribers::Subscribers;

pub(crate) struct Composed<R> {
    real: Arc<R>,
    codec: RequestStateCodec,
    subscribers: Subscribers,
}

impl<R> Clone for Composed<R> {
    fn clone(&self) -> Self {
        Self {
            real: Arc::clone(&self.real),
            codec: self.codec.clone(),
            subscribers: self.subscribers.clone(),
        }
    }
}

impl<R> Composed<R> {
    pub(crate) fn beside(real: Arc<R>) -> Self {
        Self {
            real,
            // Seals nothing that is worth anything.
            codec: RequestStateCodec::new_unchecked([7; RequestStateCodec::MIN_KEY_LENGTH]),
            subscribers: Subscribers::default(),
        }
    }
}

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

impl<R: ServerHandler> ServerHandler for Composed<R> {
    #[expect(deprecated, reason = "the older generation has logging")]
    fn get_info(&self) -> ServerConfig {
        let mut info = self.real.get_info();
        let ours = rmcp::model::ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        info.capabilities.completions = ours.completions;
        info.capabilities.logging = ours.logging;
        info.capabilities.prompts = ours.prompts;
        info.capabilities.resources = ours.resources;
        info.capabilities.tools = ours.tools;
        info
    }

    async fn list_tools(&self, page: Page, context: Context) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.real.list_tools(page, context).await?;
        if listed.next_cursor.is_none() {
            listed.tools.extend(fixtures::all());
        }
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        match fixtures::named(name) {
            Some(fixture) => Some(fixture.listed()),
            None => self.real.get_tool(name),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(fixture) = fixtures::named(&request.name) else {
            return self.real.call_tool(request, context).await;
        };
        match fixture.act {
            Act::Answer(answer) => Ok(fixtures::constant(answer)?.into()),
            Act::Ask(asking) => Round {
                tool: fixture.name,
                answers: request.input_responses.as_ref(),
                state: request.request_state.as_deref(),
                client: context.client_capabilities().unwrap_or_default(),
                codec: &self.codec,
            }
            .play(asking),
            Act::Live(live) => {
                let call = Call {
                    arguments: request.arguments.as_ref(),
                    context,
                    subscribers: &self.subscribers,
                };
                Ok(call.run(live).await?.into())
            }
        }
    }

    async fn list_resources(&self, _: Page, _: Context) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(pages::resources()))
    }

    async fn list_resource_templates(
        &self,
        _: Page,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            pages::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri.starts_with(pages::SCHEME) {
            return Ok(pages::read(&request.uri)?.into());
        }
        self.real.read_resource(request, context).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        pages::read(&request.uri).map(|_| ())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        pages::read(&request.uri).map(|_| ())
    }

    async fn list_prompts(&self, _: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(pages::prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        match pages::prompt(&request) {
            Some(answer) => answer,
            None => self.real.get_prompt(request, context).await,
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let words = ["paris", "park", "party"].map(str::to_owned);
        let begun = |word: &String| word.starts_with(&request.argument.value);
        let values = words.into_iter().filter(begun).collect();
        let info = CompletionInfo::with_all_values(values).map_err(broken)?;
        Ok(CompleteResult::new(info))
    }

    #[expect(deprecated, reason = "the older generation sets a level")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(asked.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.subscribers.keep(context).await;
        Ok(())
    }

    async fn on_cancelled(
        &self,
        cancelled: CancelledNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        self.real.on_cancelled(cancelled, context).await;
    }
}
