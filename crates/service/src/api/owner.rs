//! What an owner says and sees beside jobs: programs, approvals, data sets, the peer, the audit log.

use std::path::PathBuf;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use cenote_data::Schema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Body, Module, Named, Params};
use super::problem::Problem;
use super::tokens::{Caller, Role};
use super::{Answer, App};
use crate::model::{ApprovalView, DataSetView, LineView, ProgramView, Status, Terms};

/// What was made.
type Made<T> = Result<(StatusCode, Json<T>), Problem>;

/// The service as it is now.
#[utoipa::path(
    get, path = "/v1/status", tag = "service", security(("token" = [])),
    responses(
        (status = 200, description = "The service.", body = Status),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn status(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Answer<Status> {
    let mut status = app.call(|service| service.status()).await?;
    if !caller.has(Role::Operator) && !caller.has(Role::Auditor) {
        status.peer.cheated = None;
    }
    Ok(Json(status))
}

/// The name of a program that is registered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Name {
    name: String,
    #[serde(default)]
    smallest_group: Option<String>,
}

/// Registers a program. The same program under the same name again changes nothing.
#[utoipa::path(
    post, path = "/v1/programs", tag = "programs", security(("token" = [])),
    params(
        ("name" = String, Query, description = "Its name here; the peer's may be another. No digest.", pattern = "^[A-Za-z0-9._-]{1,128}$"),
        ("smallest_group" = Option<String>, Query, description = "Own input, a whole number, that is the smallest group which it shows: approvals then have to say how small that may be."),
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The module, text or binary; at most 32 MiB."),
    responses(
        (status = 201, description = "The program.", body = ProgramView),
        (status = 409, description = "The name or the program is taken.", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn register(
    State(app): State<App>,
    Params(Name { name, smallest_group }): Params<Name>,
    Module(module): Module,
) -> Made<ProgramView> {
    let program =
        app.call(move |service| service.register_with(&name, &module, smallest_group.as_deref()));
    let program = program.await?;
    Ok((StatusCode::CREATED, Json(program)))
}

/// All programs.
#[utoipa::path(
    get, path = "/v1/programs", tag = "programs", security(("token" = [])),
    responses(
        (status = 200, description = "Programs, by name.", body = [ProgramView]),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn programs(State(app): State<App>) -> Answer<Vec<ProgramView>> {
    Ok(Json(app.call(|service| service.programs()).await?))
}

/// One program.
#[utoipa::path(
    get, path = "/v1/programs/{name}", tag = "programs", security(("token" = [])),
    params(("name" = String, Path, description = "Its name or digest.")),
    responses(
        (status = 200, description = "The program.", body = ProgramView),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn program(
    State(app): State<App>,
    Named(name): Named<String>,
) -> Answer<ProgramView> {
    Ok(Json(app.call(move |service| service.program(&name)).await?))
}

/// One program as its approver reads it.
#[utoipa::path(
    get, path = "/v1/programs/{name}/text", tag = "programs", security(("token" = [])),
    params(("name" = String, Path, description = "Its name or digest.")),
    responses(
        (status = 200, description = "Its text form, whichever it was registered in.", body = String, content_type = "text/plain"),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn program_text(
    State(app): State<App>,
    Named(name): Named<String>,
) -> Result<String, Problem> {
    app.call(move |service| service.program_text(&name)).await
}

/// Gives an approval, signed with the owner's key.
#[utoipa::path(
    post, path = "/v1/approvals", tag = "approvals", security(("token" = [])),
    request_body(content = Terms, description = "`program` may be a name; an empty `peer` is the one of this service."),
    responses(
        (status = 201, description = "The approval.", body = ApprovalView),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn approve(
    State(app): State<App>,
    Body(terms): Body<Terms>,
) -> Made<ApprovalView> {
    let approval = app.call(move |service| service.approve(terms)).await?;
    Ok((StatusCode::CREATED, Json(approval)))
}

/// All approvals, also withdrawn ones.
#[utoipa::path(
    get, path = "/v1/approvals", tag = "approvals", security(("token" = [])),
    responses(
        (status = 200, description = "Approvals, oldest first.", body = [ApprovalView]),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn approvals(State(app): State<App>) -> Answer<Vec<ApprovalView>> {
    Ok(Json(app.call(|service| service.approvals()).await?))
}

/// Withdraws an approval: no job begins under it any more.
#[utoipa::path(
    post, path = "/v1/approvals/{id}/withdraw", tag = "approvals", security(("token" = [])),
    params(("id" = i64, Path, description = "Its number.")),
    responses(
        (status = 200, description = "The approval, withdrawn.", body = ApprovalView),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn withdraw(
    State(app): State<App>,
    Named(id): Named<i64>,
) -> Answer<ApprovalView> {
    Ok(Json(app.call(move |service| service.withdraw(id)).await?))
}

/// A file that gets a name, under which approvals speak of it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Binding {
    /// Its name. No digest.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,128}$")]
    name: String,
    /// The file, on the machine of the service, in one of the directories of `[data]`; relative to the service's directory.
    #[schema(value_type = String)]
    path: PathBuf,
    /// Columns and their kinds, where the file does not say: `{"columns": [{"name": "id", "kind": "integer", "unique": true}]}`.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    schema: Option<Schema>,
}

/// Binds a file to a name. A name that is bound is bound anew.
#[utoipa::path(
    post, path = "/v1/datasets", tag = "data sets", security(("token" = [])), request_body = Binding,
    responses(
        (status = 201, description = "The data set.", body = DataSetView),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn bind(
    State(app): State<App>,
    Body(Binding { name, path, schema }): Body<Binding>,
) -> Made<DataSetView> {
    let bound = app.call(move |service| {
        let path = service.config().path(&path);
        service.bind(&name, &path, schema.as_ref())
    });
    Ok((StatusCode::CREATED, Json(bound.await?)))
}

/// All data sets.
#[utoipa::path(
    get, path = "/v1/datasets", tag = "data sets", security(("token" = [])),
    responses(
        (status = 200, description = "Data sets, by name.", body = [DataSetView]),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn datasets(State(app): State<App>) -> Answer<Vec<DataSetView>> {
    Ok(Json(app.call(|service| service.datasets()).await?))
}

/// Lets sessions with the peer open again, after a failed check.
#[utoipa::path(
    post, path = "/v1/peer/lift", tag = "service", security(("token" = [])),
    responses(
        (status = 200, description = "The service.", body = Status),
        (status = 409, description = "Nothing is held.", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn lift(State(app): State<App>) -> Answer<Status> {
    Ok(Json(app.call(|service| service.lift()).await?))
}

/// Ends a memory that outlives jobs, on both sides: what is kept of it is wiped, and its name is free. The status lists those that there are.
#[utoipa::path(
    post, path = "/v1/memories/{name}/end", tag = "service", security(("token" = [])),
    params(("name" = String, Path, description = "Its name.")),
    responses(
        (status = 200, description = "The service.", body = Status),
        (status = 404, description = "There is no such memory.", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "A job that runs has it, or no session is open.", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn end_memory(
    State(app): State<App>,
    Named(name): Named<String>,
) -> Answer<Status> {
    let _room = app.may_wait()?;
    let mut status = app.call(move |service| service.end_memory(&name)).await?;
    // Of proof that the peer has cheated operators and auditors hear.
    status.peer.cheated = None;
    Ok(Json(status))
}

/// Measures the line to the peer, over the link: at most 8 MiB each way, mostly within a second. What was measured in the last 5 s is said again.
#[utoipa::path(
    post, path = "/v1/peer/line", tag = "service", security(("token" = [])),
    responses(
        (status = 200, description = "The line.", body = LineView),
        (status = 409, description = "The peer is not connected, or does not take part.", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn line(State(app): State<App>) -> Answer<LineView> {
    let _room = app.may_wait()?;
    Ok(Json(app.call(|service| service.measure()).await?))
}

/// How far the audit logs go, as `NUMBER:HASH`.
#[derive(Serialize, ToSchema)]
pub(super) struct Heads {
    /// Of the own one.
    head: String,
    /// The last that the peer told of its own since the service started.
    peer_head: Option<String>,
}

/// How far the own audit log goes, and the peer's, as it says: to be noted elsewhere.
#[utoipa::path(
    get, path = "/v1/audit/head", tag = "service", security(("token" = [])),
    responses(
        (status = 200, description = "Heads.", body = Heads),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn heads(State(app): State<App>) -> Answer<Heads> {
    let heads = app.call(|service| Ok(service.audit_heads()));
    let (head, peer_head) = heads.await?;
    let peer_head = peer_head.map(|head| head.to_string());
    Ok(Json(Heads { head: head.to_string(), peer_head }))
}
