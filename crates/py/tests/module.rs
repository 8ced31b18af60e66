//! The library that Python loads: it is there, and has what Python calls first. As this test needs it, `cargo test --workspace` builds it, with the
//! features that all other crates have then; the suite's tests in Python run on that one.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

#[test]
fn python_finds_its_module() {
    let here = std::env::current_exe().expect("a test program");
    let library = here.with_file_name(format!("{DLL_PREFIX}_native{DLL_SUFFIX}"));
    let bytes = std::fs::read(&library).expect("the library of this package");
    let name = b"PyInit__native\0";
    assert!(bytes.windows(name.len()).any(|window| window == name), "{}", library.display());
}
