//! What the two services tell each other of jobs, beside the sessions in which they run.
//!
//! **On the link** (`link.rs`): JSON, so that a later release may say more; at most [`MAX_MESSAGE`] bytes, unknown fields refused.
//! **In a lane** (`lane.rs`): [`Order`], and [`Verdicts`] of both sides on it.
//! **What they give away.** That a job is wanted, its program, public parameters, priority and deadline; whether the other side permits it and why
//! not, in one of few words ([`Refusal`]). Never an input, a data set's name, or anything that depends on a private value, but for [`Source::Record`](crate::model::Source):
//! whether there is such a record.
//! **Checks.** `service.message`: well-formed, within the limits \[decoding\].

use cenote_net::{Fault, Tag};
use serde::{Deserialize, Serialize};

use crate::audit::Head;
use crate::jobs::Offer;
use crate::registry::is_digest;

/// Leader of a lane: what comes next.
pub(crate) const ORDER: Tag = Tag::new(110, "service.order");
/// Follower: whether it goes on.
pub(crate) const REPLY: Tag = Tag::new(111, "service.reply");
/// Leader: whether it goes on itself.
pub(crate) const GO: Tag = Tag::new(114, "service.go");
/// A side's news.
pub(crate) const NEWS: Tag = Tag::new(112, "service.news");
/// The answer to them.
pub(crate) const ANSWER: Tag = Tag::new(113, "service.answer");
/// A round of a measure of the line (`line.rs`), and its bytes.
pub(crate) const LINE: Tag = Tag::new(115, "service.line");
pub(crate) const LINE_BYTES: Tag = Tag::new(116, "service.line.bytes");

/// Longest message on the link.
pub(crate) const MAX_MESSAGE: usize = 1 << 20;
/// Offers in a message.
pub(crate) const MOST_OFFERS: usize = 256;
/// Bytes of offers in a message, about; one more may be above.
pub(crate) const OFFER_BYTES: usize = 256 << 10;
/// Open jobs named in a message.
pub(crate) const MOST_NAMES: usize = 20_000;
/// Jobs that run at once.
pub(crate) const MOST_RUN: usize = 32;
/// Jobs in a message that are taken back, and that are declined.
pub(crate) const MOST_TOLD: usize = 4_000;
/// Memories in a message that are to end, and bytes of the name of one.
pub(crate) const MOST_ENDS: usize = 64;
pub(crate) const MAX_MEMORY: usize = 256;
/// Public parameters of a job, and bytes of each name and value.
pub(crate) const MOST_PARAMETERS: usize = 16;
pub(crate) const MAX_PARAMETER: usize = 256;

/// What a message is that no honest peer sends.
pub(crate) const REFUSED: Fault = Fault::Misbehaved("service.message");

/// What one side has to say.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct News {
    /// Jobs that its owner wants.
    pub(crate) offers: Vec<Offer>,
    /// Jobs that it does not want any more.
    pub(crate) cancelled: Vec<String>,
    /// Jobs of the other side's that it took and will not run after all.
    pub(crate) declined: Vec<Declined>,
    /// All open jobs of its owner, once after each connection: whatever is not among them is not wanted.
    pub(crate) open: Option<Vec<String>>,
    /// Memories that its owner ends, where the other side leads.
    pub(crate) ends: Vec<String>,
    /// It is about to stop: the leader ends its lanes.
    pub(crate) stopping: bool,
    /// Its owner asks how fast the line is: measured behind the answer, if that agrees.
    pub(crate) measure: bool,
    /// Where its audit log is.
    #[serde(with = "head_text")]
    pub(crate) head: Head,
}

/// A job that will not run after all.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Declined {
    pub(crate) id: String,
    pub(crate) why: Refusal,
}

/// What the other answers.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// One for each offer, in order.
    pub(crate) verdicts: Vec<Verdict>,
    /// Jobs that were named as open, and are not here.
    pub(crate) gone: Vec<String>,
    /// The line is measured now, as the news asked.
    pub(crate) measures: bool,
    /// Where its audit log is.
    #[serde(with = "head_text")]
    pub(crate) head: Head,
}

/// Whether a job is accepted.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Accepted,
    Refused(Refusal),
}

