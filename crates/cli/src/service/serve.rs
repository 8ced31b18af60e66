//! `cenote serve`: the service itself, until a signal ends it.

use std::io::IsTerminal as _;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cenote_service::api::{self, Certificate, NEEDS_TLS, Tokens};
use cenote_service::config::Config;
use cenote_service::{Service, ServiceError};
use clap::{Args, ValueEnum};
use sd_notify::NotifyState;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::oneshot;
use tracing::level_filters::LevelFilter;

use super::client::config;
use super::running::Running;
use crate::exit::{Failure, Kind};
use crate::output::{Format, Reply};

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Directory that `cenote init` made for a service.
    pub(crate) dir: PathBuf,
    /// Form of the log on standard error; lines for people on a terminal, else JSON.
    #[arg(long, value_name = "FORM")]
    pub(crate) log: Option<LogForm>,
    /// What is logged at least: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: LevelFilter,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum LogForm {
    /// Lines for people.
    Human,
    /// One JSON object a line.
    Json,
}

pub(crate) fn serve(args: &ServeArgs, format: Format) -> Result<Reply, Failure> {
    start_log(args, format);
    let config = config(&args.dir)?;
    let tokens = Tokens::open(&config.path(&config.api.tokens))?;
    for name in tokens.unknown(config.quota.tokens()) {
        tracing::warn!(name, "[quota.token]: no token has this name");
    }
    let tls = tls(&config)?;
    if Running::in_dir(&args.dir) == Running::Yes {
        // What counts is that one database has one service; said before the port, which the other one has.
        let what = format!(
            "{}: another process serves it; end that first, one directory has one",
            args.dir.display()
        );
        return Err(Failure::new(Kind::Storage, what));
    }
    let (listener, address) = listen(&config)?;
    let stop = on_signal()?;
    let service = Service::start(&args.dir)?;
    tracing::info!(name = config.name, api = %address, tls = tls.is_some(), peer = config.peer.name, "started");
    let served = api::serve(service.clone(), tokens, listener, tls, async {
        // Polled beside the API, once that accepts. Nobody hears it where it was not started by systemd.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        // An error is the end of the thread that waits for signals, which is an end too.
        let _ = stop.await;
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        tracing::info!("stopping: the job that runs ends, what is ready is put away");
    });
    service.stop();
    tracing::info!("stopped");
    served?;
    Ok(Reply::silent())
}

/// Log lines go to standard error; a command that was asked for JSON logs JSON.
fn start_log(args: &ServeArgs, format: Format) {
    let people = std::io::stderr().is_terminal() && format == Format::Human;
    let form = args.log.unwrap_or(if people { LogForm::Human } else { LogForm::Json });
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(args.log_level);
    // Set once in a process, so it is not set yet.
    let _ = match form {
        LogForm::Human => log.with_target(false).with_ansi(people).try_init(),
        LogForm::Json => log.json().flatten_event(true).try_init(),
    };
}

/// Certificate and key of the API, if it has TLS.
pub(super) fn tls(config: &Config) -> Result<Option<Certificate>, Failure> {
    let Some((certificate, key)) = config.api_files() else { return Ok(None) };
    Ok(Some(Certificate::open(&certificate, &key)?))
}

/// The addresses of the API: without TLS, on this machine alone.
pub(super) fn addresses(config: &Config) -> Result<Vec<SocketAddr>, Failure> {
    let text = &config.api.listen;
    let unusable = |what: String| Failure::bad_input(format!("[api] listen = \"{text}\": {what}"));
    let addresses = text.to_socket_addrs().map_err(|error| unusable(error.to_string()))?;
    let addresses: Vec<SocketAddr> = addresses.collect();
    let local = addresses.iter().all(|address| address.ip().is_loopback());
    if config.api.certificate.is_none() && !local {
        return Err(unusable(NEEDS_TLS.into()));
    }
    Ok(addresses)
}

/// The listener of the API.
pub(super) fn listen(config: &Config) -> Result<(TcpListener, SocketAddr), Failure> {
    let (addresses, text) = (addresses(config)?, &config.api.listen);
    let listener = TcpListener::bind(addresses.as_slice());
    let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (address, listener) = bound.map_err(|error| {
        let what = format!(
            "[api] listen = \"{text}\": {error}; choose another port, or end what is there"
        );
        Failure::new(Kind::Connection, what)
    })?;
    Ok((listener, address))
}

/// Ready at the first signal; the second one ends the process at once.
fn on_signal() -> Result<oneshot::Receiver<()>, Failure> {
    let (first, stop) = oneshot::channel();
    let failed = |error: std::io::Error| Failure::internal(format!("signals: {error}"));
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let again = AtomicBool::new(false);
    thread::spawn(move || {
        let mut first = Some(first);
        for _ in signals.forever() {
            if again.swap(true, Ordering::SeqCst) {
                tracing::warn!("a second signal: ended at once, as by a crash");
                std::process::exit(Kind::Interrupted.code().into());
            }
            // Nobody may wait for it any more.
            let _ = first.take().map(|first| first.send(()));
        }
    });
    Ok(stop)
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Failure {
        use cenote_service::ErrorKind;
        let kind = match error.kind {
            ErrorKind::Forbidden => Kind::Refused,
            ErrorKind::Busy => Kind::Exhausted,
            ErrorKind::Unavailable => Kind::Storage,
            ErrorKind::Internal => Kind::Internal,
            _ => Kind::BadInput,
        };
        Failure::new(kind, error.what)
    }
}
