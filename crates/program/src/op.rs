//! The operations of a module, and the statements and blocks that are made of them.

use crate::shape::Shape;

/// Number of a value within its function, in the order in which values come to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub(crate) u32);

impl ValueId {
    /// Its number.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Number of a function within its module; a function calls earlier ones only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub(crate) u32);

/// The counter of an enclosing loop; 0 is the outermost of its function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoopVar(pub(crate) u32);

/// A public position: a constant and a multiple of each of some loop counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affine {
    /// The position in the first iteration of all loops.
    pub constant: i64,
    /// Loop counters, in rising order, with their non-zero factors.
    pub terms: Vec<(LoopVar, i64)>,
}

impl Affine {
    /// The same position in every iteration.
    #[must_use]
    pub const fn at(constant: i64) -> Affine {
        Affine { constant, terms: Vec::new() }
    }

    /// `factor` positions further in every iteration of a loop.
    #[must_use]
    pub fn plus(mut self, var: LoopVar, factor: i64) -> Affine {
        match self.terms.iter_mut().find(|(known, _)| *known == var) {
            Some((_, known)) => *known = known.saturating_add(factor),
            None => self.terms.push((var, factor)),
        }
        self.terms.retain(|(_, factor)| *factor != 0);
        self.terms.sort_unstable_by_key(|(var, _)| *var);
        self
    }

    /// The same position written in the one way that modules have it.
    pub(crate) fn in_order(self) -> Affine {
        let start = Affine::at(self.constant);
        self.terms.into_iter().fold(start, |at, (var, factor)| at.plus(var, factor))
    }

    /// The position, given the counters of the loops around it.
    pub(crate) fn position(&self, counters: &[u32]) -> usize {
        let moved = self.terms.iter().map(|(var, factor)| {
            factor * i64::from(counters.get(var.0 as usize).copied().unwrap_or(0))
        });
        usize::try_from(self.constant + moved.sum::<i64>()).unwrap_or(usize::MAX)
    }

    /// The smallest and the largest position, given the trips of the loops; `None` if too far out.
    pub(crate) fn range(&self, trips: &[u32]) -> Option<(i64, i64)> {
        let (mut low, mut high) = (self.constant, self.constant);
        for (var, factor) in &self.terms {
            let last = i64::from(*trips.get(var.0 as usize)?) - 1;
            let reach = factor.checked_mul(last)?;
            low = low.checked_add(reach.min(0))?;
            high = high.checked_add(reach.max(0))?;
        }
        Some((low, high))
    }
}

/// A public value that is part of the module: bits lane by lane, least significant bit of a word
/// first, eight to a byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    pub(crate) shape: Shape,
    pub(crate) packed: Vec<u8>,
}

impl Constant {
    /// Packs bits that are in order of lanes, least significant first.
    pub(crate) fn new(shape: Shape, bits: &[bool]) -> Constant {
        let byte = |bits: &[bool]| {
            bits.iter().enumerate().fold(0u8, |byte, (i, bit)| byte | (u8::from(*bit) << i))
        };
        Constant { shape, packed: bits.chunks(8).map(byte).collect() }
    }

    /// Whether no bit is set.
    pub(crate) fn is_zero(&self) -> bool {
        self.packed.iter().all(|byte| *byte == 0)
    }

    /// Bit `i`.
    pub(crate) fn bit(&self, i: usize) -> bool {
        self.packed.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1)
    }

    /// The numbers in its lanes, which have at most 64 bits.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        let width = self.shape.width as usize;
        let number = move |lane: usize| {
            let bits = (0..width).map(|i| u64::from(self.bit(lane * width + i)) << i);
            bits.fold(0, |number, bit| number | bit)
        };
        (0..self.shape.lanes as usize).map(number)
    }
}

/// The operation of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A public value.
    Const(Constant),
    /// An operation on words.
    Word(WordOp, Vec<u32>),
    /// `count` lanes from `at` on, `stride` apart.
    Lanes {
        /// The first lane taken.
        at: Affine,
        /// How many lanes are taken.
        count: u32,
        /// From one lane to the next.
        stride: i64,
    },
    /// The first operand with its lanes from the position on replaced by those of the second.
    Put(Affine),
    /// The lanes named, in this order.
    Gather(Vec<u32>),
    /// Opens its operand to both parties.
    Reveal,
    /// A loop: operands are the carried values at the start, results those at the end.
    For {
        /// Iterations.
        trips: u32,
        /// Takes and gives the carried values.
        body: Block,
    },
    /// Independent iterations side by side: each takes its part of the lanes of every operand, and
    /// the results are put together the same way.
    Map {
        /// Iterations.
        trips: u32,
        /// One iteration.
        body: Block,
    },
    /// One of two blocks, chosen by a public bit.
    If {
        /// Where the bit is set.
        then: Block,
        /// Where it is not.
        otherwise: Block,
    },
    /// A call.
    Call(FunctionId),
}

