//! Bytes between the two parties: framing, limits, handshake, pairing, channels over TCP, TLS, socket pairs
//! and memory.
//!
//! A protocol sees a [`Channel`]: blocking, typed frames that are length-checked before memory is
//! allocated, counted by phase, and free of deadlock when both sides send at once. Nothing that the
//! peer sends makes it panic, hang for longer than the idle limit, or allocate beyond its limits.
//!
//! Protocols (`ot`, `engine`) send and receive on a channel that they are given; commands make it. Start with
//! [`mem_pair`] in a test and [`tcp_connect`] or [`tls_connect`] elsewhere ([`pair_connect`] gets the certificate that
//! TLS asks for), then [`Handshake`], after which both
//! sides know that they agree. Whatever fails is a [`Fault`].
#![deny(missing_docs)]

mod alive;
mod binding;
mod callers;
mod channel;
mod channels;
mod counters;
mod fault;
mod frame;
mod handshake;
mod identity;
mod inbox;
mod limit;
mod link;
mod mem;
mod pairing;
mod replay;
mod route;
mod shape;
mod tap;
mod tcp;
mod tls;

pub use cenote_prim::Role;
pub use channel::{Channel, DEFAULT_IDLE_LIMIT, DEFAULT_WORK_LIMIT};
pub use channels::Channels;
pub use counters::{Counters, Phase, Traffic};
pub use fault::Fault;
pub use frame::{FrameHeader, HEADER_LEN, MAX_FRAME, Tag, decode_frame_header};
pub use handshake::{
    Agreed, BOUND_LEN, Handshake, Hello, MAX_HELLO, PROTOCOL_VERSION, decode_hello, encode_hello,
};
pub use identity::{CERTIFICATE_FILE, Fingerprint, Identity, KEY_FILE, PeerCertificate, Validity};
pub use link::Canceller;
pub use mem::{mem_channels, mem_pair};
pub use pairing::{Code, Confirmed, Pairing, pair_accept, pair_connect};
#[doc(hidden)]
pub use replay::replay;
pub use route::{MAX_ROUTE, recv_route, send_route};
pub use shape::Shape;
pub use tap::{
    Deviation, Direction, Fate, Outgoing, RecordedFrame, Recording, TranscriptDigest, Witness,
};
pub use tcp::{Listener, tcp_accept, tcp_connect, tcp_listen, unix_channel};
pub use tls::{tls_accept, tls_accept_any, tls_connect, tls_connect_any};
