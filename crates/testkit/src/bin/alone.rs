//! Plays one party alone: `alone CASE ROLE RUN FILE`, where FILE has what it receives. tests/instructions.rs counts what it does.

use cenote_engine::Role;
use cenote_testkit::alone::CASES;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, role, run, file] = &arguments[..] else { panic!("alone CASE ROLE RUN FILE") };
    let number = |text: &String| text.parse::<usize>().unwrap_or_else(|error| panic!("{error}"));
    let role = [Role::Garbler, Role::Evaluator][number(role)];
    let received = std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    CASES[number(case)].play(role, received, number(run) == 1);
}
