//! Whether the service is alive and ready, its figures in the text format of Prometheus, and the description of the API.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use super::App;
use super::problem::Problem;
use crate::model::{JobState, LaneView, Status};
use crate::service::LaneFigures;

/// The format of `metrics`.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Whether it answers.
#[utoipa::path(get, path = "/healthz", tag = "service", responses((status = 200, description = "It does.")))]
pub(super) async fn live() -> &'static str {
    "ok\n"
}

/// Whether jobs would run now.
#[utoipa::path(
    get, path = "/readyz", tag = "service",
    responses(
        (status = 200, description = "They would."),
        (status = 503, description = "The peer is away, the pool is being filled, or the service is stopping.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    if app.call(|service| Ok(service.is_ready())).await? {
        return Ok("ready\n");
    }
    let what = "no job would run now; /v1/status says why";
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", what))
}

/// This description.
#[utoipa::path(
    get, path = "/v1/openapi.json", tag = "service",
    responses((status = 200, description = "OpenAPI 3.1.", content_type = "application/json")),
)]
pub(super) async fn description(State(app): State<App>) -> Response {
    ([(CONTENT_TYPE, "application/json")], app.description.to_string()).into_response()
}

/// Figures for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "service", security(("token" = [])),
    responses(
        (status = 200, description = "Prometheus text.", body = String, content_type = "text/plain"),
        (status = "4XX", description = "It is refused.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    let status = app.call(|service| service.status()).await?;
    let (left, lanes) =
        app.call(|service| Ok((service.expiry().left(), service.lane_figures()))).await?;
    let text = figures(&status, &left) + &of_sessions(&lanes);
    Ok(([(CONTENT_TYPE, TEXT)], text).into_response())
}

/// A label with its value, if there is one, and a figure.
type Sample<'a> = (Option<(&'a str, &'a str)>, f64);

/// The figures of a service.
fn figures(status: &Status, left: &[(&str, i64)]) -> String {
    let mut text = String::new();
    let jobs = JobState::ALL.map(|state| {
        let number = status.jobs.get(state.name()).copied().unwrap_or_default();
        (Some(("state", state.name())), number as f64)
    });
    family(&mut text, "cenote_jobs", "gauge", "Jobs by state.", &jobs);
    type Figure = fn(&LaneView) -> Option<f64>;
    let of_lanes: [(&str, &str, &str, Figure); 6] = [
        ("cenote_pool_ready", "gauge", "Ready triples.", |lane| Some(lane.ready as f64)),
        ("cenote_pool_level", "gauge", "Ready triples that a lane keeps.", |lane| {
            Some(lane.level as f64)
        }),
        ("cenote_pools_begun", "gauge", "Pools that were begun with this peer.", |lane| {
            Some(lane.pools as f64)
        }),
        ("cenote_bytes_sent_total", "counter", "Bytes sent to the peer.", |lane| {
            Some(lane.bytes[0] as f64)
        }),
        ("cenote_bytes_received_total", "counter", "Bytes received from the peer.", |lane| {
            Some(lane.bytes[1] as f64)
        }),
        ("cenote_jobs_done_total", "counter", "Jobs that ended well.", |lane| {
            Some(lane.done as f64)
        }),
    ];
    for (name, kind, help, figure) in of_lanes {
        let sample = |lane| figure(lane).map(|number| (Some(("lane", lane.name.as_str())), number));
        let samples: Vec<Sample<'_>> = status.lanes.iter().filter_map(sample).collect();
        family(&mut text, name, kind, help, &samples);
    }
    let flags = [
        ("cenote_peer_connected", "Whether the peer is connected.", status.peer.connected),
        ("cenote_peer_held", "Whether a failed check holds the peer.", status.peer.held),
        (
            "cenote_peer_cheated",
            "Whether the peer has cheated unnoticed.",
            status.peer.cheated == Some(true),
        ),
    ];
    for (name, help, is) in flags {
        family(&mut text, name, "gauge", help, &[(None, f64::from(u8::from(is)))]);
    }
    let [begun, most] = status.peer.pools;
    let help = "Pools that may still be begun with this peer, in both lanes.";
    let pools_left = most.saturating_sub(begun) as f64;
    family(&mut text, "cenote_pools_left", "gauge", help, &[(None, pools_left)]);
    let help = "log2 of the bound on a cheater's success by any pool so far.";
    let bound: Vec<Sample<'_>> =
        status.peer.epsilon_log2.map(|log2| (None, log2)).into_iter().collect();
    family(&mut text, "cenote_epsilon_log2", "gauge", help, &bound);
    let ends: Vec<Sample<'_>> =
        left.iter().map(|(whose, left)| (Some(("whose", *whose)), *left as f64)).collect();
    let help = "Seconds until a certificate ends, below zero after it.";
    family(&mut text, "cenote_certificate_expires_seconds", "gauge", help, &ends);
    text
}

/// What jobs took, and what left the stocks for them and for pools.
fn of_sessions(lanes: &[LaneFigures]) -> String {
    let mut text = String::new();
    let name = "cenote_items_used_total";
    head(&mut text, name, "counter", "Items that left a stock or a pool.");
    for LaneFigures { lane, used, .. } in lanes {
        for (store, items) in used {
            line(&mut text, name, &[("lane", lane), ("store", store)], *items as f64);
        }
    }
    let name = "cenote_job_seconds";
    let help = "Seconds from the time when a job came to its end, of jobs that ended well.";
    head(&mut text, name, "histogram", help);
    for LaneFigures { lane, seconds, .. } in lanes {
        for (bound, count) in seconds.below() {
            let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
            let labels = [("lane", *lane), ("le", &bound)];
            line(&mut text, &format!("{name}_bucket"), &labels, count as f64);
        }
        line(&mut text, &format!("{name}_sum"), &[("lane", lane)], seconds.sum);
        line(&mut text, &format!("{name}_count"), &[("lane", lane)], seconds.count() as f64);
    }
    text
}

fn family(text: &mut String, name: &str, kind: &str, help: &str, samples: &[Sample<'_>]) {
    head(text, name, kind, help);
    for (label, number) in samples {
        line(text, name, label.as_slice(), *number);
    }
}

/// What a family begins with.
fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// A figure with its labels.
fn line(text: &mut String, name: &str, labels: &[(&str, &str)], number: f64) {
    let each = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
    let labels = each.collect::<Vec<_>>().join(",");
    let labels = if labels.is_empty() { labels } else { format!("{{{labels}}}") };
    let _ = writeln!(text, "{name}{labels} {number}");
}

/// A value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_break_out() {
        let mut text = String::new();
        family(&mut text, "a", "gauge", "b.", &[(Some(("l", "x\"} 1\n\\")), 0.5)]);
        assert_eq!(text, "# HELP a b.\n# TYPE a gauge\na{l=\"x\\\"} 1\\n\\\\\"} 0.5\n");
    }
}
