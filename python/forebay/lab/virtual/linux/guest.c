/*
 * The first process of a guest: carries out a plan, a line a step, says that it is done, and turns
 * the guest off. The folder in which the guest was started, with the file `plan`, is at RESULTS; its
 * name must not reach the kernel, whose random numbers would depend on it.
 *
 *   mount TYPE PATH                  a new file system
 *   namespace NAME                   a network namespace; "-" is the first process's
 *   run NAME PROGRAM ARGUMENT...     in that namespace, to its end
 *   move DEVICE NAME                 a device into a namespace
 *   write NAME PATH TEXT             as `echo TEXT > PATH`
 *   listen NAME PORT CONTROL         a receiver for any number of connections
 *   send NAME AT FLOW PORT CONTROL TOS BYTES   a sender from AT ns on, by CLOCK_MONOTONIC; endless
 *                                    if BYTES is 0
 *   replay FILE                      arrivals for the congested link
 *   record FILE UNTIL                the record of all that passes, to its end
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS 64
#define SPACES 8
#define FIRST_PORT 10000
#define RESULTS "/mnt"

static struct {
    char name[16];
    pid_t holder;
} spaces[SPACES];
static char buffer[1 << 20];

static void end(void)
{
    sync();
    reboot(RB_POWER_OFF);
    _exit(1);
}

/* Says what went wrong, and turns the guest off. */
static void fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fprintf(stderr, "guest: error: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "%s%s\n", errno ? ": " : "", errno ? strerror(errno) : "");
    va_end(arguments);
    if (getpid() == 1)
        end();
    _exit(1);
}

static pid_t holder_of(const char *name)
{
    for (int i = 0; i < SPACES; i++)
        if (!strcmp(spaces[i].name, name))
            return spaces[i].holder;
    errno = 0;
    fail("no namespace %s", name);
    return 0;
}

static void enter(const char *name)
{
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/proc/%d/ns/net", holder_of(name));
    if ((fd = open(path, O_RDONLY)) < 0 || setns(fd, CLONE_NEWNET) < 0)
        fail("cannot enter %s", name);
    close(fd);
}

static void add_namespace(char **words)
{
    const char *name = words[0];
    int i = 0, ready[2];
    char byte;

    while (i < SPACES && spaces[i].holder)
        i++;
    if (i == SPACES || pipe(ready) < 0)
        fail("no room for namespace %s", name);
    if (!(spaces[i].holder = fork())) {
        if (unshare(CLONE_NEWNET) < 0 || write(ready[1], "", 1) != 1)
            fail("cannot make namespace %s", name);
        for (;;)
            pause();
    }
    if (read(ready[0], &byte, 1) != 1)
        fail("cannot make namespace %s", name);
    close(ready[0]);
    close(ready[1]);
    snprintf(spaces[i].name, sizeof spaces[i].name, "%s", name);
}

/* A child in a namespace, or in that of the first process if `name` is "-"; 0 in the child. */
static pid_t child(const char *name)
{
    pid_t pid = fork();

    if (pid < 0)
        fail("cannot fork");
    if (!pid && strcmp(name, "-"))
        enter(name);
    return pid;
}

/* A name, a program and its arguments. */
static void run(char **words)
{
    const char *name = *words++;
    int status;
    pid_t pid = child(name);

    if (!pid) {
        execvp(words[0], words);
        fail("cannot run %s", words[0]);
    }
    if (waitpid(pid, &status, 0) < 0 || status) {
        errno = 0;
        fprintf(stderr, "guest: in %s:", name);
        for (; *words; words++)
            fprintf(stderr, " %s", *words);
        fprintf(stderr, "\n");
        fail("exit %d", WEXITSTATUS(status));
    }
}

static void mount_new(char **words)
{
    if (mount("none", words[1], words[0], 0, NULL) < 0)
        fail("cannot mount %s at %s", words[0], words[1]);
}

static void move_device(char **words)
{
    char pid[16];
    char *command[] = {"-", "ip", "link", "set", words[0], "netns", pid, NULL};

    snprintf(pid, sizeof pid, "%d", holder_of(words[1]));
    run(command);
}

static void put(char **words)
{
    const char *name = *words++, *path = *words++;
    int status;
    pid_t pid = child(name);

    if (!pid) {
        FILE *file = fopen(path, "w");

        if (!file)
            fail("%s", path);
        for (; *words; words++)
            fprintf(file, "%s%s", *words, words[1] ? " " : "\n");
        if (fclose(file))
            fail("%s", path);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) < 0 || status)
        end();
}

static int tcp_socket(const char *control)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0)
        fail("no socket");
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, strlen(control)) < 0)
        fail("no congestion control %s", control);
    return fd;
}

static struct sockaddr_in address(const char *host, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

    inet_pton(AF_INET, host, &address.sin_addr);
    return address;
}

/* A reader that takes each segment as it comes, and nothing with it. */
static void take_all(int fd)
{
    while (recv(fd, buffer, INT_MAX, MSG_TRUNC | MSG_WAITALL) > 0)
        ;
}

