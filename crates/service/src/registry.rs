//! Programs, data sets and approvals of one owner.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cenote_data::{DataSet, Schema};
use cenote_engine::cost::{Demand, Plan};
use cenote_engine::{Fault, Role, SessionConfig};
use cenote_job::Computation;
use cenote_program::{Kind, MAGIC, Module};
use rusqlite::{Connection, OptionalExtension, params};

use crate::db::{Db, failed, now};
use crate::error::{ErrorKind, ServiceError};
use crate::jobs;
use crate::model::{DataSetView, PortView, ProgramCost, ProgramView, Sides, memory_views};
use crate::stamp::Stamp;

/// Longest name of a program or data set.
const MAX_NAME: usize = 128;

/// A registered program, read and counted.
pub(crate) struct Registered {
    pub(crate) name: String,
    pub(crate) digest: String,
    pub(crate) module: Arc<Module>,
    pub(crate) ands: u64,
    /// The own input that is the smallest group which it shows.
    pub(crate) smallest_group: Option<String>,
    /// What its price follows from.
    demand: Demand,
}

/// A program that its owner registers.
pub(crate) struct NewProgram<'a> {
    pub(crate) name: &'a str,
    /// Its text or binary form.
    pub(crate) bytes: &'a [u8],
    pub(crate) smallest_group: Option<&'a str>,
    /// The own one.
    pub(crate) role: Role,
}

/// Programs and data sets, as they are in the database, and read ones in memory.
#[derive(Default)]
pub(crate) struct Registry {
    programs: Mutex<HashMap<String, Arc<Registered>>>,
    /// By name, what was found when the file was read: the peer's offers must not have it read again and again.
    datasets: Mutex<HashMap<String, Read>>,
}

/// A file that was read for a data set.
struct Read {
    /// Under which the data set is bound.
    digest: String,
    /// The state of the file.
    stamp: Stamp,
    /// None if the file had another digest.
    data: Option<Arc<DataSet>>,
}

/// A program as it is on disk: its text or its binary form.
pub(crate) fn read_module(bytes: &[u8]) -> Result<Module, ServiceError> {
    let module = if bytes.starts_with(MAGIC) {
        Module::from_bytes(bytes).map_err(|error| error.to_string())
    } else {
        let text = std::str::from_utf8(bytes).map_err(|_| {
            "neither the binary nor the text form of a program; circuits become one by `cenote program from-circuit`"
                .to_owned()
        });
        text.and_then(|text| Module::parse_text(text).map_err(|error| error.to_string()))
    };
    module.map_err(ServiceError::invalid)
}

/// A name of a program or data set: what is easily typed, and shown without surprises.
pub(crate) fn named(name: &str) -> Result<(), ServiceError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
        let what = format!("a name has 1 to {MAX_NAME} letters, digits, `-`, `_` and `.`");
        return Err(ServiceError::invalid(what));
    }
    if is_digest(name) {
        // Whoever means a program by its digest must not get another one of that name.
        return Err(ServiceError::invalid(
            "a name is not 64 hexadecimal digits: those are digests",
        ));
    }
    Ok(())
}

/// Whether this may be the digest of a program.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|c| c.is_ascii_hexdigit())
}

impl Registry {
    /// Registers a program. The same program again is what it was; it may have a smallest group from now on, and not another one.
    pub(crate) fn register(
        &self,
        db: &Db,
        new: &NewProgram<'_>,
        most_ands: u64,
    ) -> Result<Arc<Registered>, ServiceError> {
        let name = new.name;
        named(name)?;
        let mut program = registered(name, read_module(new.bytes)?)?;
        if let Some(group) = new.smallest_group {
            is_number(&program.module, new.role, group)?;
            program.smallest_group = Some(group.to_owned());
        }
        if program.ands > most_ands {
            let what = format!(
                "`{name}` takes {} ANDs, the configuration allows {most_ands} (jobs.most_ands)",
                program.ands
            );
            return Err(ServiceError::invalid(what));
        }
        program.smallest_group = db.change(|db| put(db, &program))?;
        let program = Arc::new(program);
        self.keep(&program);
        Ok(program)
    }

