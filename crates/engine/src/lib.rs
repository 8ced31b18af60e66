//! The Party API and the protocol backends plain, yao and wrk.
