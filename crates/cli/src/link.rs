//! The connections to the peer, as the command line describes them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cenote_job::policy;
use cenote_net::{
    Channel, Channels, Fault, Identity, Listener, PeerCertificate, Shape, tcp_accept, tcp_connect,
    tls_accept, tls_connect,
};

use crate::output;

/// Callers who were turned away and of whom a line is said: a flood of them fills no log.
const MOST_NOTES: u32 = 10;

/// Which end of the connection this side is.
pub(crate) enum End {
    Accept(Arc<Listener>),
    Connect(String),
}

/// The protection of the connection.
pub(crate) enum Protection {
    /// Nothing.
    Plain,
    /// TLS 1.3 with both certificates pinned.
    Tls { identity: Arc<Identity>, peer: PeerCertificate },
}

/// Opens the control channel, waiting up to `timeout` for the peer. The way to data channels is open until the session
/// has set itself up; a listener that nobody else holds closes then.
pub(crate) fn open(
    end: End,
    protection: Protection,
    timeout: Duration,
    shape: Option<Shape>,
) -> Result<Channels, Fault> {
    let mut control = connect(&end, &protection, timeout)?;
    if let Some(shape) = shape {
        control.shape(shape)?;
    }
    Ok(Channels::new(control, move |_| connect(&end, &protection, policy::DATA_CHANNEL_COMES)))
}

fn connect(end: &End, protection: &Protection, timeout: Duration) -> Result<Channel, Fault> {
    match (end, protection) {
        (End::Accept(listener), Protection::Plain) => tcp_accept(listener, timeout),
        (End::Connect(address), Protection::Plain) => tcp_connect(address, timeout),
        (End::Accept(listener), Protection::Tls { identity, peer }) => {
            tls_accept(listener, identity, peer, timeout, strangers())
        }
        (End::Connect(address), Protection::Tls { identity, peer }) => {
            tls_connect(address, identity, peer, timeout)
        }
    }
}

/// Says who was turned away: a port scan, or a peer that was set up with another certificate.
pub(crate) fn strangers() -> impl FnMut(SocketAddr, &Fault) {
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
