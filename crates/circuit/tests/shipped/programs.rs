//! The programs behind the files of `data/circuits`.

use cenote_circuit::formats::bristol::write_bristol_fashion;
use cenote_circuit::gadgets::{add, lt, max};
use cenote_circuit::{Circuit, Gates, Program, Role, Signature};

/// The function of two numbers that a shipped program computes.
#[derive(Clone, Copy)]
enum Shipped {
    /// x + y, modulo 2^64.
    Add64,
    /// The larger of two numbers, and whether it is the evaluator's.
    Max32,
}

impl Program for Shipped {
    fn name(&self) -> String {
        match self {
            Shipped::Add64 => "add64".into(),
            Shipped::Max32 => "max32".into(),
        }
    }

    fn signature(&self) -> Signature {
        let signature = |bits| {
            let inputs = Signature::new().input("x", bits, Some(Role::Garbler));
            inputs.input("y", bits, Some(Role::Evaluator))
        };
        match self {
            Shipped::Add64 => signature(64).output("sum", 64, None),
            Shipped::Max32 => signature(32).output("max", 32, None).output("y_is_larger", 1, None),
        }
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        let (x, y) = (&inputs[0], &inputs[1]);
        match self {
            Shipped::Add64 => Ok(vec![add(g, x, y)?]),
            Shipped::Max32 => Ok(vec![max(g, x, y)?, vec![lt(g, x, y)?]]),
        }
    }
}

/// Name, Bristol Fashion text and ports file of each.
pub(crate) fn all() -> Vec<(String, String, String)> {
    let programs = [Shipped::Add64, Shipped::Max32];
    let text = |program: Shipped| {
        let circuit = Circuit::from_program(&program).expect("small");
        (program.name(), write_bristol_fashion(&circuit), circuit.ports_toml())
    };
    programs.map(text).into()
}
