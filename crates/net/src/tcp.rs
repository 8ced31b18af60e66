//! Channels over sockets: TCP, for a trusted wire and as the carrier of TLS, and pairs of sockets
//! within a machine.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio, readv};
use rustix::net::sockopt::set_tcp_congestion;
use rustix::net::{SendAncillaryBuffer, SendFlags, Shutdown, sendmsg, shutdown};
use socket2::{Domain, Socket, Type};

use crate::limit::Limit;
use crate::link::{Interest, Io, Link, Waker};
use crate::{Channel, Fault};

/// Pause between two attempts to connect, or to accept where nothing is left to accept with.
pub(crate) const RETRY: Duration = Duration::from_millis(50);

/// A listening socket.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

/// Listens on `address` (`host:port`; port 0 lets the system choose).
///
/// # Errors
/// `Misuse` when it is no address; `Transport`, naming it and a remedy, when it does not resolve or
/// cannot be bound.
pub fn tcp_listen(address: &str) -> Result<Listener, Fault> {
    let failed = |error: io::Error| {
        let remedy = match error.kind() {
            io::ErrorKind::AddrInUse => "; choose another port, or end what listens there",
            io::ErrorKind::AddrNotAvailable => "; choose an address of this machine",
            io::ErrorKind::PermissionDenied => "; choose a port above 1023",
            _ => "",
        };
        Fault::Transport(format!("cannot listen on {address}: {error}{remedy}"))
    };
    let socket = TcpListener::bind(&*resolve(address)?).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    let address = socket.local_addr().map_err(failed)?;
    unpaced(&socket, address);
    Ok(Listener { socket, address })
}

/// Waits up to `limit` for a peer and opens a plain, unprotected channel to it. The first caller is the
/// peer, whoever it is: there is nothing to know it by.
///
/// # Errors
/// `Transport` when nobody came in time or the socket failed.
pub fn tcp_accept(listener: &Listener, limit: Duration) -> Result<Channel, Fault> {
    over_tcp(listener.accept(Limit::of(limit))?)
}

/// Connects to `address` (`host:port`), trying again for up to `timeout`, and opens a plain,
/// unprotected channel.
///
/// # Errors
/// `Misuse` when it is no address; `Transport`, naming it, when it does not resolve, which is not
/// tried again, or nobody answered in time.
pub fn tcp_connect(address: &str, timeout: Duration) -> Result<Channel, Fault> {
    over_tcp(connect(address, Limit::of(timeout))?)
}

fn over_tcp(stream: TcpStream) -> Result<Channel, Fault> {
    Ok(Channel::over(Box::new(SocketLink::tcp(stream)?.wakeable()?)))
}

/// Opens a channel over one end of a pair of connected sockets, for two processes of one machine that
/// were given one end each: nobody else can reach it.
///
/// # Errors
/// `Transport` when the system has no more descriptors.
pub fn unix_channel(end: UnixStream) -> Result<Channel, Fault> {
    Ok(Channel::over(Box::new(SocketLink::over(end.into())?.wakeable()?)))
}

/// The outcome of looking for a caller.
pub(crate) enum Arrival {
    Caller(TcpStream, SocketAddr),
    Nobody,
    /// Somebody may be there, but descriptors or memory ran out.
    NoRoom(io::Error),
}

impl Listener {
    /// The address that peers connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn accept(&self, limit: Limit) -> Result<TcpStream, Fault> {
        loop {
            let shortage = match self.accept_now()? {
                Arrival::Caller(stream, _) => return Ok(stream),
                Arrival::Nobody => None,
                Arrival::NoRoom(error) => Some(error),
            };
            if limit.is_over() {
                return Err(Fault::Transport(self.nobody_came(limit, shortage.as_ref())));
            }
            if shortage.is_some() {
                std::thread::sleep(limit.left().min(RETRY));
            } else {
                poll_for(&mut [self.poll_fd()], limit.left())?;
            }
        }
    }

    /// The next caller, if somebody has come.
    pub(crate) fn accept_now(&self) -> Result<Arrival, Fault> {
        next_caller(|| self.socket.accept())
            .map_err(|error| Fault::Transport(format!("accept on {}: {error}", self.address)))
    }

    /// Describes a wait in vain, in which perhaps somebody could not be accepted.
    pub(crate) fn nobody_came(&self, limit: Limit, shortage: Option<&io::Error>) -> String {
        let shortage = shortage.map(|error| format!(": {error}")).unwrap_or_default();
        format!("no peer came to {} within {limit}{shortage}", self.address)
    }

    /// For a wait until somebody comes.
    pub(crate) fn poll_fd(&self) -> PollFd<'_> {
        PollFd::new(&self.socket, PollFlags::IN)
    }
}