    /// The program of this digest or name, as the own owner calls it. Whatever was written down, and the peer, have digests.
    pub(crate) fn program(&self, db: &Db, which: &str) -> Result<Arc<Registered>, ServiceError> {
        if is_digest(which) {
            return self.of_digest(db, which);
        }
        let find = "SELECT digest FROM program WHERE name = ?1";
        let digest = db.with(|db| {
            let mut find = db.prepare_cached(find)?;
            find.query_row([which], |row| row.get::<_, String>(0)).optional()
        })?;
        self.of_digest(db, &digest.ok_or_else(|| unregistered(which))?)
    }

    /// The program of this digest.
    pub(crate) fn of_digest(&self, db: &Db, digest: &str) -> Result<Arc<Registered>, ServiceError> {
        if let Some(known) = lock(&self.programs).get(digest) {
            return Ok(Arc::clone(known));
        }
        let find = "SELECT name, module, smallest_group FROM program WHERE digest = ?1";
        let found = db.with(|db| {
            let mut find = db.prepare_cached(find)?;
            find.query_row([digest], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?, row.get(2)?))
            })
            .optional()
        })?;
        let (name, bytes, smallest_group) = found.ok_or_else(|| unregistered(digest))?;
        let program = Registered { smallest_group, ..registered(&name, read_module(&bytes)?)? };
        if program.digest != digest {
            let what = format!("the program `{name}` in the database is not the one of its digest");
            return Err(ServiceError::new(ErrorKind::Internal, what));
        }
        let program = Arc::new(program);
        self.keep(&program);
        Ok(program)
    }

    /// A smallest group is never taken away: whoever read the row before it was set does not put the program back without it.
    fn keep(&self, program: &Arc<Registered>) {
        let mut programs = lock(&self.programs);
        let known = programs.get(&program.digest);
        if program.smallest_group.is_some()
            || known.is_none_or(|known| known.smallest_group.is_none())
        {
            programs.insert(program.digest.clone(), Arc::clone(program));
        }
    }

    /// All programs, by name, with what they cost in sessions by `config`.
    pub(crate) fn programs(
        &self,
        db: &Db,
        config: &SessionConfig,
    ) -> Result<Vec<ProgramView>, ServiceError> {
        let rows = db.with(|db| {
            let mut all =
                db.prepare_cached("SELECT name, registered_at FROM program ORDER BY name")?;
            let rows = all.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let view = |(name, at): (String, i64)| view(&*self.program(db, &name)?, at, config);
        rows.into_iter().map(view).collect()
    }

    /// Binds a file to a name. A name that is bound is bound anew.
    pub(crate) fn bind(
        &self,
        db: &Db,
        name: &str,
        path: &Path,
        schema: Option<&Schema>,
    ) -> Result<DataSetView, ServiceError> {
        named(name)?;
        let path = std::path::absolute(path)
            .map_err(|error| ServiceError::invalid(format!("{}: {error}", path.display())))?;
        // Of before it is read: what is changed meanwhile is read again.
        let stamp = Stamp::at(&path);
        let data =
            DataSet::open(&path, schema).map_err(|e| ServiceError::invalid(e.to_string()))?;
        let schema = serde_json::to_string(data.schema())
            .map_err(|error| ServiceError::invalid(error.to_string()))?;
        let put = "INSERT OR REPLACE INTO dataset (name, path, digest, schema, rows, bound_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let shown = path.display().to_string();
        let row = params![name, shown, hex(&data.digest()), schema, data.rows() as i64, now()];
        db.with(|db| db.execute(put, row))?;
        self.keep_data(name, hex(&data.digest()), stamp, Some(Arc::new(data)));
        self.dataset_view(db, name)
    }

    fn dataset_view(&self, db: &Db, name: &str) -> Result<DataSetView, ServiceError> {
        let mut all = self.datasets(db)?;
        all.retain(|one| one.name == name);
        all.pop().ok_or_else(|| ServiceError::not_found(format!("no data set `{name}` is bound")))
    }

    /// All data sets, by name.
    pub(crate) fn datasets(&self, db: &Db) -> Result<Vec<DataSetView>, ServiceError> {
        let rows = db.with(|db| {
            let all =
                "SELECT name, path, digest, schema, rows, bound_at FROM dataset ORDER BY name";
            let mut all = db.prepare_cached(all)?;
            let rows = all.query_map([], |row| {
                let schema: String = row.get(3)?;
                let schema: Schema = serde_json::from_str(&schema).unwrap_or_default();
                Ok(DataSetView {
                    name: row.get(0)?,
                    path: row.get(1)?,
                    digest: row.get(2)?,
                    columns: schema.columns.into_iter().map(|column| column.name).collect(),
                    rows: row.get::<_, i64>(4)?.unsigned_abs(),
                    bound_at: row.get(5)?,
                })
            })?;
            rows.collect()
        })?;
        Ok(rows)
    }

    /// The digest of the file that is bound to this name, if one is.
    pub(crate) fn data_digest(&self, db: &Db, name: &str) -> Result<Option<String>, ServiceError> {
        db.with(|db| {
            let mut find = db.prepare_cached("SELECT digest FROM dataset WHERE name = ?1")?;
            find.query_row([name], |row| row.get(0)).optional()
        })
    }

    /// The data set of this name, as it was when it was bound: another content of the file is refused.
    pub(crate) fn dataset(&self, db: &Db, name: &str) -> Result<Arc<DataSet>, ServiceError> {
        let find = "SELECT path, digest, schema FROM dataset WHERE name = ?1";
        let found = db.with(|db| {
            let row = |row: &rusqlite::Row<'_>| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
            };
            db.query_row(find, [name], row).optional()
        })?;
        let missing = || ServiceError::not_found(format!("no data set `{name}` is bound"));
        let (path, digest, schema) = found.ok_or_else(missing)?;
        let path = PathBuf::from(path);
        self.bound(name, &path, &schema, &digest)?.ok_or_else(|| {
            let path = path.display();
            let what =
                format!("data set `{name}`: {path} is not the file that was bound; bind it again");
            ServiceError::invalid(what)
        })
    }

    /// What is in the file if it has this digest; none, and nothing is parsed, if it has another one.
    fn bound(
        &self,
        name: &str,
        path: &Path,
        schema: &str,
        digest: &str,
    ) -> Result<Option<Arc<DataSet>>, ServiceError> {
        // Of before it is read: what is changed meanwhile is read again.
        let stamp = Stamp::at(path);
        if let Some(read) = lock(&self.datasets).get(name)
            && read.digest == digest
            && Some(read.stamp) == stamp
        {
            return Ok(read.data.clone());
        }
        // What was read before the name was bound anew is another one, as is a file that was changed or taken away since.
        lock(&self.datasets).remove(name);
        let internal = |what: String| ServiceError::new(ErrorKind::Internal, what);
        let schema: Schema =
            serde_json::from_str(schema).map_err(|error| internal(error.to_string()))?;
        let expected =
            blake3::Hash::from_hex(digest).map_err(|error| internal(error.to_string()))?;
        let data = DataSet::open_expected(path, Some(&schema), expected.as_bytes());
        let data = data.map_err(|error| ServiceError::invalid(error.to_string()))?.map(Arc::new);
        self.keep_data(name, digest.to_owned(), stamp, data.clone());
        Ok(data)
    }

    /// Keeps what was found in a file in this state, if there was one.
    fn keep_data(
        &self,
        name: &str,
        digest: String,
        stamp: Option<Stamp>,
        data: Option<Arc<DataSet>>,
    ) {
        if let Some(stamp) = stamp {
            lock(&self.datasets).insert(name.to_owned(), Read { digest, stamp, data });
        }
    }
}

