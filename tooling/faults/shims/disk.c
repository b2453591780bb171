/* Preloaded library: while a certain file exists, no file of one folder can grow, as on a full disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* The system's function of this name, as `real`. */
#define REAL(name)          \
  static typeof(name) *real; \
  if (real == NULL) real = (typeof(name) *)dlsym(RTLD_NEXT, #name)

static int is_ours(int fd) {
  const char *folder = getenv("FAULTS_DISK_FOLDER");
  char link[64], path[PATH_MAX];
  if (folder == NULL || fd <= 2) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return strncmp(path, folder, strlen(folder)) == 0;
}

/* Whether the file may not grow to this length now; then errno is ENOSPC. */
static int is_full_for(int fd, off_t length) {
  const char *full = getenv("FAULTS_DISK_FULL");
  struct stat file;
  if (full == NULL || access(full, F_OK) != 0 || !is_ours(fd)) return 0;
  if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || length <= file.st_size) return 0;
  errno = ENOSPC;
  return 1;
}

static off_t end_of(const struct iovec *parts, int count) {
  off_t sum = 0;
  for (int part = 0; part < count; part++) sum += parts[part].iov_len;
  return sum;
}

ssize_t write(int fd, const void *bytes, size_t count) {
  REAL(write);
  int before = errno;
  off_t at = lseek(fd, 0, SEEK_CUR);
  errno = before;
  return at >= 0 && is_full_for(fd, at + (off_t)count) ? -1 : real(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) {
  REAL(pwrite);
  return is_full_for(fd, at + (off_t)count) ? -1 : real(fd, bytes, count, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) { return pwrite(fd, bytes, count, at); }

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  REAL(pwritev);
  return is_full_for(fd, at + end_of(parts, count)) ? -1 : real(fd, parts, count, at);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return pwritev(fd, parts, count, at); }

int posix_fallocate(int fd, off_t at, off_t length) {
  REAL(posix_fallocate);
  return is_full_for(fd, at + length) ? ENOSPC : real(fd, at, length);
}

int posix_fallocate64(int fd, off64_t at, off64_t length) { return posix_fallocate(fd, at, length); }

int ftruncate(int fd, off_t length) {
  REAL(ftruncate);
  return is_full_for(fd, length) ? -1 : real(fd, length);
}

int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }
