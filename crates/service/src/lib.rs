//! The standing service.
