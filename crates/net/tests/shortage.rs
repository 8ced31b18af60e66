//! A listener whose process has no descriptors left. The only test of its process, because it takes them.

mod common;

use std::fs;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;

use cenote_net::{Fault, Identity, tcp_accept, tcp_listen, tls_accept, tls_connect};
use common::LIMIT;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than there will be descriptors for.
const STRANGERS: usize = 20;
const SPARE: usize = 4;

/// The numbers of the open descriptors.
fn held() -> Vec<u64> {
    let names = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.to_str().unwrap().parse().unwrap()).collect()
}

#[test]
fn a_shortage_of_descriptors_does_not_end_the_wait() {
    let (server, client) =
        (Identity::generate("server").unwrap(), Identity::generate("client").unwrap());
    let listener = tcp_listen("127.0.0.1:0").unwrap();
    let address = listener.address().to_string();
    let strangers = [(); STRANGERS].map(|()| TcpStream::connect(listener.address()).unwrap());
    let accept = |limit| tls_accept(&listener, &server, client.certificate(), limit, |_, _| ());
    let before = held().len();
    let (accepted, connected) = thread::scope(|scope| {
        let connecting =
            scope.spawn(|| tls_connect(&address, &client, server.certificate(), LIMIT));
        // Its socket and what wakes it: it is connected.
        while held().len() < before + 3 {
            thread::sleep(Duration::from_millis(1));
        }
        let most = held().into_iter().max().unwrap() + 1 + SPARE as u64;
        let maximum = getrlimit(Resource::Nofile).maximum;
        setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum }).unwrap();
        let mut taken: Vec<OwnedFd> = Vec::new();
        while let Ok(fd) = strangers[0].as_fd().try_clone_to_owned() {
            taken.push(fd);
        }
        let short = Duration::from_millis(100);
        for fault in [accept(short).unwrap_err(), tcp_accept(&listener, short).unwrap_err()] {
            let named = matches!(&fault, Fault::Transport(text)
                if text.contains("no peer came") && text.contains("open files"));
            assert!(named, "{fault}");
        }
        taken.truncate(taken.len() - SPARE);
        (accept(LIMIT), connecting.join().unwrap())
    });
    assert_eq!((accepted.err(), connected.err()), (None, None));
}