/// Why not, as far as the other side may know.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Refusal {
    /// No program of this digest is registered.
    UnknownProgram,
    /// No approval permits it.
    NotApproved,
    /// No uses are left, or nothing of a quota.
    Quota,
    /// Its inputs cannot be had: there is no such record, or a data set is not what it was.
    NoData,
    /// Too many jobs wait.
    Busy,
    /// The service stops, or cannot write.
    Unavailable,
    /// It was taken back, or is over.
    Over,
    /// The memory that it goes on with is not there, or the one that it begins is.
    NoMemory,
}

impl Refusal {
    const ALL: [Refusal; 8] = [
        Refusal::UnknownProgram,
        Refusal::NotApproved,
        Refusal::Quota,
        Refusal::NoData,
        Refusal::Busy,
        Refusal::Unavailable,
        Refusal::Over,
        Refusal::NoMemory,
    ];

    /// For the owner of the job.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Refusal::UnknownProgram => "the peer has not registered this program",
            Refusal::NotApproved => "the peer's owner has not approved this program for you",
            Refusal::Quota => {
                "the peer's approval has no uses left, or your jobs took what it allows in a period"
            }
            Refusal::NoData => "the peer does not have the data for it",
            Refusal::NoMemory => {
                "a memory that the program goes on with is not there, one that it begins is there already, or there is no room for it"
            }
            Refusal::Busy => "too many of your jobs wait at the peer; submit it later",
            Refusal::Unavailable => "the peer cannot take jobs now; submit it later",
            Refusal::Over => "the peer does not know it any more, or its time is over",
        }
    }
}

/// A head as text.
mod head_text {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    use crate::audit::Head;

    pub(super) fn serialize<S: Serializer>(head: &Head, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(head)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Head, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// A message as it travels.
pub(crate) fn encode(message: &impl Serialize) -> Result<Vec<u8>, Fault> {
    let bytes = serde_json::to_vec(message).map_err(|error| Fault::Internal(error.to_string()))?;
    if bytes.len() > MAX_MESSAGE {
        return Err(Fault::Internal("a message of the link is too long".into()));
    }
    Ok(bytes)
}

impl News {
    pub(crate) fn decode(bytes: &[u8]) -> Result<News, Fault> {
        let news: News = serde_json::from_slice(bytes).map_err(|_| REFUSED)?;
        let declined = news.declined.iter().map(|declined| &declined.id);
        let named = news.cancelled.iter().chain(declined).chain(news.open.iter().flatten());
        let few = news.offers.len() <= MOST_OFFERS
            && news.cancelled.len().max(news.declined.len()) <= MOST_TOLD
            && news.ends.len() <= MOST_ENDS
            && news.open.as_ref().is_none_or(|open| open.len() <= MOST_NAMES);
        let sound = few
            && named.chain(news.offers.iter().map(|offer| &offer.id)).all(|id| is_id(id))
            && news.offers.iter().all(is_sound)
            && news.ends.iter().all(|name| is_memory(name));
        if sound { Ok(news) } else { Err(REFUSED) }
    }
}

impl Answer {
    /// Decodes the answer to these news.
    pub(crate) fn decode(bytes: &[u8], news: &News) -> Result<Answer, Fault> {
        let answer: Answer = serde_json::from_slice(bytes).map_err(|_| REFUSED)?;
        let fits = answer.verdicts.len() == news.offers.len()
            && answer.gone.len() <= news.open.as_ref().map_or(0, Vec::len)
            && answer.gone.iter().all(|id| is_id(id))
            && (news.measure || !answer.measures);
        if fits { Ok(answer) } else { Err(REFUSED) }
    }
}

/// Whether this is an id of a job: 32 hexadecimal digits in their only form.
pub(crate) fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
}

/// Whether a memory may have this name.
fn is_memory(name: &str) -> bool {
    (1..=MAX_MEMORY).contains(&name.len()) && !name.chars().any(char::is_control)
}

/// Whether parameters are within the limits.
pub(crate) fn are_parameters(all: &std::collections::BTreeMap<String, String>) -> bool {
    let short = |text: &String| text.len() <= MAX_PARAMETER && !text.chars().any(char::is_control);
    all.len() <= MOST_PARAMETERS && all.iter().all(|(name, value)| short(name) && short(value))
}

fn is_sound(offer: &Offer) -> bool {
    is_digest(&offer.program)
        && are_parameters(&offer.select)
        && (-100..=100).contains(&offer.priority)
}

/// What comes next in a lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// These jobs in one run, 1 to [`MOST_RUN`], as far as both go on.
    Run(Vec<[u8; ID_LEN]>),
    /// Both save what is ready.
    Save,
    /// Both put everything away; the session is over.
    End,
    /// Both forget the memory of this name, and save the others.
    EndMemory(String),
}

