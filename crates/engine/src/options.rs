//! The choices of the owners: a backend with its options, in types and as text, `wrk:pool=480000,rho=64`.
//!
//! The text form is the same on command lines, in Python, in JSON and in errors. Only what was chosen is
//! shown; the rest has the default that the backend's list of options gives it.

use std::fmt;
use std::str::FromStr;

use cenote_net::Fault;
use cenote_ot::Choice;

use crate::backends::Backend;

/// An option of a backend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opt {
    /// The name in texts and handshakes.
    pub name: &'static str,
    /// The values that it takes.
    pub values: Values,
    /// The value of a session for a single job that names none.
    pub default: OptValue,
    /// The same for a session that serves many: preprocessing pays off over its life.
    pub lasting: OptValue,
    /// ANDs of a single job for which it pays off as well.
    pub lasting_from: u64,
    /// A line for people.
    pub about: &'static str,
}

/// The values that an option takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Values {
    /// A positive number.
    Positive,
    /// A positive number or `none`.
    PositiveOrNone,
    /// One of these numbers.
    OneOf(&'static [u64]),
    /// One of these names.
    Named(&'static [&'static str]),
    /// `true` or `false`.
    Switch,
}

/// The value of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OptValue {
    /// `none`.
    None,
    /// A number.
    Number(u64),
    /// A name.
    Name(&'static str),
    /// `true` or `false`.
    Switch(bool),
}

impl Values {
    fn parse(self, text: &str) -> Option<OptValue> {
        let number = || text.parse().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
        match self {
            Values::PositiveOrNone if text == "none" => Some(OptValue::None),
            Values::Positive | Values::PositiveOrNone => {
                number().filter(|&n| n > 0).map(OptValue::Number)
            }
            Values::OneOf(all) => number().filter(|n| all.contains(n)).map(OptValue::Number),
            Values::Named(all) => all.iter().find(|name| **name == text).map(|n| OptValue::Name(n)),
            Values::Switch => text.parse().ok().map(OptValue::Switch),
        }
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::Positive => f.write_str("a positive whole number"),
            Values::PositiveOrNone => f.write_str("a positive whole number, or `none`"),
            Values::OneOf(all) => either(f, all.iter().map(u64::to_string).collect()),
            Values::Named(all) => either(f, all.iter().map(|name| (*name).to_owned()).collect()),
            Values::Switch => f.write_str("true or false"),
        }
    }
}

/// A list as people read it.
fn either(f: &mut fmt::Formatter<'_>, all: Vec<String>) -> fmt::Result {
    let (last, rest) = all.split_last().ok_or(fmt::Error)?;
    write!(f, "{} or {last}", rest.join(", "))
}

impl fmt::Display for OptValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptValue::None => f.write_str("none"),
            OptValue::Number(number) => number.fmt(f),
            OptValue::Name(name) => f.write_str(name),
            OptValue::Switch(on) => on.fmt(f),
        }
    }
}

/// The pool, for backends that draw from one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolChoice {
    /// A pool of this many items, kept full for the life of the session.
    Kept(u64),
    /// No pool: one-shot batches, the smallest sound one for about this many ANDs at a time.
    OneShot(u64),
}

/// Statistical security, in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rho {
    /// 2^-40.
    Bits40,
    /// 2^-64.
    Bits64,
    /// 2^-80.
    Bits80,
}

impl Rho {
    /// The number of bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Rho::Bits40 => 40,
            Rho::Bits64 => 64,
            Rho::Bits80 => 80,
        }
    }

    /// Base-2 logarithm of the error bound.
    #[must_use]
    pub const fn epsilon_log2(self) -> f64 {
        -(self.bits() as f64)
    }
}

impl Opt {
    /// The pool.
    #[must_use]
    pub const fn pool(
        values: Values,
        default: OptValue,
        (lasting, lasting_from): (u64, u64),
        about: &'static str,
    ) -> Opt {
        let lasting = OptValue::Number(lasting);
        Opt { name: "pool", values, default, lasting, lasting_from, about }
    }

