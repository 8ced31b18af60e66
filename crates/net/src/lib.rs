//! Bytes between the two parties: framing, limits, handshake, TCP, TLS and in-memory channels.
