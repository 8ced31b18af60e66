//! Memories of programs as they lie in a snapshot (docs/formats/pool.md): what both sides know of them, then their wires at rest.

use cenote_prim::{RandomOracle, Secret, SessionId};
use cenote_program::EXECUTION;

use super::resting::Resting;
use crate::named_memory::NamedMemories;
use crate::parts::kept::Kept;

/// The first byte.
const VERSION: u8 = 2;

/// Memories on their way to the store or from it.
#[derive(Default)]
pub(super) struct Stored {
    /// A hash of what both sides know of them.
    pub(super) known: [u8; 32],
    /// All that this side has; nothing if there are none.
    pub(super) bytes: Secret<Vec<u8>>,
}

/// The memories with their wires.
pub(super) fn encode(memories: &NamedMemories, kept: &Kept<Vec<Resting>>) -> Stored {
    if memories.list().next().is_none() {
        return Stored::default();
    }
    // Strings and numbers, which always have a form.
    let known = serde_json::to_vec(&(EXECUTION, memories)).unwrap_or_default();
    let parts: Vec<_> = kept.iter().filter(|(name, _)| memories.have(name)).collect();
    let of_part = |(name, cells): &(&str, &Vec<Resting>)| {
        let cells = cells.iter().map(|cell| Resting::encoded_len(cell.wires()));
        2 * size_of::<u32>() + name.len() + cells.sum::<usize>()
    };
    let len = 1 + size_of::<u32>() + known.len() + parts.iter().map(of_part).sum::<usize>();
    let mut out = Secret::with_capacity(len);
    out.push(VERSION);
    put(&mut out, &known);
    for (name, cells) in parts {
        put(&mut out, name.as_bytes());
        out.extend_from_slice(&(cells.len() as u32).to_le_bytes());
        cells.iter().for_each(|cell| cell.encode(&mut out));
    }
    let oracle = RandomOracle::new("cenote 2026 engine wrk memories v2", &SessionId([0; 32]));
    Stored { known: oracle.bytes(&known).digest(), bytes: out }
}

/// Puts the wires of memories into `kept`; none if these are no memories, or those of programs that ran by other rules: what is kept of a random access memory
/// is as its plan has it.
pub(super) fn decode(mut bytes: &[u8], kept: &mut Kept<Vec<Resting>>) -> Option<NamedMemories> {
    if bytes.is_empty() {
        return Some(NamedMemories::default());
    }
    bytes.split_off_first().filter(|version| **version == VERSION)?;
    let known = serde_json::from_slice(take(&mut bytes)?).ok();
    let (_, memories) = known.filter(|(execution, _): &(u32, _)| *execution == EXECUTION)?;
    let memories: NamedMemories = memories;
    while !bytes.is_empty() {
        let name = std::str::from_utf8(take(&mut bytes)?).ok()?;
        let cells = (0..number(&mut bytes)?).map(|_| Resting::decode(&mut bytes));
        let cells = cells.collect::<Option<Vec<_>>>()?;
        let wires = cells.iter().map(Resting::wires).fold(0, usize::saturating_add);
        kept.keep(name, wires, cells).ok().filter(|()| memories.have(name))?;
    }
    Some(memories)
}

/// A text with its length before it.
fn put(out: &mut Secret<Vec<u8>>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(text);
}

fn take<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let len = number(bytes)?;
    bytes.split_off(..len)
}

fn number(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(bytes.split_off(..4)?.try_into().ok()?)).ok()
}