    /// An option with one default for all sessions.
    #[must_use]
    pub const fn new(
        name: &'static str,
        values: Values,
        default: OptValue,
        about: &'static str,
    ) -> Opt {
        Opt { name, values, default, lasting: default, lasting_from: u64::MAX, about }
    }

    /// The value of a session for a single job of so many ANDs that names none.
    const fn default_for(&self, ands: u64) -> OptValue {
        if ands >= self.lasting_from { self.lasting } else { self.default }
    }

    /// Statistical security in bits.
    pub const RHO: Opt = Opt::new(
        "rho",
        Values::OneOf(&[40, 64, 80]),
        OptValue::Number(40),
        "statistical security in bits",
    );

    /// Correlated oblivious transfer, of which a backend needs much: picked by the line as a session opens, or by its owners.
    pub const OT: Opt = Opt::new(
        OT,
        Values::Named(&["auto", OT_NAMES[0], OT_NAMES[1], OT_NAMES[2]]),
        OptValue::Name("auto"),
        "correlated oblivious transfer; auto goes by the line",
    );

    /// The same for a backend that needs little.
    pub const SOFTSPOKEN: Opt = Opt::new(
        OT,
        Values::Named(&[OT_NAMES[0], OT_NAMES[1]]),
        OptValue::Name(OT_NAMES[0]),
        "correlated oblivious transfer with digits of 4 or 8 bits",
    );

    /// A switch.
    #[must_use]
    pub const fn switch(name: &'static str, default: bool, about: &'static str) -> Opt {
        Opt::new(name, Values::Switch, OptValue::Switch(default), about)
    }
}

/// The name of the option of oblivious transfer, and those of [`Choice::all`].
pub(crate) const OT: &str = "ot";
pub(crate) const OT_NAMES: [&str; 3] = ["softspoken4", "softspoken8", "silent"];

/// The name of a protocol of correlated OT among the values of that option.
pub(crate) fn ot_name(ot: Choice) -> &'static str {
    let known = Choice::all().into_iter().position(|known| known == ot);
    known.map_or("another", |place| OT_NAMES[place])
}

/// The most options of a backend, so that configurations are plain values.
pub(crate) const MAX_OPTIONS: usize = 8;

/// What both owners agree on before a session opens: a backend and its options.
///
/// Its text form is `NAME` or `NAME:OPTION=VALUE,..`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionConfig {
    /// The protocol.
    pub backend: Backend,
    /// ANDs of the computation that the session is for, about; sizes one-shot batches.
    pub ands: u64,
    /// The chosen values, in the order of the backend's list.
    chosen: [Option<OptValue>; MAX_OPTIONS],
}

impl SessionConfig {
    /// A session with the defaults of `backend`, for few ANDs.
    #[must_use]
    pub const fn new(backend: Backend) -> SessionConfig {
        SessionConfig { backend, ands: 1, chosen: [None; MAX_OPTIONS] }
    }

    /// The same for a computation of about `ands` ANDs.
    #[must_use]
    pub const fn for_ands(self, ands: u64) -> SessionConfig {
        SessionConfig { ands, ..self }
    }

    /// The same with this option.
    ///
    /// # Errors
    /// `Misuse` when the backend has no such option or it was set before; `Policy` when it does not take the
    /// value.
    pub fn set(mut self, name: &str, value: &str) -> Result<SessionConfig, Fault> {
        let backend = self.backend.name();
        let Some(place) = self.backend.options().iter().position(|opt| opt.name == name) else {
            let names: Vec<&str> = self.backend.options().iter().map(|opt| opt.name).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let what = format!("{backend} has no option `{name}`; it has {has}");
            return Err(Fault::Misuse(what));
        };
        if self.chosen[place].is_some() {
            return Err(Fault::Misuse(format!("option `{name}` of {backend} is given twice")));
        }
        let Opt { values, about, .. } = self.backend.options()[place];
        let parsed = values.parse(value).ok_or_else(|| {
            let what = format!("{name} is {values}, not {value}");
            Fault::Policy(format!("option `{name}` of {backend}: {what} ({about})"))
        })?;
        self.chosen[place] = Some(parsed);
        Ok(self)
    }

