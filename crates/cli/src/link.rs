//! The connection to the peer, as the command line describes it.

use std::time::Duration;

use cenote_net::{
    Channel, Identity, Listener, PeerCertificate, Shape, tcp_accept, tcp_connect, tls_accept,
    tls_connect,
};

use crate::exit::Failure;

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
        (End::Accept(listener), Protection::Tls(pins)) => {
            tls_accept(listener, &pins.0, &pins.1, patience)?
        }
        (End::Connect(address), Protection::Tls(pins)) => {
            tls_connect(address, &pins.0, &pins.1, patience)?
        }
    };
    if let Some(shape) = shape {
        channel.shape(shape)?;
    }
    Ok(channel)
}
