//! Oblivious transfer: base OT and SoftSpokenOT with malicious security.