const ID_LEN: usize = 16;
/// Most bytes of an order.
pub(crate) const MAX_ORDER: usize = 1 + MOST_RUN * ID_LEN;
/// Most bytes of the verdicts on one.
pub(crate) const MAX_VERDICTS: usize = HEAD_LEN + MOST_RUN;
const HEAD_LEN: usize = 40;

impl Order {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Order::Run(ids) => [&[1], ids.as_flattened()].concat(),
            Order::Save => vec![2],
            Order::End => vec![3],
            Order::EndMemory(name) => [&[4], name.as_bytes()].concat(),
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Order, Fault> {
        match bytes {
            [2] => Ok(Order::Save),
            [3] => Ok(Order::End),
            [1, ids @ ..] => match ids.as_chunks() {
                (ids, []) if (1..=MOST_RUN).contains(&ids.len()) => Ok(Order::Run(ids.to_vec())),
                _ => Err(REFUSED),
            },
            [4, name @ ..] => match str::from_utf8(name) {
                Ok(name) if is_memory(name) => Ok(Order::EndMemory(name.to_owned())),
                _ => Err(REFUSED),
            },
            _ => Err(REFUSED),
        }
    }
}

/// Whether a side goes on with each job of an order, and where its audit log is: its lines of those jobs are in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Verdicts {
    pub(crate) all: Vec<Verdict>,
    pub(crate) head: Head,
}

impl Verdicts {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let place = |why: &Refusal| Refusal::ALL.iter().position(|one| one == why);
        let byte = |verdict: &Verdict| match verdict {
            Verdict::Accepted => 0,
            Verdict::Refused(why) => 1 + place(why).unwrap_or_default() as u8,
        };
        head_bytes(self.head).into_iter().chain(self.all.iter().map(byte)).collect()
    }

    /// Those on an order of so many jobs.
    pub(crate) fn decode(bytes: &[u8], jobs: usize) -> Result<Verdicts, Fault> {
        let (head, all) = bytes.split_at_checked(HEAD_LEN).ok_or(REFUSED)?;
        if all.len() != jobs {
            return Err(REFUSED);
        }
        let verdict = |byte: &u8| match byte.checked_sub(1) {
            None => Ok(Verdict::Accepted),
            Some(why) => Refusal::ALL
                .get(usize::from(why))
                .map_or(Err(REFUSED), |why| Ok(Verdict::Refused(*why))),
        };
        Ok(Verdicts {
            all: all.iter().map(verdict).collect::<Result<_, _>>()?,
            head: head_of(head),
        })
    }
}

fn head_bytes(head: Head) -> [u8; HEAD_LEN] {
    let mut bytes = [0; HEAD_LEN];
    bytes[..8].copy_from_slice(&head.sequence.to_le_bytes());
    bytes[8..].copy_from_slice(&head.hash);
    bytes
}

