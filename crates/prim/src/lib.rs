//! Local cryptography for Cenote: blocks, AES hashes, PRG, GF(2^128), transpose, random oracle, commitments.
