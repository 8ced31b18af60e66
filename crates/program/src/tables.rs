//! Which tables could live in one memory: where `store` has nothing to copy.

use crate::module::{Code, Module};
use crate::op::{Block, FunctionId, Op, ValueId, WordOp};

/// A `lookup` or a `store`, as far as memories are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableUse {
    /// The function it is in; `None` for the main block.
    pub function: Option<FunctionId>,
    /// `lookup` or `store`.
    pub op: WordOp,
    /// Its table.
    pub table: ValueId,
    /// Whether the table is the only version of its memory that is alive: the statement can then be
    /// an access to this memory. Else it goes over a copy of the table.
    pub sole: bool,
}

impl Module {
    /// Every `lookup` and `store`, in the order of the text: functions first.
    ///
    /// A `store` needs a table that it uses up ([`crate::Statement::uses_up`]); a `lookup` reads the
    /// version that is alive. Neither goes for what runs side by side: in a map, also by a call, every
    /// iteration has a table of its own.
    #[must_use]
    pub fn tables(&self) -> Vec<TableUse> {
        let mut side_by_side = vec![false; self.functions.len()];
        let mut all = self.uses_in(None, &self.main.block, false, &mut side_by_side);
        // Functions call earlier ones only: from the last on, all callers of each have been seen.
        for (i, function) in self.functions.iter().enumerate().rev() {
            if let Code::Body(body) = &function.code {
                let (id, side) = (FunctionId(i as u32), side_by_side[i]);
                let mut uses = self.uses_in(Some(id), &body.block, side, &mut side_by_side);
                uses.append(&mut all);
                all = uses;
            }
        }
        all
    }

    /// Those of a block; notes which functions run side by side because it calls them.
    fn uses_in(
        &self,
        function: Option<FunctionId>,
        block: &Block,
        side: bool,
        functions: &mut [bool],
    ) -> Vec<TableUse> {
        let mut uses = Vec::new();
        for statement in &block.statements {
            match &statement.op {
                Op::Word(op @ (WordOp::Lookup | WordOp::Store), _) => {
                    let sole = !side && (*op == WordOp::Lookup || statement.uses_up(0));
                    uses.push(TableUse { function, op: *op, table: statement.args[0], sole });
                }
                Op::For { body, .. } => uses.extend(self.uses_in(function, body, side, functions)),
                Op::Map { body, .. } => uses.extend(self.uses_in(function, body, true, functions)),
                Op::If { then, otherwise } => {
                    uses.extend(self.uses_in(function, then, side, functions));
                    uses.extend(self.uses_in(function, otherwise, side, functions));
                }
                Op::Call(called) => functions[called.0 as usize] |= side,
                _ => {}
            }
        }
        uses
    }
}
