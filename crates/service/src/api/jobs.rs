//! Jobs: asked for, looked at, waited for, taken back.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use serde::Deserialize;

use super::extract::{Body, Named, Params};
use super::problem::Problem;
use super::tokens::{Caller, Role};
use super::{Answer, App, SLICE};
use crate::model::{JobFilter, JobState, JobView, NewJob};

/// Longest wait in one request.
const MAX_WAIT_S: u64 = 60;
/// Most jobs in an answer.
const MOST_LISTED: u32 = 1000;
/// The header that may name a job before there is one.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The job as this caller may see it: results are for submitters.
pub(super) fn shown(mut job: JobView, caller: &Caller) -> JobView {
    if !caller.has(Role::Submitter) {
        job.result = None;
    }
    job
}

/// Asks for a job. A second request with the same key, in the body or the header, finds the first job, if it asks for the same.
#[utoipa::path(
    post, path = "/v1/jobs", tag = "jobs", security(("token" = [])), request_body = NewJob,
    params(("Idempotency-Key" = Option<String>, Header, description = "As `idempotency_key` of the body.")),
    responses(
        (status = 201, description = "A new job.", body = JobView),
        (status = 200, description = "The job that was asked for with this key.", body = JobView),
        (status = 409, description = "The job of this key was asked for with another program, other parameters or inputs, or another token.", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "It is refused, or a limit is reached.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "The service cannot do it now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn submit(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Body(mut job): Body<NewJob>,
) -> Result<(StatusCode, Json<JobView>), Problem> {
    if let Some(key) = header_key(&headers)? {
        if job.idempotency_key.as_ref().is_some_and(|other| *other != key) {
            let what = "the header Idempotency-Key and the body have different keys; send one";
            return Err(Problem::invalid(what));
        }
        job.idempotency_key = Some(key);
    }
    let (job, new) = app.call(move |service| service.submit_as(&job, caller.name())).await?;
    Ok((if new { StatusCode::CREATED } else { StatusCode::OK }, Json(job)))
}

fn header_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut keys = headers.get_all(IDEMPOTENCY_KEY).iter();
    match (keys.next(), keys.next()) {
        (None, _) => Ok(None),
        (Some(key), None) => match key.to_str() {
            Ok(key) => Ok(Some(key.to_owned())),
            Err(_) => Err(Problem::invalid("the header Idempotency-Key is not plain text")),
        },
        _ => Err(Problem::invalid("the header Idempotency-Key is there twice; send one")),
    }
}

/// Jobs, newest first.
#[utoipa::path(
    get, path = "/v1/jobs", tag = "jobs", security(("token" = [])),
    params(
        ("state" = Option<JobState>, Query, description = "In this state alone."),
        ("limit" = Option<u32>, Query, description = "At most so many; 100 without it.", maximum = 1000),
        ("before" = Option<String>, Query, description = "Those that came before this job."),
    ),
    responses(
        (status = 200, description = "Jobs; results for submitters alone.", body = [JobView]),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn list(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Params(filter): Params<JobFilter>,
) -> Answer<Vec<JobView>> {
    if filter.limit.is_some_and(|limit| limit > MOST_LISTED) {
        let what =
            format!("limit is at most {MOST_LISTED}; ask for more by `before`, the last of these");
        return Err(Problem::invalid(what));
    }
    let jobs = app.call(move |service| service.jobs(&filter)).await?;
    Ok(Json(jobs.into_iter().map(|job| shown(job, &caller)).collect()))
}

/// How long a request for a job waits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    #[serde(default)]
    wait_s: u64,
}

/// A job, at once or when it has ended.
#[utoipa::path(
    get, path = "/v1/jobs/{id}", tag = "jobs", security(("token" = [])),
    params(
        ("id" = String, Path, description = "Its id."),
        ("wait_s" = Option<u64>, Query, description = "Seconds, up to 60, to wait for its end; it is answered as it stands then.", maximum = 60),
    ),
    responses(
        (status = 200, description = "The job; its result for submitters alone.", body = JobView),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn show(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
    Params(Wait { wait_s }): Params<Wait>,
) -> Answer<JobView> {
    if wait_s > MAX_WAIT_S {
        let what = format!("wait_s is at most {MAX_WAIT_S}; ask again after that");
        return Err(Problem::invalid(what));
    }
    let _room = if wait_s > 0 { Some(app.may_wait()?) } else { None };
    let end = Instant::now() + Duration::from_secs(wait_s);
    loop {
        let left = end.saturating_duration_since(Instant::now()).min(SLICE);
        let name = id.clone();
        let job = app.call(move |service| service.wait(&name, left)).await?;
        if job.state.is_end() || left.is_zero() || app.is_stopping() {
            return Ok(Json(shown(job, &caller)));
        }
    }
}

/// Takes back a job that has not begun, or one of the own owner's that runs. The result of a job that runs is not kept, and its use stays spent; the run of a
/// large one is cut, so many times a day, and that of any other goes on to its end.
#[utoipa::path(
    post, path = "/v1/jobs/{id}/cancel", tag = "jobs", security(("token" = [])),
    params(("id" = String, Path, description = "Its id.")),
    responses(
        (status = 200, description = "The job, cancelled.", body = JobView),
        (status = 409, description = "It has ended, or is the peer's and runs.", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn cancel(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Answer<JobView> {
    let token = (!caller.has(Role::Operator)).then(|| caller.name().to_owned());
    let cancelled = app.call(move |service| match token {
        Some(token) => service.cancel_for(&id, &token),
        None => service.cancel(&id),
    });
    Ok(Json(cancelled.await?))
}
