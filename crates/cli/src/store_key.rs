//! What opens a store on the command line: a key file, or a passphrase that is asked for or read from a file, never an argument.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cenote_pool::StoreKey;
use clap::Args;
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

/// What somebody types at the terminal, where nobody sees it; `twice` if nothing else would show a slip.
fn typed(twice: bool) -> Result<Zeroizing<String>, Failure> {
    let ask = |what: &str| match rpassword::prompt_password(what) {
        Ok(text) => Ok(Zeroizing::new(text)),
        Err(error) if error.kind() == ErrorKind::Interrupted => Err(Failure::interrupted()),
        Err(error) => Err(Failure::bad_input(format!(
            "no terminal to ask for the passphrase at ({error}); give --store-passphrase-file"
        ))),
    };
    let text = ask("passphrase of the store: ")?;
    if twice && *text != *ask("the same again: ")? {
        return Err(Failure::bad_input("the two passphrases differ; nothing was made"));
    }
    Ok(text)
}