/// The errors that end a caller's connection before it is accepted, or interrupt accepting: the
/// next may be there.
const CALLER_LOST: [Errno; 10] = [
    Errno::INTR,
    Errno::CONNABORTED,
    Errno::NETDOWN,
    Errno::PROTO,
    Errno::NOPROTOOPT,
    Errno::HOSTDOWN,
    Errno::NONET,
    Errno::HOSTUNREACH,
    Errno::OPNOTSUPP,
    Errno::NETUNREACH,
];
const NO_ROOM: [Errno; 4] = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];

fn next_caller(
    mut accept: impl FnMut() -> io::Result<(TcpStream, SocketAddr)>,
) -> io::Result<Arrival> {
    loop {
        let error = match accept() {
            Ok((stream, address)) => return Ok(Arrival::Caller(stream, address)),
            Err(error) => error,
        };
        match Errno::from_io_error(&error) {
            Some(Errno::AGAIN) => return Ok(Arrival::Nobody),
            Some(errno) if CALLER_LOST.contains(&errno) => {}
            Some(errno) if NO_ROOM.contains(&errno) => return Ok(Arrival::NoRoom(error)),
            _ => return Err(error),
        }
    }
}

pub(crate) fn connect(address: &str, timeout: Limit) -> Result<TcpStream, Fault> {
    let failed = |error: io::Error| {
        Fault::Transport(format!(
            "nobody at {address} within {timeout}: {error}; start the peer that listens there, or correct the address"
        ))
    };
    let candidates = resolve(address)?;
    loop {
        match connect_once(&candidates, timeout.left().max(RETRY)) {
            Ok(stream) => return Ok(stream),
            Err(error) if timeout.is_over() => return Err(failed(error)),
            Err(_) => std::thread::sleep(RETRY),
        }
    }
}

/// The addresses that `host:port` stands for.
fn resolve(address: &str) -> Result<Vec<SocketAddr>, Fault> {
    let wrong =
        |what: &str| Fault::Misuse(format!("{address:?} is no address: {what}; write HOST:PORT"));
    let (host, port) = address.rsplit_once(':').ok_or_else(|| wrong("it has no port"))?;
    if port.parse::<u16>().is_err() {
        return Err(wrong("the port is no number from 0 to 65535"));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]%".contains(&byte);
    if host.is_empty() || !host.bytes().all(allowed) {
        return Err(wrong("the host is neither a name nor an IP address"));
    }
    match address.to_socket_addrs() {
        Ok(found) => Ok(found.collect()),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Err(wrong(&error.to_string())),
        Err(error) => Err(Fault::Transport(format!("{address}: {error}; correct the host"))),
    }
}

