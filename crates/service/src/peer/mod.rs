//! The peer: connections to it, what the two services tell each other, and the sessions in which jobs run.

pub(crate) mod connect;
pub(crate) mod lane;
pub(crate) mod line;
pub(crate) mod link;
pub(crate) mod messages;
pub(crate) mod rotation;
pub(crate) mod watched;
