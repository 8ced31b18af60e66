//! What the two services tell each other of jobs: each offers those of its owner to the other, which answers by its own approvals.
//!
//! There are two connections, one for the news of each side: a side sends its news, the other answers, and so on. Whatever is new since goes in one
//! message, so that a line with a long way costs one round trip for many jobs. After each new connection a side names all its open jobs,
//! and the other drops those that it does not name.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use cenote_net::{Channel, Fault};

use super::connect::Backoff;
use super::line;
use super::messages::{
    ANSWER, Answer, MAX_MESSAGE, MOST_NAMES, MOST_OFFERS, MOST_TOLD, NEWS, News, OFFER_BYTES,
    Verdict, encode,
};
use crate::error::ServiceError;
use crate::inner::{Inner, lock};
use crate::jobs;

/// News of the side that calls, and of the side that listens.
const PURPOSES: [&str; 2] = ["link.caller", "link.listener"];
/// How long nothing new may be said: also for changes that nobody told of.
const QUIET: Duration = Duration::from_secs(5);
/// How long a side waits for the peer at a time.
const WAIT: Duration = Duration::from_secs(5);
/// How long the peer may be silent.
const SILENT: Duration = super::lane::SILENT;

/// Tells this side's news, or hears the peer's, until the service stops.
pub(crate) fn run(inner: &Arc<Inner>, tells: bool) {
    keep(inner, tells, Backoff::new());
}

fn keep(inner: &Inner, tells: bool, mut backoff: Backoff) {
    let calls = inner.config.peer.connect.is_some();
    let purpose = PURPOSES[usize::from(calls != tells)];
    // Whatever of the peer answers: it is there.
    let met = || [&inner.meetings, &inner.sessions].map(|all| all.load(Ordering::SeqCst));
    while !inner.way.is_over() {
        let before = met();
        let ended = inner.way.channel(purpose, WAIT).and_then(|mut channel| {
            // A connection that ends nowhere is found out by this.
            channel.set_idle_limit(SILENT);
            inner.reached();
            let ended = match tells {
                true => tell(inner, &mut channel, &mut backoff),
                false => hear(inner, &mut channel, &mut backoff),
            };
            if ended.is_err() {
                channel.abort();
            } else {
                channel.close();
            }
            ended
        });
        inner.unlinked(tells, &ended);
        if tells {
            inner.line.broke();
        }
        if let Err(fault) = ended
            && !inner.way.is_over()
        {
            if matches!(fault, Fault::Misbehaved(_)) {
                tracing::warn!(%fault, purpose, "the peer says what this version does not know: has it another?");
            } else {
                tracing::debug!(%fault, purpose, "the link is down");
            }
            inner.rest(purpose, &mut backoff, || met() != before);
        }
    }
}

fn tell(inner: &Inner, channel: &mut Channel, backoff: &mut Backoff) -> Result<(), Fault> {
    let mut seen = 0;
    let (mut said, mut met): (Option<(Instant, bool)>, _) = (None, false);
    while !inner.way.is_over() {
        let news = news(inner, said.is_none()).map_err(unavailable)?;
        let news = News { measure: said.is_some() && inner.line.begins(), ..news };
        let nothing = news.offers.is_empty()
            && news.cancelled.is_empty()
            && news.declined.is_empty()
            && news.ends.is_empty()
            && !news.measure;
        if let Some((at, stopping)) = said
            && nothing
            && stopping == news.stopping
            && at.elapsed() < QUIET
        {
            seen = inner.wait_change(seen, QUIET);
            continue;
        }
        said = Some((Instant::now(), news.stopping));
        channel.send(NEWS, &encode(&news)?)?;
        let bytes = channel.recv_bounded(ANSWER, MAX_MESSAGE)?;
        let answer = Answer::decode(&bytes, &news)?;
        // Only now: a connection that ends at its first message is no success.
        backoff.reset();
        if !std::mem::replace(&mut met, true) {
            inner.linked(true);
        }
        answered(inner, &news, &answer).map_err(unavailable)?;
        if news.measure {
            let soon = "this side measured a moment ago, as the peer sees it".to_owned();
            let found = answer.measures.then(|| line::measure(channel)).transpose()?;
            inner.line.found(found.ok_or(soon));
        }
    }
    Ok(())
}

/// What follows from the peer's answer to own news.
pub(crate) fn answered(inner: &Inner, news: &News, answer: &Answer) -> Result<(), ServiceError> {
    inner.heard_head(answer.head);
    inner.told_cancelled(&news.cancelled);
    inner.told_ends(&news.ends);
    let mut declined = lock(&inner.declined);
    let told = news.declined.len().min(declined.len());
    drop(declined.drain(..told));
    drop(declined);
    for id in &answer.gone {
        inner.forgotten_by_peer(id)?;
    }
    for (offer, verdict) in news.offers.iter().zip(&answer.verdicts) {
        inner.answered(&offer.id, *verdict)?;
    }
    Ok(())
}

