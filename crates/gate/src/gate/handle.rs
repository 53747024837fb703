//! The loops of a gate, seen from other threads.

use super::{Command, Gate};
use crate::cores::{Rates, ring};
use crate::status::Status;
use rustix::fd::OwnedFd;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The connection of other threads to the loops.
#[derive(Clone)]
pub struct Handle {
    loops: Arc<[Loop]>,
    /// The rates that the loops share.
    pub rates: Arc<Rates>,
}

/// The connection to the loop of one core.
pub struct Loop {
    pub commands: Sender<Command>,
    pub bell: Arc<OwnedFd>,
}

impl Handle {
    pub(super) fn new(loops: Vec<Loop>, rates: Arc<Rates>) -> Self {
        Handle { loops: loops.into(), rates }
    }

    /// Passes `command` to the first loop. Returns false if the loop has ended.
    pub fn send(&self, command: Command) -> bool {
        self.send_to(0, command)
    }

    /// Passes `command` to the loop of `core`. Returns false if the loop has ended.
    pub fn send_to(&self, core: usize, command: Command) -> bool {
        let sent = self.loops[core].commands.send(command).is_ok();
        ring(&self.loops[core].bell);
        sent
    }

    /// Number of loops.
    pub fn cores(&self) -> usize {
        self.loops.len()
    }

    /// Ends all loops.
    pub fn stop(&self) {
        for core in 0..self.cores() {
            self.send_to(core, Command::Stop);
        }
    }
}

/// Runs the loops of all cores, the first one by `first`, until one of them ends. Returns what they
/// did, and how the first one that failed, or the first loop, ended.
pub fn run<T>(
    gates: &mut [Gate],
    handle: &Handle,
    first: impl FnOnce(&mut Gate) -> (Status, io::Result<T>),
) -> (Status, io::Result<T>) {
    let (own, others) = gates.split_first_mut().expect("a gate has a loop");
    std::thread::scope(|scope| {
        let others = others.iter_mut().map(|gate| {
            scope.spawn(move || {
                let ended = gate.run();
                handle.stop();
                ended
            })
        });
        let others: Vec<_> = others.collect();
        let (mut status, mut end) = first(own);
        handle.stop();
        for other in others {
            let Ok((more, ended)) = other.join() else { continue };
            status.add(more);
            end = end.and_then(|end| ended.map(|_| end));
        }
        (status, end)
    })
}
