//! Errors of the API, all of the same form: `application/problem+json`, RFC 9457.

use axum::http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::error::{ErrorKind, ServiceError};

/// Why a request was not answered (RFC 9457).
#[derive(Serialize, ToSchema, Clone, Debug)]
pub(crate) struct Problem {
    /// `urn:cenote:problem:KIND`. Kinds: `invalid`, `unauthorised`, `role`, `forbidden`, `not-found`, `method-not-allowed`, `conflict`,
    /// `too-large`, `media-type`, `busy`, `quota`, `timeout`, `unavailable`, `internal`.
    #[serde(rename = "type")]
    kind: String,
    /// What the status means.
    title: &'static str,
    /// The status.
    status: u16,
    /// Cause and remedy.
    detail: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: &str, detail: impl Into<String>) -> Problem {
        Problem {
            kind: format!("urn:cenote:problem:{kind}"),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: detail.into(),
        }
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, "invalid", detail)
    }

    pub(crate) fn internal() -> Problem {
        let what = "a defect of the service; its log says more";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", what)
    }

    /// What an extractor of axum refused, by its status.
    pub(crate) fn rejected(status: StatusCode, text: String) -> Problem {
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => {
                Problem::new(status, "too-large", "the body is larger than this path takes")
            }
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                Problem::new(status, "media-type", "send the body as application/json")
            }
            status if status.is_server_error() => Problem::internal(),
            _ => Problem::invalid(text),
        }
    }
}

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Problem {
        let (status, kind) = match error.kind {
            ErrorKind::Invalid => (StatusCode::BAD_REQUEST, "invalid"),
            ErrorKind::Forbidden => (StatusCode::FORBIDDEN, "forbidden"),
            ErrorKind::NotFound => (StatusCode::NOT_FOUND, "not-found"),
            ErrorKind::Conflict => (StatusCode::CONFLICT, "conflict"),
            ErrorKind::Busy => (StatusCode::TOO_MANY_REQUESTS, "busy"),
            ErrorKind::Quota => (StatusCode::TOO_MANY_REQUESTS, "quota"),
            ErrorKind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
            ErrorKind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        Problem::new(status, kind, error.what)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"cenote\""));
        }
        response
    }
}
