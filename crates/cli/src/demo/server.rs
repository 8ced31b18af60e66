//! One of the two servers: a process that holds one table and answers one order after the other.
//!
//! A fault ends the session, not the server: it reports what happened and takes the next order, which
//! may open another session. It ends with its standard input or by a signal, and cancels what runs then.

use std::io::{self, BufRead};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use cenote_circuit::{hex_from_bits, value_from_hex};
use cenote_engine::backends::wrk;
use cenote_engine::backends::wrk::supply::TRIPLES;
use cenote_engine::{Fault, Job, Role, Session};
use cenote_job::{Summary, policy};
use cenote_net::{
    CERTIFICATE_FILE, Canceller, Channels, Deviation, Identity, Listener, PeerCertificate, Phase,
    tcp_listen,
};
use cenote_pool::Occupancy;

use super::jobs::aes::Aes;
use super::jobs::maximum::{Maximum, best};
use super::jobs::median::Median;
use super::jobs::quarters::Quarters;
use super::jobs::top::Top;
use super::jobs::total::Total;
use super::jobs::{Answer, Side, Sizes};
use super::lines::{Event, Order, Promise, Report, Request, store};
use super::table::Table;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::link::{self, End, Protection};
use crate::output::{self, Format, Reply};

/// Runs a server until its standard input ends.
///
/// # Errors
/// When it cannot start.
pub(crate) fn command() -> Result<Reply, Failure> {
    // A terminal's Ctrl-C reaches the servers too; they end without a word.
    let interrupt = Interrupt::install(Format::Human)?;
    let running = Running::default();
    let (sender, orders) = channel();
    let stop = {
        let (running, sender) = (running.clone(), sender.clone());
        move || {
            running.cancel();
            // The receiver may be gone already.
            let _ = sender.send(None);
        }
    };
    interrupt.on_signal(stop.clone());
    thread::spawn(move || {
        read_orders(&sender);
        stop();
    });
    serve(&orders, running);
    Ok(Reply::silent())
}

fn read_orders(orders: &Sender<Option<String>>) {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        if orders.send(Some(line)).is_err() {
            return;
        }
    }
}

fn serve(orders: &Receiver<Option<String>>, running: Running) {
    let mut server: Option<Server> = None;
    while let Ok(Some(line)) = orders.recv() {
        let event = match serde_json::from_str(&line) {
            Ok(order) => obey(&mut server, order, &running),
            Err(_) => Err(Fault::Misuse("`cenote demo-server` is started by `cenote demo`".into())),
        };
        let event = Event::from(event);
        output::line(&serde_json::to_value(event).unwrap_or_default());
    }
    if let Some(session) = server.and_then(|server| server.session) {
        session.close();
    }
}

fn obey(server: &mut Option<Server>, order: Order, running: &Running) -> Result<Event, Fault> {
    if let Order::Start { role, table, dir } = order {
        let new = Server::start(role, &table, &dir, running.clone())?;
        let event = new.started(&dir);
        *server = Some(new);
        return Ok(event);
    }
    let server = server.as_mut().ok_or_else(|| Fault::Misuse("start the server first".into()))?;
    let event = server.obey(order);
    if event.is_err() {
        server.session = None;
        server.running.set(None);
    }
    event
}

/// Cancels what runs from another thread. Clones share it.
#[derive(Clone, Default)]
struct Running(Arc<Mutex<(bool, Option<Canceller>)>>);

impl Running {
    fn set(&self, canceller: Option<Canceller>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (true, Some(canceller)) = (state.0, &canceller) {
            canceller.cancel();
        }
        state.1 = canceller;
    }

    /// Cancels now and whatever is set later.
    fn cancel(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        if let Some(canceller) = &state.1 {
            canceller.cancel();
        }
    }
}

struct Server {
    role: Role,
    table: Table,
    identity: Arc<Identity>,
    peer: Option<PeerCertificate>,
    listener: Option<Arc<Listener>>,
    sizes: Sizes,
    session: Option<Session>,
    running: Running,
}

impl Server {
    fn start(role: Role, table: &Path, dir: &Path, running: Running) -> Result<Server, Fault> {
        let table = Table::load(table)?;
        let identity = Identity::generate(match role {
            Role::Garbler => "issuer-a",
            Role::Evaluator => "issuer-b",
        })?;
        identity.save(dir)?;
        let sizes = Sizes { a: 0, b: 0 };
        Ok(Server {
            role,
            table,
            identity: Arc::new(identity),
            peer: None,
            listener: None,
            sizes,
            session: None,
            running,
        })
    }

    fn started(&self, dir: &Path) -> Event {
        Event::Started {
            rows: self.table.rows().len(),
            certificate: dir.join(CERTIFICATE_FILE),
            fingerprint: self.identity.fingerprint().to_string(),
        }
    }

    fn obey(&mut self, order: Order) -> Result<Event, Fault> {
        match order {
            Order::Start { .. } => Err(Fault::Misuse("the server has started".into())),
            Order::Pair { certificate } => self.pair(&certificate),
            Order::Open { address, sizes, pool, cheat } => {
                self.open(address.as_deref(), sizes, pool, cheat)
            }
            Order::Stock { triples } => self.stock(triples),
            Order::Answer(request) => self.answer(request),
            Order::Close => {
                if let Some(session) = self.session.take() {
                    session.close();
                }
                Ok(Event::Closed)
            }
        }
    }

