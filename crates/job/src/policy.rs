//! What holds when an owner has said nothing else, in one place.

use std::time::Duration;

use cenote_engine::cost::Link;

/// The line between two organisations that prices and limits are for.
pub const PEER_LINK: Link = Link::LAN;

/// The line between two processes of one machine.
pub const LOCAL_LINK: Link = Link::LOOPBACK;

/// How long a party waits for its peer to come.
pub const PEER_COMES: Duration = Duration::from_secs(60);

/// How long a party waits for a data channel of a peer that is there.
pub const DATA_CHANNEL_COMES: Duration = Duration::from_secs(20);

/// How long the peer may stay silent: its machine or the line is dead then.
pub const PEER_SILENT: Duration = Duration::from_secs(60);

/// How long the peer may compute between two messages, saying only that it is there.
pub const PEER_WORKS: Duration = Duration::from_secs(86_400);
