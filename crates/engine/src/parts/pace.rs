//! The pace of a session: how much of its work is on the line at once, and whatever else the line decides.
//!
//! **Roles.** The garbler measures the line and says the pace; both go by it, as it fixes which message comes before which.
//! **Messages.** garbler -> evaluator: a probe; evaluator -> garbler: a train of frames, whose first tells the round trip and of which
//! the close ones tell the bandwidth, by 64 KiB; garbler -> evaluator: the pace, and which of the protocols that both owners allow is used.
//! **Adversary.** Malicious: either can make the session slow, which it can anyway, and have it use whichever of the protocols that both owners
//! allow, so that its claims must be those of all of them; and no more. **Checks.** `pace.range`: the pace is
//! within what this side has memory for, the protocol one that its owner allows \[use of them\]. `pace.train`: the frames of a train come in order \[the measure\]. **Private values.** None. **Leakage.** None.
//! **Costs.** One round trip and the train, [`TRAIN`] frames of [`WAGON`] bytes.

use std::time::{Duration, Instant};

use cenote_net::{Channel, Fault, Role};

use super::tags;

/// Frames of a train: a fresh connection carries the last of them at the line's speed.
pub(crate) const TRAIN: usize = 24;
/// Bytes of each.
pub(crate) const WAGON: usize = 8 << 10;
/// Frames that go over the line in the shortest time: as much as a channel reads at once, and more would hide a stop.
const WINDOW: usize = 8;
/// Most chunks of gates ahead of their check, for memory's sake.
pub(crate) const MOST_AHEAD: usize = 32;
/// Most turns between a message of the evaluator's supply and its receipt.
pub(crate) const MOST_LAG: usize = 16;
/// A round trip that is too short for anything to be on the line.
const QUICK: Duration = Duration::from_millis(1);

/// How far each side is ahead of what has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pace {
    /// Turns of the supply between a message of the evaluator and its receipt.
    pub(crate) lag: usize,
    /// Chunks of gates.
    pub(crate) ahead: usize,
}

/// What goes over the line in one piece.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Load {
    /// One way.
    pub(crate) bytes: usize,
    /// Seconds that a side computes for it, at the least: nothing is ahead of what is made.
    pub(crate) computed: f64,
}

/// A line as it was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// The round trip.
    pub(crate) rtt: Duration,
    /// Seconds that a byte takes at the least: what may be on the line at once goes by it.
    pub(crate) byte: f64,
    /// Seconds that it takes as a rule, stops of a fresh connection included: what bytes are worth goes by it.
    pub(crate) usual: f64,
}

impl Line {
    /// One on which every byte takes so many seconds.
    pub(crate) const fn steady(rtt: Duration, byte: f64) -> Line {
        Line { rtt, byte, usual: byte }
    }
}

impl Pace {
    /// Over a channel that the supply shares with requests.
    pub(crate) const LEAST: Pace = Pace { lag: 1, ahead: 1 };
    /// Between parties on one machine: a turn more, so that neither waits for the other to be given a core.
    const NEAR: Pace = Pace { lag: 2, ahead: 1 };

    /// So much that neither side waits on a line, for slices and chunks that are such loads.
    pub(crate) fn of(Line { rtt, byte, .. }: Line, [slice, chunk]: [Load; 2]) -> Pace {
        if rtt < QUICK {
            return Pace::NEAR;
        }
        let on_the_line = |Load { bytes, computed }: Load| {
            let each = (byte * bytes as f64).max(computed);
            (rtt.as_secs_f64() / each).ceil() as usize
        };
        // What is under way, and one more that is being made: the supply has a turn more than its lag.
        let (lag, ahead) = (on_the_line(slice), on_the_line(chunk) + 1);
        Pace { lag: lag.clamp(1, MOST_LAG), ahead: ahead.min(MOST_AHEAD) }
    }

    /// What `decide` makes of the line of `channel` at the garbler: the pace, and one of so many protocols by its number.
    ///
    /// # Errors
    /// `Misbehaved` for a pace or a protocol out of range; faults of the channel.
    pub(crate) fn agree(
        channel: &mut Channel,
        role: Role,
        protocols: usize,
        decide: impl FnOnce(Line) -> (Pace, usize),
    ) -> Result<(Pace, usize), Fault> {
        match role {
            Role::Garbler => {
                let (pace, protocol) = decide(measure(channel)?);
                say(channel, pace, protocol)?;
                Ok((pace, protocol))
            }
            Role::Evaluator => {
                channel.recv(tags::PACE_PROBE, 1)?;
                for number in 0..TRAIN {
                    channel.send(tags::PACE_TRAIN, &[number as u8; WAGON])?;
                }
                let mut said = [0; 3];
                channel.recv_into(tags::PACE, &mut said)?;
                let [lag, ahead, protocol] = said.map(usize::from);
                let in_memory = (1..=MOST_LAG).contains(&lag) && (1..=MOST_AHEAD).contains(&ahead);
                if !in_memory || protocol >= protocols {
                    return Err(Fault::Misbehaved("pace.range"));
                }
                Ok((Pace { lag, ahead }, protocol))
            }
        }
    }
}

