//! Memories that outlive a run, at its beginning and at its end.

use std::cell::RefCell;
use std::rc::Rc;

use cenote_circuit::Ram;

use crate::apply::rows_of;
use crate::host::{Host, keeper};
use crate::module::NamedMemory;
use crate::run_value::Value;

/// What a run finds in a memory.
pub(super) fn found<W: Clone, E>(
    host: &mut (dyn Host<Wire = W, Error = E> + '_),
    memory: &NamedMemory,
) -> Result<Value<W>, E> {
    if let Some(ram) = memory.carried().filter(|_| host.memories().is_some()) {
        let ram = match memory.is_new {
            true => Ram::empty(&mut keeper(host.memories()), ram.plan.clone())?,
            false => host.found_ram(memory, &ram.plan)?,
        };
        return Ok(Value::Memory(Rc::new(RefCell::new(ram))));
    }
    Ok(match memory.is_new {
        true => memory.zeros(),
        false => Value::Secret(host.found(memory)?),
    })
}

/// Leaves a value in a memory, without anything public in it.
pub(super) fn leave<W: Clone, E>(
    host: &mut (dyn Host<Wire = W, Error = E> + '_),
    memory: &NamedMemory,
    value: Value<W>,
) -> Result<(), E> {
    let wires = match value {
        Value::Memory(ram) => {
            let ram = Rc::into_inner(ram).unwrap_or_else(|| unreachable!("its last version"));
            return host.leave_ram(memory, ram.into_inner());
        }
        Value::Secret(wires) => wires,
        Value::Mixed(_) => unreachable!("public bits became wires"),
    };
    match memory.gets_rows() {
        Some(plan) if host.memories().is_some() => {
            let rows = rows_of(&wires, memory.shape);
            let ram = Ram::of(&mut keeper(host.memories()), plan.clone(), rows)?;
            host.leave_ram(memory, ram)
        }
        _ => host.leave(memory, &wires),
    }
}
