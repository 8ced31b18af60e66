//! Threads that share the computation of one party.
//!
//! How many there are is a party's own affair: what is computed, and in which order it is sent, is the same for
//! any number. Tasks borrow what they work on, so that no secret goes to a thread that does not come back
//! before [`Workers::run`] returns; what is left on the stacks is wiped when the threads end.

use std::io;
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::wipe_stack;

/// A piece of a computation, for any of the threads.
pub type Task<'t> = Box<dyn FnOnce() + Send + 't>;

/// A thread that gives out tasks, and helpers beside it.
#[derive(Default)]
pub struct Workers {
    /// Dropped first: the threads end when it is gone.
    pool: Option<ThreadPool>,
    helpers: Helpers,
}

impl Workers {
    /// The numbers of threads that there may be.
    pub const COUNTS: RangeInclusive<usize> = 1..=64;

    /// As many threads, the one that gives out tasks among them: one alone starts none. Numbers outside of
    /// [`Workers::COUNTS`] are taken as the nearest inside.
    ///
    /// # Errors
    /// When the operating system has no thread left.
    pub fn new(threads: usize) -> io::Result<Workers> {
        let helpers = threads.clamp(*Workers::COUNTS.start(), *Workers::COUNTS.end()) - 1;
        let mut workers = Workers::default();
        if helpers > 0 {
            let started = ThreadPoolBuilder::new()
                .num_threads(helpers)
                .spawn_handler(|thread| {
                    let helper = Builder::new().name("cenote worker".into()).spawn(|| {
                        thread.run();
                        wipe_stack();
                    });
                    workers.helpers.0.push(helper?);
                    Ok(())
                })
                .build();
            workers.pool = Some(started.map_err(io::Error::other)?);
        }
        Ok(workers)
    }

    /// Threads, the one that gives out tasks among them.
    #[must_use]
    pub fn threads(&self) -> usize {
        1 + self.helpers.0.len()
    }

    /// Does all of `tasks`, of which each thread takes the next one as soon as it has time: one thread alone
    /// does them in order.
    ///
    /// # Panics
    /// If a task does.
    pub fn run<'t>(&self, tasks: impl IntoIterator<Item = Task<'t>>) {
        let Some(pool) = &self.pool else { return tasks.into_iter().for_each(|task| task()) };
        let tasks: Vec<Task<'t>> = tasks.into_iter().collect();
        let helpers = self.helpers.0.len().min(tasks.len().saturating_sub(1));
        let tasks = Mutex::new(tasks.into_iter());
        let work = || {
            // Not held while a task runs, so that a panic poisons nothing.
            let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some(task) = next() {
                task();
            }
        };
        pool.in_place_scope(|scope| {
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
struct Helpers(Vec<JoinHandle<()>>);

impl Drop for Helpers {
    fn drop(&mut self) {
        for helper in self.0.drain(..) {
            // A panic of a task was passed on to whoever gave it.
            let _ = helper.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;

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
    fn a_panic_of_a_task_reaches_whoever_gave_it_and_leaves_the_workers_usable() {
        for threads in [1, 2] {
            let workers = Workers::new(threads).expect("threads");
            for bad in 0..3 {
                let tasks = (0..3).map(|i| Box::new(move || assert!(i != bad, "bad")) as Task<'_>);
                assert!(catch_unwind(AssertUnwindSafe(|| workers.run(tasks))).is_err());
            }
            let mut done = false;
            workers.run([Box::new(|| done = true) as Task<'_>]);
            assert!(done);
        }
    }
}
