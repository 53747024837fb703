/* Makes the n-th call of the system on files under a prefix fail. Loaded with LD_PRELOAD; the process
 * arms it with faults_arm().
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN = 1, MAKE = 2, READ = 4, WRITE = 8, SYNC = 16, CLOSE = 32, NAME = 64, REMOVE = 128, LIST = 256, CUT = 512 };
#define FDS 4096

static char prefix[PATH_MAX], last[PATH_MAX + 64];
static size_t prefix_len;
static atomic_int calls, failed;
static int at, error_number, stay;
static atomic_uchar ours[FDS];

/* Calls that can fail in this way. */
static int sorts(void) {
  switch (error_number) {
  case 0: return WRITE;
  case EINTR: return OPEN | MAKE | READ | WRITE | SYNC | CLOSE;
  case ENOSPC: case EDQUOT: return MAKE | WRITE | CUT | SYNC | CLOSE | NAME;
  case EACCES: case EPERM: case EROFS: return OPEN | MAKE | NAME | REMOVE | LIST;
  default: return ~0;
  }
}

void faults_arm(const char *under, int number, int error, int keeps) {
  snprintf(prefix, sizeof prefix, "%s", under);
  prefix_len = strlen(prefix);
  at = number, error_number = error, stay = keeps;
  last[0] = 0;
  atomic_store(&calls, 0);
  atomic_store(&failed, 0);
}
void faults_disarm(void) { prefix_len = 0; }
int faults_calls(void) { return atomic_load(&calls); }
int faults_failed(void) { return atomic_load(&failed); }
const char *faults_last(void) { return last; }

static int under(const char *path) {
  return prefix_len && path && !strncmp(path, prefix, prefix_len);
}
static int tracked(int fd) { return prefix_len && fd >= 0 && fd < FDS && atomic_load(&ours[fd]); }
static int placed(int dir, const char *path) {
  return under(path) || (path && path[0] != '/' && dir != AT_FDCWD && tracked(dir));
}
static int track(int fd, int own) {
  if (fd >= 0 && fd < FDS) atomic_store(&ours[fd], own);
  return fd;
}

/* Whether this call fails. */
static int fails(int sort, const char *name, const char *path) {
  if (!(sort & sorts())) return 0;
  int number = atomic_fetch_add(&calls, 1) + 1;
  int now = at && (number == at || (stay && number > at));
  char line[PATH_MAX + 64];
  if (!now) return 0;
  snprintf(line, sizeof line, "%d %s %s", number, name, path);
  if (atomic_fetch_add(&failed, 1) == 0) memcpy(last, line, sizeof last);
  errno = error_number;
  return 1;
}

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int mode_of(int flags, va_list rest) { return flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, int) : 0; }
static int sort_of(int flags) { return flags & O_CREAT ? OPEN | MAKE : OPEN; }

