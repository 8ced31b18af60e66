//! What opens a store on the command line: a key file, or a passphrase that is asked for or read from a file, never an argument.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cenote_pool::StoreKey;
use clap::Args;
use rustix::termios::{self, LocalModes, OptionalActions, Termios};
use signal_hook::consts::SIGINT;
use zeroize::Zeroizing;

use crate::exit::{Failure, Kind};
use crate::output;

/// One of them.
#[derive(Args)]
#[group(id = "key", multiple = false, requires = "store")]
pub(crate) struct KeyArgs {
    /// File with the key of the store, made with it.
    #[arg(long, value_name = "FILE")]
    store_key: Option<PathBuf>,
    /// Ask for the passphrase of the store on the terminal, without showing it.
    #[arg(long)]
    store_passphrase: bool,
    /// File with the passphrase of the store, or /dev/fd/N for an open descriptor.
    #[arg(long, value_name = "FILE")]
    store_passphrase_file: Option<PathBuf>,
}

impl KeyArgs {
    /// The key of what is kept in `dir`; of a new store where nothing is, for which a key file is made and a passphrase asked for twice.
    ///
    /// # Errors
    /// Of files and the terminal; bad input if there is no terminal, or if both passphrases differ.
    pub(crate) fn key(&self, dir: &Path) -> Result<StoreKey, Failure> {
        let new = !dir.exists();
        let key = match (&self.store_key, &self.store_passphrase_file) {
            (Some(file), _) if new && !file.exists() => StoreKey::create(file),
            (Some(file), _) => StoreKey::load(file),
            (None, Some(file)) => StoreKey::load_passphrase(file),
            (None, None) => StoreKey::passphrase(&typed(new)?),
        };
        let key = key.map_err(|failure| Failure::new(Kind::Storage, failure.to_string()))?;
        if new {
            let under = match &self.store_key {
                Some(file) => format!("the key {}", file.display()),
                None => "the passphrase".to_owned(),
            };
            let dir = dir.display();
            output::note(&format!("{dir} keeps items from now on, under {under}"));
        }
        Ok(key)
    }
}

/// A terminal that shows nothing of what is typed, nor acts on it, until this is dropped. `rpassword` sees to that too, but asks first: who
/// types at once, or pastes, would read it on the screen.
struct Unseen {
    terminal: File,
    before: Termios,
    interrupt: signal_hook::SigId,
}

impl Unseen {
    fn begin() -> std::io::Result<Unseen> {
        let terminal = File::open("/dev/tty")?;
        let before = termios::tcgetattr(&terminal)?;
        let mut unseen = before.clone();
        unseen.local_modes -= LocalModes::ECHO | LocalModes::ISIG;
        // Without a handler `rpassword` ends the process before it restores the terminal; with one it gives an error.
        let interrupt = signal_hook::flag::register(SIGINT, Arc::default())?;
        termios::tcsetattr(&terminal, OptionalActions::Now, &unseen)?;
        Ok(Unseen { terminal, before, interrupt })
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // A terminal that has gone shows nothing either.
        let _ = termios::tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
        signal_hook::low_level::unregister(self.interrupt);
    }
}

/// What somebody types at the terminal, where nobody sees it; `twice` if nothing else would show a slip.
fn typed(twice: bool) -> Result<Zeroizing<String>, Failure> {
    let refused = |error: std::io::Error| match error.kind() {
        ErrorKind::Interrupted => Failure::interrupted(),
        _ => Failure::bad_input(format!(
            "no terminal to ask for the passphrase at ({error}); give --store-passphrase-file"
        )),
    };
    let _unseen = Unseen::begin().map_err(refused)?;
    let ask = |what: &str| rpassword::prompt_password(what).map(Zeroizing::new).map_err(refused);
    let text = ask("passphrase of the store: ")?;
    if twice && *text != *ask("the same again: ")? {
        return Err(Failure::bad_input("the two passphrases differ; nothing was made"));
    }
    Ok(text)
}
