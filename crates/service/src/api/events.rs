//! A job's changes as they come: server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::OwnedSemaphorePermit;

use super::extract::Named;
use super::jobs::shown;
use super::problem::Problem;
use super::tokens::Caller;
use super::{App, SLICE};
use crate::model::{JobState, JobView};

/// Between two signs of life where nothing changes: proxies cut what is silent.
const ALIVE: Duration = Duration::from_secs(15);

/// An event of the stream.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "the description alone has it")]
pub(super) struct JobEvent {
    /// `job`.
    event: String,
    /// The job as it is now: a JobView in JSON.
    #[schema(content_media_type = "application/json")]
    data: String,
}

/// A stream for one caller, and how far it is.
struct Watched {
    app: App,
    caller: Caller,
    job: JobView,
    /// The state that was sent last.
    sent: Option<JobState>,
    _room: OwnedSemaphorePermit,
}

/// A job whenever its state changes, first as it stands; the stream ends with the job.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/events", tag = "jobs", security(("token" = [])),
    params(("id" = String, Path, description = "Its id.")),
    responses(
        (status = 200, description = "Events `job`, each with a JobView as data.", body = JobEvent, content_type = "text/event-stream"),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn of_job(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let room = app.may_wait()?;
    let job = app.call(move |service| service.job(&id)).await?;
    let watched = Watched { app, caller, job, sent: None, _room: room };
    Ok(Sse::new(unfold(watched, next)).keep_alive(KeepAlive::new().interval(ALIVE)))
}

/// The next change. The stream also ends with the service, with its token, and with an error: the caller asks again then, and hears of it.
async fn next(mut watched: Watched) -> Option<(Result<Event, Infallible>, Watched)> {
    while watched.sent == Some(watched.job.state) {
        if watched.job.state.is_end() || watched.app.is_stopping() {
            return None;
        }
        let id = watched.job.id.clone();
        watched.job = watched.app.call(move |service| service.wait(&id, SLICE)).await.ok()?;
        if !watched.app.tokens.knows(&watched.caller) {
            return None;
        }
    }
    watched.sent = Some(watched.job.state);
    let job = shown(watched.job.clone(), &watched.caller);
    let event = Event::default().event("job").json_data(&job).ok()?;
    Some((Ok(event), watched))
}