/// Puts a program down, unless its name or it itself is there in another way; its smallest group from now on.
fn put(db: &Connection, program: &Registered) -> Result<Option<String>, ServiceError> {
    let Registered { name, digest, module, ands, smallest_group, .. } = program;
    let known = "SELECT name, digest, smallest_group FROM program WHERE digest = ?1 OR name = ?2";
    let row = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
    };
    let known = db.prepare_cached(known).and_then(|mut rows| {
        rows.query_map(params![digest, name], row)?.collect::<rusqlite::Result<Vec<_>>>()
    });
    let conflict = |what: String| Err(ServiceError::new(ErrorKind::Conflict, what));
    if let Some((other, of, group)) = known.map_err(failed)?.pop() {
        if of != *digest {
            return conflict(format!("`{name}` is another program already; choose another name"));
        }
        if other != *name {
            return conflict(format!("this program is registered as `{other}` already"));
        }
        if let Some(group) = group {
            // Whoever does not name it again leaves it as it is.
            return match smallest_group.as_ref().is_none_or(|new| *new == group) {
                true => Ok(Some(group)),
                false => conflict(format!("`{name}` has another smallest group: `{group}`")),
            };
        }
        let set = "UPDATE program SET smallest_group = ?2 WHERE digest = ?1";
        db.execute(set, params![digest, smallest_group]).map_err(failed)?;
        return Ok(smallest_group.clone());
    }
    let put = "INSERT INTO program (name, digest, module, ands, registered_at, smallest_group) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let row = params![name, digest, module.to_bytes(), jobs::whole(*ands), now(), smallest_group];
    db.execute(put, row).map_err(failed)?;
    Ok(smallest_group.clone())
}