/// Statements in order, with parameters and results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Parameters are numbered one after the other from here on.
    pub(crate) first_param: u32,
    pub(crate) params: u32,
    pub(crate) statements: Vec<Statement>,
    pub(crate) results: Vec<ValueId>,
    /// Values of enclosing blocks that statements of this one read.
    pub(crate) captured: Vec<ValueId>,
    /// Bits that are alive in it at once, at most, captured ones included.
    pub(crate) lane_bits: u64,
}

impl Block {
    pub(crate) fn params(&self) -> impl ExactSizeIterator<Item = ValueId> + use<> {
        (self.first_param..self.first_param + self.params).map(ValueId)
    }
}

impl Block {
    /// The numbers of its values, those of the blocks in it included.
    pub(crate) fn numbers(&self) -> std::ops::Range<usize> {
        let params = self.first_param + self.params;
        let end = self.statements.last().map_or(params, |last| last.first_result + last.results);
        self.first_param as usize..end as usize
    }
}

/// One operation on values.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub(crate) op: Op,
    pub(crate) args: Vec<ValueId>,
    /// Results are numbered one after the other from here on.
    pub(crate) first_result: u32,
    pub(crate) results: u32,
    /// Values that nothing reads after this statement (the usage count of KSS12, section 4.5).
    pub(crate) dead: Vec<ValueId>,
}

impl Statement {
    pub(crate) fn results(&self) -> impl ExactSizeIterator<Item = ValueId> + use<> {
        (self.first_result..self.first_result + self.results).map(ValueId)
    }
}

impl Statement {
    /// Whether it uses its operand at this position up: nothing reads the value afterwards, and
    /// nothing else of this statement does.
    #[must_use]
    pub fn uses_up(&self, position: usize) -> bool {
        let id = self.args[position];
        let once = self.args.iter().filter(|arg| **arg == id).count() == 1;
        let captured = match &self.op {
            Op::For { body, .. } | Op::Map { body, .. } => body.captured.contains(&id),
            Op::If { then, otherwise } => {
                then.captured.contains(&id) || otherwise.captured.contains(&id)
            }
            _ => false,
        };
        once && !captured && self.dead.binary_search(&id).is_ok()
    }
}

/// The rule of a word operation: what it takes and what it is about; see [`WordOp::rule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    /// Operands; `None` for one or more.
    pub(crate) operands: Option<usize>,
    /// Names of the attributes, in the order of the text form.
    pub(crate) attributes: &'static [&'static str],
}

