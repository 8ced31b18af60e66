//! The HTTP API: what an owner and the owner's programs ask of a service, in JSON, each caller with a token ([`Tokens`]).
//!
//! | question | file |
//! |---|---|
//! | who calls, and what may they do | `tokens.rs`, `guard.rs` |
//! | jobs; their changes as a stream of events | `jobs.rs`, `events.rs` |
//! | programs, approvals, data sets, the peer, the audit log | `owner.rs` |
//! | whether it is alive and ready; figures for Prometheus | `health.rs` |
//! | how a body, a query or a path is read | `extract.rs` |
//! | how connections are accepted, and how long they may idle | `connections.rs` |
//! | TLS, and its certificate | `../tls.rs` |
//! | how an error looks: RFC 9457 | `problem.rs` |
//!
//! The service blocks, so its calls run on threads for that. docs/openapi.json describes all of it, and is generated ([`openapi`]).

mod connections;
mod events;
mod extract;
mod guard;
mod health;
mod jobs;
mod owner;
mod problem;
mod tokens;

use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Json, Router};
use futures_util::future::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ErrorKind, ServiceError};
use crate::service::Service;
pub use crate::tls::Certificate;
use guard::{Guard, authorise};
use problem::Problem;
pub use tokens::{Role, Tokens};

/// Largest module of a program.
const MAX_PROGRAM: usize = 32 << 20;
/// Largest body of any other request.
const MAX_BODY: usize = 1 << 20;
/// How long an answer may take; streams of events begin within it.
const REQUEST: Duration = Duration::from_secs(90);
/// How long requests may go on after the end was asked for.
const GRACE: Duration = Duration::from_secs(5);
/// Requests that wait for a job, at a time; fewer than there may be connections.
const WAITING: usize = 256;
/// How long a thread waits before others have a turn.
const SLICE: Duration = Duration::from_millis(250);

/// Why an address without TLS is refused.
pub const NEEDS_TLS: &str = "others may reach this address, and it has no TLS, so tokens could be read on their way; `cenote certificate` makes a certificate, or name an organisation's own in [api] certificate and key; or listen on 127.0.0.1";

/// What a request works with.
#[derive(Clone)]
struct App {
    service: Service,
    tokens: Arc<Tokens>,
    waiting: Arc<Semaphore>,
    stopping: watch::Receiver<bool>,
    /// What [`openapi`] gives.
    description: Arc<str>,
}

impl App {
    /// Runs a call of the service where it may block.
    async fn call<T, F>(&self, work: F) -> Result<T, Problem>
    where
        T: Send + 'static,
        F: FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
    {
        let service = self.service.clone();
        match tokio::task::spawn_blocking(move || work(&service)).await {
            Ok(done) => done.map_err(Problem::from),
            // The panic has been printed.
            Err(_) => Err(Problem::internal()),
        }
    }

    /// Room for one more request that waits.
    fn may_wait(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.waiting).try_acquire_owned().map_err(|_| {
            let what = format!("{WAITING} requests wait for jobs already; ask without waiting");
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "busy", what)
        })
    }

    fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }
}

/// Answers requests at `listener` until `stop` is ready; those that run then may end, for a few seconds. Blocks, and needs no runtime.
///
/// # Errors
/// `Invalid` without TLS at an address that others reach, for tokens would go in the clear; `Unavailable` when threads or the listener fail.
pub fn serve(
    service: Service,
    tokens: Tokens,
    listener: TcpListener,
    tls: Option<Certificate>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServiceError> {
    let failed =
        |error: std::io::Error| ServiceError::new(ErrorKind::Unavailable, error.to_string());
    let address = listener.local_addr().map_err(failed)?;
    if tls.is_none() && !address.ip().is_loopback() {
        return Err(ServiceError::invalid(format!("{address}: {NEEDS_TLS}")));
    }
    let tls = tls.map(Certificate::acceptor).transpose()?;
    let description = openapi()?.into();
    listener.set_nonblocking(true).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("api")
        .enable_all()
        .build()
        .map_err(failed)?;
    let served = runtime.block_on(async {
        let (end, stopping) = watch::channel(false);
        let app = App {
            service,
            tokens: Arc::new(tokens),
            waiting: Arc::new(Semaphore::new(WAITING)),
            stopping: stopping.clone(),
            description,
        };
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let server = connections::serve(listener, tls, router(app), stopping);
        let ending = async {
            stop.await;
            end.send_replace(true);
            tokio::time::sleep(GRACE).await;
        };
        select(pin!(server), pin!(ending)).await;
        Ok(())
    });
    runtime.shutdown_timeout(SLICE * 4);
    served.map_err(failed)
}

/// The description of the API, OpenAPI 3.1 in JSON, as docs/openapi.json has it.
///
/// # Errors
/// `Internal` when it cannot be written as JSON.
pub fn openapi() -> Result<String, ServiceError> {
    let text = described().1.to_pretty_json();
    let text = text.map_err(|error| ServiceError::new(ErrorKind::Internal, error.to_string()))?;
    Ok(text + "\n")
}

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Cenote",
        description = "A service that computes with one peer on private data of both. Callers have tokens with roles: submitter, approver, operator, auditor. Every error is a problem of RFC 9457.",
    ),
    components(schemas(Problem)),
    modifiers(&Bearer),
)]
struct Description;

