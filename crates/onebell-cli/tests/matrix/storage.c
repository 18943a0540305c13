/* Preloaded into a process under test: tells in which order bytes reached which file and when they were made to stay, so that
 * a test can build what a power cut would have left; counts refused file locks; and can kill the process inside a write.
 *
 *   STORAGE_DIR   only files directly in this folder are looked at
 *   STORAGE_LOG   where to tell: records of one write each, in order, from any number of processes
 *   STORAGE_ALL   set: writes and syncs are told too, with their bytes; else only refused locks and kills
 *   STORAGE_KILL  the n-th write to a file whose name ends in "-wal" is done by half, then the process is killed
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int log_fd = -1, tell_all;
static const char *folder;
static size_t folder_len;
static long kill_at;
static atomic_long wal_writes;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("STORAGE_LOG"), *kill = getenv("STORAGE_KILL");
    folder = getenv("STORAGE_DIR");
    folder_len = folder ? strlen(folder) : 0;
    tell_all = getenv("STORAGE_ALL") != NULL;
    kill_at = kill ? atol(kill) : 0;
    if (path && folder)
        log_fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

/* The file's name, if it is one of ours. */
static const char *name_of(int fd, char *buffer, size_t size) {
    char link[32] = "/proc/self/fd/";
    char digits[12];
    int length = 0, at = (int)strlen(link);
    if (log_fd < 0 || fd < 0 || fd == log_fd) return NULL;
    do digits[length++] = (char)('0' + fd % 10); while ((fd /= 10) > 0);
    while (length > 0) link[at++] = digits[--length];
    link[at] = 0;
    ssize_t got = syscall(SYS_readlink, link, buffer, size - 1);
    if (got <= 0) return NULL;
    buffer[got] = 0;
    if (strncmp(buffer, folder, folder_len) != 0 || buffer[folder_len] != '/') return NULL;
    const char *name = buffer + folder_len + 1;
    return strchr(name, '/') ? NULL : name;
}

/* One record: kind, length of the name, name, offset, length of the bytes, bytes. One write, so that none is torn apart. */
static void tell(char kind, const char *name, int64_t offset, const void *bytes, uint32_t count) {
    uint16_t name_len = (uint16_t)strlen(name);
    size_t size = 1 + 2 + name_len + 8 + 4 + count;
    char *record = malloc(size), *at = record;
    if (!record) abort();
    *at++ = kind;
    memcpy(at, &name_len, 2), at += 2;
    memcpy(at, name, name_len), at += name_len;
    memcpy(at, &offset, 8), at += 8;
    memcpy(at, &count, 4), at += 4;
    if (count) memcpy(at, bytes, count);
    if (syscall(SYS_write, log_fd, record, size) != (ssize_t)size) abort();
    free(record);
}

static int dies_here(const char *name) {
    size_t length = strlen(name);
    if (kill_at <= 0 || length < 4 || strcmp(name + length - 4, "-wal") != 0) return 0;
    return atomic_fetch_add(&wal_writes, 1) + 1 == kill_at;
}

static ssize_t write_at(int fd, const void *bytes, size_t count, int64_t offset, int positioned) {
    char buffer[4096];
    int kept = errno;
    const char *name = name_of(fd, buffer, sizeof buffer);
    errno = kept;
    if (name && !positioned) {
        offset = lseek(fd, 0, SEEK_CUR);
        if (fcntl(fd, F_GETFL) & O_APPEND) offset = lseek(fd, 0, SEEK_END);
    }
    if (name && dies_here(name)) {
        tell('K', name, offset, NULL, 0);
        count /= 2;
    }
    ssize_t done = positioned ? syscall(SYS_pwrite64, fd, bytes, count, offset) : syscall(SYS_write, fd, bytes, count);
    if (name && kill_at > 0 && atomic_load(&wal_writes) == kill_at) raise(SIGKILL);
    kept = errno;
    if (name && tell_all && done > 0) tell('W', name, offset, bytes, (uint32_t)done);
    errno = kept;
    return done;
}

ssize_t write(int fd, const void *bytes, size_t count) { return write_at(fd, bytes, count, 0, 0); }
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) { return write_at(fd, bytes, count, offset, 1); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) { return write_at(fd, bytes, count, offset, 1); }

/* Only what was written before it began is made to stay by it. */
static int sync_file(int fd, long call) {
    char buffer[4096];
    const char *name = tell_all ? name_of(fd, buffer, sizeof buffer) : NULL;
    if (name) tell('S', name, 0, NULL, 0);
    int done = (int)syscall(call, fd);
    int kept = errno;
    if (name && done == 0) tell('E', name, 0, NULL, 0);
    errno = kept;
    return done;
}

int fsync(int fd) { return sync_file(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_file(fd, SYS_fdatasync); }

static int truncate_file(int fd, int64_t length) {
    char buffer[4096];
    const char *name = tell_all ? name_of(fd, buffer, sizeof buffer) : NULL;
    int done = (int)syscall(SYS_ftruncate, fd, length);
    int kept = errno;
    if (name && done == 0) tell('T', name, length, NULL, 0);
    errno = kept;
    return done;
}

int ftruncate(int fd, off_t length) { return truncate_file(fd, length); }
int ftruncate64(int fd, off64_t length) { return truncate_file(fd, length); }

static int control(int fd, int command, void *argument) {
    int done = (int)syscall(SYS_fcntl, fd, command, argument);
    int kept = errno;
    if (done < 0 && command == F_SETLK && (kept == EAGAIN || kept == EACCES)) {
        char buffer[4096];
        const char *name = name_of(fd, buffer, sizeof buffer);
        if (name) tell('B', name, 0, NULL, 0);
    }
    errno = kept;
    return done;
}

int fcntl(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    return control(fd, command, argument);
}

int fcntl64(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    return control(fd, command, argument);
}
