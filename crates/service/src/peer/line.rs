//! How long the line to the peer is, and how much goes over it: measured on the link, where and when its owner asks.
//!
//! **Messages**, once news asked for it and the answer agreed. Side that asks -> other: a round, by its number, with nothing in the first and twice
//! as much in each as in the one before; other -> side that asks: that it has arrived, and as much back. It ends with the round that was long
//! enough, or the last. **Adversary.** A peer can lie about its line, as it can be slow. It cannot have more sent than 8 MiB each way, nor that
//! more often than every [`PAUSE`]: rounds come in order, and news that ask too soon are told so. The owner's programs cannot either: one measure at
//! a time, and the last one is the answer for as long. **Checks.** `service.message`: rounds and their bytes are the next. **Private values.** None: zeros.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cenote_net::{Channel, Fault};

use super::messages::{LINE, LINE_BYTES, REFUSED};
use crate::model::LineView;

/// How long nobody measures again, on either side.
const PAUSE: Duration = Duration::from_secs(5);
/// A round that takes as long is the last: what is on the way does not count any more.
const ENOUGH: Duration = Duration::from_millis(250);
/// Bytes each way of the first round that has any.
const FIRST: usize = 64 << 10;
/// The last round.
const LAST: u8 = 7;
/// Bytes of a frame.
const FRAME: usize = 32 << 10;
/// What the one that asks says when it has had enough.
const END: u8 = 255;

/// Bytes each way of a round.
const fn bytes_of(round: u8) -> usize {
    if round == 0 { 0 } else { FIRST << (round - 1) }
}

/// Measures; the other side [`serve`]s.
pub(crate) fn measure(channel: &mut Channel) -> Result<LineView, Fault> {
    let mut nearest = Duration::MAX;
    let mut line = None;
    for round in 0..=LAST {
        let began = Instant::now();
        channel.send(LINE, &[round])?;
        send_zeros(channel, bytes_of(round))?;
        receive(channel, round)?;
        let there = began.elapsed();
        receive_zeros(channel, bytes_of(round))?;
        let back = began.elapsed();
        if round == 0 {
            nearest = there;
            continue;
        }
        let rate = |took: Duration| bytes_of(round) as f64 / took.as_secs_f64().max(1e-6);
        // Where the way is most of it, the bytes alone cannot be told: at least so many.
        let alone = there.saturating_sub(nearest);
        line = Some(LineView {
            round_trip_s: nearest.as_secs_f64(),
            sent_bytes_per_s: rate(if alone * 4 > there { alone } else { there }),
            received_bytes_per_s: rate(back.saturating_sub(there)),
        });
        if back >= ENOUGH {
            break;
        }
    }
    channel.send(LINE, &[END])?;
    channel.flush()?;
    line.ok_or(Fault::Internal("a line of no rounds".into()))
}

/// The other side of [`measure`].
pub(crate) fn serve(channel: &mut Channel) -> Result<(), Fault> {
    for round in 0..=LAST {
        let mut asked = [0];
        channel.recv_into(LINE, &mut asked)?;
        match asked {
            [END] => return Ok(()),
            [next] if next == round => {}
            _ => return Err(REFUSED),
        }
        receive_zeros(channel, bytes_of(round))?;
        channel.send(LINE, &[round])?;
        send_zeros(channel, bytes_of(round))?;
        channel.flush()?;
    }
    receive(channel, END)
}

fn receive(channel: &mut Channel, expected: u8) -> Result<(), Fault> {
    let mut said = [0];
    channel.recv_into(LINE, &mut said)?;
    if said == [expected] { Ok(()) } else { Err(REFUSED) }
}

fn send_zeros(channel: &mut Channel, bytes: usize) -> Result<(), Fault> {
    (0..bytes / FRAME).try_for_each(|_| channel.send(LINE_BYTES, &[0; FRAME]))
}

fn receive_zeros(channel: &mut Channel, bytes: usize) -> Result<(), Fault> {
    let mut room = vec![0; FRAME];
    (0..bytes / FRAME).try_for_each(|_| channel.recv_into(LINE_BYTES, &mut room))
}