static void receive(char **words)
{
    const char *name = words[0], *control = words[2];
    int port = atoi(words[1]);
    struct sockaddr_in own = address("10.0.0.2", port);
    int ready[2], fd, connection;
    char byte;

    if (pipe(ready) < 0)
        fail("no pipe");
    if (child(name)) {
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 1)
            end();
        close(ready[0]);
        return;
    }
    fd = tcp_socket(control);
    if (bind(fd, (void *)&own, sizeof own) < 0 || listen(fd, 4096) < 0)
        fail("cannot listen on port %d", port);
    if (write(ready[1], "", 1) != 1)
        fail("no pipe");
    while ((connection = accept(fd, NULL, NULL)) >= 0) {
        if (!fork()) {
            take_all(connection);
            _exit(0);
        }
        close(connection);
    }
    fail("accept");
}

static void wait_until(long long at)
{
    struct timespec time = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
        ;
}

static void transmit(char **words)
{
    struct sockaddr_in own = address("10.0.0.1", FIRST_PORT + atoi(words[2]));
    struct sockaddr_in other = address("10.0.0.2", atoi(words[3]));
    struct iovec pieces[IOV_MAX];
    int fd, tos = atoi(words[5]);
    long long left = atoll(words[6]);
    bool endless = !left;

    if (child(words[0]))
        return;
    for (fd = 0; fd < IOV_MAX; fd++)
        pieces[fd] = (struct iovec){buffer, sizeof buffer};
    fd = tcp_socket(words[4]);
    if (setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos) < 0)
        fail("cannot set the TOS");
    if (bind(fd, (void *)&own, sizeof own) < 0)
        fail("cannot bind flow %s", words[2]);
    wait_until(atoll(words[1]));
    if (connect(fd, (void *)&other, sizeof other) < 0)
        fail("cannot connect flow %s", words[2]);
    /* A gigabyte at a time, so that the end of a write does not show. */
    while (endless && writev(fd, pieces, IOV_MAX) > 0)
        ;
    for (long long count; left > 0; left -= count)
        if ((count = write(fd, buffer, MIN(left, (long long)sizeof buffer))) <= 0)
            fail("flow %s ended", words[2]);
    if (endless)
        fail("flow %s ended", words[2]);
    close(fd);
    _exit(0);
}

static void replay(char **words)
{
    const char *path = words[0];
    int from = open(path, O_RDONLY), to = open("/proc/forebay/arrivals", O_WRONLY);
    size_t size = from < 0 ? 0 : lseek(from, 0, SEEK_END), done = 0;
    char *all = malloc(size ? size : 1);

    if (from < 0 || to < 0 || !all)
        fail("cannot replay %s", path);
    for (ssize_t count; done < size; done += count)
        if ((count = pread(from, all + done, size - done, done)) <= 0)
            fail("cannot read %s", path);
    if (write(to, all, size) != (ssize_t)size)
        fail("cannot replay %s", path);
}

static void drain(int from, int to)
{
    ssize_t count;

    while ((count = read(from, buffer, sizeof buffer)) > 0)
        if (write(to, buffer, count) != count)
            fail("cannot write the record");
    if (count < 0)
        fail("cannot read the record");
}

static void record(char **words)
{
    const char *path = words[0];
    long long until = atoll(words[1]);
    int from = open("/proc/forebay/records", O_RDONLY);
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    struct timespec now;

    if (from < 0 || to < 0)
        fail("cannot record to %s", path);
    for (long long at = 0; at < until;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        at = now.tv_sec * 1000000000LL + now.tv_nsec + 1000000000LL;
        at = at < until ? at : until;
        wait_until(at);
        drain(from, to);
    }
    if (fsync(to) < 0 || close(to) < 0)
        fail("cannot write the record");
}

static const struct {
    const char *name;
    int least; /* words that follow */
    void (*step)(char **words);
} STEPS[] = {
    {"mount", 2, mount_new}, {"namespace", 1, add_namespace}, {"run", 2, run},
    {"move", 2, move_device}, {"write", 3, put},               {"listen", 3, receive},
    {"send", 7, transmit},   {"replay", 1, replay},           {"record", 2, record},
};

static void carry_out(char **words, int count)
{
    for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++) {
        if (strcmp(STEPS[i].name, words[0]) || count <= STEPS[i].least)
            continue;
        errno = 0;
        STEPS[i].step(words + 1);
        return;
    }
    errno = 0;
    fail("step not understood: %s", words[0]);
}

int main(void)
{
    static char line[1 << 16];
    FILE *plan;

    setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (mount("none", RESULTS, "hostfs", 0, "/proc/self/cwd") < 0)
        fail("cannot mount " RESULTS);
    if (mount("proc", "/proc", "proc", 0, NULL) < 0)
        fail("cannot mount /proc");
    if (!(plan = fopen(RESULTS "/plan", "re")))
        fail("no plan");
    while (fgets(line, sizeof line, plan)) {
        char *words[WORDS + 1], *rest = line;
        int count = 0;

        while (count < WORDS && (words[count] = strtok_r(rest, " \n", &rest)))
            count++;
        words[count] = NULL;
        if (count)
            carry_out(words, count);
    }
    printf("guest: done\n");
    end();
}