fn head_of(bytes: &[u8]) -> Head {
    let mut head = Head { sequence: 0, hash: [0; 32] };
    if let Some((sequence, hash)) = bytes.split_first_chunk::<8>() {
        head.sequence = u64::from_le_bytes(*sequence);
        head.hash.copy_from_slice(hash);
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use cenote_net::Fault;

    fn offer() -> Offer {
        Offer {
            id: "0123456789abcdef0123456789abcdef".into(),
            program: "ab".repeat(32),
            select: [("customer".to_owned(), "7".to_owned())].into(),
            priority: 3,
            within: Some(1000),
        }
    }

    #[test]
    fn what_is_sent_is_read_and_nothing_else() {
        let ends = vec!["sums".to_owned()];
        let news = News { offers: vec![offer()], ends, stopping: true, ..News::default() };
        assert_eq!(News::decode(&encode(&news).unwrap()).unwrap(), news);
        let wrong: [fn(&mut News); 10] = [
            |news| news.ends.push(String::new()),
            |news| news.ends.push("m\n".into()),
            |news| news.ends = vec!["m".into(); MOST_ENDS + 1],
            |news| news.declined.push(Declined { id: "x".into(), why: Refusal::Over }),
            |news| news.offers[0].id.push('0'),
            |news| news.offers[0].id.make_ascii_uppercase(),
            |news| news.offers[0].program = "x".repeat(64),
            |news| news.offers[0].priority = 101,
            |news| drop(news.offers[0].select.insert("a".into(), "\n".into())),
            |news| news.cancelled.push("..".into()),
        ];
        for change in wrong {
            let mut news = news.clone();
            change(&mut news);
            assert_eq!(
                News::decode(&encode(&news).unwrap()),
                Err(Fault::Misbehaved("service.message"))
            );
        }
        let more = News { offers: vec![offer(); MOST_OFFERS + 1], ..News::default() };
        assert!(News::decode(&encode(&more).unwrap()).is_err());
        let mut other: serde_json::Value = serde_json::to_value(&news).unwrap();
        other["head"] = "7".into();
        assert!(News::decode(&encode(&other).unwrap()).is_err());
        other["head"] = Head::START.to_string().into();
        assert!(News::decode(&encode(&other).unwrap()).is_ok());
        other["x"] = 1.into();
        assert!(News::decode(&encode(&other).unwrap()).is_err());
        let answer = Answer { verdicts: vec![Verdict::Accepted], ..Answer::default() };
        assert!(Answer::decode(&encode(&answer).unwrap(), &news).is_ok());
        assert!(Answer::decode(&encode(&answer).unwrap(), &News::default()).is_err());
        let gone = Answer { gone: vec![offer().id], ..answer };
        assert!(Answer::decode(&encode(&gone).unwrap(), &news).is_err());
        let named = News { open: Some(vec![offer().id]), ..news };
        assert!(Answer::decode(&encode(&gone).unwrap(), &named).is_ok());
        let measures = Answer { measures: true, ..gone };
        assert!(Answer::decode(&encode(&measures).unwrap(), &named).is_err());
        let asked = News { measure: true, ..named };
        assert!(Answer::decode(&encode(&measures).unwrap(), &asked).is_ok());
    }

    #[test]
    fn orders_and_verdicts_have_one_form() {
        let memory = Order::EndMemory("m".repeat(MAX_MEMORY));
        for order in [Order::Run(vec![[5; 16]; MOST_RUN]), Order::Save, Order::End, memory] {
            let bytes = order.encode();
            assert!(bytes.len() <= MAX_ORDER);
            assert_eq!(Order::decode(&bytes).unwrap(), order);
            let longer = [bytes, vec![0]].concat();
            assert!(Order::decode(&longer).is_err());
        }
        let none = Order::Run(vec![]).encode();
        let many = Order::Run(vec![[5; 16]; MOST_RUN + 1]).encode();
        for bytes in [&[][..], &[9], &none, &many, &[4], &[4, 0xff], b"\x04m\n"] {
            assert!(Order::decode(bytes).is_err());
        }
        let all: Vec<Verdict> = Refusal::ALL.map(Verdict::Refused).into_iter().collect();
        let verdicts = Verdicts {
            all: [all, vec![Verdict::Accepted]].concat(),
            head: Head { sequence: 7, hash: [9; 32] },
        };
        let (jobs, bytes) = (verdicts.all.len(), verdicts.encode());
        assert!(bytes.len() <= MAX_VERDICTS);
        assert_eq!(Verdicts::decode(&bytes, jobs).unwrap(), verdicts);
        for other in [jobs - 1, jobs + 1] {
            assert!(Verdicts::decode(&bytes, other).is_err());
        }
        let unknown = [&bytes[..HEAD_LEN], &[9]].concat();
        assert!(Verdicts::decode(&unknown, 1).is_err());
        assert!(Verdicts::decode(&bytes[..HEAD_LEN - 1], 0).is_err());
    }
}
