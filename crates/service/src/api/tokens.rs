//! Who may call the API: a TOML file with names, roles and hashes of tokens.
//!
//! ```toml
//! [[token]]
//! name = "billing"
//! hash = "<SHA-256 of the token, 64 hexadecimal digits>"
//! roles = ["submitter"]
//! ```
//!
//! A token is 32 random bytes, so a plain hash gives nothing away that a search could find. The file is read again when it changes: a token that is taken out is
//! refused from then on, and a file that cannot be used lets nobody in.

use std::collections::HashSet;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use data_encoding::{BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize as _, Zeroizing};

use super::problem::Problem;
use crate::error::{ErrorKind, ServiceError};
use crate::registry::{hex, named};
use crate::stamp::Stamp;

/// Largest file of tokens.
const MAX_FILE: u64 = 1 << 20;
/// What tokens begin with, so that one is known for what it is wherever it turns up.
const PREFIX: &str = "cenote_";

/// What the holder of a token may do.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Ask for jobs and see their results.
    Submitter,
    /// Say what is permitted: programs, data sets, approvals.
    Approver,
    /// Keep it running: programs, figures, the hold after a failed check.
    Operator,
    /// Look at jobs without their results, and at the audit log.
    Auditor,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 4] = [Role::Submitter, Role::Approver, Role::Operator, Role::Auditor];

    /// The name in files and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Role::Submitter => "submitter",
            Role::Approver => "approver",
            Role::Operator => "operator",
            Role::Auditor => "auditor",
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Who calls: a token by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    name: String,
    roles: Vec<Role>,
}

impl Caller {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn has(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// The tokens of a file, as it is now.
pub struct Tokens {
    path: PathBuf,
    known: Mutex<Known>,
}

/// What was read, and of which state of the file; none of a file that cannot be used.
struct Known {
    stamp: Option<Stamp>,
    tokens: Option<Vec<Token>>,
}

struct Token {
    hash: [u8; 32],
    caller: Caller,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    token: Vec<WrittenToken>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenToken {
    name: String,
    hash: String,
    roles: Vec<Role>,
}

impl Tokens {
    /// The tokens of a file.
    ///
    /// # Errors
    /// `Invalid`, with file, cause and remedy, for a file that is missing, that others may read, or that is not as described.
    pub fn open(path: &Path) -> Result<Tokens, ServiceError> {
        let (stamp, tokens) = read(path)?;
        let known = Known { stamp: Some(stamp), tokens: Some(tokens) };
        Ok(Tokens { path: path.to_owned(), known: Mutex::new(known) })
    }

    /// Makes a token and puts its hash into the file, which is made where there is none. The token itself is nowhere else.
    ///
    /// # Errors
    /// `Conflict` for a name that is there; `Invalid` for a name or file that cannot be used; `Unavailable` when it cannot be written.
    pub fn add(path: &Path, name: &str, roles: &[Role]) -> Result<Zeroizing<String>, ServiceError> {
        named(name)?;
        if roles.is_empty() {
            return Err(ServiceError::invalid("a token has at least one role"));
        }
        let known = if path.exists() { read(path)?.1 } else { Vec::new() };
        if known.iter().any(|token| token.caller.name == name) {
            let what = format!(
                "{}: there is a token `{name}`; choose another name, or take it out first",
                path.display()
            );
            return Err(ServiceError::new(ErrorKind::Conflict, what));
        }
        let mut secret = Zeroizing::new([0; 32]);
        cenote_prim::os_bytes(&mut *secret);
        let token = Zeroizing::new(format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&*secret)));
        let roles: Vec<String> = roles.iter().map(|role| format!("\"{}\"", role.name())).collect();
        let entry = format!(
            "\n[[token]]\nname = \"{name}\"\nhash = \"{}\"\nroles = [{}]\n",
            hex(&Sha256::digest(token.as_bytes())),
            roles.join(", ")
        );
        append(path, &entry).map_err(|error| {
            let what = format!("{}: {error}", path.display());
            ServiceError::new(ErrorKind::Unavailable, what)
        })?;
        Ok(token)
    }

    /// Which of these names no token has: what is set up for them serves nobody.
    pub fn unknown<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.refresh(&mut known);
        let tokens = known.tokens.as_deref().unwrap_or_default();
        names.filter(|name| tokens.iter().all(|token| token.caller.name != *name)).collect()
    }

