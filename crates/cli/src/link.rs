//! The connection to the peer, as the command line describes it.

use std::time::{Duration, Instant};

use cenote_net::{
    Channel, Fault, Identity, Listener, PeerCertificate, Shape, tcp_accept, tcp_connect,
    tls_accept, tls_connect,
};

use crate::exit::Failure;
use crate::output;

/// Which end of the connection this side is.
pub(crate) enum End {
    Accept(Listener),
    Connect(String),
}

/// What protects the connection.
pub(crate) enum Protection {
    /// Nothing.
    Plain,
    /// TLS 1.3 with both certificates pinned.
    Tls(Box<(Identity, PeerCertificate)>),
}

/// Opens the channel, waiting up to `patience` for the peer.
pub(crate) fn open(
    end: &End,
    protection: &Protection,
    patience: Duration,
    shape: Option<Shape>,
) -> Result<Channel, Failure> {
    let mut channel = match (end, protection) {
        (End::Accept(listener), Protection::Plain) => tcp_accept(listener, patience)?,
        (End::Connect(address), Protection::Plain) => tcp_connect(address, patience)?,
        (End::Accept(listener), Protection::Tls(pins)) => accept_pinned(listener, pins, patience)?,
        (End::Connect(address), Protection::Tls(pins)) => {
            tls_connect(address, &pins.0, &pins.1, patience)?
        }
    };
    if let Some(shape) = shape {
        channel.shape(shape)?;
    }
    Ok(channel)
}

/// Accepts until a caller speaks TLS or the time is up: a port scan must not end the wait for the
/// peer. A caller with another certificate ends it, because that is what a wrong set-up looks like.
fn accept_pinned(
    listener: &Listener,
    (identity, peer): &(Identity, PeerCertificate),
    patience: Duration,
) -> Result<Channel, Fault> {
    let deadline = Instant::now() + patience;
    let mut strangers = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let fault = match tls_accept(listener, identity, peer, left) {
            Err(fault @ (Fault::Transport(_) | Fault::Misbehaved(_))) => fault,
            result => return result,
        };
        if Instant::now() >= deadline {
            return Err(if strangers == 0 { fault } else { nobody(listener, patience, strangers) });
        }
        strangers += 1;
        output::note(&format!("note: turned a caller away: {fault}"));
    }
}

fn nobody(listener: &Listener, patience: Duration, strangers: u32) -> Fault {
    let (address, patience) = (listener.address(), patience.as_secs());
    Fault::Transport(format!(
        "no peer came to {address} within {patience} s; callers turned away: {strangers}"
    ))
}
