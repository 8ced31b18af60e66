//! Which sums of two labels are taken for Delta.

use cenote_net::Phase;

use super::{channels, params, supplies};
use crate::backends::jimu::ESCROW_RESERVE;
use crate::backends::jimu::garbled_core::dealer::label_with_no_tag;
use crate::backends::jimu::ihash::Label;
use crate::options::Rho;

#[test]
fn the_delta_opens_escrow_and_what_only_has_its_tag_does_not() {
    for compact in [false, true] {
        let (delta, evaluator) = std::sync::mpsc::channel();
        let params = params(100, Rho::Bits40, compact);
        let escrowed = [(params.escrow_stock(), ESCROW_RESERVE)];
        let (garbled, evaluated) = supplies(
            channels(),
            &params,
            3,
            move |channel, depot| {
                delta.send(depot.delta()).expect("the other side waits");
                depot.reserve(channel, &escrowed, Phase::Online)
            },
            move |channel, depot| {
                depot.reserve(channel, &escrowed, Phase::Online)?;
                let delta: Label = evaluator.recv().expect("sent at once");
                let lucky = label_with_no_tag(depot.hash());
                let zero = depot.opens_escrow(&Label::ZERO)?;
                Ok((depot.opens_escrow(&delta)?, depot.opens_escrow(&(delta ^ lucky))?, zero))
            },
        );
        assert_eq!((garbled, evaluated), (Ok(()), Ok((true, false, false))));
    }
}
