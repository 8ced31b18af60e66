//! Stock of preprocessed items: parameter search, draw, refill, occupancy.
