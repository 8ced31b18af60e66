//! Which sums of two labels are taken for Delta.

use super::{channels, params, supplies};
use crate::backends::jimu::garbled_core::dealer::label_with_no_tag;
use crate::backends::jimu::ihash::Label;
use crate::options::Rho;

#[test]
fn the_delta_opens_shares_and_what_only_has_its_tag_does_not() {
    for rho in [Rho::Bits40, Rho::Bits64, Rho::Bits80] {
        let (delta, evaluator) = std::sync::mpsc::channel();
        let (garbled, evaluated) = supplies(
            channels(),
            &params(1000, rho, false),
            3,
            move |_, depot| {
                delta.send(depot.delta()).expect("the other side waits");
                Ok(())
            },
            move |_, depot| {
                let delta: Label = evaluator.recv().expect("sent at once");
                let lucky = label_with_no_tag(depot.hash());
                Ok([delta, delta ^ lucky, Label::ZERO].map(|sum| depot.escrow().agrees(&sum)))
            },
        );
        assert_eq!((garbled, evaluated), (Ok(()), Ok([[true; 2], [false; 2], [false; 2]])));
    }
}
