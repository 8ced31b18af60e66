//! Pairs of channels for the tests.
#![allow(dead_code)] // Each test binary uses its own part.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use cenote_net::{
    Channel, Identity, Tag, mem_pair, tcp_accept, tcp_connect, tcp_listen, tls_accept, tls_connect,
    unix_channel,
};

pub(crate) const DATA: Tag = Tag::new(100, "data");
pub(crate) const OTHER: Tag = Tag::new(101, "other");
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn tcp_pair() -> (Channel, Channel) {
    let listener = tcp_listen("127.0.0.1:0").expect("listen");
    let address = listener.address().to_string();
    let connected = tcp_connect(&address, LIMIT).expect("connect");
    (tcp_accept(&listener, LIMIT).expect("accept"), connected)
}

pub(crate) fn tls_pair() -> (Channel, Channel) {
    let server = Identity::generate("server").expect("server identity");
    let client = Identity::generate("client").expect("client identity");
    let listener = tcp_listen("127.0.0.1:0").expect("listen");
    let address = listener.address().to_string();
    std::thread::scope(|scope| {
        let accepted =
            scope.spawn(|| tls_accept(&listener, &server, client.certificate(), LIMIT, |_, _| ()));
        let connected = tls_connect(&address, &client, server.certificate(), LIMIT);
        (accepted.join().expect("thread").expect("accept"), connected.expect("connect"))
    })
}

fn unix_pair() -> (Channel, Channel) {
    let (left, right) = UnixStream::pair().expect("pair");
    (unix_channel(left).expect("left end"), unix_channel(right).expect("right end"))
}

/// Pairs over every kind of link, by name.
pub(crate) fn pairs() -> Vec<(&'static str, (Channel, Channel))> {
    vec![("mem", mem_pair()), ("tcp", tcp_pair()), ("tls", tls_pair()), ("unix", unix_pair())]
}

/// Runs the two sides on threads of their own and returns what they return.
pub(crate) fn run<A: Send, B: Send>(
    (left, right): (Channel, Channel),
    a: impl FnOnce(Channel) -> A + Send,
    b: impl FnOnce(Channel) -> B + Send,
) -> (A, B) {
    std::thread::scope(|scope| {
        let a = scope.spawn(move || a(left));
        let b = scope.spawn(move || b(right));
        (a.join().expect("left side"), b.join().expect("right side"))
    })
}
