//! Who calls at a listener: every caller has a handshake of its own, side by side with the others, and
//! the first that proves to be the peer is let in. Strangers do not keep it out, whatever they send or
//! do not send.
//!
//! One thread serves them all, the one that waits, and no connection but the peer's outlives the wait.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::{Connection, ServerConfig, ServerConnection};

use crate::Fault;
use crate::limit::Limit;
use crate::link::{Interest, Io};
use crate::tcp::{Listener, SocketLink, poll_for};
use crate::tls::{FAREWELL, HANDSHAKE_LIMIT, TlsLink, internal, unfinished};

/// Handshakes at once. With one caller more the one that came first is turned away, so that whoever
/// comes is heard: an honest handshake takes about a round trip, and only as many callers within that
/// time push it out, again and again, because the peer tries again. If the newest were turned away
/// instead, as few silent callers in each [`HANDSHAKE_LIMIT`] would keep everybody out.
const MOST_CALLERS: usize = 32;

/// Waits for the peer that `config` asks for; `note` hears of every caller that was turned away.
pub(crate) fn first_peer(
    listener: &Listener,
    config: &Arc<ServerConfig>,
    limit: Limit,
    note: &mut dyn FnMut(SocketAddr, &Fault),
) -> Result<TlsLink, Fault> {
    let mut callers = Callers {
        waiting: VecDeque::new(),
        leaving: VecDeque::new(),
        turned_away: 0,
        reason: None,
        note,
    };
    loop {
        // One a turn: however many come, those that are here go on.
        if let Some((stream, address)) = listener.accept_now()? {
            let conn = ServerConnection::new(Arc::clone(config)).map_err(internal)?;
            callers.admit(stream, address, conn.into());
        }
        if let Some(peer) = callers.go_on() {
            return Ok(peer);
        }
        if limit.is_over() {
            return Err(callers.no_peer(listener, limit));
        }
        callers.wait(listener, limit)?;
    }
}

struct Callers<'a> {
    /// Oldest first.
    waiting: VecDeque<Caller>,
    /// Turned away, as long as they may take to read why; oldest first.
    leaving: VecDeque<(SocketLink, Limit)>,
    turned_away: u64,
    /// Why somebody was turned away, preferably for who it is.
    reason: Option<Fault>,
    note: &'a mut dyn FnMut(SocketAddr, &Fault),
}

struct Caller {
    address: SocketAddr,
    link: TlsLink,
    limit: Limit,
}

impl Callers<'_> {
    fn admit(&mut self, stream: TcpStream, address: SocketAddr, conn: Connection) {
        if self.waiting.len() == MOST_CALLERS
            && let Some(oldest) = self.waiting.pop_front()
        {
            let fault = Fault::Transport(format!("{MOST_CALLERS} more came before it was done"));
            self.turn_away(oldest, fault);
        }
        match TlsLink::new(stream, conn) {
            Ok(link) => {
                self.waiting.push_back(Caller { address, link, limit: Limit::of(HANDSHAKE_LIMIT) });
            }
            Err(fault) => self.count(address, fault),
        }
    }

    /// Goes on with every handshake, as far as that needs no waiting; the first that is complete.
    fn go_on(&mut self) -> Option<TlsLink> {
        for _ in 0..self.waiting.len() {
            let mut caller = self.waiting.pop_front()?;
            match caller.link.greet_now() {
                Ok(Io::Moved(_)) => return Some(caller.link),
                Ok(Io::Blocked) if !caller.limit.is_over() => self.waiting.push_back(caller),
                Ok(stop) => self.turn_away(caller, unfinished(stop)),
                Err(fault) => self.turn_away(caller, fault),
            }
        }
        self.leaving
            .retain_mut(|(link, limit)| !limit.is_over() && link.drain() == Ok(Io::Blocked));
        None
    }

    fn turn_away(&mut self, caller: Caller, fault: Fault) {
        if self.leaving.len() == MOST_CALLERS {
            self.leaving.pop_front();
        }
        self.leaving.push_back((caller.link.hang_up(), Limit::of(FAREWELL)));
        self.count(caller.address, fault);
    }

    fn count(&mut self, address: SocketAddr, fault: Fault) {
        (self.note)(address, &fault);
        self.turned_away += 1;
        if self.reason.is_none() || matches!(fault, Fault::Policy(_)) {
            self.reason = Some(fault);
        }
    }

    /// Waits until somebody comes, says something, or has run out of time.
    fn wait(&self, listener: &Listener, limit: Limit) -> Result<(), Fault> {
        let read = Interest { read: true, write: false };
        let limits = self.waiting.iter().map(|caller| &caller.limit);
        let limits = limits.chain(self.leaving.iter().map(|(_, limit)| limit));
        let next = limits.map(Limit::left).fold(limit.left(), Duration::min);
        let waiting = self.waiting.iter().map(|caller| caller.link.poll_fd(read));
        let leaving = self.leaving.iter().map(|(link, _)| link.poll_fd(read));
        let mut fds = vec![listener.poll_fd()];
        fds.extend(waiting.chain(leaving));
        poll_for(&mut fds, next)
    }

    fn no_peer(&self, listener: &Listener, limit: Limit) -> Fault {
        let mut text = format!("no peer came to {} within {limit}", listener.address());
        if let Some(reason) = &self.reason {
            text += &format!("; callers turned away: {}, one of them: {reason}", self.turned_away);
        }
        Fault::Transport(text)
    }
}