    /// The same with the defaults of a session that serves many jobs.
    #[must_use]
    pub fn lasting(mut self) -> SessionConfig {
        for (chosen, opt) in self.chosen.iter_mut().zip(self.backend.options()) {
            chosen.get_or_insert(opt.lasting);
        }
        self
    }

    /// Each option of the backend with its value.
    pub fn options(&self) -> impl Iterator<Item = (&'static str, OptValue)> + use<> {
        let (all, ands) = (self.backend.options().iter().zip(self.chosen), self.ands);
        all.map(move |(opt, chosen)| (opt.name, chosen.unwrap_or(opt.default_for(ands))))
    }

    /// The value of an option, if the backend has it.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<OptValue> {
        self.options().find(|(option, _)| *option == name).map(|(_, value)| value)
    }

    /// The pool.
    #[must_use]
    pub fn pool(&self) -> PoolChoice {
        match self.option("pool") {
            Some(OptValue::Number(items)) => PoolChoice::Kept(items),
            _ => PoolChoice::OneShot(self.ands),
        }
    }

    /// Whether there is a pool to fill before the first job.
    #[must_use]
    pub fn has_pool(&self) -> bool {
        matches!(self.pool(), PoolChoice::Kept(_))
    }

    /// Statistical security.
    #[must_use]
    pub fn rho(&self) -> Rho {
        match self.option("rho") {
            Some(OptValue::Number(64)) => Rho::Bits64,
            Some(OptValue::Number(80)) => Rho::Bits80,
            _ => Rho::Bits40,
        }
    }

    /// Oblivious transfer, where the owners have chosen; none where the line decides.
    #[must_use]
    pub fn ot(&self) -> Option<Choice> {
        let Some(OptValue::Name(chosen)) = self.option(OT) else { return None };
        let all = OT_NAMES.into_iter().zip(Choice::all());
        all.into_iter().find(|(name, _)| *name == chosen).map(|(_, choice)| choice)
    }

    /// This one, or `fastest` where the line decides on oblivious transfer.
    #[must_use]
    pub fn or_by_line(self, fastest: SessionConfig) -> SessionConfig {
        if self.ot().is_none() { fastest } else { self }
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.option(name) == Some(OptValue::Switch(true))
    }

    /// Reads several configurations between commas, each followed by its options: `wrk:rho=64,jimu`.
    ///
    /// # Errors
    /// As for one.
    pub fn parse_list(text: &str) -> Result<Vec<SessionConfig>, Fault> {
        let mut all: Vec<String> = Vec::new();
        for part in text.split(',') {
            match all.last_mut() {
                Some(last) if part.contains('=') && !part.contains(':') => {
                    last.push(',');
                    last.push_str(part);
                }
                _ => all.push(part.to_owned()),
            }
        }
        all.iter().map(|one| one.parse()).collect()
    }
}

impl FromStr for SessionConfig {
    type Err = Fault;

    fn from_str(text: &str) -> Result<SessionConfig, Fault> {
        let (name, options) = text.split_once(':').map_or((text, None), |(n, o)| (n, Some(o)));
        let config = SessionConfig::new(name.parse()?);
        let Some(options) = options else { return Ok(config) };
        options.split(',').try_fold(config, |config, option| {
            let (name, value) = option.split_once('=').ok_or_else(|| {
                Fault::Misuse(format!("`{option}` is no option; write NAME=VALUE after {name}:"))
            })?;
            config.set(name, value)
        })
    }
}

