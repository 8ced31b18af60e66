//! The connection to the peer, as the command line describes it.

use std::net::SocketAddr;
use std::time::Duration;

use cenote_net::{
    Channel, Fault, Identity, Listener, PeerCertificate, Shape, tcp_accept, tcp_connect,
    tls_accept, tls_connect,
};

use crate::exit::Failure;
use crate::output;

/// Callers who were turned away and of whom a line is said: a flood of them fills no log.
const MOST_NOTES: u32 = 10;

/// Which end of the connection this side is.
pub(crate) enum End {
    Accept(Listener),
    Connect(String),
}

/// The protection of the connection.
pub(crate) enum Protection {
    /// Nothing.
    Plain,
    /// TLS 1.3 with both certificates pinned.
    Tls(Box<(Identity, PeerCertificate)>),
}

/// Opens the channel, waiting up to `timeout` for the peer. Nobody listens any more after that.
pub(crate) fn open(
    end: End,
    protection: &Protection,
    timeout: Duration,
    shape: Option<Shape>,
) -> Result<Channel, Failure> {
    let mut channel = match (end, protection) {
        (End::Accept(listener), Protection::Plain) => tcp_accept(&listener, timeout)?,
        (End::Connect(address), Protection::Plain) => tcp_connect(&address, timeout)?,
        (End::Accept(listener), Protection::Tls(pins)) => {
            tls_accept(&listener, &pins.0, &pins.1, timeout, strangers())?
        }
        (End::Connect(address), Protection::Tls(pins)) => {
            tls_connect(&address, &pins.0, &pins.1, timeout)?
        }
    };
    if let Some(shape) = shape {
        channel.shape(shape)?;
    }
    Ok(channel)
}

/// Says who was turned away: a port scan, or a peer that was set up with another certificate.
fn strangers() -> impl FnMut(SocketAddr, &Fault) {
    let mut left = MOST_NOTES;
    move |address, fault| {
        if left > 0 {
            left -= 1;
            output::note(&format!("note: turned away {address}: {fault}"));
            if left == 0 {
                output::note("note: whoever else is turned away is only counted");
            }
        }
    }
}
