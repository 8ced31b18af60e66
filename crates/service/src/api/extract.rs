//! How bodies, queries and paths are read: as axum does, with problems for errors.

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::problem::Problem;

/// A body in JSON.
pub(super) struct Body<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Body<T>, Problem> {
        let read = axum::Json::<T>::from_request(request, state).await;
        read.map(|axum::Json(value)| Body(value))
            .map_err(|error: JsonRejection| Problem::rejected(error.status(), error.body_text()))
    }
}

/// The bytes of a module.
pub(super) struct Module(pub(super) Bytes);

impl<S: Send + Sync> FromRequest<S> for Module {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Module, Problem> {
        let kind = request.headers().get(CONTENT_TYPE);
        if kind.is_none_or(|kind| kind != "application/octet-stream") {
            let what = "send the module as application/octet-stream";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", what));
        }
        let read = Bytes::from_request(request, state).await;
        read.map(Module)
            .map_err(|error: BytesRejection| Problem::rejected(error.status(), error.body_text()))
    }
}

/// The query of a URL. Unknown names are refused by the types.
pub(super) struct Params<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Params<T>, Problem> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        read.map(|Query(value)| Params(value))
            .map_err(|error: QueryRejection| Problem::rejected(error.status(), error.body_text()))
    }
}

/// The name or number in a path.
pub(super) struct Named<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named<T>, Problem> {
        let read = Path::<T>::from_request_parts(parts, state).await;
        read.map(|Path(value)| Named(value))
            .map_err(|error: PathRejection| Problem::rejected(error.status(), error.body_text()))
    }
}
