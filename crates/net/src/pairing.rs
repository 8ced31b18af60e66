//! Pairing over the network: two owners get each other's certificate, and make sure of it by reading a code of
//! twelve digits to each other over the telephone.
//!
//! Papers: Vaudenay, "Secure Communications over Insecure Channels Based on Short Authenticated Strings",
//! CRYPTO 2005 (commit, then reveal, then compare); in the three messages of Laur, Nyberg, "Efficient Mutual Data
//! Authentication Using Manually Authenticated Strings", CANS 2006 (MANA IV), as Bluetooth's numeric comparison
//! has them.
//! Roles here / in the papers: listener / Alice, who commits; connector / Bob.
//! Before it: TLS 1.3 in which each side shows a certificate that the other does not know, and proves that it has
//! its key. So both certificates are fixed before the first message. `s` is 32 bytes of keying material of that
//! connection.
//! Messages: listener -> connector: commitment to its nonce N_L, with both certificates; connector -> listener:
//! its nonce N_C; listener -> connector: N_L. Nonces are 32 fresh bytes. `code(x) = H(s, version, certificate of
//! the listener, of the connector, N_L, N_C, x) mod 10^12`; each side shows the code with its own role for x, and
//! its owner types the one that the other owner reads. What is to be typed is on no screen of this side: nobody
//! can confirm without having talked to the other.
//! Adversary: malicious, on the line, in between, or calling in place of either; the owners know each other's
//! voice (what they say may be heard, not changed). Model: random oracle.
//! Bound: an attempt makes a given owner keep another certificate than the other owner's with probability 10^-12,
//! and either of them with 2 x 10^-12 < 2^-38; an attempt is a run of the command that got to the nonces.
//! Argument: each honest side reveals its nonce when all else that goes into its codes is fixed: the listener has
//! N_C, the connector has the commitment, which is binding. Let the codes of the two sides be of different inputs,
//! as they are if certificates differ, and look at the side that reveals its nonce last. The code on the other's
//! screen is determined by then, and the one expected here is the answer of the oracle at a place that nobody
//! could ask about without guessing 32 bytes: it is the same with probability 10^-12, however much was computed
//! before. Likewise with here and there exchanged. Who computes after it can change nothing that is hashed.
//! Attempts: the side that goes on by itself is the one that commits. What a caller learns before it has sent its
//! nonce hides N_L, so it is turned away and was no attempt; with its nonce the wait is over, the codes stand on the
//! screen and no other caller is heard. If the connector committed, somebody in between could call a listener again
//! and again, and hang up whenever the codes differ. Nor does a connector that was let in call again: an owner has
//! to start it.
//! Checks: `pair.commitment` - N_L is what was committed to - before a code is shown. Catches a listener that picks
//! N_L after N_C, by trial, so that the codes are as it likes.
//! Private values: N_L until the connector's nonce is there - in the commitment, hidden by its own 32 bytes. No
//! other: certificates, nonces and codes are public, and knowing a code helps nobody to put it on another screen.
//! Abort: refusing is the abort frame, accepting a frame of its own; each side's decision rests on what its own
//! owner typed, and what the other decided is news, no more. No second try on one connection.
//! Cost: three messages of 32 bytes beside TLS, and an empty frame each way once the owners have typed.
//! Differences from the papers: certificates travel in TLS, ahead of the commitment; two codes, one for each
//! direction, in place of one that both compare. Status: not audited.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use cenote_prim::commit::{Commitment, Nonce, commit, opens};
use cenote_prim::{RandomOracle, SessionId, os_bytes};

use crate::limit::Limit;
use crate::tls::{self, Expected, HANDSHAKE_LIMIT, Met};
use crate::{
    Channel, DEFAULT_IDLE_LIMIT, Fault, Fingerprint, Identity, Listener, PROTOCOL_VERSION,
    PeerCertificate, Tag,
};

/// The listener's commitment to its nonce: 32 bytes.
const COMMIT: Tag = Tag::new(28, "pair.commit");
/// The connector's nonce: 32 bytes.
const NONCE: Tag = Tag::new(29, "pair.nonce");
/// The listener's nonce, which opens its commitment: 32 bytes.
const OPEN: Tag = Tag::new(30, "pair.open");
/// The owner of the sender typed the right code; empty.
const ACCEPTED: Tag = Tag::new(31, "pair.accepted");

/// How long the other owner may take to type the code after this one has: they are on the telephone.
const OWNERS_TALK: Duration = Duration::from_secs(15 * 60);
/// The name of the commitment.
const LABEL: &str = "pairing";
/// Digits of a code.
const DIGITS: usize = 12;

/// Twelve digits that one owner reads to the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code(u64);

