//! Plug-ins in the gate.

use crate::net::{Net, Way, conserved, possible, run, until};
use crate::{Listener, send};
use std::path::{Path, PathBuf};
use std::process::Command;

/// BLUE in C, with `before` in front of its source and `from` in it changed to `to`, as the plug-in
/// `name`.
fn blue(folder: &Path, name: &str, before: &str, from: &str, to: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("examples/plugins/blue.c")).unwrap();
    assert!(text.contains(from));
    let (source, library) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.so")));
    let text = format!("{before}\n{}", text.replacen(from, to, 1));
    std::fs::write(&source, text).unwrap();
    let include = root.join("crates/abi/include");
    let words = ["-shared", "-fPIC", "-O2", "-I"].map(Path::new);
    let more = [include.as_path(), Path::new("-o"), &library, &source];
    let words: Vec<_> = words.into_iter().chain(more).map(|word| word.to_str().unwrap()).collect();
    run("cc", &words);
    library
}

fn config(library: &Path) -> String {
    format!(
        "plugins = [\"{}\"]\n\
         link = {{ rate = \"8Mbit\", queue = {{ kind = \"blue\", limit = 20 }} }}\n",
        library.display()
    )
}

#[test]
fn a_plugin_shapes_and_one_at_fault_is_replaced() {
    if !possible() {
        return;
    }
    let net = Net::new(Way::Tun);
    let folder = net.file("blue.c");
    let folder = folder.parent().unwrap();
    let before = "#include <unistd.h>";
    let whole = "blue->bytes += packet.len;";
    let good = blue(folder, "libblue", before, whole, whole);
    let loses = blue(
        folder,
        "libloses",
        before,
        whole,
        "blue->bytes += packet.len; if (blue->count == 9) { blue->count -= 1; }",
    );
    let waits = blue(
        folder,
        "libwaits",
        before,
        // Here every packet passes, also one that will be dropped.
        "ForebayPacket packet = *arriving;",
        "ForebayPacket packet = *arriving;
         static int late; if (packet.id >= 200 && !late++) { usleep(1000000); }",
    );
    for (library, expected) in [
        (&good, "blue at 8.000 Mbit/s"),
        (&loses, "it lost packets"),
        (&waits, "its enqueue does not return for 100ms; all packets wait for it"),
    ] {
        let mut gate = net.gate(&config(library), &[]);
        let (sender, receiver) = net.udp(5000);
        let listener = Listener::new(receiver);
        send(&sender, 400, 972, 2_000.0);
        let (numbers, status) = listener.settled(&gate);
        conserved(&status);
        // What arrives does so in order; the place of the one that loses has a FIFO. Capacity is lost
        // while the gate does not run.
        let least = if status["forward"]["stalls"] == 0 { 100 } else { 20 };
        assert!(numbers.is_sorted_by(|a, b| a < b) && numbers.len() > least, "{status}");
        assert!(status["forward"]["sent"]["packets"].as_u64() > Some(least as u64), "{status}");
        // A gate that runs loads no other.
        net.configure(&config(if library == &good { &loses } else { &good }));
        let refused = forebay_gate::control::ask(gate.socket(), "reload").unwrap_err().to_string();
        assert!(refused.contains("plugins: cannot change while the gate runs"), "{refused}");
        let said = gate.stop();
        assert!(said.contains(expected), "{said}");
    }
}

/// What an attacker does who controls the gate's process, tried by a plug-in: each attempt fails,
/// with an account of its own or without, and the gate goes on.
#[test]
fn a_captured_gate_can_do_nothing_but_forward() {
    if !possible() {
        return;
    }
    for user in ["", "user = \"nobody\"\n"] {
        let net = Net::new(Way::Tun);
        let file = net.file("victim");
        let folder = file.parent().unwrap();
        // Anybody may do anything there.
        std::fs::write(&file, "whole").unwrap();
        run("chmod", &["-R", "0777", folder.to_str().unwrap()]);
        let mut other = Command::new("sleep").arg("600").spawn().unwrap();
        let attempts = include_str!("captured.c")
            .replace("FOLDER", folder.to_str().unwrap())
            .replace("PROCESS", &other.id().to_string());
        let whole = "blue->bytes += packet.len;";
        let library = blue(folder, "libcaptured", &attempts, whole, &format!("attack(); {whole}"));
        let mut gate = net.gate(&(user.to_owned() + &config(&library)), &[]);
        net.wait_until_open();
        until("the attempts end", || gate.said().contains("all attempts made"));
        net.wait_until_open();
        conserved(&gate.settled());
        let said = gate.stop();
        let results = said.lines().filter_map(|line| line.strip_prefix("attempt: "));
        let (done, refused): (Vec<_>, Vec<_>) =
            results.partition(|line| !line.ends_with("EPERM") && !line.ends_with("ENOSYS"));
        assert_eq!(done, ["read a file: done"], "{said}");
        assert!(refused.len() >= 40, "{said}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "whole", "{said}");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(!names.into_iter().any(|name| name == "made"), "{said}");
        assert_eq!(other.try_wait().unwrap(), None, "{said}");
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
