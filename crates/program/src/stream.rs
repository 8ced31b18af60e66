//! Modules that open nothing before their end, as streams of gates.

use cenote_circuit::{Gates, Program, Signature};

use crate::host::Host;
use crate::module::Module;

impl Module {
    /// The module as a stream of gates, unless it opens values before its end or has memories that outlive a run.
    #[must_use]
    pub fn stream(&self) -> Option<Stream<'_>> {
        (!self.is_reactive() && self.memories().is_empty()).then_some(Stream(self))
    }
}

/// A module that opens nothing before its end, as a program of gates.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'m>(&'m Module);

impl Program for Stream<'_> {
    fn name(&self) -> String {
        self.0.name().to_owned()
    }

    fn signature(&self) -> Signature {
        self.0.signature()
    }

    fn digest(&self) -> [u8; 32] {
        self.0.digest()
    }

    fn run<G: Gates>(
        &self,
        g: &mut G,
        inputs: &[Vec<G::Wire>],
    ) -> Result<Vec<Vec<G::Wire>>, G::Error> {
        self.0.run_on(&mut Silent(g), inputs.to_vec())
    }
}

/// A machine for modules that reveal nothing.
struct Silent<'g, G>(&'g mut G);

impl<G: Gates> Host for Silent<'_, G> {
    fn reveal(&mut self, _: &[G::Wire]) -> Result<Vec<bool>, G::Error> {
        unreachable!("a stream reveals nothing before its end")
    }
}

impl<G: Gates> Gates for Silent<'_, G> {
    type Wire = G::Wire;
    type Error = G::Error;
    cenote_circuit::delegate!(self => self.0);
}
