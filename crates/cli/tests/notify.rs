//! What `cenote serve` tells systemd: ready when the API answers and not before, stopping when a signal asks for it.

mod common;

use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{LIMIT, cenote, run};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

fn free() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn serve(dir: &Path, socket: &Path) -> Child {
    let mut command = cenote(["serve", dir.to_str().unwrap()]);
    command.env("NOTIFY_SOCKET", socket).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// The next word, if one comes in time.
fn next(socket: &UnixDatagram, limit: Duration) -> Option<String> {
    socket.set_read_timeout(Some(limit)).unwrap();
    let mut bytes = [0; 512];
    let length = socket.recv(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes[..length]).trim().to_owned())
}

fn ended(child: &mut Child) -> Option<i32> {
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    None
}

#[test]
fn systemd_is_told_when_the_api_answers_and_when_it_ends() {
    let home = TempDir::new().unwrap();
    let [dir, other] = ["alice", "bob"].map(|name| home.path().join(name));
    let (link, api) = (free(), free());
    for (dir, way) in [(&dir, "--listen"), (&other, "--connect")] {
        let name = dir.file_name().unwrap().to_str().unwrap();
        let dir = dir.display();
        let said = run(&format!("init {dir} --name {name} {way} {link} --api {api}"));
        assert_eq!(said.code, 0, "{said:?}");
    }
    let certificate = other.join("identity.crt.pem");
    assert_eq!(run(&format!("pair {} {}", dir.display(), certificate.display())).code, 0);
    let path = home.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    // One that opens its API and cannot start then was never ready.
    let taken = TcpListener::bind(&link).unwrap();
    assert_eq!(ended(&mut serve(&dir, &path)), Some(8));
    assert_eq!(next(&socket, Duration::from_millis(100)), None);
    drop(taken);
    // Nor is one whose API cannot be opened.
    let taken = TcpListener::bind(&api).unwrap();
    assert_eq!(ended(&mut serve(&dir, &path)), Some(5));
    assert_eq!(next(&socket, Duration::from_millis(100)), None);
    drop(taken);
    let mut child = serve(&dir, &path);
    assert_eq!(next(&socket, LIMIT).as_deref(), Some("READY=1"));
    // At once, and of one that is alone.
    let said = run(&format!("status --service {}", dir.display()));
    assert_eq!((said.code, &said.json["stopping"]), (0, &false.into()), "{said:?}");
    assert_eq!(next(&socket, Duration::from_millis(300)), None, "it goes on");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(next(&socket, LIMIT).as_deref(), Some("STOPPING=1"));
    assert_eq!(ended(&mut child), Some(0));
    assert_eq!(next(&socket, Duration::from_millis(100)), None);
}
