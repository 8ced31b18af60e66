//! The unit of systemd, read by systemd itself where it is installed: every line is known to it, and the exposure is what docs/operate.md says.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn analyze(arguments: &[&str]) -> Option<Output> {
    let output = Command::new("systemd-analyze").args(arguments).output();
    if output.is_err() {
        eprintln!("SKIPPED: systemd-analyze is not installed here");
    }
    output.ok()
}

#[test]
fn systemd_knows_every_line_of_the_unit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("packaging/cenote@.service")).unwrap();
    let page = fs::read_to_string(root.join("docs/operate.md")).unwrap();
    // It looks for the program as well; and the line that the page adds is one.
    let credential = "LoadCredentialEncrypted=stores:/etc/credstore.encrypted/cenote.alice";
    assert!(page.contains(credential) && text.contains("/usr/local/bin/cenote"));
    let text = text.replace("/usr/local/bin/cenote", env!("CARGO_BIN_EXE_cenote"));
    let text = text.replace("[Install]", &format!("{credential}\n\n[Install]"));
    let dir = tempfile::tempdir().unwrap();
    let said_of = |text: &str| {
        let unit = dir.path().join("cenote@alice.service");
        fs::write(&unit, text).unwrap();
        let output = analyze(&["verify", unit.to_str().unwrap()])?;
        let all = String::from_utf8_lossy(&output.stderr).into_owned();
        // Of other units of this machine it may say something as well.
        let own = all.lines().filter(|line| line.contains("cenote@")).collect::<Vec<_>>();
        Some(own.join("\n"))
    };
    let Some(said) = said_of(&text) else { return };
    assert_eq!(said, "");
    let odd = said_of(&text.replace("ProtectClock=", "ProtectClok=")).unwrap();
    assert!(odd.contains("ProtectClok"), "a line that it does not know is said: {odd}");
    let unit = dir.path().join("cenote@alice.service");
    fs::write(&unit, text).unwrap();
    let unit = unit.to_str().unwrap();
    let Some(output) = analyze(&["security", "--offline=true", "--threshold=15", unit]) else {
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
