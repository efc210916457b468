"""The system calls of Linux on x86-64 and on ARM64: those that reading takes, and those that no reader ever makes.

The kernel's numbers never change. A call that is in neither table fails with EPERM, as libraries expect where a
container forbids one; a call of a kernel newer than the tables with ENOSYS, upon which they do without it.
"""

from __future__ import annotations

LAST_KNOWN = 451
"""The newest call when the tables were made."""

Numbers = dict[str, tuple[int | None, int | None]]
"""By name the number on x86-64 and on ARM64; None where there is no such call."""

FILES: Numbers = {
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66), "pread64": (17, 67),
    "pwrite64": (18, 68), "preadv": (295, 69), "pwritev": (296, 70), "preadv2": (327, 286), "pwritev2": (328, 287),
    "close": (3, 57), "close_range": (436, 436), "fstat": (5, 80), "newfstatat": (262, 79),
    "stat": (4, None), "lstat": (6, None), "statx": (332, 291), "statfs": (137, 43), "fstatfs": (138, 44),
    "lseek": (8, 62), "open": (2, None), "openat": (257, 56), "openat2": (437, 437), "access": (21, None),
    "faccessat": (269, 48), "faccessat2": (439, 439), "getdents": (78, None), "getdents64": (217, 61),
    "readlink": (89, None), "readlinkat": (267, 78), "getcwd": (79, 17), "chdir": (80, 49), "fchdir": (81, 50),
    "dup": (32, 23), "dup2": (33, None), "dup3": (292, 24), "pipe": (22, None), "pipe2": (293, 59),
    "ftruncate": (77, 46), "fallocate": (285, 47), "fsync": (74, 82), "fdatasync": (75, 83), "flock": (73, 32),
    "fadvise64": (221, 223), "readahead": (187, 213), "sendfile": (40, 71), "copy_file_range": (326, 285),
    "mkdir": (83, None), "mkdirat": (258, 34), "rmdir": (84, None), "unlink": (87, None), "unlinkat": (263, 35),
    "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276), "umask": (95, 166),
}
"""Landlock decides which files. What changes owners, modes, times or links is not among them."""
MEMORY: Numbers = {
    "mmap": (9, 222), "munmap": (11, 215), "mprotect": (10, 226), "mremap": (25, 216), "madvise": (28, 233),
    "msync": (26, 227), "mincore": (27, 232), "mlock": (149, 228), "munlock": (150, 229), "mlock2": (325, 284),
    "brk": (12, 214), "membarrier": (324, 283),
}
ITSELF: Numbers = {
    "futex": (202, 98), "futex_waitv": (449, 449), "set_robust_list": (273, 99), "get_robust_list": (274, 100),
    "set_tid_address": (218, 96), "rseq": (334, 293), "gettid": (186, 178), "getpid": (39, 172),
    "getppid": (110, 173), "getpgid": (121, 155), "getpgrp": (111, None), "getsid": (124, 156),
    "getuid": (102, 174), "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177),
    "getresuid": (118, 148), "getresgid": (120, 150), "getgroups": (115, 158), "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123), "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126), "getpriority": (140, 141),
    "getcpu": (309, 168), "get_mempolicy": (239, 236), "getrusage": (98, 165), "getrlimit": (97, 163),
    "sysinfo": (99, 179), "uname": (63, 160), "getrandom": (318, 278), "capget": (125, 90),
    "arch_prctl": (158, None), "wait4": (61, 260), "waitid": (247, 95), "exit": (60, 93), "exit_group": (231, 94),
}
WAITING: Numbers = {
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133), "sigaltstack": (131, 132),
    "restart_syscall": (219, 128), "pause": (34, None), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "nanosleep": (35, 101), "gettimeofday": (96, 169), "time": (201, None),
    "times": (100, 153), "alarm": (37, None), "getitimer": (36, 102), "setitimer": (38, 103),
    "timerfd_create": (283, 85), "timerfd_settime": (286, 86), "timerfd_gettime": (287, 87), "select": (23, None),
    "pselect6": (270, 72), "poll": (7, None), "ppoll": (271, 73), "epoll_create": (213, None),
    "epoll_create1": (291, 20), "epoll_ctl": (233, 21), "epoll_wait": (232, None), "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441), "eventfd": (284, None), "eventfd2": (290, 19),
}
READING = FILES | MEMORY | ITSELF | WAITING
"""What every reader may call, whatever the arguments."""

PROGRAMS: Numbers = {
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
}
OTHER_PROCESSES: Numbers = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "kcmp": (312, 272), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
}
FILE_SYSTEMS: Numbers = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "open_tree": (428, 428), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "unshare": (272, 97),
    "setns": (308, 268), "open_by_handle_at": (304, 265),
}
SYSTEM: Numbers = {
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "bpf": (321, 280), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setgroups": (116, 159), "setfsuid": (122, 151),
    "setfsgid": (123, 152), "capset": (126, 91),
}
HOSTILE = PROGRAMS | OTHER_PROCESSES | FILE_SYSTEMS | SYSTEM
"""What no library does to find out what it may: it ends the process."""

BY_ARGUMENTS: Numbers = {
    "clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "kill": (62, 129), "tgkill": (234, 131),
    "prlimit64": (302, 261), "ioctl": (16, 29), "prctl": (157, 167), "fcntl": (72, 25),
}
"""What `seccomp` decides by what is passed."""
