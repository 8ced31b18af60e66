//! Which sums of two labels are taken for Delta.

use super::{channels, params, supplies};
use crate::backends::jimu::garbled_core::dealer::label_with_no_tag;
use crate::backends::jimu::ihash::Label;
use crate::options::Rho;

#[test]
fn the_delta_opens_escrow_and_what_only_has_its_tag_does_not() {
    for compact in [false, true] {
        let (delta, evaluator) = std::sync::mpsc::channel();
        let (garbled, evaluated) = supplies(
            channels(),
            &params(100, Rho::Bits40, compact),
            3,
            move |channel, supply| {
                delta.send(supply.delta()).expect("the other side waits");
                supply.reserve_escrow(channel, 0)
            },
            move |channel, supply| {
                supply.reserve_escrow(channel, 0)?;
                let delta: Label = evaluator.recv().expect("sent at once");
                let lucky = label_with_no_tag(supply.hash());
                let zero = supply.opens_escrow(&Label::ZERO);
                Ok((supply.opens_escrow(&delta), supply.opens_escrow(&(delta ^ lucky)), zero))
            },
        );
        assert_eq!((garbled, evaluated), (Ok(()), Ok((true, false, false))));
    }
}
