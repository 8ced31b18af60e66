//! How connections are accepted: so many at a time, and none that only idles, so that nobody on this machine takes all descriptors of the service.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::future::{Either, select};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// Connections at a time; further ones wait in the backlog of the system.
const CONNECTIONS: usize = 512;
/// How long a caller may take for the head of a request, and idle between two.
const HEAD: Duration = Duration::from_secs(30);
/// Between two calls that cannot be accepted: nothing is left to accept with.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers until `stopping` is set, then until all that were begun have ended.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let all = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD);
    loop {
        let call = async {
            let place = Arc::clone(&room).acquire_owned().await;
            (place, listener.accept().await)
        };
        let stopped = stopping.wait_for(|end| *end);
        let (place, call) = match select(pin!(call), pin!(stopped)).await {
            Either::Left((call, _)) => call,
            // An error is the end of the sender, which is an end too.
            Either::Right(_) => break,
        };
        let (Ok(place), Ok((stream, _))) = (place, call) else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Answers are small and whole; an error only makes them slower.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = all.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // The caller has gone, or was too slow.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    all.shutdown().await;
}