fn say(channel: &mut Channel, pace: Pace, protocol: usize) -> Result<(), Fault> {
    channel.send(tags::PACE, &[pace.lag as u8, pace.ahead as u8, protocol as u8])?;
    channel.flush()
}

/// The garbler's part for a test, with a pace and a protocol of its choice.
#[cfg(test)]
pub(crate) fn dictate(channel: &mut Channel, pace: Pace, protocol: usize) -> Result<(), Fault> {
    measure(channel)?;
    say(channel, pace, protocol)
}

fn measure(channel: &mut Channel) -> Result<Line, Fault> {
    channel.send(tags::PACE_PROBE, &[0])?;
    channel.flush()?;
    let began = Instant::now();
    let mut room = vec![0; WAGON];
    let mut arrivals = Vec::with_capacity(TRAIN);
    for number in 0..TRAIN {
        channel.recv_into(tags::PACE_TRAIN, &mut room)?;
        if usize::from(room[0]) != number {
            return Err(Fault::Misbehaved("pace.train"));
        }
        arrivals.push(began.elapsed());
    }
    let mut windows: Vec<Duration> =
        arrivals.windows(WINDOW + 1).map(|seen| seen[WINDOW] - seen[0]).collect();
    windows.sort_unstable();
    // The closest of all may have waited together for this side to read; most others may have a stop of a fresh connection in them.
    let [byte, usual] =
        [2, windows.len() / 2].map(|place| windows[place].as_secs_f64() / (WINDOW * WAGON) as f64);
    Ok(Line { rtt: arrivals[0], byte, usual })
}

#[cfg(test)]
mod tests {
    use std::thread;

    use cenote_net::{Shape, mem_pair};

    use super::*;

    const LOADS: [Load; 2] =
        [Load { bytes: 280_000, computed: 0.75e-3 }, Load { bytes: 135_000, computed: 1.0e-3 }];

    #[test]
    fn the_pace_covers_the_round_trip() {
        let pace = |rtt_ms, mbit: f64| {
            Pace::of(Line::steady(Duration::from_millis(rtt_ms), 8e-6 / mbit), LOADS)
        };
        assert_eq!(pace(0, 1e6), Pace::NEAR);
        // 11.2 ms a slice and 5.4 a chunk on the line.
        assert_eq!(pace(40, 200.0), Pace { lag: 4, ahead: 9 });
        // As fast as it is made.
        assert_eq!(pace(10, 10_000.0), Pace { lag: 14, ahead: 11 });
        assert_eq!(pace(10, f64::INFINITY), pace(10, 10_000.0));
        assert_eq!(pace(2000, 1000.0), Pace { lag: MOST_LAG, ahead: MOST_AHEAD });
    }

    fn decide(line: Line) -> (Pace, usize) {
        (Pace::of(line, LOADS), 1)
    }

    fn agreed(shape: Option<Shape>) -> Pace {
        let (mut a, mut b) = mem_pair();
        if let Some(shape) = shape {
            a.shape(shape).expect("fresh");
            b.shape(shape).expect("fresh");
        }
        thread::scope(|scope| {
            let other = scope.spawn(move || Pace::agree(&mut b, Role::Evaluator, 2, decide));
            let own = Pace::agree(&mut a, Role::Garbler, 2, decide).expect("honest");
            assert_eq!((other.join().expect("thread"), own.1), (Ok(own), 1));
            own.0
        })
    }

    #[test]
    fn a_slow_line_is_measured() {
        let shape = Shape { rtt: Duration::from_millis(100), mbit_per_s: Some(100.0) };
        let pace = agreed(Some(shape));
        // 22.4 ms a slice, 43.2 a chunk, and 100 or more a round trip.
        assert!(pace.lag >= 4 && pace.ahead >= 3, "{pace:?}");
    }

    #[test]
    fn a_train_out_of_order_is_refused() {
        let (mut a, mut b) = mem_pair();
        b.deviate(tags::PACE_TRAIN, 3, cenote_net::Deviation::Swap);
        let measured = thread::scope(|scope| {
            scope.spawn(move || Pace::agree(&mut b, Role::Evaluator, 2, decide).err());
            let measured = measure(&mut a);
            a.abort();
            measured
        });
        assert_eq!(measured.err(), Some(Fault::Misbehaved("pace.train")));
    }

    #[test]
    fn a_pace_out_of_range_is_refused() {
        let out_of_range =
            [(0, 1, 0), (1, 0, 0), (MOST_LAG + 1, 1, 0), (1, MOST_AHEAD + 1, 0), (1, 1, 2)];
        for (lag, ahead, protocol) in out_of_range {
            let (mut a, mut b) = mem_pair();
            let refused = thread::scope(|scope| {
                let other = scope.spawn(move || Pace::agree(&mut b, Role::Evaluator, 2, decide));
                dictate(&mut a, Pace { lag, ahead }, protocol).expect("open");
                other.join().expect("thread")
            });
            let refused = refused.map(|_| ());
            assert_eq!(refused, Err(Fault::Misbehaved("pace.range")), "{lag}, {ahead}, {protocol}");
        }
    }
}
