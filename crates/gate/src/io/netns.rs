//! Calls in another network namespace.

use super::because;
use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io;

/// Runs `act` in the namespace called `netns`, or in the present one if there is none. Only the
/// calling thread enters it, and leaves it again.
///
/// # Errors
/// The namespace cannot be entered, or `act` fails.
///
/// # Panics
/// If the thread cannot leave it: it would go on in the wrong namespace.
pub fn within<T>(netns: Option<&str>, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let Some(netns) = netns else { return act() };
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let here = open("/proc/thread-self/ns/net", flags, Mode::empty())
        .map_err(|error| because("/proc/thread-self/ns/net", error))?;
    let path = format!("/run/netns/{netns}");
    let there = open(&path, flags, Mode::empty())
        .map_err(|error| because(format!("network namespace {netns} ({path})"), error))?;
    let kind = Some(LinkNameSpaceType::Network);
    move_into_link_name_space(std::os::fd::AsFd::as_fd(&there), kind)
        .map_err(|error| because(format!("network namespace {netns}"), error))?;
    let result = act();
    move_into_link_name_space(std::os::fd::AsFd::as_fd(&here), kind)
        .expect("a thread may go back to its own namespace");
    result
}
