//! Which sums of two labels are taken for Delta.

use cenote_prim::Block;

use super::{channels, params, supplies};
use crate::backends::jimu::evaluator::Opened;
use crate::backends::jimu::garbled_core::dealer::label_with_no_tag;
use crate::backends::jimu::ihash::{Label, Message};
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

/// Shares that were sealed for another sum, at places that are watched of the two lists: with as many as the bound counts it is taken, with one
/// less only in a bucket of which half disagrees. Delta opens the others, and they are enough.
#[test]
fn a_sum_is_tried_at_as_many_places_as_the_bound_counts() {
    for rho in [Rho::Bits40, Rho::Bits64, Rho::Bits80] {
        let params = params(1000, rho, false);
        let [labels, perms] = params.tried().map(|places| places as usize);
        let (delta, evaluator) = std::sync::mpsc::channel();
        let (garbled, evaluated) = supplies(
            channels(),
            &params,
            4,
            move |_, depot| {
                delta.send(depot.delta()).expect("the other side waits");
                Ok(())
            },
            move |_, depot| {
                let delta: Label = evaluator.recv().expect("sent at once");
                let sum = delta ^ label_with_no_tag(depot.hash());
                let counts =
                    [[labels, perms], [labels - 1, perms], [labels, perms - 1], [0, perms]];
                Ok(counts.map(|counts| {
                    let sealed = depot.escrow().sealed_for(&sum, &delta, counts);
                    (sealed.agrees(&sum), sealed.agrees(&delta))
                }))
            },
        );
        let both = [true; 2];
        let taken = [both, [true, false], [true, false], [false; 2]];
        assert_eq!((garbled, evaluated), (Ok(()), Ok(taken.map(|taken| (taken, both)))), "{rho:?}");
    }
}

/// The permutation bits of all wires of two batches, taken together behind some that were taken before.
#[test]
fn bits_are_read_of_wires_of_several_batches() {
    const TAKEN: [usize; 3] = [5, 3000, 2500];
    let (delta, evaluator) = std::sync::mpsc::channel();
    let (garbled, evaluated) = supplies(
        channels(),
        &params(100, Rho::Bits40, false),
        5,
        move |channel, depot| {
            delta.send(depot.delta()).expect("the other side waits");
            let mut bits = Vec::new();
            for count in TAKEN {
                let (wires, _) = depot.take_escrowed(channel, count, count)?;
                let wires: &[Message] = bytemuck::cast_slice::<Block, _>(&wires);
                bits.push(wires.iter().map(|wire| wire.perm.bit()).collect::<Vec<_>>());
            }
            Ok(bits)
        },
        move |channel, depot| {
            let delta: Label = evaluator.recv().expect("sent at once");
            let mut opened = Opened::new(depot.escrow().open(&delta));
            let mut bits = Vec::new();
            for count in TAKEN {
                let wires = depot.take_escrowed(channel, count, count)?;
                bits.push(wires.bits(&mut opened)?.to_vec());
            }
            Ok(bits)
        },
    );
    let (garbled, evaluated) = (garbled.expect("honest"), evaluated.expect("honest"));
    assert_eq!(garbled.iter().map(Vec::len).collect::<Vec<_>>(), TAKEN);
    assert_eq!(garbled, evaluated);
}
