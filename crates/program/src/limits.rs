//! The limits of a module, wherever it comes from: checked while it is built or read.

/// Bits of one word.
pub const MAX_WIDTH: u32 = 1 << 24;
/// Bits of one word that is multiplied, divided, sorted or otherwise computed with as a number.
pub const MAX_NUMBER: u32 = 4096;
/// Bits of one value.
pub const MAX_VALUE_BITS: u64 = 1 << 26;
/// Bits of all values that are visible at one place.
pub const MAX_LIVE_BITS: u64 = 1 << 28;
/// Bits of all constants of a module.
pub const MAX_CONSTANT_BITS: u64 = 1 << 28;
/// Bits of a place in a table.
pub const MAX_PLACE: u32 = 32;
/// Statements of a module, and values of all its functions.
pub const MAX_STATEMENTS: usize = 1 << 20;
/// Functions of a module.
pub const MAX_FUNCTIONS: usize = 1 << 12;
/// Ports of either kind.
pub const MAX_PORTS: usize = 1 << 12;
/// Records within records, counting the input or output itself: names of the path of a port.
pub const MAX_STEPS: usize = 16;
/// Sizes in the path of a port, those of all its arrays.
pub const MAX_SIZES: usize = 32;
/// Blocks within blocks.
pub const MAX_NESTING: usize = 32;
/// Blocks within blocks, counting those of functions where they are called.
pub const MAX_DEPTH: usize = 128;
/// Iterations of one loop, and lanes of one map.
pub const MAX_TRIPS: u32 = 1 << 30;
/// Bytes of a name.
pub const MAX_NAME: usize = 256;
/// Bytes of the sentence that says what a module is for.
pub const MAX_ABOUT: usize = 4096;
/// Bytes of the text form, which is for people.
pub const MAX_TEXT_BYTES: usize = 1 << 26;
/// Bytes of the binary form.
pub const MAX_FILE_BYTES: usize = 1 << 30;
