//! How connections are accepted: so many at a time, and none that only idles, so that nobody takes all descriptors of the service. With TLS, a
//! caller that is greeted counts among them, and has so long for it.
//!
//! **Strangers keep nobody out.** A connection is a stranger's until a request on it had a valid token, and again after one that had none. When all places
//! are taken the stranger that came first makes room, and so it does when one source has its share of strangers, so that who calls from
//! one address pushes out nobody else's. Only callers with tokens fill the service; then others wait in the backlog of the system.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use futures_util::future::{Either, select};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Connections at a time; further ones wait in the backlog of the system.
const CONNECTIONS: usize = 512;
/// Strangers of one source at a time.
const OF_SOURCE: usize = 128;
/// How long a caller may take for the handshake of TLS and the head of its first request.
const FIRST: Duration = Duration::from_secs(10);
/// How long it may take for the head of any other, and idle between two.
const HEAD: Duration = Duration::from_secs(30);
/// Between two calls that cannot be accepted: nothing is left to accept with.
const PAUSE: Duration = Duration::from_millis(100);
/// What a handshake of TLS begins with.
const RECORD: u8 = 22;
/// Bytes of a request without TLS that are read, so that its sender reads the answer.
const UNREAD: u64 = 64 << 10;
/// The answer to it.
const USE_TLS: &str = "this port speaks TLS: write https:// in the address. A token that was sent without TLS may have been read on its way: withdraw it\n";

/// All connections.
#[derive(Default)]
struct Table {
    places: Mutex<HashMap<u64, Entry>>,
    /// A place is free, or a caller became a stranger.
    freed: Notify,
}

/// One of them.
struct Entry {
    source: IpAddr,
    /// The last request had a valid token.
    known: bool,
    /// When it came, or became a stranger again.
    since: Instant,
    end: Arc<Notify>,
}

/// The place of a connection, which is free again when this is dropped.
struct Place {
    table: Arc<Table>,
    number: u64,
    end: Arc<Notify>,
    /// A first request came.
    asked: AtomicBool,
}

impl Place {
    /// Until it makes room for another, or has asked for nothing.
    async fn over(&self) {
        let silent = async {
            tokio::time::sleep(FIRST).await;
            if self.asked.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        select(pin!(silent), pin!(self.end.notified())).await;
    }
}

/// What a request knows of the connection that it came by.
#[derive(Clone)]
pub(super) struct Caller(Arc<Place>);

impl Caller {
    /// Whether this request had a valid token.
    pub(super) fn is_known(&self, known: bool) {
        let Place { table, number, .. } = &*self.0;
        if let Some(entry) = table.lock().get_mut(number) {
            if entry.known && !known {
                entry.since = Instant::now();
            }
            // A stranger that asks and asks is as old as it was.
            entry.known = known;
        }
        if !known {
            table.freed.notify_one();
        }
    }
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Entry>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until one more caller can be let in.
    async fn room(&self) {
        while !self.has_room() {
            self.freed.notified().await;
        }
    }

    fn has_room(&self) -> bool {
        let places = self.lock();
        places.len() < CONNECTIONS || places.values().any(|entry| !entry.known)
    }

    /// A place for a caller. A stranger makes room for it, of the same source if that has its share.
    fn admit(self: &Arc<Self>, number: u64, address: IpAddr) -> Place {
        let source = source(address);
        let mut places = self.lock();
        let own = |entry: &Entry| !entry.known && entry.source == source;
        if places.values().filter(|entry| own(entry)).count() >= OF_SOURCE {
            evict(&mut places, own);
        } else if places.len() >= CONNECTIONS {
            evict(&mut places, |entry| !entry.known);
        }
        let end = Arc::new(Notify::new());
        let (since, known) = (Instant::now(), false);
        places.insert(number, Entry { source, known, since, end: Arc::clone(&end) });
        drop(places);
        Place { table: Arc::clone(self), number, end, asked: AtomicBool::new(false) }
    }
}

/// Ends the one of these that came first.
fn evict(places: &mut HashMap<u64, Entry>, which: impl Fn(&Entry) -> bool) {
    let those = places.iter().filter(|(_, entry)| which(entry));
    let Some(number) = those.min_by_key(|(_, entry)| entry.since).map(|(number, _)| *number) else {
        return;
    };
    if let Some(entry) = places.remove(&number) {
        entry.end.notify_one();
    }
}

/// Who may have many addresses counts as one: a network of IPv6 has 2^64 of them at least.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() >> 64 << 64).into()),
        address => address,
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.table.lock().remove(&self.number);
        self.table.freed.notify_one();
    }
}

