//! What the server offers beside its tools: a little of everything. What comes in pages comes in small ones.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CompletionInfo, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    GetTaskParams, GetTaskResult, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, Prompt, PromptArgument, PromptMessage,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ResourceUpdatedNotificationParam, Role, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::{ErrorData, RoleServer, ServerHandler, tool_handler};

use crate::Peer;
use crate::tasks::{self, TASKS};

pub(crate) const STILL: &str = "peer://still";

/// How many tools are on a page.
const PAGE: usize = 5;

/// Who listens, of the clients of 2026-07-28. Over HTTP each of their requests has a server of its own.
static LISTENING: Mutex<Vec<SubscriptionSink>> = Mutex::new(Vec::new());

fn listening() -> MutexGuard<'static, Vec<SubscriptionSink>> {
    LISTENING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What there is to tell.
#[derive(Clone, Copy)]
pub(crate) enum News {
    Tools,
    Still,
}

/// Tells whoever wants to know. Who is gone, or wants to know other things, is no failure.
pub(crate) async fn tell(news: News, context: &RequestContext<RoleServer>) {
    let sinks = listening().clone();
    for sink in sinks {
        let _ = match news {
            News::Tools => sink.notify_tool_list_changed().await,
            News::Still => sink.notify_resource_updated(STILL).await,
        };
    }
    if !is_modern(context) {
        let _ = match news {
            News::Tools => context.peer.notify_tool_list_changed().await,
            News::Still => {
                context.peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(STILL)).await
            }
        };
    }
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

#[tool_handler(router = self.tools())]
impl ServerHandler for Peer {
    #[expect(deprecated, reason = "the older revisions have logging")]
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("peer-rmcp", "1.0.0"))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tasks::call(self, request, context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        TASKS.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        TASKS.cancel_task(&request.task_id)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let first = cursor.map_or(Ok(0), |cursor| cursor.parse::<usize>());
        let first = first.map_err(|_| ErrorData::invalid_params("no such page", None))?;
        let all = self.tools().list_all();
        let next = first.saturating_add(PAGE);
        let mut page = ListToolsResult::with_all_items(all.iter().skip(first).take(PAGE).cloned().collect());
        page.next_cursor = (next < all.len()).then(|| next.to_string());
        page.ttl_ms = is_modern(&context).then_some(0);
        page.cache_scope = is_modern(&context).then_some(CacheScope::Public);
        Ok(page)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new(STILL, "still")]))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new("peer://numbers/{number}", "numbers");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let text = match (request.uri.as_str(), request.uri.strip_prefix("peer://numbers/")) {
            (STILL, _) => "still here".to_owned(),
            (_, Some(number)) => format!("number {number}"),
            _ => return Err(ErrorData::resource_not_found("no such resource", None)),
        };
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let name = PromptArgument::new("name").with_required(true);
        let greet = Prompt::new("greet", Some("A prompt."), Some(vec![name]));
        Ok(ListPromptsResult::with_all_items(vec![greet]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let name = arguments.get("name").and_then(|name| name.as_str());
        let name = name.ok_or_else(|| ErrorData::invalid_params("whom?", None))?;
        let message = PromptMessage::new_text(Role::User, format!("Greet {name}."));
        Ok(GetPromptResult::new(vec![message]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let names = ["ada", "alan", "grace"].into_iter().map(str::to_owned);
        let names = names.filter(|name| name.starts_with(&request.argument.value)).collect();
        let info = CompletionInfo::new(names).map_err(|why| ErrorData::internal_error(why, None))?;
        Ok(CompleteResult::new(info))
    }

    #[expect(deprecated, reason = "the older revisions have logging")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    /// Whoever is there is told, subscribed or not.
    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        listening().push(context.sink().clone());
        context.cancelled().await;
        Ok(())
    }
}