#define OPENS(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; va_start(rest, flags); int mode = mode_of(flags, rest); va_end(rest); \
    REAL(int, #name, const char *, int, ...); \
    int own = under(path); \
    if (own && fails(sort_of(flags), #name, path)) return -1; \
    return track(real(path, flags, mode), own); \
  }
#define OPENATS(name) \
  int name(int dir, const char *path, int flags, ...) { \
    va_list rest; va_start(rest, flags); int mode = mode_of(flags, rest); va_end(rest); \
    REAL(int, #name, int, const char *, int, ...); \
    int own = placed(dir, path); \
    if (own && fails(sort_of(flags), #name, path)) return -1; \
    return track(real(dir, path, flags, mode), own); \
  }
OPENS(open) OPENS(open64) OPENATS(openat) OPENATS(openat64)

/* A second descriptor of a file, as Rust's try_clone() makes it. */
#define DUPLICATES(name) \
  int name(int fd, int what, ...) { \
    va_list rest; va_start(rest, what); long arg = va_arg(rest, long); va_end(rest); \
    REAL(int, #name, int, int, ...); \
    int done = real(fd, what, arg); \
    return what == F_DUPFD || what == F_DUPFD_CLOEXEC ? track(done, tracked(fd)) : done; \
  }
DUPLICATES(fcntl) DUPLICATES(fcntl64)

/* A short write is of half the bytes; what cannot be halved is written. */
#define WRITES(name, shape, args, ...) \
  ssize_t name shape { \
    REAL(ssize_t, #name, __VA_ARGS__); \
    if (tracked(fd) && fails(WRITE, #name, "")) { \
      if (error_number) return -1; \
      if (size > 1) size /= 2; \
    } \
    return real args; \
  }
WRITES(write, (int fd, const void *data, size_t size), (fd, data, size), int, const void *, size_t)
WRITES(pwrite, (int fd, const void *data, size_t size, off_t to), (fd, data, size, to), int, const void *, size_t, off_t)
WRITES(pwrite64, (int fd, const void *data, size_t size, off64_t to), (fd, data, size, to), int, const void *, size_t, off64_t)
WRITES(writev, (int fd, const struct iovec *data, int size), (fd, data, size), int, const struct iovec *, int)

#define ON_FD(type, sort, name, shape, args, ...) \
  type name shape { \
    REAL(type, #name, __VA_ARGS__); \
    if (tracked(fd) && fails(sort, #name, "")) return -1; \
    return real args; \
  }
ON_FD(ssize_t, READ, read, (int fd, void *data, size_t size), (fd, data, size), int, void *, size_t)
ON_FD(ssize_t, READ, pread, (int fd, void *data, size_t size, off_t from), (fd, data, size, from), int, void *, size_t, off_t)
ON_FD(ssize_t, READ, pread64, (int fd, void *data, size_t size, off64_t from), (fd, data, size, from), int, void *, size_t, off64_t)
ON_FD(int, SYNC, fsync, (int fd), (fd), int)
ON_FD(int, SYNC, fdatasync, (int fd), (fd), int)
ON_FD(int, CUT, ftruncate, (int fd, off_t to), (fd, to), int, off_t)
ON_FD(int, CUT, ftruncate64, (int fd, off64_t to), (fd, to), int, off64_t)

/* What is closed with an error is closed. */
int close(int fd) {
  REAL(int, "close", int);
  int own = tracked(fd);
  if (fd >= 0 && fd < FDS) atomic_store(&ours[fd], 0);
  int closed = real(fd);
  return own && fails(CLOSE, "close", "") ? -1 : closed;
}

#define ON_PATH(sort, name, shape, args, path, ...) \
  int name shape { \
    REAL(int, #name, __VA_ARGS__); \
    if (under(path) && fails(sort, #name, path)) return -1; \
    return real args; \
  }
ON_PATH(MAKE, mkdir, (const char *path, mode_t mode), (path, mode), path, const char *, mode_t)
ON_PATH(NAME, rename, (const char *old, const char *path), (old, path), path, const char *, const char *)
ON_PATH(NAME, link, (const char *old, const char *path), (old, path), path, const char *, const char *)
ON_PATH(REMOVE, unlink, (const char *path), (path), path, const char *)
ON_PATH(REMOVE, rmdir, (const char *path), (path), path, const char *)
ON_PATH(NAME, renameat2, (int from, const char *old, int to, const char *path, unsigned how),
        (from, old, to, path, how), path, int, const char *, int, const char *, unsigned)

int unlinkat(int dir, const char *path, int flags) {
  REAL(int, "unlinkat", int, const char *, int);
  if (placed(dir, path) && fails(REMOVE, "unlinkat", path)) return -1;
  return real(dir, path, flags);
}

DIR *opendir(const char *path) {
  REAL(DIR *, "opendir", const char *);
  if (under(path) && fails(LIST, "opendir", path)) return NULL;
  return real(path);
}