/// Answers until `stopping` is set, then until all that were begun have ended.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    mut stopping: watch::Receiver<bool>,
) {
    let table = Arc::new(Table::default());
    let all = GracefulShutdown::new();
    for number in 0.. {
        let call = async {
            table.room().await;
            listener.accept().await
        };
        let stopped = stopping.wait_for(|end| *end);
        let call = match select(pin!(call), pin!(stopped)).await {
            Either::Left((call, _)) => call,
            // An error is the end of the sender, which is an end too.
            Either::Right(_) => break,
        };
        let Ok((stream, address)) = call else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Answers are small and whole; an error only makes them slower.
        let _ = stream.set_nodelay(true);
        let place = Arc::new(table.admit(number, address.ip()));
        let (tls, router, watcher) = (tls.clone(), router.clone(), all.watcher());
        tokio::spawn(async move {
            let caller = Caller(Arc::clone(&place));
            let answered = pin!(called(tls, stream, address, caller, router, watcher));
            let over = pin!(place.over());
            select(answered, over).await;
        });
    }
    drop(listener);
    all.shutdown().await;
}

/// A connection from its first byte to its last.
async fn called(
    tls: Option<TlsAcceptor>,
    stream: TcpStream,
    address: SocketAddr,
    caller: Caller,
    router: Router,
    watcher: Watcher,
) {
    match tls {
        None => answer(stream, caller, router, watcher).await,
        Some(tls) => {
            let greeted = greet(&tls, stream, address);
            if let Some(stream) = greeted.await {
                answer(stream, caller, router, watcher).await;
            }
        }
    }
}

/// Answers the requests of one connection.
async fn answer<S>(stream: S, caller: Caller, router: Router, watcher: Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        caller.0.asked.store(true, Ordering::Relaxed);
        request.extensions_mut().insert(caller.clone());
        router.call(request)
    });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_one_source() {
        let of = |text: &str| source(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2:3::4"), of("2001:db8:1:2:ffff::"));
        assert_ne!(of("2001:db8:1:2::"), of("2001:db8:1:3::"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }

    #[test]
    fn a_source_with_its_share_pushes_out_its_own_strangers() {
        let table = Arc::new(Table::default());
        let [one, two] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().unwrap());
        let other = table.admit(0, two);
        let many: Vec<Place> =
            (1..=OF_SOURCE as u64 + 9).map(|number| table.admit(number, one)).collect();
        assert_eq!(table.lock().len(), OF_SOURCE + 1);
        let left = |place: &Place| table.lock().contains_key(&place.number);
        assert!(left(&other), "the oldest of all, of another source");
        assert!(many[..9].iter().all(|place| !left(place)) && many[9..].iter().all(left));
        // A place that was taken from a stranger is not freed twice.
        drop(many);
        assert_eq!(table.lock().len(), 1);
    }

    #[test]
    fn only_callers_with_tokens_fill_it() {
        let table = Arc::new(Table::default());
        let address = |number: u64| IpAddr::from([10, 0, (number / 256) as u8, number as u8]);
        let places: Vec<Arc<Place>> = (0..CONNECTIONS as u64)
            .map(|number| Arc::new(table.admit(number, address(number))))
            .collect();
        assert!(table.has_room());
        for place in &places {
            Caller(Arc::clone(place)).is_known(true);
        }
        assert!(!table.has_room());
        // A token was withdrawn.
        Caller(Arc::clone(&places[7])).is_known(false);
        assert!(table.has_room());
        let next = table.admit(9999, address(9999));
        assert!(table.lock().contains_key(&next.number) && !table.lock().contains_key(&7));
        assert_eq!(table.lock().len(), CONNECTIONS);
    }
}
