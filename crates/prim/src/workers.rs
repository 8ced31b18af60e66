//! Threads that share the computation of one party.
//!
//! How many there are is a party's own affair: what is computed, and in which order it is sent, is the same for
//! any number. Tasks borrow what they work on, so that no secret goes to a thread that does not come back
//! before the call returns that gave it out; what is left on the stacks is wiped when the threads end.

use std::io;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::wipe_stack;

/// A piece of a computation, for any of the threads.
pub type Task<'t> = Box<dyn FnOnce() + Send + 't>;

/// Threads for the tasks of whoever gives some out, or that thread alone. What is computed on them takes turns on as many cores,
/// however many threads give out tasks.
#[derive(Clone, Default)]
pub struct Workers(Option<Arc<Pool>>);

struct Pool {
    /// Dropped first: the threads end when it is gone.
    pool: ThreadPool,
    threads: Threads,
}

impl Workers {
    /// The numbers of threads that there may be.
    pub const COUNTS: RangeInclusive<usize> = 1..=64;

    /// As many threads; one alone is that of whoever gives out tasks. Numbers outside of [`Workers::COUNTS`] are taken
    /// as the nearest inside.
    ///
    /// # Errors
    /// When the operating system has no thread left.
    pub fn new(threads: usize) -> io::Result<Workers> {
        let count = threads.clamp(*Workers::COUNTS.start(), *Workers::COUNTS.end());
        if count == 1 {
            return Ok(Workers::default());
        }
        let mut threads = Threads::default();
        let started = ThreadPoolBuilder::new()
            .num_threads(count)
            .spawn_handler(|thread| {
                let started = Builder::new().name("cenote worker".into()).spawn(|| {
                    thread.run();
                    wipe_stack();
                });
                threads.0.push(started?);
                Ok(())
            })
            .build();
        Ok(Workers(Some(Arc::new(Pool { pool: started.map_err(io::Error::other)?, threads }))))
    }

    /// Threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.as_ref().map_or(1, |pool| pool.threads.0.len())
    }

    /// Does `task` on one of the threads.
    ///
    /// # Panics
    /// If the task does.
    pub fn one<T: Send>(&self, task: impl FnOnce() -> T + Send) -> T {
        match &self.0 {
            Some(pool) => pool.pool.install(task),
            None => task(),
        }
    }

    /// Does what `give_out` gives out, side by side with it: one thread alone does each task at once.
    ///
    /// # Panics
    /// If a task or `give_out` does.
    pub fn beside<'t, T>(&self, give_out: impl FnOnce(&dyn Fn(Task<'t>)) -> T) -> T {
        match &self.0 {
            Some(pool) => {
                pool.pool.in_place_scope(|scope| give_out(&|task| scope.spawn(|_| task())))
            }
            None => give_out(&|task| task()),
        }
    }

    /// Does all of `tasks`, of which each thread takes the next one as soon as it has time: one thread alone
    /// does them in order.
    ///
    /// # Panics
    /// If a task does.
    pub fn run<'t>(&self, tasks: impl IntoIterator<Item = Task<'t>>) {
        let Some(pool) = &self.0 else { return tasks.into_iter().for_each(|task| task()) };
        let tasks: Vec<Task<'t>> = tasks.into_iter().collect();
        let helpers = pool.threads.0.len().min(tasks.len()).saturating_sub(1);
        let tasks = Mutex::new(tasks.into_iter());
        let work = || {
            // Not held while a task runs, so that a panic poisons nothing.
            let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(task) = next() {
                task();
            }
        };
        // One of the threads gives the tasks out: it takes back what no other one has had time for.
        pool.pool.scope(|scope| {
            (0..helpers).for_each(|_| scope.spawn(|_| work()));
            work();
        });
    }
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Workers({})", self.threads())
    }
}

/// Threads that are waited for.
#[derive(Default)]
struct Threads(Vec<JoinHandle<()>>);

impl Drop for Threads {
    fn drop(&mut self) {
        for thread in self.0.drain(..) {
            // A panic of a task was passed on to whoever gave it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn every_task_is_done_once_whatever_the_number_of_threads() {
        for threads in [0, 1, 2, 3, 8] {
            let workers = Workers::new(threads).expect("threads");
            assert_eq!(workers.threads(), threads.max(1));
            for n in [0, 1, 2, 50] {
                let mut done = vec![0; n];
                let tasks = done.iter_mut().enumerate();
                workers.run(tasks.map(|(i, done)| Box::new(move || *done += i + 1) as Task<'_>));
                assert!(done.into_iter().eq(1..=n));
            }
        }
    }

    #[test]
    fn tasks_run_side_by_side() {
        // Each waits for the other.
        let met = Barrier::new(2);
        let task = || Box::new(|| _ = met.wait()) as Task<'_>;
        Workers::new(2).expect("threads").run([task(), task()]);
    }

    #[test]
    fn tasks_run_beside_whoever_gives_them_out_and_beside_those_of_another() {
        let workers = Workers::new(2).expect("threads");
        let met = Barrier::new(3);
        let wait = || _ = met.wait();
        let other = workers.clone();
        thread::scope(|scope| {
            scope.spawn(|| other.one(wait));
            workers.beside(|give_out| {
                give_out(Box::new(wait));
                wait();
            });
        });
        let mut done = false;
        assert_eq!(Workers::default().beside(|give_out| give_out(Box::new(|| done = true))), ());
        assert!(done && Workers::default().one(|| true));
    }

    #[test]
    fn a_panic_of_a_task_reaches_whoever_gave_it_and_leaves_the_workers_usable() {
        for threads in [1, 2] {
            let workers = Workers::new(threads).expect("threads");
            for bad in 0..3 {
                let tasks = (0..3).map(|i| Box::new(move || assert!(i != bad, "bad")) as Task<'_>);
                assert!(catch_unwind(AssertUnwindSafe(|| workers.run(tasks))).is_err());
            }
            let bad = || workers.beside(|give_out| give_out(Box::new(|| panic!("bad"))));
            assert!(catch_unwind(AssertUnwindSafe(bad)).is_err());
            assert!(catch_unwind(AssertUnwindSafe(|| workers.one(|| panic!("bad")))).is_err());
            let mut done = false;
            workers.run([Box::new(|| done = true) as Task<'_>]);
            assert!(done);
        }
    }
}
