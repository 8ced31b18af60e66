//! Who calls at a listener: every caller has a handshake of its own, side by side with the others, and
//! the first that proves to be the peer is let in. Strangers do not keep it out, whatever they send or
//! do not send.
//!
//! One thread serves them all, the one that waits, and no connection but the peer's outlives the wait.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::{Connection, ServerConfig, ServerConnection};

use crate::Fault;
use crate::limit::Limit;
use crate::link::{Interest, Io};
use crate::tcp::{Arrival, Listener, RETRY, SocketLink, poll_for};
use crate::tls::{FAREWELL, HANDSHAKE_LIMIT, TlsLink, internal, unfinished};

/// Handshakes at once. With one caller more another is turned away, so that whoever comes is heard; if
/// the newest were, as few silent callers in each [`HANDSHAKE_LIMIT`] would keep everybody out. First to
/// go is who sent no ClientHello yet, then who has the most company from its own network, then the
/// oldest. So silent callers never push out a peer whose ClientHello, the first thing it sends, was
/// answered; that takes as many others who send one, from as many networks, within the round trip that is
/// left, or fewer if some come from the peer's own network. The peer tries again.
const MOST_CALLERS: usize = 32;

/// Waits for the peer that `config` asks for, and says where it called from; `note` hears of every caller that was turned away.
pub(crate) fn first_peer(
    listener: &Listener,
    config: &Arc<ServerConfig>,
    limit: Limit,
    note: &mut dyn FnMut(SocketAddr, &Fault),
) -> Result<(TlsLink, SocketAddr), Fault> {
    let mut callers = Callers {
        waiting: VecDeque::new(),
        leaving: VecDeque::new(),
        turned_away: 0,
        reason: None,
        shortage: None,
        note,
    };
    loop {
        // One a turn: however many come, those that are here go on.
        match listener.accept_now()? {
            Arrival::Caller(stream, address) => {
                let conn = ServerConnection::new(Arc::clone(config)).map_err(internal)?;
                callers.admit(stream, address, conn.into());
            }
            Arrival::Nobody => {}
            Arrival::NoRoom(error) => callers.make_room(error, limit),
        }
        if let Some(peer) = callers.go_on() {
            // Their descriptors may be the last.
            drop(callers);
            return Ok((peer.link.wakeable()?, peer.address));
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
    /// Why somebody could not even be accepted.
    shortage: Option<io::Error>,
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
            && let Some(caller) = self.first_to_go()
        {
            self.turn_away(caller, too_many());
        }
        match TlsLink::new(stream, conn) {
            Ok(link) => {
                self.waiting.push_back(Caller { address, link, limit: Limit::of(HANDSHAKE_LIMIT) });
            }
            Err(fault) => self.count(address, fault),
        }
    }

    /// Takes out the caller that makes room for another; see [`MOST_CALLERS`].
    fn first_to_go(&mut self) -> Option<Caller> {
        let company = |caller: &Caller| {
            let own = network(caller.address);
            self.waiting.iter().filter(|other| network(other.address) == own).count()
        };
        let rank = |caller: &Caller| (caller.link.has_answered(), Reverse(company(caller)));
        let first = self.waiting.iter().enumerate().min_by_key(|(_, caller)| rank(caller));
        let place = first?.0;
        self.waiting.remove(place)
    }

    /// Nobody can be accepted, for this reason: ends a connection or, if there is none, waits a little.
    fn make_room(&mut self, shortage: io::Error, limit: Limit) {
        self.shortage = Some(shortage);
        if self.leaving.pop_front().is_some() {
            return;
        }
        if let Some(caller) = self.first_to_go() {
            self.turn_away(caller, too_many());
            self.leaving.clear();
        } else {
            std::thread::sleep(limit.left().min(RETRY));
        }
    }

    /// Goes on with every handshake, as far as that needs no waiting; the first that is complete.
    fn go_on(&mut self) -> Option<Caller> {
        for _ in 0..self.waiting.len() {
            let mut caller = self.waiting.pop_front()?;
            match caller.link.greet_now() {
                Ok(Io::Moved(_)) => return Some(caller),
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
        let mut text = listener.nobody_came(limit, self.shortage.as_ref());
        if let Some(reason) = &self.reason {
            text += &format!("; callers turned away: {}, one of them: {reason}", self.turned_away);
        }
        Fault::Transport(text)
    }
}

fn too_many() -> Fault {
    Fault::Transport("too many others called before it was done".into())
}

/// Returns the part of the address that callers of one place share: all of it, save the second half
/// in IPv6, which is a caller's to choose.
fn network(address: SocketAddr) -> IpAddr {
    match address.ip().to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
        ip => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_or_half_of_one() {
        let of = |ip: &str| network(SocketAddr::new(ip.parse().unwrap(), 7700));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:2:3:4"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        // At a listener of both kinds.
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("::ffff:192.0.2.1"), of("::ffff:192.0.2.2"));
    }
}
