/* Counts the calls by which a process changes files below one folder, and lets one of them end or fail.

   Loaded before the C library, so that it sees what Python, SQLite and whatever else lies in the process do. A call is a
   step: the process is killed before it, in the middle of it or after it, or the call fails or comes out short. With a
   log, each call that succeeded is written down with its bytes: tests/crash/power.py makes of it what a power cut leaves.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

enum fault { NONE, KILL_BEFORE, KILL_INSIDE, KILL_AFTER, EIO_ONCE, EIO_ON, FULL, SHORT };

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static int armed, log_fd = -1;
static long count, at;
static enum fault fault;

#define REAL(type, name, ...) \
    static type (*name##_)(__VA_ARGS__); \
    if (!name##_) name##_ = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

/* -- what the tests ask ------------------------------------------------------------------------------------------- */

void shim_arm(const char *folder, long step, int kind, int log) {
    snprintf(root, sizeof root, "%s/", folder);
    root_length = strlen(root);
    count = 0, at = step, fault = kind, log_fd = log, armed = 1;
}

void shim_heal(void) { fault = NONE; }
void shim_disarm(void) { armed = 0; }
long shim_count(void) { return count; }

/* -- where a call goes -------------------------------------------------------------------------------------------- */

static int below(const char *path) {
    size_t length = strlen(path);
    return armed && !strncmp(path, root, length < root_length ? root_length - 1 : root_length) && length >= root_length - 1;
}

static int of_handle(int fd, char *path) {
    char link[64];
    if (!armed) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return below(path);
}

static int of_name(int folder, const char *name, char *path) {
    if (!armed) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return below(path);
    }
    char base[PATH_MAX - 256], link[64];
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length <= 0) return 0;
    base[length] = 0;
    snprintf(path, PATH_MAX, "%s/%.*s", base, 250, name);
    return below(path);
}

/* -- the log ------------------------------------------------------------------------------------------------------ */

struct __attribute__((packed)) record {
    char kind;
    uint64_t inode, value;
    uint32_t path, more;
};

static void all(const void *data, size_t length) {
    while (length) {
        ssize_t done = syscall(SYS_write, log_fd, data, length);
        if (done <= 0) abort();
        data = (const char *)data + done, length -= done;
    }
}

static void note(char kind, uint64_t inode, uint64_t value, const char *path, const void *more, size_t length) {
    if (log_fd < 0) return;
    struct record record = {kind, inode, value, strlen(path), length};
    all(&record, sizeof record), all(path, strlen(path));
    if (length) all(more, length);
}

void shim_mark(long number) {
    pthread_mutex_lock(&one_at_a_time);
    note('a', 0, number, "", NULL, 0);
    pthread_mutex_unlock(&one_at_a_time);
}

