//! What the command says without a gate that runs, and without privileges.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, thread};

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A file in it.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const LEAST: &str = "link = {}\nio = { inside = \"no-such-a\", outside = \"no-such-b\" }\n";

/// The message with which the command refuses these words.
fn refused(words: &[&str]) -> String {
    let ended = Command::new(env!("CARGO_BIN_EXE_forebay-gate")).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).trim_end().to_owned();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn what_is_in_the_way_of_a_listener_is_named_and_left_alone() {
    let folder = Folder::new("listeners");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = taken.local_addr().unwrap();
    let kept = folder.file("file", "kept");
    for (socket, expected) in [
        (
            "file",
            "file: is there already and no socket; move it, or give the gate another `socket`",
        ),
        ("missing/socket", "socket: its folder is missing; make it, or give the gate another"),
        ("socket", "another program listens there; stop it, or give the gate another `metrics`"),
    ] {
        let socket = folder.0.join(socket);
        let text = format!("socket = {socket:?}\nmetrics = \"{metrics}\"\n{LEAST}");
        let said = refused(&["run", &folder.file("gate.toml", &text)]);
        assert!(said.contains(expected), "{said}");
    }
    assert_eq!(fs::read_to_string(kept).unwrap(), "kept");
    assert!(!folder.0.join("socket").exists());
}

#[test]
fn an_earlier_recording_is_not_replaced() {
    let folder = Folder::new("recordings");
    let config = folder.file("gate.toml", LEAST);
    let kept = folder.file("reverse.rec", "an earlier recording");
    let path = folder.0.to_str().unwrap();
    assert_eq!(
        refused(&["run", &config, "--record", path]),
        format!("error: recording {kept}: exists already; choose another folder")
    );
    assert_eq!(fs::read_to_string(&kept).unwrap(), "an earlier recording");
    assert_eq!(
        refused(&["run", &config, "--record", &config]),
        format!("error: recording {config}: is no folder; choose a folder")
    );
}

/// A gate that ends is said to have ended, whenever that is.
#[test]
fn a_gate_that_ends_during_a_reload_is_named() {
    let folder = Folder::new("ends");
    let path = folder.0.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let gate = thread::spawn(move || {
        for answer in ["", "{\"reloaded\": ", "unread"] {
            let (mut stream, _) = listener.accept().unwrap();
            // Whoever leaves bytes unread resets the connection.
            if answer != "unread" {
                BufReader::new(&stream).read_line(&mut String::new()).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    let path = path.to_str().unwrap();
    let ended = format!("error: {path}: the gate ended during the reload; see its messages");
    for _ in 0..3 {
        assert_eq!(refused(&["reload", "--socket", path]), ended);
    }
    gate.join().unwrap();
}

/// A plug-in whose last call on a queue does this.
fn plugin(folder: &Folder, does: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("examples/plugins/blue.c")).unwrap();
    let destroy = "static void destroy(void *state) {\n";
    assert_eq!(text.matches(destroy).count(), 1);
    let source = folder.file("faulty.c", &text.replace(destroy, &format!("{destroy}{does}\n")));
    let library = folder.0.join("libfaulty.so");
    let compiler = Command::new("cc")
        .args(["-std=c11", "-shared", "-fPIC", "-w", "-I"])
        .arg(root.join("crates/abi/include"))
        .arg("-o")
        .args([&library, Path::new(&source)])
        .status();
    assert!(compiler.expect("a C compiler is there, as Rust's linker").success());
    library.to_str().unwrap().to_owned()
}

/// A check is no success if a plug-in ends the process, and gives up one that hangs.
#[test]
fn a_plug_in_whose_queue_does_not_end_fails_the_check() {
    for (does, expected) in [
        (
            "exit(0);",
            "its destroy ended the process, with exit or quick_exit; a plug-in must return",
        ),
        ("for (;;) sleep(1);", "its destroy does not return; given up after 5s"),
    ] {
        let folder = Folder::new(&format!("faulty-{}", does.len()));
        let library = plugin(&folder, does);
        let link = "link = { rate = \"1Mbit\", queue = { kind = \"blue\" } }";
        let config = LEAST.replace("link = {}", link);
        let config = folder.file("gate.toml", &format!("plugins = [{library:?}]\n{config}"));
        assert_eq!(
            refused(&["check", &config]),
            format!("error: plug-in {library}, discipline \"blue\": {expected}")
        );
    }
}