/// Measures that are asked for, for the thread that tells news, and those of the peer's.
#[derive(Default)]
pub(crate) struct Line {
    own: Mutex<Own>,
    told: Condvar,
    /// When the peer's was last measured.
    served: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct Own {
    /// The owner waits for one that has not begun.
    wanted: bool,
    /// When the last one began, and what it came to.
    last: Option<(Instant, Option<Result<LineView, String>>)>,
}

impl Line {
    /// Asks for a measure, or for what the last one came to if that is not long ago; `tell` wakes who takes it. Nothing if none comes within `limit`.
    pub(crate) fn ask(
        &self,
        limit: Duration,
        tell: impl FnOnce(),
    ) -> Option<Result<LineView, String>> {
        let end = Instant::now() + limit;
        let mut own = lock(&self.own);
        if own.last.as_ref().is_none_or(|(began, _)| began.elapsed() >= PAUSE) {
            (own.wanted, own.last) = (true, None);
            drop(own);
            tell();
            own = lock(&self.own);
        }
        loop {
            if let Some((_, Some(found))) = &own.last {
                return Some(found.clone());
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                own.wanted = false;
                return None;
            }
            own = self.told.wait_timeout(own, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether one is wanted, which begins with that.
    pub(crate) fn begins(&self) -> bool {
        let mut own = lock(&self.own);
        let begins = std::mem::take(&mut own.wanted);
        if begins {
            own.last = Some((Instant::now(), None));
        }
        begins
    }

    /// What it came to.
    pub(crate) fn found(&self, found: Result<LineView, String>) {
        if let Some((_, last)) = &mut lock(&self.own).last {
            *last = Some(found);
        }
        self.told.notify_all();
    }

    /// The connection ended: whoever waits for a measure waits for nothing.
    pub(crate) fn broke(&self) {
        let mut own = lock(&self.own);
        let under_way = matches!(own.last, Some((_, None)));
        if std::mem::take(&mut own.wanted) || under_way {
            own.last = Some((Instant::now(), Some(Err("the connection broke".to_owned()))));
            self.told.notify_all();
        }
    }

    /// Whether the peer may measure now: not a moment after it did.
    pub(crate) fn serves(&self) -> bool {
        let mut served = lock(&self.served);
        let soon = served.is_some_and(|at| at.elapsed() < PAUSE);
        if !soon {
            *served = Some(Instant::now());
        }
        !soon
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use cenote_net::{Shape, mem_pair};

    use super::*;

    /// Bytes of all rounds, each way: 8 MiB.
    const MOST_BYTES: usize = (FIRST << LAST) - FIRST;

    #[test]
    fn a_line_is_found_to_be_what_it_is() {
        let (mut a, mut b) = mem_pair();
        for end in [&mut a, &mut b] {
            let shape = Shape { rtt: Duration::from_millis(40), mbit_per_s: Some(16.0) };
            end.shape(shape).unwrap();
        }
        let other = thread::spawn(move || serve(&mut b).map(|()| b.counters().total()));
        let line = measure(&mut a).unwrap();
        let sent = other.join().unwrap().unwrap().bytes_sent;
        assert!((0.03..0.1).contains(&line.round_trip_s), "{line:?}");
        for rate in [line.sent_bytes_per_s, line.received_bytes_per_s] {
            assert!((1e6..3e6).contains(&rate), "{line:?}");
        }
        // 64, 128, and 256 KiB at the most take a quarter of a second each way.
        assert!(sent < 500_000, "{sent}");
    }

    #[test]
    fn no_more_bytes_are_sent_than_in_all_rounds() {
        let (mut a, mut b) = mem_pair();
        let other = thread::spawn(move || {
            let served = serve(&mut b);
            (served, b.counters().total().bytes_sent)
        });
        for round in 0..=LAST {
            a.send(LINE, &[round]).unwrap();
            send_zeros(&mut a, bytes_of(round)).unwrap();
            receive(&mut a, round).unwrap();
            receive_zeros(&mut a, bytes_of(round)).unwrap();
        }
        a.send(LINE, &[LAST + 1]).unwrap();
        a.flush().unwrap();
        let (served, sent) = other.join().unwrap();
        assert_eq!(served, Err(REFUSED));
        let frames = (MOST_BYTES / FRAME + 16) as u64;
        assert!(sent <= MOST_BYTES as u64 + frames * 32, "{sent}");
    }

    #[test]
    fn rounds_come_in_order() {
        for odd in [1, LAST, LAST + 1, 254] {
            let (mut a, mut b) = mem_pair();
            a.send(LINE, &[odd]).unwrap();
            a.flush().unwrap();
            drop(a);
            assert_eq!(serve(&mut b), Err(REFUSED), "{odd}");
        }
    }

    #[test]
    fn nobody_measures_again_at_once() {
        let line = Line::default();
        assert!(line.serves() && !line.serves());
        assert!(!line.begins());
        // Nobody takes it: it is not wanted any more.
        assert_eq!(line.ask(Duration::from_millis(1), || ()), None);
        assert!(!line.begins());
        let found =
            LineView { round_trip_s: 1.0, sent_bytes_per_s: 2.0, received_bytes_per_s: 3.0 };
        let taken = line.ask(Duration::from_secs(60), || {
            assert!(line.begins());
            line.found(Ok(found.clone()));
        });
        assert_eq!(taken, Some(Ok(found.clone())));
        let again = line.ask(Duration::from_secs(60), || panic!("it was measured just now"));
        assert_eq!(again, Some(Ok(found.clone())));
        assert!(!line.begins());
        // What was found stands; what is wanted, or under way, does not go on.
        line.broke();
        assert_eq!(line.ask(Duration::ZERO, || ()), Some(Ok(found)));
        for begins in [true, false] {
            let line = Line::default();
            let broken = line.ask(Duration::from_secs(60), || {
                assert!(!begins || line.begins());
                line.broke();
            });
            assert_eq!(broken, Some(Err("the connection broke".to_owned())));
            assert!(!line.begins());
        }
    }
}
