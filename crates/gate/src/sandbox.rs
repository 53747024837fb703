//! The system calls that a running gate may make, and with which arguments.
//!
//! The policy lists what is allowed. Any other call, flag or command fails with EPERM, and the gate
//! continues. A call is here because the loop, the server, a reload, the allocator, or the C library
//! when it starts a thread makes it.

use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};
use std::io;

/// Calls that are allowed with any arguments.
const CALLS: &[libc::c_long] = &[
    libc::SYS_accept4,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    // Hidden by `hide_clone3`.
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_getsockname,
    libc::SYS_gettid,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_newfstatat,
    libc::SYS_ppoll,
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
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_statx,
    libc::SYS_write,
    libc::SYS_writev,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
];

/// The kernel's flag, which for the C library of a 64-bit machine is zero.
const LARGE: i32 = rustix::fs::OFlags::LARGEFILE.bits() as i32;

/// Flags with which a file is opened: for reading, and only that.
const READING: i32 = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | LARGE;

/// Protection of memory: it is never executable. Plug-ins are loaded before.
const DATA: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Flags with which the C library makes a thread of this process, and nothing else.
const THREAD: i32 = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_CLEARTID;

/// A condition that an argument must meet.
type Condition = Result<SeccompCondition, BackendError>;

/// Argument `at`, an `int`, is `value`.
fn is(at: u8, value: i32) -> Condition {
    SeccompCondition::new(at, Dword, SeccompCmpOp::Eq, u64::from(value as u32))
}

/// Argument `at`, an `int`, has no other bits than `bits`.
fn within(at: u8, bits: i32) -> Condition {
    SeccompCondition::new(at, Dword, SeccompCmpOp::MaskedEq(u64::from(!bits as u32)), 0)
}

/// Argument `at`, a `long` or a pointer, is `value`, apart from bits in `free`.
fn is_long(at: u8, value: u64, free: u64) -> Condition {
    SeccompCondition::new(at, Qword, SeccompCmpOp::MaskedEq(!free), value)
}

/// The policy. What is not allowed has the effect `refusal`.
fn policy(refusal: SeccompAction) -> Result<BpfProgram, BackendError> {
    let any = |call: &libc::c_long| (*call, Vec::new());
    let mut rules: Vec<(libc::c_long, Vec<SeccompRule>)> = CALLS.iter().map(any).collect();
    let mut allow = |call, conditions: Vec<Condition>| {
        let conditions = conditions.into_iter().collect::<Result<_, _>>()?;
        let rule = SeccompRule::new(conditions)?;
        match rules.iter_mut().find(|(known, _)| *known == call) {
            Some((_, more)) => more.push(rule),
            None => rules.push((call, vec![rule])),
        }
        Ok::<_, BackendError>(())
    };
    allow(libc::SYS_openat, vec![within(2, READING)])?;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        allow(call, vec![is_long(2, 0, DATA as u64)])?;
    }
    // The flag of musl's that glibc does not set has had no effect since Linux 2.6.
    allow(libc::SYS_clone, vec![is_long(0, THREAD as u64, libc::CLONE_DETACHED as u64)])?;
    // To abort.
    allow(libc::SYS_tgkill, vec![is(0, std::process::id() as i32)])?;
    for option in [libc::PR_SET_NAME, libc::PR_SET_TIMERSLACK] {
        allow(libc::SYS_prctl, vec![is(0, option)])?;
    }
    for command in [libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_GETFL] {
        allow(libc::SYS_fcntl, vec![is(1, command)])?;
    }
    let flags = libc::O_ACCMODE | libc::O_NONBLOCK | LARGE;
    allow(libc::SYS_fcntl, vec![is(1, libc::F_SETFL), within(2, flags)])?;
    for (level, option) in [
        (libc::SOL_SOCKET, libc::SO_ERROR),
        (libc::SOL_SOCKET, libc::SO_PEERCRED),
        (libc::SOL_PACKET, libc::PACKET_STATISTICS),
        (libc::SOL_XDP, libc::XDP_STATISTICS),
    ] {
        allow(libc::SYS_getsockopt, vec![is(1, level), is(2, option)])?;
    }
    for option in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        allow(libc::SYS_setsockopt, vec![is(1, libc::SOL_SOCKET), is(2, option)])?;
    }
    // To where the socket is connected or bound, not to an address.
    allow(libc::SYS_sendto, vec![is_long(4, 0, 0)])?;
    // A gate that has taken over writes where the one before wrote.
    for output in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
        #[cfg(target_arch = "x86_64")]
        allow(libc::SYS_dup2, vec![is(1, output)])?;
        allow(libc::SYS_dup3, vec![is(1, output)])?;
    }
    compile(rules, refusal, SeccompAction::Allow)
}

/// Answers clone3 as a kernel without it would. Its flags are in memory, where no filter can read
/// them; the C library then uses clone.
fn hide_clone3() -> Result<BpfProgram, BackendError> {
    let hidden = SeccompAction::Errno(libc::ENOSYS as u32);
    compile(vec![(libc::SYS_clone3, Vec::new())], SeccompAction::Allow, hidden)
}

fn compile(
    rules: Vec<(libc::c_long, Vec<SeccompRule>)>,
    otherwise: SeccompAction,
    listed: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules.into_iter().collect(), otherwise, listed, architecture)?.try_into()
}

/// Limits this thread, and those that it starts, to the policy. Sets `no_new_privs`.
///
/// # Errors
/// The kernel has no seccomp.
pub fn enter() -> io::Result<()> {
    let refused = |error: &dyn std::fmt::Display| io::Error::other(format!("seccomp: {error}"));
    // The policy, once in force, admits no other filter.
    for filter in [hide_clone3(), policy(SeccompAction::Errno(libc::EPERM as u32))] {
        let filter = filter.map_err(|error| refused(&error))?;
        apply_filter(&filter).map_err(|error| refused(&error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