/// Names the tokens in the description.
struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, api: &mut OpenApi) {
        use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
        let components = api.components.get_or_insert_default();
        let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("token", bearer);
    }
}

/// All paths, each with the roles of which a caller needs one, and their description.
fn paths() -> Vec<(&'static [Role], OpenApiRouter<App>)> {
    use Role::{Approver, Auditor, Operator, Submitter};
    let program = DefaultBodyLimit::max(MAX_PROGRAM);
    let new = OpenApiRouter::new;
    vec![
        (
            &Role::ALL,
            new()
                .routes(routes!(owner::status))
                .routes(routes!(owner::programs))
                .routes(routes!(owner::program))
                .routes(routes!(owner::program_text))
                .routes(routes!(owner::approvals))
                .routes(routes!(owner::datasets))
                .routes(routes!(owner::heads)),
        ),
        (&[Submitter], new().routes(routes!(jobs::submit)).routes(routes!(jobs::cancel))),
        (
            &[Submitter, Operator, Auditor],
            new()
                .routes(routes!(jobs::list))
                .routes(routes!(jobs::show))
                .routes(routes!(events::of_job)),
        ),
        (&[Approver, Operator], new().routes(routes!(owner::register)).route_layer(program)),
        (
            &[Approver],
            new()
                .routes(routes!(owner::approve))
                .routes(routes!(owner::withdraw))
                .routes(routes!(owner::end_memory))
                .routes(routes!(owner::bind)),
        ),
        (&[Operator], new().routes(routes!(owner::lift)).routes(routes!(owner::line))),
        (&[Operator, Auditor], new().routes(routes!(health::metrics))),
    ]
}

/// The paths that need no token.
fn open_paths() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(health::description))
}

/// The description, and the paths of which nothing is guarded: for the description alone.
fn described() -> (Router<App>, OpenApi) {
    let mut all = OpenApiRouter::with_openapi(Description::openapi()).merge(open_paths());
    for (_, paths) in paths() {
        all = all.merge(paths);
    }
    let (router, mut api) = all.split_for_parts();
    complete(&mut api);
    (router, api)
}

/// Adds what holds for all paths that take a token, and what the derived schemas leave out.
fn complete(api: &mut OpenApi) {
    use utoipa::openapi::schema::{AdditionalProperties, Schema};
    use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
    let problem = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    let cannot = ResponseBuilder::new()
        .description("The service cannot do it now, or has a defect.")
        .content("application/problem+json", problem)
        .build();
    for item in api.paths.paths.values_mut() {
        let operations = [&mut item.get, &mut item.post].into_iter().flatten();
        for operation in operations.filter(|operation| operation.security.is_some()) {
            let all = &mut operation.responses.responses;
            all.entry("5XX".to_owned()).or_insert_with(|| cannot.clone().into());
        }
    }
    // Sources with other fields than these are refused.
    let schemas = api.components.as_mut().map(|components| &mut components.schemas);
    let source = schemas.and_then(|schemas| schemas.get_mut("Source"));
    if let Some(RefOr::T(Schema::OneOf(source))) = source {
        for variant in &mut source.items {
            if let RefOr::T(Schema::Object(variant)) = variant {
                let none = AdditionalProperties::FreeForm(false);
                variant.additional_properties = Some(Box::new(none));
            }
        }
    }
}

fn router(app: App) -> Router {
    let (mut all, _) = open_paths().split_for_parts();
    for (roles, paths) in paths() {
        let guard = Guard { tokens: Arc::clone(&app.tokens), roles };
        let (paths, _) = paths.split_for_parts();
        all = all.merge(paths.route_layer(from_fn_with_state(guard, authorise)));
    }
    all.fallback(|| async {
        Problem::new(StatusCode::NOT_FOUND, "not-found", "no such path; /v1/openapi.json has all")
    })
    .method_not_allowed_fallback(|| async {
        let what = "this path has no such method; /v1/openapi.json has all";
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", what)
    })
    .layer(DefaultBodyLimit::max(MAX_BODY))
    .layer(from_fn(guard::limit))
    .with_state(app)
}

/// An answer, as JSON.
type Answer<T> = Result<Json<T>, Problem>;