/// Whether an own input is one whole number.
pub(crate) fn is_number(module: &Module, role: Role, name: &str) -> Result<(), ServiceError> {
    match own_inputs(module, role).get(name).map(Vec::as_slice) {
        Some([port]) if port.kind == Kind::UInt && port.shape.lanes == 1 => Ok(()),
        Some(_) => Err(ServiceError::invalid(format!("`{name}` is not one whole number"))),
        None => Err(ServiceError::invalid(format!("`{name}` is no input of this side"))),
    }
}

fn unregistered(which: &str) -> ServiceError {
    let what = format!("no program `{which}` is registered; `cenote program register` does that");
    ServiceError::not_found(what)
}

/// Reads and counts.
fn registered(name: &str, module: Module) -> Result<Registered, ServiceError> {
    let module = Arc::new(module);
    let counted = Computation::of_module(Arc::clone(&module));
    let counted = counted.map_err(|fault| ServiceError::invalid(fault.to_string()))?;
    Ok(Registered {
        name: name.to_owned(),
        digest: hex(&module.digest()),
        ands: counted.ands(),
        demand: counted.demand(&counted.signature()),
        module,
        smallest_group: None,
    })
}

/// The program as its owner sees it.
pub(crate) fn view(
    program: &Registered,
    registered_at: i64,
    config: &SessionConfig,
) -> Result<ProgramView, ServiceError> {
    let role = |role: Role| role.name().to_owned();
    let inputs = program.module.inputs().iter().map(|port| PortView {
        name: port.name.clone(),
        kind: format!("{} {}", port.kind, port.shape),
        party: role(port.owner),
    });
    let outputs = program.module.outputs().iter().map(|port| PortView {
        name: port.name.clone(),
        kind: format!("{} {}", port.kind, port.shape),
        party: port.receiver.name().to_owned(),
    });
    Ok(ProgramView {
        name: program.name.clone(),
        digest: program.digest.clone(),
        ands: program.ands,
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        memories: memory_views(&program.module),
        smallest_group: program.smallest_group.clone(),
        cost: cost(&program.demand, config)?,
        registered_at,
    })
}

/// What a job takes of the line.
fn cost(demand: &Demand, config: &SessionConfig) -> Result<ProgramCost, ServiceError> {
    let unsound = |fault: Fault| ServiceError::new(ErrorKind::Internal, fault.to_string());
    let plan = Plan::new(config, demand).map_err(unsound)?;
    Ok(ProgramCost {
        backend: config.backend.name().to_owned(),
        bytes: plan.online.bytes,
        rounds: plan.online.rounds,
        ahead_bytes: plan.preprocess.bytes,
    })
}

/// Who receives each output, by its name.
pub(crate) fn receivers(module: &Module) -> BTreeMap<String, String> {
    let each = |port: &cenote_program::Output| (port.name.clone(), port.receiver.name().to_owned());
    module.outputs().iter().map(each).collect()
}

