//! The conformance suite for every backend, and what those alone refuse whose wires end with their request.

macro_rules! suites {
    ($($name:ident)*) => {
        $(mod $name {
            cenote_testkit::conformance!(cenote_testkit::run::config(stringify!($name)).backend);
        })*
    };
}

cenote_testkit::for_each_backend!(suites);
