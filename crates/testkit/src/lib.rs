//! Party pairs, conformance suite, adversary table, transcript and privacy tests.
