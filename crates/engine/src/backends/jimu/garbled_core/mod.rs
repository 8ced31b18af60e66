//! Garbled cores: small circuits of ANDs, garbled with no circuit in mind, checked, put into buckets and
//! evaluated there.
//!
//! **Construction.** JIMU (Zhu, Huang, ASIACRYPT 2017) on POOL's pools (CCS 2017, sections 3 to 5):
//! a LEGO in which the evaluator recognises a right output label by its interactive hash, so that
//! one good member of a bucket is enough. What a core computes is a value, its [`Shape`], from which all
//! that is done with it follows. Two kinds have pools: an AND, and POOL's MUXCORE, ANDs of one wire with
//! each of several others.
//! **Roles.** Garbler A holds L_w and p_w of every wire and Delta; evaluator B holds tags
//! of all of them. A wire of value v has masked value s = v xor p_w and active label L_w + s Delta.
//! **Core.** Its wires, inputs and then the outputs of its ANDs, are hashed one after the other; the number
//! of the first, n, names the core. An AND reads two operands, sums of wires: labels, masked values and p
//! add up. Operand j is hashed under w = n + j; there are not more operands than wires.
//! **Model.** H(L, w) = AES_{k(L)}(w, 0), AES_{k(L)}(w, 1), .. with k the key of a label, three blocks for
//! each AND that uses the operand. AES is an ideal cipher: a key meets one w.
//! **AND of operands l and r, output o,** with H the blocks that are its own:
//! - TG = H(L_l) + H(L_l + Delta) + p_r Delta;
//! - TE = H(L_r) + H(L_r + Delta) + L_l + p_l Delta;
//! - Mk = H(L_l) + H(L_r) + L_o + (p_l p_r + p_o) Delta;
//! - B: Z = H(X_l) + s_l TG + H(X_r) + s_r (TE + X_l) + Mk = L_o + s_o Delta.
//!
//! B evaluates level by level: it takes the label of an output, of those of all members, before it goes
//! on with it.
//!
//! **Solders.** A opens the difference of two wires, P_u + P_b and D = L_u + L_b + shift Delta with
//! shift = p_u + p_b + flip. From then on X + D is the active label of b and s + shift its masked
//! value. Inner solders connect the members of a bucket to its first, the base; outer ones connect
//! live wires to the base.
//! **Folding.** With D and delta of a member's solders, TE' = TE + D_l and
//! Mk' = Mk + D_o + delta_l TG + delta_r TE', the label on the base wire is Z = H(X_l + D_l) +
//! s_l TG + H(X_r + D_r) + s_r TE' + (s_r + delta_r) X_l + Mk': a ready bucket keeps only the keys
//! of D of the operands.
//! **Adversary.** Malicious garbler; an evaluator that deviates sees no more than an honest one.
//! **Checks.** [`check()`]: a core opened on random inputs is right on them. Every wire is opened, so each
//! AND is held against its own operands; those on which it is right form an affine subspace, so that a bad
//! one shows with probability [`Shape::detection`] at least, 1/2 where operands are independent bits.
//! [`inner_tags`] and [`outer_tags`]: solders are what the tags bind the garbler to. The caller names the
//! faults, and uses nothing before its check.
//! **Private values.** Values of wires: masked by p. The other label of a wire: no core that is
//! checked is used, and a solder shows the active label's shift, never Delta. What bad members
//! output is never reported: a label without a tag is skipped, in constant time; of labels with a tag
//! the one that most members output counts. Both labels of one wire give the evaluator Delta
//! ([`Conflict`]), of which the garbler must not learn (docs/protocols/jimu.md).
//! **Costs.** A: 4 keys, 12 blocks and 3 labels of tables an AND; B: 2 keys and 6 blocks an AND and
//! member, fewer keys where ANDs share an operand; one solder for each wire of every member but the base.
//! **Difference from the papers.** A key is set up once for all uses of an operand; solders are folded
//! into the tables of a bucket before it is used.

mod bucket;
mod check;
#[cfg(test)]
pub(crate) mod dealer;
mod evaluate;
mod garble;
mod hashes;
mod shape;
mod solder;
#[cfg(test)]
mod tests;

pub use bucket::{Members, base_tags, fold, inner_len, inner_solders, inner_tags, ready_blocks};
pub use check::{Checked, check, open_for_check};
pub use evaluate::{Active, Conflict, Evaluation, Pair};
pub use garble::garble;
pub use shape::Shape;
pub use solder::{outer_inputs, outer_solder, outer_solders, outer_tags};