    /// Whether a token of this name still has these roles.
    pub(super) fn knows(&self, caller: &Caller) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.refresh(&mut known);
        let same = |token: &Token| token.caller == *caller;
        known.tokens.as_ref().is_some_and(|tokens| tokens.iter().any(same))
    }

    /// Who sent this request.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let unknown = || {
            let what = "this path needs a valid token, as `Authorization: Bearer TOKEN`; `cenote token add` makes one";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthorised", what)
        };
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let (Some(one), None) = (sent.next(), sent.next()) else { return Err(unknown()) };
        let (scheme, token) =
            one.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(unknown)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(unknown());
        }
        let hash: [u8; 32] = Sha256::digest(token.trim().as_bytes()).into();
        self.with_hash(&hash)?.ok_or_else(unknown)
    }

    /// The caller of this hash. Every one is compared, however many agree.
    fn with_hash(&self, hash: &[u8; 32]) -> Result<Option<Caller>, Problem> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.refresh(&mut known);
        let Some(tokens) = &known.tokens else {
            let what = "the file of tokens cannot be used; the service's log says why";
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", what));
        };
        let mut found = None;
        for token in tokens {
            if bool::from(token.hash.ct_eq(hash)) {
                found = Some(token.caller.clone());
            }
        }
        Ok(found)
    }

    /// Reads the file again if it has changed.
    fn refresh(&self, known: &mut Known) {
        let now = Stamp::at(&self.path);
        if now == known.stamp && (now.is_some() || known.tokens.is_none()) {
            return;
        }
        match read(&self.path) {
            Ok((stamp, tokens)) => {
                tracing::info!(file = %self.path.display(), tokens = tokens.len(), "tokens read again");
                *known = Known { stamp: Some(stamp), tokens: Some(tokens) };
            }
            Err(error) => {
                tracing::error!(%error, "nobody has access before the file of tokens is put right");
                *known = Known { stamp: now, tokens: None };
            }
        }
    }
}

fn read(path: &Path) -> Result<(Stamp, Vec<Token>), ServiceError> {
    let invalid = |what: String| ServiceError::invalid(format!("{}: {what}", path.display()));
    let failed = |error: std::io::Error| {
        invalid(format!("{error}; `cenote token add` makes a file of tokens"))
    };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.mode() & 0o027 != 0 {
        return Err(invalid("others may read or change it; chmod 600 takes that away".into()));
    }
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text).map_err(failed)?;
    let written: Written = toml::from_str(&text).map_err(|error| {
        // Without the text around, in which somebody may have put a token.
        let at = error.span().map_or(0, |span| span.start);
        let line = text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
        let what = error.message();
        ServiceError::invalid(format!("{}:{line}: {what}", path.display()))
    })?;
    let mut names = HashSet::new();
    let mut tokens = Vec::new();
    for WrittenToken { name, hash: digits, roles } in written.token {
        named(&name).map_err(|error| invalid(error.what))?;
        if !names.insert(name.clone()) {
            return Err(invalid(format!("there are two tokens `{name}`; take one out")));
        }
        let bytes = HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok();
        let hash = bytes.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let hash = hash.ok_or_else(|| {
            invalid(format!("token `{name}`: its hash is not 64 hexadecimal digits, SHA-256 of the token; never the token itself"))
        })?;
        if roles.is_empty() {
            return Err(invalid(format!("token `{name}` has no role")));
        }
        tokens.push(Token { hash, caller: Caller { name, roles } });
    }
    text.zeroize();
    Ok((Stamp::of(&metadata), tokens))
}

/// Puts `entry` at the end: the file is there as it was, or whole with it.
fn append(path: &Path, entry: &str) -> std::io::Result<()> {
    let mut text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    if text.is_empty() {
        text.push_str("# Who may call the API: names, roles and SHA-256 of tokens. `cenote token add` adds one; take one out to withdraw it.\n");
    }
    text.push_str(entry);
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let mut file = tempfile::NamedTempFile::new_in(parent.unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
