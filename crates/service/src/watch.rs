//! Who waits for a job: each is woken for its own, so that many who wait cost the others nothing.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::inner::lock;

/// All who wait, by job.
#[derive(Default)]
pub(crate) struct Watch(Mutex<HashMap<String, Vec<Arc<Bell>>>>);

#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    rings: Condvar,
}

/// One who waits.
pub(crate) struct Waiting<'a> {
    watch: &'a Watch,
    id: &'a str,
    bell: Arc<Bell>,
}

impl Watch {
    /// From now on no end of this job is missed.
    pub(crate) fn on<'a>(&'a self, id: &'a str) -> Waiting<'a> {
        let bell = Arc::<Bell>::default();
        lock(&self.0).entry(id.to_owned()).or_default().push(Arc::clone(&bell));
        Waiting { watch: self, id, bell }
    }

    /// A job has ended.
    pub(crate) fn ended(&self, id: &str) {
        for bell in lock(&self.0).get(id).into_iter().flatten() {
            *lock(&bell.rung) = true;
            bell.rings.notify_all();
        }
    }
}

impl Waiting<'_> {
    /// Waits until the job is said to have ended, or so long.
    pub(crate) fn wait(&self, limit: Duration) {
        let waited =
            self.bell.rings.wait_timeout_while(lock(&self.bell.rung), limit, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut all = lock(&self.watch.0);
        if let Some(bells) = all.get_mut(self.id) {
            bells.retain(|bell| !Arc::ptr_eq(bell, &self.bell));
            if bells.is_empty() {
                all.remove(self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn who_waits_is_woken_for_its_job_and_forgotten_then() {
        let watch = Watch::default();
        let first = watch.on("a");
        let second = watch.on("a");
        let other = watch.on("b");
        watch.ended("a");
        let begun = Instant::now();
        first.wait(Duration::from_secs(60));
        second.wait(Duration::from_secs(60));
        assert!(begun.elapsed() < Duration::from_secs(50));
        other.wait(Duration::from_millis(1));
        assert!(!*lock(&other.bell.rung));
        drop((first, second, other));
        assert!(lock(&watch.0).is_empty());
    }
}
