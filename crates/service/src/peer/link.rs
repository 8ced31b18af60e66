//! What the two services tell each other of jobs: each offers those of its owner to the other, which answers by its own approvals.
//!
//! There are two connections, one for the news of each side: a side sends its news, the other answers, and so on. Whatever is new since goes in one
//! message, so that a line with a long way costs one round trip for many jobs. After each new connection a side names all its open jobs,
//! and the other drops those that it does not name.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cenote_net::{Channel, Fault};

use super::connect::Backoff;
use super::messages::{
    ANSWER, Answer, MAX_MESSAGE, MOST_NAMES, MOST_OFFERS, NEWS, News, Verdict, encode,
};
use crate::inner::Inner;
use crate::jobs;

/// News of the side that calls, and of the side that listens.
const PURPOSES: [&str; 2] = ["link.caller", "link.listener"];
/// How long nothing new may be said: also for changes that nobody told of.
const QUIET: Duration = Duration::from_secs(5);
/// How long a side waits for the peer at a time.
const WAIT: Duration = Duration::from_secs(5);

/// Tells this side's news, or hears the peer's, until the service stops.
pub(crate) fn run(inner: &Arc<Inner>, tells: bool) {
    let calls = inner.config.peer.connect.is_some();
    let purpose = PURPOSES[usize::from(calls != tells)];
    let mut backoff = Backoff::new();
    while !inner.way.is_over() {
        let ended = inner.way.channel(purpose, WAIT).and_then(|mut channel| {
            backoff.reset();
            inner.linked(tells, true);
            let ended = if tells { tell(inner, &mut channel) } else { hear(inner, &mut channel) };
            if ended.is_err() {
                channel.abort();
            } else {
                channel.close();
            }
            ended
        });
        inner.linked(tells, false);
        if let Err(fault) = ended
            && !inner.way.is_over()
        {
            tracing::debug!(%fault, purpose, "the link is down");
            inner.pause(backoff.next());
        }
    }
}

fn tell(inner: &Inner, channel: &mut Channel) -> Result<(), Fault> {
    let mut seen = 0;
    let mut said: Option<(Instant, bool)> = None;
    while !inner.way.is_over() {
        let news = news(inner, said.is_none()).map_err(unavailable)?;
        let nothing = news.offers.is_empty() && news.cancelled.is_empty();
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
        let answer = Answer::decode(&bytes, news.offers.len())?;
        inner.heard_head(&answer.head);
        for (offer, verdict) in news.offers.iter().zip(&answer.verdicts) {
            inner.answered(&offer.id, *verdict).map_err(unavailable)?;
        }
    }
    Ok(())
}

fn news(inner: &Inner, first: bool) -> Result<News, crate::ServiceError> {
    let open = first.then(|| jobs::own_open(&inner.db)).transpose()?;
    let mut cancelled = inner.take_cancelled();
    cancelled.truncate(MOST_NAMES);
    Ok(News {
        offers: jobs::unanswered(&inner.db, MOST_OFFERS)?,
        cancelled,
        open: open.filter(|open| open.len() <= MOST_NAMES),
        stopping: inner.is_stopping(),
        head: inner.audit.head().to_string(),
    })
}

fn hear(inner: &Inner, channel: &mut Channel) -> Result<(), Fault> {
    loop {
        let bytes = channel.recv_bounded(NEWS, MAX_MESSAGE)?;
        let news = News::decode(&bytes)?;
        inner.heard_head(&news.head);
        inner.peer_stops(news.stopping);
        for id in &news.cancelled {
            inner.cancelled_by_peer(id).map_err(unavailable)?;
        }
        if let Some(open) = &news.open {
            jobs::drop_unnamed(&inner.db, open).map_err(unavailable)?;
        }
        let verdicts = news.offers.iter().map(|offer| match inner.offered(offer) {
            Ok(()) => Verdict::Accepted,
            Err(refusal) => Verdict::Refused(refusal),
        });
        let answer = Answer { verdicts: verdicts.collect(), head: inner.audit.head().to_string() };
        channel.send(ANSWER, &encode(&answer)?)?;
        channel.flush()?;
    }
}

fn unavailable(error: crate::ServiceError) -> Fault {
    Fault::Storage(error.to_string())
}