/// Which sides receive outputs, if there are any; `role` is the own one.
pub(crate) fn receiving(module: &Module, role: Role) -> Option<Sides> {
    let receives = |role| module.outputs().iter().any(|port| port.receiver.include(role));
    match (receives(role), receives(role.peer())) {
        (true, true) => Some(Sides::Both),
        (true, false) => Some(Sides::Own),
        (false, true) => Some(Sides::Peer),
        (false, false) => None,
    }
}

/// The inputs of `role`, by the names under which they are given: the first step of a port's path.
pub(crate) fn own_inputs(
    module: &Module,
    role: Role,
) -> BTreeMap<&str, Vec<&cenote_program::Input>> {
    let mut inputs: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for port in module.inputs().iter().filter(|port| port.owner == role) {
        let name = port.path.steps().first().map_or(port.name.as_str(), |step| step.name.as_str());
        inputs.entry(name).or_default().push(port);
    }
    inputs
}

/// Digits of bytes that are no secret.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "key,spend\nann,1\n";

    fn setup(dir: &Path) -> (PathBuf, String, String) {
        let path = dir.join("a.csv");
        std::fs::write(&path, SOUND).unwrap();
        let data = DataSet::open(&path, None).unwrap();
        (path, serde_json::to_string(data.schema()).unwrap(), hex(&data.digest()))
    }

    #[test]
    fn another_file_is_refused_before_it_is_parsed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, schema, digest) = setup(dir.path());
        let registry = Registry::default();
        let bound = || registry.bound("a", &path, &schema, &digest);
        assert!(bound().unwrap().is_some());
        // Parsing this is an error of its own.
        std::fs::write(&path, "PAR1").unwrap();
        assert!(bound().unwrap().is_none());
    }

    /// A file that its owner changed, replaced or took away is not computed on from memory.
    #[test]
    fn what_was_read_goes_with_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let (path, _, _) = setup(dir.path());
        let (registry, db) = (Registry::default(), Db::open(&dir.path().join("a.db")).unwrap());
        let is_there = || registry.dataset(&db, "a").is_ok();
        registry.bind(&db, "a", &path, None).unwrap();
        assert!(is_there());
        std::fs::write(&path, "key,spend\nann,2\n").unwrap();
        assert!(!is_there() && !is_there());
        // As it was, it is the one that was bound.
        std::fs::write(&path, SOUND).unwrap();
        assert!(is_there());
        std::fs::write(dir.path().join("b.csv"), "key,spend\nann,3\n").unwrap();
        std::fs::rename(dir.path().join("b.csv"), &path).unwrap();
        assert!(!is_there());
        registry.bind(&db, "a", &path, None).unwrap();
        assert!(is_there());
        std::fs::remove_file(&path).unwrap();
        assert!(!is_there());
    }

    /// Whoever read the row before the group was set ends later.
    #[test]
    fn a_smallest_group_is_not_lost_to_who_read_the_row_before_it() {
        let text = "cenote 1\nprogram p \"twice\"\ninput x: garbler uint b8\n{\n  %1 = add %0, %0\n}\noutput z: both uint %1\n";
        let read = || registered("p", read_module(text.as_bytes()).unwrap()).unwrap();
        let with = Registered { smallest_group: Some("x".into()), ..read() };
        let (registry, digest) = (Registry::default(), with.digest.clone());
        registry.keep(&Arc::new(with));
        registry.keep(&Arc::new(read()));
        assert!(lock(&registry.programs)[&digest].smallest_group.is_some());
    }

    #[test]
    fn another_file_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let (path, schema, digest) = setup(dir.path());
        let registry = Registry::default();
        let bound = |digest: &str| registry.bound("a", &path, &schema, digest);
        let other = "0".repeat(64);
        assert!(bound(&other).unwrap().is_none());
        assert_eq!(registry.datasets.lock().unwrap()["a"].digest, other);
        // Bound anew, it is read.
        assert!(bound(&digest).unwrap().is_some());
        // The file that was bound, under the state of another one: it is not opened.
        registry.keep_data("a", digest.clone(), Stamp::at(&path), None);
        assert!(bound(&digest).unwrap().is_none());
        // Changed since, it is read again.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(dir.path().join("b.csv"), SOUND).unwrap();
        std::fs::rename(dir.path().join("b.csv"), &path).unwrap();
        assert!(bound(&digest).unwrap().is_some());
    }
}
