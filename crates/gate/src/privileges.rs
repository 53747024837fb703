//! What the gate gives up once everything is open: its user, every capability, and every system
//! call that it does not need from then on.
//!
//! Call this before there is a second thread: the kernel keeps these things for each thread, and
//! new threads inherit them.

use caps::{CapSet, CapsHashSet};
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use std::io;

/// System calls of a running gate: packets, its clock, its clients, memory, threads, and reading
/// its configuration again.
const CALLS: &[libc::c_long] = &[
    libc::SYS_accept4,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_newfstatat,
    libc::SYS_ppoll,
    libc::SYS_prctl,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_robust_list,
    libc::SYS_setsockopt,
    libc::SYS_sigaltstack,
    libc::SYS_statx,
    libc::SYS_tgkill,
    libc::SYS_unlinkat,
    libc::SYS_write,
    libc::SYS_writev,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
];

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
    // Sets `no_new_privs`, too.
    let filter = filter().map_err(|error| io::Error::other(format!("seccomp: {error}")))?;
    seccompiler::apply_filter(&filter)
        .map_err(|error| io::Error::other(format!("seccomp: {error}")))
}

/// The filter. A call that is not allowed fails with EPERM, and the gate continues.
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let read_only = SeccompCondition::new(
        2,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq((libc::O_ACCMODE | libc::O_CREAT) as u64),
        libc::O_RDONLY as u64,
    )?;
    // How the C library makes threads where clone3 is not to be had, as under systemd's
    // RestrictNamespaces.
    let thread = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64),
        libc::CLONE_THREAD as u64,
    )?;
    let some = [
        (libc::SYS_openat, vec![SeccompRule::new(vec![read_only])?]),
        (libc::SYS_clone, vec![SeccompRule::new(vec![thread])?]),
    ];
    let rules = CALLS.iter().map(|call| (*call, Vec::new())).chain(some);
    SeccompFilter::new(
        rules.collect(),
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
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

    #[test]
    fn the_filter_compiles() {
        assert!(!filter().unwrap().is_empty());
    }
}