/// What there is to say; `first` on a connection.
pub(crate) fn news(inner: &Inner, first: bool) -> Result<News, ServiceError> {
    let own = News { stopping: inner.is_stopping(), head: inner.audit.head(), ..News::default() };
    if first {
        inner.tell_ends_again();
        let open = jobs::own_open(&inner.db)?;
        return Ok(News { open: Some(open).filter(|open| open.len() <= MOST_NAMES), ..own });
    }
    let mut offers = jobs::unanswered(&inner.db, MOST_OFFERS)?;
    let mut bytes = 0;
    offers.retain(|offer| {
        let fits = bytes < OFFER_BYTES;
        bytes += offer.bytes();
        fits
    });
    // As many as go into a message. The own jobs of one that is lost are made good by the names of the next connection. The peer's are said again until
    // they were answered: it names them on its own connection, which may have stayed.
    let mut cancelled = lock(&inner.cancelled);
    let most = cancelled.len().min(MOST_TOLD);
    let cancelled = cancelled.drain(..most).collect();
    let declined = lock(&inner.declined).iter().take(MOST_TOLD).cloned().collect();
    Ok(News { offers, cancelled, declined, ends: inner.ends_to_tell(), ..own })
}

fn hear(inner: &Inner, channel: &mut Channel, backoff: &mut Backoff) -> Result<(), Fault> {
    let mut met = false;
    loop {
        let bytes = channel.recv_bounded(NEWS, MAX_MESSAGE)?;
        let news = News::decode(&bytes)?;
        backoff.reset();
        if !std::mem::replace(&mut met, true) {
            inner.linked(false);
        }
        let answer = heard(inner, &news).map_err(unavailable)?;
        channel.send(ANSWER, &encode(&answer)?)?;
        channel.flush()?;
        if answer.measures {
            line::serve(channel)?;
        }
    }
}

/// What follows from the peer's news, and the answer.
pub(crate) fn heard(inner: &Inner, news: &News) -> Result<Answer, ServiceError> {
    inner.heard_head(news.head);
    inner.peer_stops(news.stopping);
    for id in &news.cancelled {
        inner.cancelled_by_peer(id)?;
    }
    for declined in &news.declined {
        inner.declined_by_peer(&declined.id, declined.why)?;
    }
    inner.peer_ends(&news.ends);
    let mut gone = Vec::new();
    if let Some(open) = &news.open {
        jobs::drop_unnamed(&inner.db, open)?;
        gone = jobs::gone(&inner.db, open)?;
    }
    let verdicts = news.offers.iter().map(|offer| match inner.offered(offer) {
        Ok(()) => Verdict::Accepted,
        Err(refusal) => Verdict::Refused(refusal),
    });
    let (verdicts, head) = (verdicts.collect(), inner.audit.head());
    Ok(Answer { verdicts, gone, measures: news.measure && inner.line.serves(), head })
}

fn unavailable(error: ServiceError) -> Fault {
    Fault::Storage(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use cenote_net::Identity;

    use super::*;
    use crate::Service;

    /// A service that has no threads, and a port to which it connects.
    fn connects() -> (tempfile::TempDir, Arc<Inner>, TcpListener) {
        let temp = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let config = format!(
            "name = \"b\"\n[peer]\nname = \"a\"\nrole = \"evaluator\"\nconnect = \"{address}\"\n"
        );
        std::fs::write(temp.path().join("cenote.toml"), config).unwrap();
        Identity::generate("b").unwrap().save(temp.path()).unwrap();
        let peer = Identity::generate("a").unwrap().certificate().to_pem();
        std::fs::write(temp.path().join("peer.crt.pem"), peer).unwrap();
        let inner = Inner::open_in(temp.path()).unwrap().0;
        (temp, inner, listener)
    }

    #[test]
    fn a_connection_that_goes_well_has_the_others_try_at_once() {
        let (_temp, inner, listener) = connects();
        listener.set_nonblocking(true).unwrap();
        let called = |limit: Duration| {
            let end = Instant::now() + limit;
            while Instant::now() < end {
                if listener.accept().is_ok() {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            false
        };
        std::thread::scope(|scope| {
            scope.spawn(|| keep(&inner, true, Backoff::longest()));
            // Whoever is there hangs up, time and again while the call lasts: then it rests, for 15 s at least.
            let first = called(Duration::from_secs(5));
            while called(Duration::from_secs(2)) {}
            inner.sessions.fetch_add(1, Ordering::SeqCst);
            let again = called(Duration::from_secs(5));
            inner.way.end();
            assert!(first && again);
        });
    }

    #[test]
    fn nobody_is_made_to_try_without_a_pause() {
        let (_temp, inner, _listener) = connects();
        let mut backoff = Backoff::longest();
        for least in [500, 250, 250] {
            let begins = Instant::now();
            inner.rest("link.caller", &mut backoff, || true);
            let took = begins.elapsed();
            assert!(took >= Duration::from_millis(least), "{took:?}");
            assert!(took < Duration::from_secs(5), "{took:?}");
        }
    }

    #[test]
    fn a_service_is_ready_once_both_sides_hear_each_other() {
        let (_temp, inner, _listener) = connects();
        let service = Service(Arc::clone(&inner));
        inner.lanes.iter().for_each(|lane| lane.set(|now| now.state = "ready"));
        let is = || (service.is_ready(), service.status().unwrap().peer.connected);
        assert_eq!(is(), (false, false));
        for tells in [true, false] {
            inner.linked(!tells);
            assert_eq!(is(), (false, false), "of the peer's or the own jobs nobody hears");
            inner.linked(tells);
            assert_eq!(is(), (true, true));
            inner.unlinked(tells, &Ok(()));
            assert_eq!(is(), (false, false));
            inner.unlinked(!tells, &Ok(()));
        }
    }
}
