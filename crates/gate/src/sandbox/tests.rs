//! Each forbidden call, flag and command is tried under the policy itself. It holds for one thread,
//! so every test has a thread for what it tries.
#![expect(unsafe_code, reason = "system calls that no crate would make")]

use super::*;
use std::path::Path;

/// The policy's answer here instead of EPERM: a number that no kernel uses.
const REFUSED: i32 = 4_000;

/// The result of `attempt` under the policy.
fn limited<T: Send>(attempt: impl FnOnce() -> T + Send) -> T {
    let policy = policy(SeccompAction::Errno(REFUSED as u32)).unwrap();
    std::thread::scope(|scope| {
        let attempt = move || {
            apply_filter(&policy).unwrap();
            attempt()
        };
        scope.spawn(attempt).join().unwrap()
    })
}

/// Makes the system call `number`. Returns its error, or 0.
fn call(number: libc::c_long, [a, b, c, d, e, f]: [u64; 6]) -> i32 {
    // SAFETY: the policy refuses the call before the kernel looks at the arguments. If it does not,
    // null pointers and wrong descriptors are errors.
    match unsafe { libc::syscall(number, a, b, c, d, e, f) } {
        -1 => io::Error::last_os_error().raw_os_error().unwrap(),
        // The copy of this process that a fork made.
        // SAFETY: ends it without any of Rust's work.
        0 if FORKS.contains(&number) => unsafe { libc::_exit(0) },
        _ => 0,
    }
}

fn is_refused(number: libc::c_long, arguments: [u64; 6]) -> bool {
    call(number, arguments) == REFUSED
}

