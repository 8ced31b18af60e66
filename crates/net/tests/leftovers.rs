//! A test of what a wait leaves behind: the only one of its process, because it counts what the
//! process has.

mod common;

use std::fs;
use std::net::TcpStream;
use std::time::Duration;

use cenote_net::{Identity, tcp_listen, tls_accept};

/// Threads and open descriptors.
fn held() -> [usize; 2] {
    ["/proc/self/task", "/proc/self/fd"].map(|path| fs::read_dir(path).unwrap().count())
}

#[test]
fn a_wait_leaves_neither_threads_nor_descriptors() {
    let identity = Identity::generate("own").unwrap();
    let listener = tcp_listen("127.0.0.1:0").unwrap();
    let strangers = [(); 50].map(|()| TcpStream::connect(listener.address()).unwrap());
    let before = held();
    let limit = Duration::from_millis(300);
    let accepted = tls_accept(&listener, &identity, identity.certificate(), limit, |_, _| ());
    assert!(accepted.is_err());
    assert_eq!(held(), before);
    drop(strangers);
}
