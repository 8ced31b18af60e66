//! Local cryptography: everything a party computes alone.
//!
//! [`Block`] is the unit of all protocols: 128 bits that are an AES block, an element of
//! GF(2^128), a wire label or a MAC. Around it stand the fixed-key hashes ([`hash`]), the re-keyed
//! garbling hash ([`mitccrh`]) with the gates under it ([`half_gates`]), the pseudorandom generator ([`Prg`], or many of them at once, [`streams`]), universal hashing over
//! GF(2^128) ([`gf128`]), bit-matrix transposition ([`transpose`]), the random oracle
//! ([`RandomOracle`]), commitments ([`commit`]) and Merkle trees ([`merkle`]). Reed-Solomon codes
//! over small fields ([`field`]) work on many words side by side ([`planes`], [`columns`]), drawn
//! from many seeds ([`seeds`], [`keyed`]). Arrays are read and written at many places, or a secret one, by [`places`]. [`Workers`] are threads that share such work. The names of the two parties ([`Role`], [`Receivers`]) are
//! here as well, below everything that speaks of them.
//!
//! This is the only crate of the workspace with `unsafe` code: each SIMD kernel stands beside a
//! portable one, is chosen at run time by what the processor has ([`simd`]), and is tested against
//! it.
//!
//! Its users are the protocols: `net`, `ot`, `pool` and `engine`. Start with [`Block`], [`Prg`] and
//! [`RandomOracle`], whose labels docs/protocols/labels.md lists; what is secret lies in a [`Secret`], which wipes
//! itself.

pub mod aes;
pub mod bits;
mod block;
pub mod columns;
pub mod commit;
pub mod field;
pub mod gf128;
mod growing;
pub mod half_gates;
pub mod hash;
pub mod keyed;
mod memory;
pub mod merkle;
pub mod mitccrh;
mod oracle;
pub mod places;
pub mod planes;
mod prg;
mod random;
mod role;
mod secret;
pub mod seeds;
pub mod simd;
pub mod streams;
pub mod transpose;
mod workers;

pub use block::Block;
pub use growing::Growing;
pub use memory::{keep_freed_memory, prefer_large_pages};
pub use oracle::{RandomOracle, SessionId};
pub use prg::Prg;
pub use random::{os_block, os_bytes};
pub use role::{Receivers, Role};
pub use secret::{Secret, wipe_stack, zeroize_to_fit};
pub use simd::prefetch;
pub use workers::{Task, Workers};

#[cfg(target_endian = "big")]
compile_error!("blocks are bytes in little-endian order");