const FORKS: &[libc::c_long] = &[
    libc::SYS_clone,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// A table of calls with their names.
macro_rules! calls {
    ($($name:ident)*) => { [$((stringify!($name), libc::$name)),*] };
}

#[test]
fn calls_outside_the_policy_are_refused() {
    let programs = calls!(SYS_execve SYS_execveat SYS_memfd_create SYS_personality SYS_seccomp
        SYS_pkey_mprotect SYS_pkey_alloc SYS_shmget SYS_shmat SYS_remap_file_pages);
    let processes = calls!(SYS_kill SYS_tkill SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo
        SYS_pidfd_open SYS_pidfd_send_signal SYS_pidfd_getfd SYS_ptrace SYS_process_vm_readv
        SYS_process_vm_writev SYS_process_madvise SYS_process_mrelease SYS_kcmp SYS_prlimit64
        SYS_setrlimit SYS_setpriority SYS_sched_setaffinity SYS_sched_setscheduler
        SYS_sched_setparam SYS_sched_setattr SYS_ioprio_set SYS_migrate_pages SYS_move_pages
        SYS_timer_create SYS_setitimer SYS_get_robust_list SYS_setsid SYS_setpgid SYS_wait4
        SYS_waitid SYS_kexec_load SYS_reboot);
    let files = calls!(SYS_unlinkat SYS_renameat2 SYS_linkat SYS_symlinkat SYS_mkdirat
        SYS_mknodat SYS_truncate SYS_ftruncate SYS_fallocate SYS_fchmod SYS_fchmodat SYS_fchown
        SYS_fchownat SYS_utimensat SYS_setxattr SYS_fsetxattr SYS_removexattr SYS_openat2
        SYS_name_to_handle_at SYS_open_by_handle_at SYS_flock SYS_chdir SYS_fchdir SYS_chroot
        SYS_pivot_root SYS_mount SYS_umount2 SYS_move_mount SYS_open_tree SYS_fsopen SYS_fsconfig
        SYS_fsmount SYS_mount_setattr SYS_fanotify_init SYS_inotify_init1 SYS_copy_file_range
        SYS_sendfile SYS_splice SYS_tee SYS_vmsplice SYS_pwritev2 SYS_umask SYS_swapon SYS_acct
        SYS_quotactl SYS_readlinkat SYS_getdents64);
    let kernel = calls!(SYS_unshare SYS_setns SYS_bpf SYS_perf_event_open SYS_userfaultfd
        SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register SYS_io_setup SYS_keyctl
        SYS_add_key SYS_request_key SYS_init_module SYS_finit_module SYS_delete_module SYS_syslog
        SYS_sethostname SYS_setdomainname SYS_settimeofday SYS_clock_settime SYS_clock_adjtime
        SYS_adjtimex SYS_ioctl SYS_capset SYS_setuid SYS_setgid SYS_setreuid SYS_setresuid
        SYS_setresgid SYS_setgroups SYS_setfsuid SYS_landlock_create_ruleset SYS_mq_open
        SYS_msgget SYS_semget SYS_vhangup SYS_lookup_dcookie SYS_nfsservctl);
    let sockets = calls!(SYS_socket SYS_socketpair SYS_connect SYS_bind SYS_listen SYS_accept
        SYS_shutdown SYS_recvmsg SYS_recvmmsg SYS_pipe2 SYS_eventfd2 SYS_signalfd4
        SYS_timerfd_create SYS_epoll_create1);
    #[cfg(target_arch = "x86_64")]
    let old = calls!(SYS_fork SYS_vfork SYS_open SYS_creat SYS_unlink SYS_rename SYS_renameat
        SYS_link SYS_symlink SYS_mkdir SYS_rmdir SYS_mknod SYS_chmod SYS_chown SYS_lchown
        SYS_utime SYS_readlink SYS_stat SYS_access SYS_iopl SYS_ioperm SYS_modify_ldt
        SYS_arch_prctl SYS_kexec_file_load SYS_uselib SYS_ustat SYS_alarm SYS_pause);
    #[cfg(not(target_arch = "x86_64"))]
    let old = [];
    let all = [&programs[..], &processes, &files, &kernel, &sockets, &old];
    let passed = limited(|| {
        let passes = |(_, number): &&(_, libc::c_long)| !is_refused(*number, [0; 6]);
        all.into_iter().flatten().filter(passes).collect::<Vec<_>>()
    });
    assert!(passed.is_empty(), "{passed:?}");
}

/// Calls of later kernels, and numbers of the x32 interface, are no way around the policy.
#[test]
fn unknown_numbers_are_refused() {
    let passed = limited(|| {
        let mut passed = (500..1_000).chain([-1]).filter(|number| !is_refused(*number, [0; 6]));
        let x32 = 0x4000_0000;
        let mut of_x32 = CALLS.iter().filter(|number| !is_refused(*number | x32, [0; 6]));
        (passed.next(), of_x32.next())
    });
    assert_eq!(passed, (None, None));
}

/// Bits of argument `at` of `number` that the policy lets through beside `base`.
fn bits(number: libc::c_long, at: usize, base: u64, width: u32) -> u64 {
    limited(|| {
        let passes = |bit: &u32| {
            let mut arguments = [0; 6];
            arguments[at] = base ^ (1 << bit);
            !is_refused(number, arguments)
        };
        (0..width).filter(passes).map(|bit| 1 << bit).sum()
    })
}

#[test]
fn files_are_opened_only_for_reading() {
    assert_eq!(bits(libc::SYS_openat, 2, 0, 32), READING as u64);
    for flag in [
        libc::O_WRONLY,
        libc::O_RDWR,
        libc::O_ACCMODE,
        libc::O_CREAT,
        libc::O_TRUNC,
        libc::O_APPEND,
        libc::O_TMPFILE,
        libc::O_PATH,
        libc::O_CREAT | libc::O_EXCL,
        libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY,
    ] {
        let flags = (flag | libc::O_CLOEXEC) as u64;
        assert!(limited(|| is_refused(libc::SYS_openat, [0, 0, flags, 0, 0, 0])), "{flag:o}");
    }
}

#[test]
fn memory_is_never_executable() {
    for number in [libc::SYS_mmap, libc::SYS_mprotect] {
        assert_eq!(bits(number, 2, 0, 64), DATA as u64);
        for protection in [libc::PROT_EXEC, DATA | libc::PROT_EXEC] {
            let arguments = [0, 4096, protection as u64, libc::MAP_PRIVATE as u64, u64::MAX, 0];
            assert!(limited(|| is_refused(number, arguments)));
        }
    }
}

/// Of all flags of clone, only those of a thread of the same process pass, and only together.
#[test]
fn clone_makes_threads_only() {
    let thread = THREAD as u64;
    let named = [
        0,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUSER | libc::CLONE_NEWNET,
        libc::CLONE_VM | libc::CLONE_VFORK,
        libc::CLONE_PIDFD,
        libc::CLONE_PARENT,
        libc::CLONE_PTRACE,
        libc::CLONE_UNTRACED,
    ];
    let alone = named.map(|flags| flags as u64);
    let of_children = named.map(|flags| (flags | libc::SIGCHLD) as u64);
    let of_threads = named[1..].iter().map(|flags| thread | *flags as u64);
    // A flag more, or one less.
    let near = (0..64).map(|bit| thread ^ (1 << bit));
    let all = alone.into_iter().chain(of_children).chain(of_threads).chain(near);
    for flags in all.filter(|flags| flags & !(libc::CLONE_DETACHED as u64) != thread) {
        let arguments = [flags, 0, 0, 0, 0, 0];
        assert!(limited(|| is_refused(libc::SYS_clone, arguments)), "{flags:x}");
    }
}

#[test]
fn signals_reach_nobody_else() {
    let own = u64::from(std::process::id());
    let parent = u64::from(std::os::unix::process::parent_id());
    let tries = |process: u64| limited(|| call(libc::SYS_tgkill, [process, process, 0, 0, 0, 0]));
    assert_eq!(tries(own), 0);
    for process in [parent, 1, 0, u64::MAX, own + 1] {
        assert_eq!(tries(process), REFUSED, "{process}");
    }
}

/// Numbers below 2048 that pass as argument `at` of `number`, the others being `arguments`.
fn numbers(number: libc::c_long, at: usize, mut arguments: [u64; 6]) -> Vec<i32> {
    limited(|| {
        let passes = |value: &i32| {
            arguments[at] = *value as u64;
            !is_refused(number, arguments)
        };
        (0..2_048).filter(passes).collect()
    })
}

#[test]
fn commands_and_options_are_limited() {
    // Of no process, descriptor or address, so that what passes has no effect.
    let none = [u64::MAX; 6];
    // With flags of any kind, F_SETFL does not pass.
    assert_eq!(
        numbers(libc::SYS_fcntl, 1, none),
        [libc::F_GETFD, libc::F_GETFL, libc::F_DUPFD_CLOEXEC]
    );
    let setfl = [u64::MAX, libc::F_SETFL as u64, 0, 0, 0, 0];
    assert!(!limited(|| is_refused(libc::SYS_fcntl, setfl)));
    for flag in [libc::O_ASYNC, libc::O_APPEND, libc::O_DIRECT] {
        let arguments = [u64::MAX, libc::F_SETFL as u64, flag as u64, 0, 0, 0];
        assert!(limited(|| is_refused(libc::SYS_fcntl, arguments)), "{flag:o}");
    }
    assert_eq!(
        numbers(libc::SYS_prctl, 0, [0, 0, 0, 0, 0, 0]),
        [libc::PR_SET_NAME, libc::PR_SET_TIMERSLACK]
    );
    assert_eq!(numbers(libc::SYS_dup3, 1, none), [libc::STDOUT_FILENO, libc::STDERR_FILENO]);
    let options = |call, level: i32| numbers(call, 2, [u64::MAX, level as u64, 0, 0, 0, 0]);
    for level in 0..512 {
        let (get, set): (&[i32], &[i32]) = match level {
            libc::SOL_SOCKET => {
                (&[libc::SO_ERROR, libc::SO_PEERCRED], &[libc::SO_RCVTIMEO, libc::SO_SNDTIMEO])
            }
            libc::SOL_PACKET => (&[libc::PACKET_STATISTICS], &[]),
            libc::SOL_XDP => (&[libc::XDP_STATISTICS], &[]),
            _ => (&[], &[]),
        };
        assert_eq!(options(libc::SYS_getsockopt, level), get, "{level}");
        assert_eq!(options(libc::SYS_setsockopt, level), set, "{level}");
    }
    // A datagram to an address of one's choice.
    assert!(limited(|| is_refused(libc::SYS_sendto, none)));
    assert!(!limited(|| is_refused(libc::SYS_sendto, [u64::MAX, 0, 0, 0, 0, 0])));
}

/// As a gate has it: refused calls fail with EPERM, clone3 does not exist, and what a gate does
/// works.
#[test]
fn a_limited_process_goes_on() {
    let file = std::env::temp_dir().join(format!("fb-sandbox-{}", std::process::id()));
    std::fs::write(&file, "whole").unwrap();
    std::thread::scope(|scope| {
        let attempt = || {
            enter().unwrap();
            assert_eq!(call(libc::SYS_clone3, [0; 6]), libc::ENOSYS);
            assert_eq!(call(libc::SYS_execve, [0; 6]), libc::EPERM);
            let mut options = std::fs::OpenOptions::new();
            options.read(true);
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_TRUNC);
            let refused = |result: io::Result<()>| {
                assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::EPERM));
            };
            refused(options.open(&file).map(drop));
            refused(std::fs::remove_file(&file));
            refused(std::fs::rename(&file, Path::new("/tmp/fb-sandbox-moved")));
            refused(std::process::Command::new("true").spawn().map(drop));
            // Filters and what follows from them are inherited.
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    assert_eq!(call(libc::SYS_ptrace, [0; 6]), libc::EPERM);
                    assert_eq!(std::fs::read_to_string(&file).unwrap(), "whole");
                });
            });
        };
        scope.spawn(attempt).join().unwrap();
    });
    std::fs::remove_file(&file).unwrap();
}
