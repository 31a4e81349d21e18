/*
 * stalled_disk FILE PROGRAM [ARGUMENT...]
 *
 * Starts a program whose fsync() and fdatasync() wait while there is such a file: a disk that stalls. The kernel asks a
 * second process before each of these calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WHILE_STALLED_US 5000
#define WHILE_SILENT_MS 100

/* Returns where the questions of the kernel about this process come. */
static int ask_before_sync(void) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fdatasync, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

/* Answers while the program lives. Its end is no signal to a process that has other rights than the program. */
static void answer(int questions, const char *stalled, pid_t program) {
  while (getppid() == program) {
    struct pollfd asked = {.fd = questions, .events = POLLIN};
    if (poll(&asked, 1, WHILE_SILENT_MS) <= 0) continue;
    struct seccomp_notif call = {0};
    if (ioctl(questions, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) {
      /* ENOENT: the call that was asked about was interrupted, and comes again. */
      if (errno == EINTR || errno == ENOENT) continue;
      _exit(1);
    }
    while (access(stalled, F_OK) == 0 && getppid() == program) usleep(WHILE_STALLED_US);
    struct seccomp_notif_resp go_on = {.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    ioctl(questions, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
  }
}

int main(int count, char **arguments) {
  if (count < 3) return 2;
  pid_t program = getpid();
  int questions = ask_before_sync();
  if (questions < 0) return perror("seccomp"), 1;
  pid_t child = fork();
  if (child < 0) return perror("fork"), 1;
  if (child == 0) {
    answer(questions, arguments[1], program);
    _exit(0);
  }
  execvp(arguments[2], arguments + 2);
  return perror(arguments[2]), 1;
}
