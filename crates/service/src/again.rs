//! Questions that are asked again: a second job with an idempotency key is the first one, if it asks for the same.
//!
//! What a job was asked for with is in the database, but for its inputs, which are forgotten when it ends. A digest of them stays, which the
//! owner's key makes: whoever has the database alone cannot find out by trying what they were.

use crate::error::{ErrorKind, ServiceError};
use crate::inner::Inner;
use crate::jobs::{self, Keyed};
use crate::model::NewJob;

/// Longest idempotency key, in characters.
const MAX_KEY: usize = 256;

impl Inner {
    /// The digest of what a job with this key is given.
    pub(crate) fn asked(&self, key: &str, job: &NewJob) -> Result<[u8; 32], ServiceError> {
        if key.is_empty() || key.chars().count() > MAX_KEY {
            let what = format!("an idempotency key has 1 to {MAX_KEY} characters");
            return Err(ServiceError::invalid(what));
        }
        // With the key, so that nobody sees which jobs had the same inputs.
        let text = serde_json::to_vec(&(key, &job.inputs));
        let text = text.map_err(|error| ServiceError::invalid(error.to_string()))?;
        Ok(self.key.tag(&zeroize::Zeroizing::new(text)))
    }

    /// The job that was asked for with the key of this one, if there is one.
    pub(crate) fn known(
        &self,
        job: &NewJob,
        token: &str,
        asked: Option<[u8; 32]>,
    ) -> Result<Option<String>, ServiceError> {
        let Some(key) = &job.idempotency_key else { return Ok(None) };
        let Some(known) = self.db.with(|db| Ok(jobs::with_key(db, key)))?? else {
            return Ok(None);
        };
        match self.differs(job, token, asked, &known)? {
            None => Ok(Some(known.id)),
            Some(what) => {
                let what = format!(
                    "this idempotency key is that of a job with {what}; send the same question again, or give the new one a key of its own"
                );
                Err(ServiceError::new(ErrorKind::Conflict, what))
            }
        }
    }

    /// What another job with the same key was asked for with.
    fn differs(
        &self,
        job: &NewJob,
        token: &str,
        asked: Option<[u8; 32]>,
        known: &Keyed,
    ) -> Result<Option<&'static str>, ServiceError> {
        // First, and alone: whoever has another token could try which inputs it had.
        if known.asked.is_some() && known.job.submitter != token {
            return Ok(Some("another token"));
        }
        if known.job.offer.program != self.registry.program(&self.db, &job.program)?.digest {
            return Ok(Some("another program"));
        }
        if known.job.offer.select != job.select {
            return Ok(Some("other public parameters (select)"));
        }
        let other = known.asked.is_some() && known.asked != asked;
        Ok(other.then_some("other inputs"))
    }
}
