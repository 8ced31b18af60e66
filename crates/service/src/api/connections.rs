//! How connections are accepted: so many at a time, and none that only idles, so that nobody takes all descriptors of the service. With TLS, a
//! caller that is greeted counts among them, and has so long for it.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::future::{Either, select};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Connections at a time; further ones wait in the backlog of the system.
const CONNECTIONS: usize = 512;
/// How long a caller may take for the handshake of TLS.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a caller may take for the head of a request, and idle between two.
const HEAD: Duration = Duration::from_secs(30);
/// Between two calls that cannot be accepted: nothing is left to accept with.
const PAUSE: Duration = Duration::from_millis(100);
/// What a handshake of TLS begins with.
const RECORD: u8 = 22;
/// Bytes of a request without TLS that are read, so that its sender reads the answer.
const UNREAD: u64 = 64 << 10;
/// The answer to it.
const USE_TLS: &str = "this port speaks TLS: write https:// in the address. A token that was sent without TLS may have been read on its way: withdraw it\n";

/// Answers until `stopping` is set, then until all that were begun have ended.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let all = GracefulShutdown::new();
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
        let (Ok(place), Ok((stream, address))) = (place, call) else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Answers are small and whole; an error only makes them slower.
        let _ = stream.set_nodelay(true);
        let (tls, router, watcher) = (tls.clone(), router.clone(), all.watcher());
        tokio::spawn(async move {
            match tls {
                None => answer(stream, router, watcher).await,
                Some(tls) => {
                    let greeted = greet(&tls, stream, address);
                    if let Ok(Some(stream)) = tokio::time::timeout(HANDSHAKE, greeted).await {
                        answer(stream, router, watcher).await;
                    }
                }
            }
            drop(place);
        });
    }
    drop(listener);
    all.shutdown().await;
}

/// Answers the requests of one connection.
async fn answer<S>(stream: S, router: Router, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let service = TowerToHyperService::new(router);
    let connection = http.serve_connection(TokioIo::new(stream), service);
    // An error: the caller has gone, or was too slow.
    let _ = watcher.watch(connection).await;
}

/// The handshake; none if it came to nothing.
async fn greet(
    tls: &TlsAcceptor,
    stream: TcpStream,
    address: SocketAddr,
) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) if first[0] == RECORD => match tls.accept(stream).await {
            Ok(stream) => return Some(stream),
            // Strangers fill no log of the usual level.
            Err(error) => {
                tracing::debug!(%address, %error, "no handshake with a caller of the API")
            }
        },
        Ok(1) if first[0].is_ascii_uppercase() => {
            tracing::warn!(%address, "a caller of the API without TLS: its token may have been read");
            refuse(stream).await;
        }
        _ => {}
    }
    None
}

/// Tells who sent a request without TLS, and ends.
async fn refuse(mut stream: TcpStream) {
    let answer = format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{USE_TLS}",
        USE_TLS.len()
    );
    // Whether it hears of it is its own affair.
    if stream.write_all(answer.as_bytes()).await.is_ok() && stream.shutdown().await.is_ok() {
        let _ = tokio::io::copy(&mut stream.take(UNREAD), &mut tokio::io::sink()).await;
    }
}
