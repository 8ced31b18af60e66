//! What stands before every request: the roles of its caller, a limit of time, and what holds for all answers.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::problem::Problem;
use super::tokens::{Role, Tokens};
use super::{REQUEST, connections};

/// Who may pass.
#[derive(Clone)]
pub(super) struct Guard {
    pub(super) tokens: Arc<Tokens>,
    /// Of these a caller needs one.
    pub(super) roles: &'static [Role],
}

/// Lets pass who has a token with one of the roles, before anything of the body is read.
pub(super) async fn authorise(
    State(guard): State<Guard>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let caller = guard.tokens.caller(request.headers());
    // Whoever has no token makes room for others.
    if let Some(connection) = request.extensions().get::<connections::Caller>() {
        connection.is_known(caller.is_ok());
    }
    let caller = caller?;
    if !guard.roles.iter().any(|role| caller.has(*role)) {
        let names: Vec<&str> = guard.roles.iter().map(|role| role.name()).collect();
        let what = format!(
            "the token `{}` has not the role for this: {}",
            caller.name(),
            names.join(" or ")
        );
        return Err(Problem::new(StatusCode::FORBIDDEN, "role", what));
    }
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let name = caller.name().to_owned();
    request.extensions_mut().insert(caller);
    let begun = Instant::now();
    let response = next.run(request).await;
    let (status, ms) = (response.status().as_u16(), begun.elapsed().as_millis());
    if method == Method::GET || method == Method::HEAD {
        tracing::debug!(token = name, %method, path, status, ms, "request");
    } else {
        tracing::info!(token = name, %method, path, status, ms, "request");
    }
    Ok(response)
}

/// Ends what takes too long. Answers may hold results, so nobody keeps them.
pub(super) async fn limit(request: Request, next: Next) -> Response {
    let mut response = match tokio::time::timeout(REQUEST, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let what = format!("no answer within {} s; ask again", REQUEST.as_secs());
            Problem::new(StatusCode::GATEWAY_TIMEOUT, "timeout", what).into_response()
        }
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