impl Code {
    /// What an owner typed: twelve digits, with spaces and hyphens as they like.
    fn typed(text: &str) -> Option<Code> {
        let is_digit = |c: &char| !(c.is_whitespace() || *c == '-');
        let digits: String = text.chars().filter(is_digit).collect();
        let complete = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
        complete.then(|| digits.parse().ok().map(Code)).flatten()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = |place: u64| self.0 / place % 10_000;
        write!(f, "{:04} {:04} {:04}", group(100_000_000), group(10_000), group(1))
    }
}

/// What a side knows of the two ends of its connection before the first message.
#[derive(Clone)]
struct Ends {
    session: SessionId,
    listener: Fingerprint,
    connector: Fingerprint,
}

/// Whose screen a code is on.
#[derive(Clone, Copy)]
enum End {
    Listener,
    Connector,
}

/// The code on this side's screen, and the one that is on the other's.
struct Codes {
    shown: Code,
    expected: Code,
}

impl Ends {
    /// The ends of `channel`, at which this side is `own`.
    fn of(channel: &Channel, own: End) -> Result<Ends, Fault> {
        let binding = channel.binding.as_ref();
        let binding = binding.ok_or_else(|| Fault::Internal("pairing without TLS".into()))?;
        let (listener, connector) = match own {
            End::Listener => (binding.own, binding.peer),
            End::Connector => (binding.peer, binding.own),
        };
        Ok(Ends { session: SessionId(*binding.exported), listener, connector })
    }

    /// All that is fixed, for the commitment.
    fn bytes(&self) -> Vec<u8> {
        [&[PROTOCOL_VERSION][..], &self.listener.0, &self.connector.0].concat()
    }

    fn code(&self, listener: &Nonce, connector: &Nonce, screen: End) -> Code {
        let oracle = RandomOracle::new("cenote 2026 net pairing code v1", &self.session);
        let oracle = oracle.bytes(&self.bytes()).bytes(listener).bytes(connector);
        // 2^128 is so many times 10^12 that the remainder is uniform.
        let number = oracle.number(screen as u64).block().to_u128() % 10u128.pow(DIGITS as u32);
        Code(number as u64)
    }
}

/// The listener between its commitment and the connector's nonce.
struct Committer {
    ends: Ends,
    nonce: Nonce,
}

impl Committer {
    fn new(ends: Ends, nonce: Nonce) -> (Committer, Commitment) {
        let commitment = commit(&ends.session, LABEL, &ends.bytes(), &nonce);
        (Committer { ends, nonce }, commitment)
    }

    /// The opening and the codes, once the connector's nonce is there.
    fn open(self, theirs: &Nonce) -> (Nonce, Codes) {
        let code = |screen| self.ends.code(&self.nonce, theirs, screen);
        (self.nonce, Codes { shown: code(End::Listener), expected: code(End::Connector) })
    }
}

/// The connector between its nonce and the listener's opening.
struct Replier {
    ends: Ends,
    commitment: Commitment,
    nonce: Nonce,
}

impl Replier {
    fn finish(self, opening: &Nonce) -> Result<Codes, Fault> {
        let Replier { ends, commitment, nonce } = self;
        if !opens(&commitment, &ends.session, LABEL, &ends.bytes(), opening) {
            return Err(Fault::Misbehaved("pair.commitment"));
        }
        let code = |screen| ends.code(opening, &nonce, screen);
        Ok(Codes { shown: code(End::Connector), expected: code(End::Listener) })
    }
}

/// A connection to somebody who may be the peer: its owner has to say so.
pub struct Pairing {
    channel: Channel,
    peer: PeerCertificate,
    codes: Codes,
}

/// Waits up to `limit` for a caller that takes part in a pairing, and listens no longer. Who calls and sends
/// nothing, or anything else, is turned away, at the latest after 10 s, and `turned_away` is told.
///
/// # Errors
/// `Transport` when nobody came in time, or the caller was gone before it had this side's nonce; `Internal`.
pub fn pair_accept(
    listener: Listener,
    identity: &Identity,
    limit: Duration,
    mut turned_away: impl FnMut(SocketAddr, &Fault),
) -> Result<Pairing, Fault> {
    let (limit, expected) = (Limit::of(limit), Expected::Unknown(identity.fingerprint()));
    loop {
        let (met, address) =
            tls::accept(&listener, identity, expected.clone(), limit, &mut turned_away)?;
        let Met { mut channel, peer } = met;
        let ends = Ends::of(&channel, End::Listener)?;
        let (committer, commitment) = Committer::new(ends, fresh());
        match ask(&mut channel, &commitment) {
            Ok(theirs) => return open(channel, peer, committer, &theirs),
            Err(fault) => turned_away(address, &fault),
        }
    }
}