/// Tries each address.
fn connect_once(candidates: &[SocketAddr], limit: Duration) -> io::Result<TcpStream> {
    let mut failure = io::Error::other("the name has no address");
    for candidate in candidates {
        let attempt = || {
            let socket = Socket::new(Domain::for_address(*candidate), Type::STREAM, None)?;
            unpaced(&socket, *candidate);
            socket.connect_timeout(&(*candidate).into(), limit)?;
            Ok(socket.into())
        };
        match attempt() {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// Spares a line within a machine what smooths bursts on real ones: with BBR, the default of many systems, a timer for each 64 KB
/// that are sent, which a virtual machine pays dearly. Only before the connection: what has been paced stays so, and so what comes to a listener on
/// all addresses.
fn unpaced(socket: &impl AsFd, address: SocketAddr) {
    if address.ip().is_loopback() {
        // Every Linux has Reno; without it the line works as well, if more slowly.
        let _ = set_tcp_congestion(socket, "reno");
    }
}

/// A non-blocking stream socket and, once it is [`wakeable`](Self::wakeable), the pipe that interrupts
/// waiting for it.
pub(crate) struct SocketLink {
    socket: OwnedFd,
    wake: Option<Wake>,
}

struct Wake {
    woken: UnixStream,
    wake: Arc<UnixStream>,
}

impl SocketLink {
    pub(crate) fn tcp(stream: TcpStream) -> Result<SocketLink, Fault> {
        stream.set_nodelay(true).map_err(|error| Fault::Transport(error.to_string()))?;
        SocketLink::over(stream.into())
    }

    fn over(socket: OwnedFd) -> Result<SocketLink, Fault> {
        ioctl_fionbio(&socket, true).map_err(|error| Fault::Transport(error.to_string()))?;
        Ok(SocketLink { socket, wake: None })
    }

    /// Lets a [`Waker`] end waits, which takes two descriptors.
    pub(crate) fn wakeable(self) -> Result<SocketLink, Fault> {
        let pair = || -> io::Result<Wake> {
            let (woken, wake) = UnixStream::pair()?;
            woken.set_nonblocking(true)?;
            wake.set_nonblocking(true)?;
            Ok(Wake { woken, wake: Arc::new(wake) })
        };
        let wake = pair().map_err(|error| Fault::Transport(error.to_string()))?;
        Ok(SocketLink { wake: Some(wake), ..self })
    }

    /// Sends a prefix of the parts; never raises SIGPIPE, whatever process this library is part of.
    pub(crate) fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut control = SendAncillaryBuffer::default();
        Ok(sendmsg(&self.socket, parts, &mut control, SendFlags::NOSIGNAL)?)
    }

    /// For a wait together with others.
    pub(crate) fn poll_fd(&self, interest: Interest) -> PollFd<'_> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, interest.read);
        flags.set(PollFlags::OUT, interest.write);
        PollFd::new(&self.socket, flags)
    }

    /// Ends the outgoing stream.
    pub(crate) fn end(&self) -> Result<Io, Fault> {
        outcome(|| shutdown(&self.socket, Shutdown::Write).map(|()| 1).map_err(io::Error::from))
    }

    /// Reads and drops what the peer still sends; `Gone` when it has ended, too. Closing a socket with
    /// unread bytes resets the connection, and a reset can overtake the last frame.
    pub(crate) fn drain(&mut self) -> Result<Io, Fault> {
        let mut waste = [0; 16 << 10];
        // A peer that sends without end does not keep the caller from looking at the clock.
        for _ in 0..64 {
            match self.read(&mut [IoSliceMut::new(&mut waste)])? {
                Io::Moved(_) => {}
                stop => return Ok(stop),
            }
        }
        Ok(Io::Blocked)
    }
}

impl Link for SocketLink {
    fn write(&mut self, first: &[u8], second: &[u8]) -> Result<Io, Fault> {
        outcome(|| self.send(&[IoSlice::new(first), IoSlice::new(second)]))
    }

    fn read(&mut self, parts: &mut [IoSliceMut<'_>]) -> Result<Io, Fault> {
        outcome(|| Ok(readv(&self.socket, parts)?))
    }

    fn wait(&mut self, interest: Interest, limit: Duration) -> Result<(), Fault> {
        let Some(Wake { woken: bell, .. }) = &self.wake else {
            return poll_for(&mut [self.poll_fd(interest)], limit);
        };
        let wake = PollFd::new(bell, PollFlags::IN);
        // A socket polled for nothing still reports a hang-up, at once and for ever.
        let woken = if interest == (Interest { read: false, write: false }) {
            let mut fds = [wake];
            poll_for(&mut fds, limit)?;
            !fds[0].revents().is_empty()
        } else {
            let mut fds = [wake, self.poll_fd(interest)];
            poll_for(&mut fds, limit)?;
            !fds[0].revents().is_empty()
        };
        if woken {
            // Drained, so that an abort after the cancellation does not spin.
            let _ = (&*bell).read(&mut [0; 64]);
        }
        Ok(())
    }

    fn waker(&self) -> Waker {
        let wake = self.wake.as_ref().map(|it| Arc::clone(&it.wake));
        // A full pipe wakes as well as one byte more.
        Arc::new(move || drop(wake.as_deref().map(|mut wake| wake.write(&[1]))))
    }

    fn finish(&mut self, limit: Duration) {
        let limit = Limit::of(limit);
        if self.end() != Ok(Io::Moved(1)) {
            return;
        }
        while !limit.is_over() && self.drain() == Ok(Io::Blocked) {
            if self.wait(Interest { read: true, write: false }, limit.left()).is_err() {
                return;
            }
        }
    }
}

/// Sorts the result of a socket call.
pub(crate) fn outcome(mut call: impl FnMut() -> io::Result<usize>) -> Result<Io, Fault> {
    use io::ErrorKind as Kind;
    loop {
        let error = match call() {
            Ok(0) => return Ok(Io::Gone),
            Ok(n) => return Ok(Io::Moved(n)),
            Err(error) => error,
        };
        return match error.kind() {
            Kind::Interrupted => continue,
            Kind::WouldBlock => Ok(Io::Blocked),
            Kind::BrokenPipe | Kind::ConnectionReset | Kind::ConnectionAborted => Ok(Io::Gone),
            Kind::UnexpectedEof | Kind::NotConnected => Ok(Io::Gone),
            _ => Err(Fault::Transport(error.to_string())),
        };
    }
}

/// Waits until one of them is ready or time is up.
pub(crate) fn poll_for(fds: &mut [PollFd<'_>], limit: Duration) -> Result<(), Fault> {
    let limit = Timespec::try_from(limit).ok();
    match poll(fds, limit.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(Fault::Transport(format!("poll: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_that_is_lost_does_not_end_the_wait() {
        let met = |errnos: &[Errno]| {
            let mut errors = errnos.iter().map(|errno| io::Error::from(*errno));
            next_caller(|| Err(errors.next().unwrap_or(Errno::AGAIN.into())))
        };
        assert!(matches!(met(&CALLER_LOST), Ok(Arrival::Nobody)));
        for errno in NO_ROOM {
            assert!(matches!(met(&[errno]), Ok(Arrival::NoRoom(_))));
        }
        assert!(met(&[Errno::BADF]).is_err());
    }
}