    fn pair(&mut self, certificate: &Path) -> Result<Event, Fault> {
        self.peer = Some(PeerCertificate::load(certificate)?);
        if self.role == Role::Garbler {
            self.listener = Some(Arc::new(tcp_listen("127.0.0.1:0")?));
        }
        let listening = self.listener.as_ref().map(|listener| listener.address().to_string());
        Ok(Event::Paired { listening })
    }

    fn open(
        &mut self,
        address: Option<&str>,
        sizes: Sizes,
        pool: u64,
        cheat: bool,
    ) -> Result<Event, Fault> {
        let started = Instant::now();
        self.session = None;
        self.sizes = sizes;
        let mut channels = self.connect(address)?;
        self.running.set(Some(channels.control().canceller()));
        if cheat {
            // Reports a wrong masked value, and so a wrong result, if nobody looked.
            channels.control().deviate(wrk::tags::REPORT, 0, Deviation::Flip(0));
        }
        let config = super::session(pool)?;
        let mut session = Session::open(channels, self.role, &config)?;
        let Summary { counters, claims, .. } = Summary::of(&mut session);
        let event = Event::Opened {
            session: output::hex(&session.id()),
            seconds: started.elapsed().as_secs_f64(),
            bytes_sent: counters.total().bytes_sent,
            promise: Promise {
                backend: claims.backend.to_owned(),
                adversary: claims.promise.adversary.name().to_owned(),
                peer: claims.peer.name().to_owned(),
                kappa: claims.promise.kappa,
                epsilon_log2: claims.promise.epsilon_log2,
                audited: claims.promise.audited,
            },
        };
        self.session = Some(session);
        Ok(event)
    }

    fn connect(&self, address: Option<&str>) -> Result<Channels, Fault> {
        let unpaired = || Fault::Misuse("pair the server first".into());
        let peer = self.peer.clone().ok_or_else(unpaired)?;
        let end = match (address, &self.listener) {
            (Some(address), _) => End::Connect(address.to_owned()),
            (None, Some(listener)) => End::Accept(Arc::clone(listener)),
            (None, None) => return Err(unpaired()),
        };
        let protection = Protection::Tls { identity: Arc::clone(&self.identity), peer };
        link::open(end, protection, policy::PEER_COMES, None)
    }

    fn stock(&mut self, triples: usize) -> Result<Event, Fault> {
        let started = Instant::now();
        let session = self.session.as_mut().ok_or_else(no_session)?;
        let before = session.counters();
        session.fill()?;
        session.stock(triples)?;
        // From now on refills go beside requests.
        session.keep(triples)?;
        Ok(Event::Level {
            occupancy: occupancy(session),
            seconds: started.elapsed().as_secs_f64(),
            bytes_sent: session.counters().since(&before).total().bytes_sent,
        })
    }

    fn answer(&mut self, request: Request) -> Result<Event, Fault> {
        let side = Side { own: &self.table, sizes: self.sizes };
        let session = self.session.as_mut().ok_or_else(no_session)?;
        match request {
            Request::Total => perform(session, &Total(side), Answer::Total),
            Request::Quarters => perform(session, &Quarters(side), Answer::Quarters),
            Request::Top => perform(session, &Top(side), Answer::Ranks),
            Request::Maximum => {
                perform(session, &Maximum { own: best(&self.table) }, Answer::Cents)
            }
            Request::Median => perform(session, &Median(side), Answer::Cents),
            Request::Aes { share, block } => {
                let number = |name: &str, text: &str| {
                    value_from_hex(name, 128, text).map_err(|e| Fault::Misuse(e.to_string()))
                };
                let block = block.map(|block| number("block", &block)).transpose()?;
                let job = Aes { share: number("share", &share)?, block };
                perform(session, &job, |bits| Answer::Block(hex_from_bits(&bits)))
            }
        }
    }
}

fn perform<T, J: Job<Output = Option<T>>>(
    session: &mut Session,
    job: &J,
    answer: impl Fn(T) -> Answer,
) -> Result<Event, Fault> {
    let before = store(&occupancy(session), TRIPLES).consumed;
    let started = Instant::now();
    let outcome = session.run(job)?;
    let seconds = started.elapsed().as_secs_f64();
    let occupancy = occupancy(session);
    let total = outcome.cost.total();
    Ok(Event::Answered(Box::new(Report {
        answer: outcome.output.map(answer),
        job_id: output::hex(&outcome.job_id),
        ands: store(&occupancy, TRIPLES).consumed - before,
        bytes_sent: total.bytes_sent,
        rounds: total.rounds,
        seconds,
        refill_seconds: outcome.cost.phase(Phase::Preprocess).time.as_secs_f64(),
        occupancy,
    })))
}

fn occupancy(session: &Session) -> Occupancy {
    session.occupancy().unwrap_or_default()
}

fn no_session() -> Fault {
    Fault::Misuse("open a session first".into())
}
