//! The information that the sums over the evaluator's input wires give the garbler: none on a wire
//! that is used.

use cenote_net::{Fault, Recording};
use cenote_prim::{Block, SessionId};

use super::hiding::Span;
use super::{channels, params, supplies};
use crate::backends::jimu::evaluator::InputWire;
use crate::backends::jimu::ihash::{LANES, Label, Message};
use crate::backends::jimu::input_check::{Sums, batch, most, none};
use crate::backends::jimu::tags;
use crate::backends::jimu::{JimuParams, MAX_PIECE};
use crate::options::Rho;
use crate::parts::tags::{COIN_OPEN, COIN_REPLY};

/// How often the evaluator has asked for sums.
fn asked(recording: &Recording) -> usize {
    recording.frames().iter().filter(|frame| frame.tag == tags::JIMU_SUM.id).count()
}

/// The coin tossed last before sums were asked for: the first time, in the set-up, or the second.
fn coin(recording: &Recording, time: usize) -> Block {
    let frames = recording.frames();
    let mut asked = frames.iter().enumerate().filter(|(_, frame)| frame.tag == tags::JIMU_SUM.id);
    let (end, _) = asked.nth(time).expect("sums");
    let share = |tag: u8| {
        let frame = frames[..end].iter().rfind(|frame| frame.tag == tag).expect("a toss");
        Block::from_bytes(frame.payload[..16].try_into().expect("16 bytes"))
    };
    share(COIN_REPLY.id) ^ share(COIN_OPEN.id)
}

/// Takes as many wires as the first batch has, one after the other, which needs a second batch.
/// How many of them came from the first; the coins of the set-up's own batch and of that; the messages of all its wires, and the
/// labels that the garbler has taken.
fn take_a_batch(params: &JimuParams) -> (usize, [Block; 2], Vec<Message>, Vec<Label>) {
    let (own, mut other) = channels();
    let recording = other.record();
    let total = batch(params, 1);
    let sacrificed = params.codes.label_combinations.max(params.codes.perm_combinations);
    let first = (LANES + none(params) + sacrificed as usize * LANES) as u64;
    let (garbler, evaluator) = supplies(
        (own, other),
        params,
        60,
        |channel, depot| {
            let mut taken = Vec::with_capacity(total);
            for _ in 0..total {
                taken.push(bytemuck::cast_slice(&depot.take_inputs(channel, 1, 1)?)[0]);
            }
            Ok((depot.supply()?.messages(first, total), taken))
        },
        |channel, depot| {
            let mut used = 0;
            for _ in 0..total {
                depot.take_inputs(channel, 1, 1)?;
                used += usize::from(asked(&recording) == 2);
            }
            Ok(used)
        },
    );
    let (messages, taken) = garbler.expect("honest");
    let coins = [0, 1].map(|time| coin(&recording, time));
    (evaluator.expect("honest"), coins, messages, taken)
}

/// The garbler learns 8 bits of each sum of choice bits. For each way to add some of these bits up there
/// must be a wire in the sum that is used nowhere: its choice bit hides all others.
#[test]
fn every_sum_of_what_is_shown_has_a_wire_that_nothing_uses() {
    for rho in [Rho::Bits40, Rho::Bits64, Rho::Bits80] {
        let params = params(100, rho, false);
        let (used, coins, messages, taken) = take_a_batch(&params);
        // Nothing of the batch in the set-up is used.
        for (coin, used, wires) in [(coins[0], 0, none(&params)), (coins[1], used, messages.len())]
        {
            let sums = Sums::new(SessionId([6; 32]), &params, coin);
            assert!(sums.message_len() == sums.count() + 32);
            // By choice bits of which one is set: how it comes into all that is shown.
            let mut rank = 0;
            let mut span = Span::default();
            for wire in used..wires {
                let mut bits = vec![0u8; wires];
                bits[wire] = 1;
                let mut shown = sums.of(&bits);
                shown.resize(16, 0);
                let words = shown.as_chunks::<8>().0.iter();
                rank +=
                    usize::from(span.add(words.map(|word| u64::from_le_bytes(*word)).collect()));
            }
            assert_eq!(rank, 8 * sums.count(), "{rho:?}: {used} of {wires} wires are used");
        }
        assert!(used > 0);
        // The wires that were taken are the first ones, and those of another batch.
        let same = |a: &Label, b: &Message| a.0.iter().zip(&b.label.0).all(|(a, b)| a.ct_eq(*b));
        assert!(taken[..used].iter().zip(&messages).all(|(label, wire)| same(label, wire)));
        let spared = &messages[used..];
        assert!(!taken.iter().any(|label| spared.iter().any(|wire| same(label, wire))));
    }
}

/// An input of many pieces: so many batches that their round trips are few, in several messages each, and both sides have
/// the same labels of them all.
#[test]
fn an_input_of_many_pieces_takes_as_few_batches_as_they_fit_in() {
    let params = params(100, Rho::Bits40, false);
    let whole = most(&params);
    for (wires, batches) in [(20_000, 1), (whole, 1), (whole + 1, 2)] {
        let (own, mut other) = channels();
        let recording = other.record();
        let pieces = |take: &mut dyn FnMut(usize, usize) -> Result<(), Fault>| {
            let mut coming = wires;
            while coming > 0 {
                let piece = coming.min(MAX_PIECE);
                take(piece, coming)?;
                coming -= piece;
            }
            Ok(())
        };
        let (garbler, evaluator) = supplies(
            (own, other),
            &params,
            61,
            |channel, depot| {
                let mut taken: Vec<Label> = Vec::new();
                pieces(&mut |piece, coming| {
                    let labels = depot.take_inputs(channel, piece, coming)?;
                    taken.extend_from_slice(bytemuck::cast_slice(&labels));
                    Ok(())
                })?;
                Ok((taken, depot.delta()))
            },
            |channel, depot| {
                let mut taken: Vec<InputWire> = Vec::new();
                pieces(&mut |piece, coming| {
                    let wires = depot.take_inputs(channel, piece, coming)?;
                    taken.extend(InputWire::all(&wires));
                    Ok(())
                })?;
                Ok(taken)
            },
        );
        let ((labels, delta), active) = (garbler.expect("honest"), evaluator.expect("honest"));
        // One batch is the set-up's own.
        let asked = asked(&recording) - 1;
        assert_eq!((labels.len(), active.len(), asked), (wires, wires, batches));
        let right = labels.iter().zip(&active).all(|(label, wire)| {
            let own = *label ^ delta.times(wire.choice);
            own.0.iter().zip(&wire.label.0).all(|(a, b)| a.ct_eq(*b))
        });
        assert!(right, "{wires}");
    }
}
