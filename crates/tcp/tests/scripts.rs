//! Runs the scripts in `tests/scripts/<rfc>/*.tcp`, whose language `runner` has.

mod runner;

use runner::run;
use std::fmt::Write;
use std::path::Path;

#[test]
fn scripts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let (mut count, mut failures) = (0, String::new());
    let mut folders: Vec<_> = root.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for folder in folders {
        let mut files: Vec<_> = folder.read_dir().unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for file in files {
            count += 1;
            let source = std::fs::read_to_string(&file).unwrap();
            if let Err(error) = run(&source) {
                let name = file.strip_prefix(&root).unwrap().display();
                writeln!(failures, "{name}: {error}").unwrap();
            }
        }
    }
    assert!(count >= 20, "only {count} scripts");
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn a_wrong_script_fails() {
    let header = "sender mtu=\"1040B\" initial_window=1 handshake=false\n0ms write 1000\n";
    assert!(run(&format!("{header}expect seg 1 1000")).is_ok());
    for wrong in ["", "expect seg 1 999", "10ms expect seg 1 1000", "expect seg 1 1000 cwr"] {
        assert!(run(&format!("{header}{wrong}")).is_err(), "{wrong}");
    }
    let left = "expect seg 1 1000\nexpect nothing until 1s";
    assert!(run(&format!("{header}{left}")).unwrap_err().contains("sent at 1s"));
}