impl fmt::Display for SessionConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.backend.name())?;
        let options = self.backend.options().iter().zip(self.chosen);
        let chosen = options.filter_map(|(opt, value)| Some((opt.name, value?)));
        for (i, (name, value)) in chosen.enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl serde::Serialize for SessionConfig {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for SessionConfig {
    fn deserialize<D: serde::Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SessionConfig, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> SessionConfig {
        text.parse().unwrap_or_else(|fault| panic!("{text}: {fault}"))
    }

    #[test]
    fn what_is_printed_is_read_again() {
        for text in [
            "plain",
            "yao",
            "wrk",
            "wrk:pool=none",
            "yao:ot=softspoken8",
            "wrk:pool=none,ot=silent",
            "wrk:pool=480000,rho=64",
            "jimu:pool=5000,rho=80,muxcore=false,compact=true",
        ] {
            assert_eq!(parsed(text).to_string(), text);
        }
        // In the order of the list, whatever the order that they came in.
        assert_eq!(parsed("wrk:rho=64,pool=9").to_string(), "wrk:pool=9,rho=64");
        for backend in Backend::ALL {
            let lasting = SessionConfig::new(backend).lasting();
            assert_eq!(parsed(&lasting.to_string()), lasting);
            assert!(backend.options().len() <= MAX_OPTIONS);
        }
    }

    #[test]
    fn defaults_stand_for_what_is_not_chosen() {
        let config = parsed("wrk").for_ands(7);
        assert_eq!((config.pool(), config.rho()), (PoolChoice::OneShot(7), Rho::Bits40));
        let of_480 = PoolChoice::Kept(480_000);
        assert_eq!(config.for_ands(479_999).pool(), PoolChoice::OneShot(479_999));
        assert_eq!(config.for_ands(480_000).pool(), of_480);
        assert_eq!(parsed("wrk:pool=none").for_ands(1 << 40).pool(), PoolChoice::OneShot(1 << 40));
        assert_eq!(parsed("jimu").for_ands(1 << 40).pool(), PoolChoice::Kept(10_000));
        let config = config.lasting();
        assert_eq!((config.pool(), config.rho()), (PoolChoice::Kept(480_000), Rho::Bits40));
        let config = parsed("jimu:compact=true");
        assert_eq!(config.pool(), PoolChoice::Kept(10_000));
        assert!(config.is_on("muxcore") && config.is_on("compact"));
        assert!(!parsed("jimu:muxcore=false").is_on("muxcore"));
        let ots = ["wrk", "wrk:ot=auto", "wrk:ot=silent", "yao", "yao:ot=softspoken8"];
        let choices = ots.map(|text| parsed(text).ot().map(|ot| ot.to_string()));
        assert_eq!(choices[..2], [None, None]);
        assert!(choices[2].as_ref().is_some_and(|ot| ot.starts_with("silent")));
        assert!(choices[4].as_ref().is_some_and(|ot| ot.contains("k = 8")));
        assert_eq!(parsed("yao").ot(), Some(Choice::default()));
        assert!(!parsed("yao").has_pool() && !parsed("yao").lasting().has_pool());
    }

    #[test]
    fn unknown_repeated_and_out_of_range_options_are_refused_by_name() {
        for (text, what) in [
            ("wkr", "there is no backend `wkr`; use plain, yao, wrk, jimu"),
            ("wrk:", "`` is no option; write NAME=VALUE after wrk:"),
            ("wrk:pool", "`pool` is no option; write NAME=VALUE after wrk:"),
            ("wrk:pol=9", "wrk has no option `pol`; it has pool, rho, ot"),
            ("yao:rho=40", "yao has no option `rho`; it has ot"),
            ("plain:rho=40", "plain has no option `rho`; it has none"),
            ("wrk:pool=9,pool=9", "option `pool` of wrk is given twice"),
            ("wrk:pool=0", "pool is a positive whole number, or `none`, not 0"),
            ("wrk:pool=+5", "pool is a positive whole number, or `none`, not +5"),
            ("jimu:pool=none", "pool is a positive whole number, not none"),
            ("wrk:rho=41", "rho is 40, 64 or 80, not 41"),
            ("jimu:compact=yes", "compact is true or false, not yes"),
            ("yao:ot=silent", "ot is softspoken4 or softspoken8, not silent"),
            ("wrk:ot=8", "ot is auto, softspoken4, softspoken8 or silent, not 8"),
        ] {
            let fault = text.parse::<SessionConfig>().expect_err(text);
            assert!(fault.to_string().contains(what), "{text}: {fault}");
        }
    }

    #[test]
    fn lists_keep_options_with_their_backend() {
        let all = SessionConfig::parse_list("wrk:pool=9,rho=64,jimu,yao").expect("all are good");
        let all: Vec<String> = all.iter().map(SessionConfig::to_string).collect();
        assert_eq!(all, ["wrk:pool=9,rho=64", "jimu", "yao"]);
        assert!(SessionConfig::parse_list("rho=64").is_err());
    }
}