macro_rules! word_ops {
    ($($(#[$doc:meta])* $variant:ident $name:literal $operands:expr, [$($attribute:literal),*];)*) => {
        /// An operation on words. Lanes are treated alike; an operand of one lane goes with all lanes
        /// of the others. Numbers wrap; `s` in a name stands for two's complement.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum WordOp { $($(#[$doc])* $variant),* }

        impl WordOp {
            /// All operations; the position is the code in the binary form.
            pub const ALL: &'static [WordOp] = &[$(WordOp::$variant),*];

            pub(crate) const fn rule(self) -> Rule {
                match self {
                    $(WordOp::$variant => Rule { name: $name, operands: $operands, attributes: &[$($attribute),*] }),*
                }
            }
        }
    };
}

word_ops! {
    /// Bits `lo..lo + width` of each word.
    Slice "slice" Some(1), ["lo", "width"];
    /// The words of all operands side by side, the first in the least significant bits.
    Concat "concat" None, [];
    /// Zeros on top, up to `width` bits.
    Zext "zext" Some(1), ["width"];
    /// Copies of the sign on top, up to `width` bits.
    Sext "sext" Some(1), ["width"];
    /// Shift to the left by a public number.
    Shl "shl" Some(1), ["by"];
    /// Shift to the right by a public number, zeros from above.
    Shr "shr" Some(1), ["by"];
    /// Shift to the right by a public number, copies of the sign from above.
    Sar "sar" Some(1), ["by"];
    /// Rotation to the left by a public number.
    Rotl "rotl" Some(1), ["by"];
    /// The lanes of all operands one after the other.
    Join "join" None, [];
    /// All lanes, `times` times over.
    Tile "tile" Some(1), ["times"];
    /// Each lane `times` times.
    Repeat "repeat" Some(1), ["times"];
    /// The same bits in another shape.
    Reshape "reshape" Some(1), ["lanes", "width"];
    /// Lanes as a matrix of `rows` rows, row by row; gives it column by column.
    Transpose "transpose" Some(1), ["rows"];
    /// XOR.
    Xor "xor" Some(2), [];
    /// AND.
    And "and" Some(2), [];
    /// Disjunction.
    Or "or" Some(2), [];
    /// Negation of each bit.
    Not "not" Some(1), [];
    /// The second operand where the first, one bit a lane, is set; the third elsewhere.
    Mux "mux" Some(3), [];
    /// Sum.
    Add "add" Some(2), [];
    /// Difference.
    Sub "sub" Some(2), [];
    /// Two's complement.
    Neg "neg" Some(1), [];
    /// Absolute value of a signed number.
    Abs "abs" Some(1), [];
    /// Product modulo 2^width.
    Mul "mul" Some(2), [];
    /// Square modulo 2^width.
    Square "square" Some(1), [];
    /// Whole product, twice as wide.
    MulFull "mulfull" Some(2), [];
    /// Whole product of signed numbers, twice as wide.
    MulFullS "mulfulls" Some(2), [];
    /// Whole square, twice as wide.
    SquareFull "squarefull" Some(1), [];
    /// Quotient and remainder; by zero, all ones and the dividend.
    DivRem "divrem" Some(2), [];
    /// Quotient rounded to zero and remainder of signed numbers; by zero, -1 and the dividend.
    DivRemS "divrems" Some(2), [];
    /// Integer square root, rounded down; as wide as the operand.
    Isqrt "isqrt" Some(1), [];
    /// How many bits of a word are set.
    Popcount "popcount" Some(1), [];
    /// How many zeros stand above the highest bit that is set.
    Lzcnt "lzcnt" Some(1), [];
    /// Sum, and whether it overflowed.
    AddO "addo" Some(2), [];
    /// Signed sum, and whether it overflowed.
    AddOS "addos" Some(2), [];
    /// Difference, and whether it overflowed.
    SubO "subo" Some(2), [];
    /// Signed difference, and whether it overflowed.
    SubOS "subos" Some(2), [];
    /// Product, and whether it overflowed.
    MulO "mulo" Some(2), [];
    /// Signed product, and whether it overflowed.
    MulOS "mulos" Some(2), [];
    /// The smaller.
    Min "min" Some(2), [];
    /// The larger.
    Max "max" Some(2), [];
    /// The smaller of signed numbers.
    MinS "mins" Some(2), [];
    /// The larger of signed numbers.
    MaxS "maxs" Some(2), [];
    /// Equality.
    Eq "eq" Some(2), [];
    /// Less.
    Lt "lt" Some(2), [];
    /// Less or equal.
    Le "le" Some(2), [];
    /// Less, signed.
    LtS "lts" Some(2), [];
    /// Less or equal, signed.
    LeS "les" Some(2), [];
    /// Shift to the left by a secret number.
    ShlBy "shlby" Some(2), [];
    /// Shift to the right by a secret number, zeros from above.
    ShrBy "shrby" Some(2), [];
    /// Shift to the right by a secret number, copies of the sign from above.
    SarBy "sarby" Some(2), [];
    /// Rotation to the left by a secret number modulo the width.
    RotlBy "rotlby" Some(2), [];
    /// Sum of each of `groups` groups of lanes, modulo 2^`width`.
    Sum "sum" Some(1), ["width", "groups"];
    /// Sum of signed lanes of each of `groups` groups, modulo 2^`width`.
    SumS "sums" Some(1), ["width", "groups"];
    /// AND over each of `groups` groups of lanes.
    Rand "rand" Some(1), ["groups"];
    /// Disjunction over each of `groups` groups of lanes.
    Ror "ror" Some(1), ["groups"];
    /// XOR over each of `groups` groups of lanes.
    Rxor "rxor" Some(1), ["groups"];
    /// Position and value of the smallest lane, the first of equal ones.
    ArgMin "argmin" Some(1), [];
    /// Position and value of the largest lane, the first of equal ones.
    ArgMax "argmax" Some(1), [];
    /// [`Self::ArgMin`] of signed numbers.
    ArgMinS "argmins" Some(1), [];
    /// [`Self::ArgMax`] of signed numbers.
    ArgMaxS "argmaxs" Some(1), [];
    /// Lanes sorted by the key in bits `lo..lo + key` of each; equal keys in no particular order.
    Sort "sort" Some(1), ["lo", "key", "signed", "descending"];
    /// The first `k` lanes in the order of [`Self::Sort`].
    TopK "topk" Some(1), ["k", "lo", "key", "signed", "descending"];
    /// Product of a matrix of `rows` x `inner` words and one of `inner` x columns, row by row, modulo
    /// 2^`width`.
    MatMul "matmul" Some(2), ["rows", "inner", "width", "signed"];
    /// The lane at a secret position; zeros beyond the end.
    Lookup "lookup" Some(2), [];
    /// Table, position, value, enable: the table with the lane at a secret position replaced;
    /// the table as it was beyond the end.
    Store "store" Some(4), [];
}

impl WordOp {
    /// The name in the text form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.rule().name
    }

    /// The operation of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<WordOp> {
        WordOp::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// Names of the attributes, in order.
    #[must_use]
    pub const fn attributes(self) -> &'static [&'static str] {
        self.rule().attributes
    }
}
