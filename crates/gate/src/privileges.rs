//! Gives up privileges once everything is open: the user, every capability, and every system call
//! that is not needed from then on (`sandbox`).
//!
//! Call this before there is a second thread: the kernel keeps these things for each thread, and
//! new threads inherit them.

use crate::sandbox;
use caps::{CapSet, CapsHashSet};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::io;

/// Gives up what is no longer needed. Switches to `user` if one is named.
///
/// # Errors
/// The user does not exist, or the kernel refuses.
pub fn drop(user: Option<&str>) -> io::Result<()> {
    let account = user.map(account).transpose()?;
    let refused =
        |error: caps::errors::CapsError| io::Error::other(format!("capabilities: {error}"));
    // The bounding set first: that takes a capability.
    if caps::has_cap(None, CapSet::Effective, caps::Capability::CAP_SETPCAP).map_err(refused)? {
        caps::clear(None, CapSet::Bounding).map_err(refused)?;
    }
    if let Some((uid, gid)) = account {
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
    }
    for set in [CapSet::Ambient, CapSet::Inheritable] {
        caps::clear(None, set).map_err(refused)?;
    }
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &CapsHashSet::new()).map_err(refused)?;
    }
    sandbox::enter()
}

/// User and group of the account called `name` in /etc/passwd.
fn account(name: &str) -> io::Result<(Uid, Gid)> {
    let text = std::fs::read_to_string("/etc/passwd")?;
    find(&text, name).ok_or_else(|| {
        let what = format!("user: there is no \"{name}\" in /etc/passwd");
        io::Error::new(io::ErrorKind::NotFound, what)
    })
}

fn find(passwd: &str, name: &str) -> Option<(Uid, Gid)> {
    let mut lines = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let fields = lines.find(|fields| fields.first() == Some(&name))?;
    let number = |at: usize| fields.get(at)?.parse().ok().filter(|id| *id != u32::MAX);
    Some((Uid::from_raw(number(2)?), Gid::from_raw(number(3)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_found_by_name() {
        let text = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533::/:\nbroken:x:a\n";
        assert_eq!(find(text, "nobody"), Some((Uid::from_raw(65_534), Gid::from_raw(65_533))));
        assert_eq!(find(text, "broken"), None);
        assert_eq!(find(text, "nob"), None);
    }
}