static uint64_t inode(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

static uint64_t inode_of(const char *path) {
    struct stat found;
    return lstat(path, &found) ? 0 : found.st_ino;
}

/* -- a step: 0 to go on, 1 to be killed after it, 2 half of it and an end, 3 half of it, else -1 and errno ----------- */

static void die(void) { syscall(SYS_kill, getpid(), SIGKILL); for (;;) pause(); }

static int step(int frees) {
    long number = ++count;
    if (fault == NONE || number < at) return 0;
    int now = number == at;
    switch (fault) {
    case KILL_BEFORE: if (now) die(); return 0;
    case KILL_INSIDE: return now ? 2 : 0;
    case KILL_AFTER: return now ? 1 : 0;
    case EIO_ONCE: if (now) { errno = EIO; return -1; } return 0;
    case EIO_ON: errno = EIO; return -1;
    case FULL: if (frees) return 0; if (now) return 3; errno = ENOSPC; return -1;
    case SHORT: return now ? 3 : 0;
    default: return 0;
    }
}

#define BEGIN(frees) \
    pthread_mutex_lock(&one_at_a_time); \
    int way = step(frees); \
    if (way < 0) { int kept = errno; pthread_mutex_unlock(&one_at_a_time); errno = kept; return -1; }
/* A full disk takes no new name, and no half of one. */
#define WHOLE() \
    if (way == 3 && fault == FULL) { pthread_mutex_unlock(&one_at_a_time); errno = ENOSPC; return -1; }
#define END(result) \
    { int kept = errno; if (way == 1 || way == 2) die(); pthread_mutex_unlock(&one_at_a_time); errno = kept; return result; }

/* -- bytes -------------------------------------------------------------------------------------------------------- */

static ssize_t written(int fd, const void *data, size_t length, int64_t offset, const char *path) {
    BEGIN(0)
    size_t wanted = way >= 2 ? length / 2 : length;
    if (way == 3 && !wanted) {
        if (fault == FULL) { pthread_mutex_unlock(&one_at_a_time); errno = ENOSPC; return -1; }
        wanted = length;
    }
    ssize_t done = offset < 0 ? syscall(SYS_write, fd, data, wanted) : syscall(SYS_pwrite64, fd, data, wanted, offset);
    if (done >= 0) note('w', inode(fd), offset < 0 ? lseek(fd, 0, SEEK_CUR) - done : offset, path, data, done);
    END(done)
}

ssize_t write(int fd, const void *data, size_t length) {
    char path[PATH_MAX];
    if (!of_handle(fd, path)) return syscall(SYS_write, fd, data, length);
    return written(fd, data, length, -1, path);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    char path[PATH_MAX];
    if (!of_handle(fd, path)) return syscall(SYS_pwrite64, fd, data, length, offset);
    return written(fd, data, length, offset, path);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) { return pwrite64(fd, data, length, offset); }

/* Many pieces are one write; only as many as fit are taken, as the system may. */
static ssize_t pieces(int fd, const struct iovec *parts, int many, int64_t offset, const char *path) {
    size_t length = 0, filled = 0;
    for (int n = 0; n < many; n++) length += parts[n].iov_len;
    char *data = malloc(length ? length : 1);
    for (int n = 0; n < many; n++) memcpy(data + filled, parts[n].iov_base, parts[n].iov_len), filled += parts[n].iov_len;
    ssize_t done = written(fd, data, length, offset, path);
    int kept = errno;
    free(data);
    errno = kept;
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int many) {
    char path[PATH_MAX];
    if (!of_handle(fd, path)) return syscall(SYS_writev, fd, parts, many);
    return pieces(fd, parts, many, -1, path);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int many, off64_t offset) {
    char path[PATH_MAX];
    REAL(ssize_t, pwritev64, int, const struct iovec *, int, off64_t);
    if (!of_handle(fd, path)) return pwritev64_(fd, parts, many, offset);
    return pieces(fd, parts, many, offset, path);
}

ssize_t pwritev(int fd, const struct iovec *parts, int many, off_t offset) { return pwritev64(fd, parts, many, offset); }

/* Copies inside of the kernel are refused: whoever asks falls back to reading and writing. */
ssize_t sendfile64(int to, int from, off64_t *offset, size_t length) {
    char path[PATH_MAX];
    REAL(ssize_t, sendfile64, int, int, off64_t *, size_t);
    if (!of_handle(to, path)) return sendfile64_(to, from, offset, length);
    errno = EINVAL;
    return -1;
}

ssize_t sendfile(int to, int from, off_t *offset, size_t length) { return sendfile64(to, from, (off64_t *)offset, length); }

ssize_t copy_file_range(int from, off64_t *here, int to, off64_t *there, size_t length, unsigned flags) {
    char path[PATH_MAX];
    REAL(ssize_t, copy_file_range, int, off64_t *, int, off64_t *, size_t, unsigned);
    if (!of_handle(to, path)) return copy_file_range_(from, here, to, there, length, flags);
    errno = ENOSYS;
    return -1;
}

static int sized(int fd, int64_t size, const char *path) {
    struct stat before;
    int grows = !fstat(fd, &before) && size > before.st_size;
    BEGIN(!grows)
    WHOLE()
    int done = way == 2 ? 0 : syscall(SYS_ftruncate, fd, size);
    if (!done && way != 2) note('t', inode(fd), size, path, NULL, 0);
    END(done)
}

int ftruncate64(int fd, off64_t size) {
    char path[PATH_MAX];
    if (!of_handle(fd, path)) return syscall(SYS_ftruncate, fd, size);
    return sized(fd, size, path);
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int truncate64(const char *name, off64_t size) {
    char path[PATH_MAX];
    if (!of_name(AT_FDCWD, name, path)) return syscall(SYS_truncate, name, size);
    int fd = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0) return -1;
    int done = sized(fd, size, path), kept = errno;
    close(fd);
    errno = kept;
    return done;
}

int truncate(const char *name, off_t size) { return truncate64(name, size); }

int posix_fallocate64(int fd, off64_t offset, off64_t length) {
    char path[PATH_MAX];
    REAL(int, posix_fallocate64, int, off64_t, off64_t);
    if (!of_handle(fd, path)) return posix_fallocate64_(fd, offset, length);
    struct stat before;
    if (!fstat(fd, &before) && before.st_size >= offset + length) return 0;
    return sized(fd, offset + length, path) ? errno : 0;
}

int posix_fallocate(int fd, off_t offset, off_t length) { return posix_fallocate64(fd, offset, length); }

static int synced(int fd, long call) {
    char path[PATH_MAX];
    if (!of_handle(fd, path)) return syscall(call, fd);
    BEGIN(0)
    WHOLE()
    int done = way == 2 ? 0 : syscall(call, fd);
    if (!done && way != 2) note('s', inode(fd), 0, path, NULL, 0);
    END(done)
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

/* -- names -------------------------------------------------------------------------------------------------------- */

static int opened(int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    struct stat before;
    if (!(flags & (O_CREAT | O_TRUNC)) || (flags & O_TMPFILE) == O_TMPFILE || !of_name(folder, name, path))
        return syscall(SYS_openat, folder, name, flags, mode);
    int there = !lstat(path, &before);
    if (there && (!(flags & O_TRUNC) || !before.st_size)) return syscall(SYS_openat, folder, name, flags, mode);
    BEGIN(there)
    WHOLE()
    int fd = way == 2 ? 0 : syscall(SYS_openat, folder, name, flags, mode);
    if (fd >= 0 && way != 2) note(there ? 't' : 'o', inode(fd), 0, path, NULL, 0);
    END(fd)
}

#define MODE() \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }

int open(const char *name, int flags, ...) { MODE() return opened(AT_FDCWD, name, flags, mode); }
int open64(const char *name, int flags, ...) { MODE() return opened(AT_FDCWD, name, flags | O_LARGEFILE, mode); }
int openat(int folder, const char *name, int flags, ...) { MODE() return opened(folder, name, flags, mode); }
int openat64(int folder, const char *name, int flags, ...) { MODE() return opened(folder, name, flags | O_LARGEFILE, mode); }
int __open_2(const char *name, int flags) { return opened(AT_FDCWD, name, flags, 0); }
int __open64_2(const char *name, int flags) { return opened(AT_FDCWD, name, flags | O_LARGEFILE, 0); }
int creat(const char *name, mode_t mode) { return opened(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static int moved(int from, const char *name, int to, const char *new_name, unsigned flags) {
    char path[PATH_MAX], new_path[PATH_MAX];
    int here = of_name(from, name, path), there = of_name(to, new_name, new_path);
    if (!here || !there) return syscall(SYS_renameat2, from, name, to, new_name, flags);
    BEGIN(0)
    WHOLE()
    int done = way == 2 ? 0 : syscall(SYS_renameat2, from, name, to, new_name, flags);
    if (!done && way != 2) note(flags & RENAME_EXCHANGE ? 'x' : 'r', 0, 0, path, new_path, strlen(new_path));
    END(done)
}

int rename(const char *name, const char *new_name) { return moved(AT_FDCWD, name, AT_FDCWD, new_name, 0); }
int renameat(int from, const char *name, int to, const char *new_name) { return moved(from, name, to, new_name, 0); }
int renameat2(int from, const char *name, int to, const char *new_name, unsigned flags) {
    return moved(from, name, to, new_name, flags);
}

int linkat(int from, const char *name, int to, const char *new_name, int flags) {
    char path[PATH_MAX], new_path[PATH_MAX];
    int here = of_name(from, name, path), there = of_name(to, new_name, new_path);
    if (!here || !there) return syscall(SYS_linkat, from, name, to, new_name, flags);
    BEGIN(0)
    WHOLE()
    int done = way == 2 ? 0 : syscall(SYS_linkat, from, name, to, new_name, flags);
    if (!done && way != 2) note('l', 0, 0, path, new_path, strlen(new_path));
    END(done)
}

int link(const char *name, const char *new_name) { return linkat(AT_FDCWD, name, AT_FDCWD, new_name, 0); }

int symlinkat(const char *to, int folder, const char *name) {
    char path[PATH_MAX];
    if (!of_name(folder, name, path)) return syscall(SYS_symlinkat, to, folder, name);
    BEGIN(0)
    WHOLE()
    int done = way == 2 ? 0 : syscall(SYS_symlinkat, to, folder, name);
    if (!done && way != 2) note('k', inode_of(path), 0, path, to, strlen(to));
    END(done)
}

int symlink(const char *to, const char *name) { return symlinkat(to, AT_FDCWD, name); }

int unlinkat(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    if (!of_name(folder, name, path)) return syscall(SYS_unlinkat, folder, name, flags);
    struct stat found;
    if (lstat(path, &found)) return syscall(SYS_unlinkat, folder, name, flags);
    BEGIN(1)
    int done = way == 2 ? 0 : syscall(SYS_unlinkat, folder, name, flags);
    if (!done && way != 2) note('u', 0, 0, path, NULL, 0);
    END(done)
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }

int mkdirat(int folder, const char *name, mode_t mode) {
    char path[PATH_MAX];
    if (!of_name(folder, name, path)) return syscall(SYS_mkdirat, folder, name, mode);
    struct stat found;
    if (!lstat(path, &found)) return syscall(SYS_mkdirat, folder, name, mode);
    BEGIN(0)
    WHOLE()
    int done = way == 2 ? 0 : syscall(SYS_mkdirat, folder, name, mode);
    if (!done && way != 2) note('m', inode_of(path), 0, path, NULL, 0);
    END(done)
}

int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

int fchmod(int fd, mode_t mode) {
    char path[PATH_MAX];
    if (!of_handle(fd, path)) return syscall(SYS_fchmod, fd, mode);
    BEGIN(1)
    int done = way == 2 ? 0 : syscall(SYS_fchmod, fd, mode);
    if (!done && way != 2) note('c', inode(fd), mode, path, NULL, 0);
    END(done)
}
