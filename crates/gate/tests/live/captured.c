/* What an attacker would try who controls the gate's process. Each attempt is reported once. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void report(const char *name, long result) {
    const char *how = result >= 0       ? "done"
                      : errno == EPERM  ? "EPERM"
                      : errno == ENOSYS ? "ENOSYS"
                                        : strerror(errno);
    dprintf(2, "attempt: %s: %s\n", name, how);
}

/* Makes a process, which ends at once, with these flags. */
static long forks(unsigned long flags) {
    long child = syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    return child;
}

static long forks3(unsigned long flags) {
    struct clone_args how = {.flags = flags, .exit_signal = SIGCHLD};
    long child = syscall(SYS_clone3, &how, sizeof how);
    if (child == 0)
        _exit(0);
    return child;
}

static long maps(int protection) {
    return mmap(0, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

#define TRY(name, call) (errno = 0, report(name, (long)(call)))

static void attack(void) {
    static int begun;
    if (begun++)
        return;
    const char *victim = "FOLDER/victim", *made = "FOLDER/made";
    char *arguments[] = {"/bin/true", 0};

    TRY("read a file", open(victim, O_RDONLY));

    TRY("O_TRUNC", open(victim, O_RDONLY | O_TRUNC));
    TRY("O_WRONLY", open(victim, O_WRONLY));
    TRY("O_RDWR", open(victim, O_RDWR));
    TRY("O_APPEND", open(victim, O_WRONLY | O_APPEND));
    TRY("O_CREAT", open(made, O_RDONLY | O_CREAT, 0600));
    TRY("O_TMPFILE", open("FOLDER", O_RDWR | O_TMPFILE, 0600));
    TRY("O_PATH", open(victim, O_PATH));
    TRY("unlink", unlink(victim));
    TRY("unlinkat", unlinkat(AT_FDCWD, victim, 0));
    TRY("rename", rename(victim, made));
    TRY("link", link(victim, made));
    TRY("symlink", symlink(victim, made));
    TRY("mkdir", mkdir(made, 0700));
    TRY("truncate", truncate(victim, 0));
    TRY("chmod", chmod(victim, 0));
    TRY("name_to_handle_at", syscall(SYS_name_to_handle_at, AT_FDCWD, victim, 0, 0, 0));

    TRY("fork", forks(SIGCHLD));
    TRY("clone NEWUSER", forks(CLONE_NEWUSER | SIGCHLD));
    TRY("clone NEWUSER NEWNET", forks(CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD));
    TRY("clone3", forks3(0));
    TRY("clone3 NEWUSER NEWNET", forks3(CLONE_NEWUSER | CLONE_NEWNET));
    TRY("unshare", unshare(CLONE_NEWUSER));
    TRY("setns", setns(0, 0));
    TRY("execve", execv("/bin/true", arguments));
    TRY("memfd_create", syscall(SYS_memfd_create, "code", 0));
    TRY("mmap EXEC", maps(PROT_READ | PROT_EXEC));
    TRY("mmap WRITE EXEC", maps(PROT_READ | PROT_WRITE | PROT_EXEC));
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TRY("mprotect EXEC", mprotect(page, 4096, PROT_READ | PROT_EXEC));
    TRY("pkey_mprotect EXEC", syscall(SYS_pkey_mprotect, page, 4096, PROT_READ | PROT_EXEC, -1));

    TRY("kill", kill(PROCESS, SIGKILL));
    TRY("tkill", syscall(SYS_tkill, PROCESS, SIGKILL));
    TRY("tgkill", syscall(SYS_tgkill, PROCESS, PROCESS, SIGKILL));
    TRY("rt_sigqueueinfo", syscall(SYS_rt_sigqueueinfo, PROCESS, SIGKILL, 0));
    TRY("pidfd_open", syscall(SYS_pidfd_open, PROCESS, 0));
    TRY("F_SETOWN", fcntl(0, F_SETOWN, PROCESS));
    TRY("F_SETSIG", fcntl(0, F_SETSIG, SIGKILL));
    TRY("ptrace", syscall(SYS_ptrace, 16, PROCESS, 0, 0));
    TRY("process_vm_readv", syscall(SYS_process_vm_readv, PROCESS, 0, 0, 0, 0, 0));
    TRY("PR_SET_DUMPABLE", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
    TRY("PR_SET_MM", prctl(PR_SET_MM, 0, 0, 0, 0));

    TRY("socket", socket(AF_INET, SOCK_STREAM, 0));
    TRY("ioctl", syscall(SYS_ioctl, 0, 0x5412, ""));
    TRY("bpf", syscall(SYS_bpf, 0, 0, 0));
    TRY("io_uring_setup", syscall(SYS_io_uring_setup, 1, 0));
    TRY("userfaultfd", syscall(SYS_userfaultfd, 0));
    TRY("perf_event_open", syscall(SYS_perf_event_open, 0, 0, -1, -1, 0));
    TRY("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
    TRY("mount", syscall(SYS_mount, 0, 0, 0, 0, 0));
    TRY("setuid", syscall(SYS_setuid, 0));
    dprintf(2, "all attempts made\n");
}
