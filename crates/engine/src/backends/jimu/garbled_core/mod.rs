//! Garbled cores: ANDs that share one input, garbled with no circuit in mind, checked, put into
//! buckets and evaluated there.
//!
//! **Construction.** JIMU (Zhu, Huang, ASIACRYPT 2017) on POOL's pools (CCS 2017, sections 3 to 5):
//! a LEGO in which the evaluator recognises a right output label by its interactive hash, so that
//! one good member of a bucket is enough. A core of width l is POOL's MUXCORE; width 1 is an AND.
//! **Roles.** Garbler A holds L_w and p_w of every wire and Delta; evaluator B holds tags
//! of all of them. A wire of value v has masked value s = v xor p_w and active label L_w + s Delta.
//! **Core.** Wires c, x_1..x_l, o_1..o_l are hashed one after the other; o_i = c AND x_i. The number
//! of wire c names the core.
//! **Model.** H(L, w) = AES_{k(L)}(w, 0), AES_{k(L)}(w, 1), .. with k the key of a label and w the
//! number of the wire, three blocks a use; c is used l times. AES is an ideal cipher: a key meets
//! one w.
//! **Lane i:**
//! - TG = H(L_c)_i + H(L_c + Delta)_i + p_x Delta;
//! - TE = H(L_x) + H(L_x + Delta) + L_c + p_c Delta;
//! - Mk = H(L_c)_i + H(L_x) + L_o + (p_c p_x + p_o) Delta;
//! - B: Z = H(X_c)_i + s_c TG + H(X_x) + s_x (TE + X_c) + Mk = L_o + s_o Delta.
//!
//! **Solders.** A opens the difference of two wires, P_u + P_b and D = L_u + L_b + shift Delta with
//! shift = p_u + p_b + flip. From then on X + D is the active label of b and s + shift its masked
//! value. Inner solders connect the members of a bucket to its first, the base; outer ones connect
//! live wires to the base.
//! **Folding.** With D and delta of a member's solders, TE' = TE + D_c and
//! Mk' = Mk + D_o + delta_c TG + delta_x TE', the label on the base wire is Z = H(X_c + D_c)_i +
//! s_c TG + H(X_x + D_x) + s_x TE' + (s_x + delta_x) X_c + Mk': a ready bucket keeps only the keys
//! of D_c and D_x.
//! **Adversary.** Malicious garbler; an evaluator that deviates sees no more than an honest one.
//! **Checks.** [`check()`]: a core opened on random inputs is right on them; a core with a bad table
//! passes with probability at most 1/2, because the inputs on which a lane is right form an affine
//! subspace. [`inner_tags`] and [`outer_tags`]: solders are what the tags bind the garbler to. The
//! caller names the faults, and uses nothing before its check.
//! **Private values.** Values of wires: masked by p. The other label of a wire: no core that is
//! checked is used, and a solder shows the active label's shift, never Delta. What bad members
//! output is never reported: a label without a tag is skipped, in constant time; of labels with a tag
//! the one that most members output counts. Both labels of one wire give the evaluator Delta
//! ([`Conflict`]), of which the garbler must not learn (`escrow.rs`).
//! **Costs.** A: 4 keys, 12 blocks and 3 labels of tables an AND; B: 2 keys and 6 blocks an AND and
//! member; one solder for each wire of every member but the base.
//! **Difference from the papers.** The hash of c is drawn once for all lanes; solders are folded
//! into the tables of a bucket before it is used.

mod bucket;
mod check;
#[cfg(test)]
pub(crate) mod dealer;
mod evaluate;
mod garble;
mod hashes;
mod solder;
#[cfg(test)]
mod tests;

pub use bucket::{Members, base_tags, fold, inner_len, inner_solders, inner_tags, ready_blocks};
pub use check::{Checked, check, open_for_check};
pub use evaluate::{Active, Conflict, Evaluation, Pair};
pub use garble::garble;
pub use solder::{outer_inputs, outer_solder, outer_solders, outer_tags};

/// Most lanes of a core: their differences fill half a block.
pub const MAX_WIDTH: usize = 64;

/// The shape of a core. Its wires are, in order: c, the x of all lanes, the o of all lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    width: usize,
}

impl Shape {
    /// One AND.
    pub const AND: Shape = Shape { width: 1 };

    /// A core of `width` ANDs.
    ///
    /// # Panics
    /// If the width is zero or above [`MAX_WIDTH`].
    #[must_use]
    pub const fn new(width: usize) -> Shape {
        assert!(width >= 1 && width <= MAX_WIDTH);
        Shape { width }
    }

    /// ANDs of the core.
    #[must_use]
    pub const fn width(self) -> usize {
        self.width
    }

    /// Wires of the core.
    #[must_use]
    pub const fn wires(self) -> usize {
        2 * self.width + 1
    }

    /// Input wires, which are the first of all.
    #[must_use]
    pub const fn inputs(self) -> usize {
        self.width + 1
    }

    /// Blocks of the tables: three labels a lane.
    #[must_use]
    pub const fn table_blocks(self) -> usize {
        9 * self.width
    }

    /// Place of x of `lane` among the wires.
    const fn x(self, lane: usize) -> usize {
        1 + lane
    }

    /// Place of o of `lane` among the wires.
    const fn o(self, lane: usize) -> usize {
        1 + self.width + lane
    }
}