/// The nonce of whoever called, who has learned nothing but the commitment before.
fn ask(channel: &mut Channel, commitment: &Commitment) -> Result<Nonce, Fault> {
    hurry(channel);
    channel.send(COMMIT, &commitment.0)?;
    receive(channel, NONCE)
}

fn open(
    mut channel: Channel,
    peer: PeerCertificate,
    committer: Committer,
    theirs: &Nonce,
) -> Result<Pairing, Fault> {
    let (opening, codes) = committer.open(theirs);
    channel.send(OPEN, &opening)?;
    channel.flush()?;
    Ok(Pairing::new(channel, peer, codes))
}

/// Calls a listener at `address` (`host:port`) to pair with whoever is there; tries for up to `timeout` to be
/// let in, as [`tls_connect`](crate::tls_connect) does.
///
/// # Errors
/// Those of [`tls_connect`](crate::tls_connect), except that any certificate will do but this side's own;
/// `Misbehaved("pair.commitment")`.
pub fn pair_connect(
    address: &str,
    identity: &Identity,
    timeout: Duration,
) -> Result<Pairing, Fault> {
    let expected = Expected::Unknown(identity.fingerprint());
    let Met { mut channel, peer } = tls::call(address, identity, expected, timeout)?;
    let ends = Ends::of(&channel, End::Connector)?;
    let codes = reply(&mut channel, ends, fresh());
    let codes = codes.inspect_err(|_| channel.abort())?;
    Ok(Pairing::new(channel, peer, codes))
}

fn reply(channel: &mut Channel, ends: Ends, nonce: Nonce) -> Result<Codes, Fault> {
    hurry(channel);
    let commitment = Commitment(receive(channel, COMMIT)?);
    channel.send(NONCE, &nonce)?;
    let replier = Replier { ends, commitment, nonce };
    replier.finish(&receive(channel, OPEN)?)
}

/// No person is waited for yet.
fn hurry(channel: &mut Channel) {
    channel.set_idle_limit(HANDSHAKE_LIMIT);
    channel.set_work_limit(HANDSHAKE_LIMIT);
}

fn receive(channel: &mut Channel, tag: Tag) -> Result<[u8; 32], Fault> {
    let mut payload = [0; 32];
    channel.recv_into(tag, &mut payload)?;
    Ok(payload)
}

fn fresh() -> Nonce {
    let mut nonce = [0; 32];
    os_bytes(&mut nonce);
    nonce
}

impl Pairing {
    fn new(mut channel: Channel, peer: PeerCertificate, codes: Codes) -> Pairing {
        channel.set_idle_limit(DEFAULT_IDLE_LIMIT);
        channel.set_work_limit(OWNERS_TALK);
        Pairing { channel, peer, codes }
    }

    /// The fingerprint of whoever is there.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.peer.fingerprint()
    }

    /// The code that this side's owner reads to the other.
    #[must_use]
    pub fn code(&self) -> Code {
        self.codes.shown
    }

    /// Takes what this side's owner typed: the code that the other owner reads, spaces and hyphens aside.
    /// There is no second try.
    ///
    /// # Errors
    /// `Policy` when it is not the code on the screen of whoever is there, who is told that this side refuses.
    pub fn confirm(mut self, typed: &str) -> Result<Confirmed, Fault> {
        // One comparison of two numbers: how much of a wrong code is right takes no time to tell.
        if Code::typed(typed) != Some(self.codes.expected) {
            self.channel.abort();
            return Err(Fault::Policy(
                "this is not the code on the other screen: it was mistyped, or it is the code of this \
                 screen, or somebody is in between; nothing was kept. Start again on both sides; if it \
                 happens again, do not pair over this line"
                    .into(),
            ));
        }
        Ok(Confirmed { channel: self.channel, peer: self.peer })
    }

    /// Ends it without a decision of the owner; the other side is told that this one refuses.
    pub fn refuse(mut self) {
        self.channel.abort();
    }
}

/// A peer whose certificate is the other owner's: [`Pairing::confirm`] alone makes one.
pub struct Confirmed {
    channel: Channel,
    peer: PeerCertificate,
}

impl Confirmed {
    /// The certificate to keep.
    #[must_use]
    pub fn peer(&self) -> &PeerCertificate {
        &self.peer
    }

    /// Tells the other side, and waits up to 15 min for its owner to have typed the code.
    ///
    /// # Errors
    /// `PeerAborted` when that owner refused; `Transport` when the other side is gone or silent; `Misbehaved`.
    pub fn conclude(mut self) -> Result<(), Fault> {
        let heard = self.channel.send(ACCEPTED, &[]);
        let heard = heard.and_then(|()| self.channel.recv(ACCEPTED, 0));
        match heard {
            Ok(_) => self.channel.close(),
            Err(_) => self.channel.abort(),
        }
        heard.map(drop)
    }
}

#[cfg(test)]
mod tests;
