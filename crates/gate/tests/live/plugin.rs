//! Plug-ins in the gate.

use crate::net::{Net, Way, conserved, possible, run};
use crate::{Listener, send};
use std::path::{Path, PathBuf};

/// BLUE in C, with `from` in its source changed to `to`, as the plug-in `name`.
fn blue(folder: &Path, name: &str, from: &str, to: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("examples/plugins/blue.c")).unwrap();
    assert!(text.contains(from));
    let (source, library) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.so")));
    let text = format!("#include <unistd.h>\n{}", text.replacen(from, to, 1));
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
    let whole = "blue->bytes += packet.len;";
    let good = blue(folder, "libblue", whole, whole);
    let loses = blue(
        folder,
        "libloses",
        whole,
        "blue->bytes += packet.len; if (blue->count == 9) { blue->count -= 1; }",
    );
    let waits = blue(
        folder,
        "libwaits",
        whole,
        // Any packet may be dropped before it comes here.
        "static int late; if (packet.id >= 300 && !late++) { usleep(1000000); }
         blue->bytes += packet.len;",
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
        // What arrives does so in order; the place of the one that loses has a FIFO.
        assert!(numbers.is_sorted_by(|a, b| a < b) && numbers.len() > 100, "{status}");
        assert!(status["forward"]["sent"]["packets"].as_u64() > Some(100), "{status}");
        // A gate that runs loads no other.
        net.configure(&config(if library == &good { &loses } else { &good }));
        let refused = forebay_gate::control::ask(gate.socket(), "reload").unwrap_err().to_string();
        assert!(refused.contains("plugins: cannot change while the gate runs"), "{refused}");
        let said = gate.stop();
        assert!(said.contains(expected), "{said}");
    }
}
