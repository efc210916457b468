"""The parsing process with a reader that a stranger took over: it tries what the lock must refuse.

The document is JSON: what to try and what with. Each attempt returns only if it succeeded; a reader that is still there
writes what became of each.
"""

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import platform
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sourcier.services.ingest.parsing import zygote
from sourcier.services.ingest.parsing.confining import system_calls
from sourcier.services.ingest.parsing.confining.seccomp import ARCHITECTURES
from sourcier.services.ingest.parsing.limits import ParsingLimits

Told = dict[str, Any]
_libc = ctypes.CDLL(None, use_errno=True)
# Those that the filter does not name: numbers on x86-64 and ARM64.
_FURTHER: system_calls.Numbers = {
    "link": (86, None), "linkat": (265, 37), "symlinkat": (266, 36), "mknodat": (259, 33), "truncate": (76, 45),
    "fchmodat": (268, 53), "fchownat": (260, 54), "utimensat": (280, 88), "setxattr": (188, 5), "connect": (42, 203),
    "socketpair": (53, 199), "io_uring_setup": (425, 425), "memfd_create": (319, 279), "pidfd_open": (434, 434),
    "setpriority": (141, 140), "sched_setaffinity": (203, 122), "perf_event_open": (298, 241), "tkill": (200, 130),
    "userfaultfd": (323, 282), "inotify_init1": (294, 26), "personality": (135, 92), "name_to_handle_at": (303, 264),
}
_NUMBERS = system_calls.READING | system_calls.HOSTILE | system_calls.BY_ARGUMENTS | _FURTHER
_AT_CWD = -100


def call(name: str, *arguments: int | str | bytes | None) -> int:
    """Make a system call as native code does, past Python and the C library; raise OSError where it fails."""
    number = _NUMBERS[name][ARCHITECTURES[platform.machine()].column]
    if number is None:
        raise PermissionError(errno.EPERM, f"{name} is unknown to this architecture")
    return checked(_libc.syscall(ctypes.c_long(number), *(word(each) for each in arguments)))


def word(value: int | str | bytes | None) -> Any:
    """Return an argument as C takes it."""
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    return ctypes.c_long(value) if isinstance(value, int) else value


def checked(result: int) -> int:
    """Return a result of the C library; raise OSError for −1."""
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def read_by_libc(path: str) -> None:
    """Open and read as the C library does."""
    checked(_libc.open(word(path), os.O_RDONLY))


def in_thread(attempt: Callable[[], object]) -> None:
    """Try in another thread, and raise what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            attempt()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


def machine_code(code: bytes) -> int:
    """Run instructions, as an overflow in a native library would; return what they leave in the first register."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    return int(function())


def capabilities() -> int:
    """Return the effective capabilities, as bits."""
    data = (ctypes.c_uint32 * 6)()
    _libc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), data)
    return int(data[0] | data[3] << 32)


def fails_if(found: object) -> None:
    """Raise PermissionError unless there is something that must not be."""
    if not found:
        raise PermissionError(errno.EPERM, "there is none")


def move_out(folder: str) -> None:
    """Write where it may, and move that to where it may not."""
    Path("mine").write_text("x")
    os.rename("mine", folder + "/mine")


def open_descriptors() -> list[int]:
    """Return what is open beside the three that are no way out."""
    found = []
    for descriptor in range(3, 1024):
        try:
            os.fstat(descriptor)
        except OSError:
            continue
        found.append(descriptor)
    return found


FILES: dict[str, Callable[[Told], object]] = {
    "read: open": lambda told: Path(told["secret"]).read_text(),
    "read: libc": lambda told: read_by_libc(told["secret"]),
    "read: openat": lambda told: call("openat", _AT_CWD, told["secret"], os.O_RDONLY),
    "read: openat2": lambda told: call("openat2", _AT_CWD, told["secret"], bytes(24), 24),
    "read: up from the folder": lambda told: Path(os.path.relpath(told["secret"])).read_text(),
    "read: /proc/self/root": lambda told: read_by_libc("/proc/self/root" + told["secret"]),
    "read: from a thread": lambda told: in_thread(lambda: read_by_libc(told["secret"])),
    "read: /etc/passwd": lambda told: read_by_libc("/etc/passwd"),
    "read: the folder of the document": lambda told: os.listdir(Path(told["path"]).parent),
    "read: other documents": lambda told: os.listdir(".."),
    "read: the root": lambda told: os.listdir("/"),
    "environment: own": lambda told: read_by_libc("/proc/self/environ"),
    "environment: of the zygote": lambda told: read_by_libc(f"/proc/{os.getppid()}/environ"),
    "environment: of the service": lambda told: read_by_libc(f"/proc/{told['service']}/environ"),
    "environment: inherited": lambda told: fails_if(told["name"] in os.environ),
    "environment: inherited, libc": lambda told: fails_if(_libc.getenv(word(told["name"]))),
    "command line of the service": lambda told: read_by_libc(f"/proc/{told['service']}/cmdline"),
    "descriptors of the service": lambda told: os.listdir(f"/proc/{told['service']}/fd"),
    "memory: own": lambda told: checked(_libc.open(b"/proc/self/mem", os.O_RDWR)),
    "memory: of the service": lambda told: checked(_libc.open(word(f"/proc/{told['service']}/mem"), os.O_RDWR)),
    "memory: shared by processes": lambda told: os.listdir("/dev/shm"),
    "write: open": lambda told: Path(told["folder"], "new").write_text("x"),
    "write: libc": lambda told: checked(_libc.creat(word(told["folder"] + "/new"), 0o600)),
    "write: over": lambda told: Path(told["secret"]).write_text("x"),
    "write: over the document": lambda told: Path(told["path"]).write_text("x"),
    "write: truncate": lambda told: call("truncate", told["secret"], 0),
    "write: a library": lambda told: os.open(zygote.__file__, os.O_WRONLY),
    "write: a new library": lambda told: Path(zygote.__file__).with_name("new.py").write_text(""),
    "remove": lambda told: os.unlink(told["secret"]),
    "move away": lambda told: os.rename(told["secret"], "artefact"),
    "move out": lambda told: move_out(told["folder"]),
    "make a folder": lambda told: os.mkdir(told["folder"] + "/made"),
    "mode": lambda told: call("fchmodat", _AT_CWD, told["secret"], 0o777),
    "owner": lambda told: call("fchownat", _AT_CWD, told["secret"], os.getuid(), os.getgid(), 0),
    "times": lambda told: call("utimensat", _AT_CWD, told["secret"], None, 0),
    "attribute": lambda told: call("setxattr", told["secret"], "user.x", b"x", 1, 0),
    "link: symbolic": lambda told: os.symlink(told["secret"], "linked"),
    "link: symbolic, raw": lambda told: call("symlinkat", told["secret"], _AT_CWD, "linked"),
    "link: hard": lambda told: os.link(told["secret"], "linked"),
    "link: hard, raw": lambda told: call("linkat", _AT_CWD, told["secret"], _AT_CWD, "linked", 0),
    "pipe with a name": lambda told: os.mkfifo("pipe"),
    "device": lambda told: call("mknodat", _AT_CWD, "device", 0o20600, 0x0101),
    "watch": lambda told: call("inotify_init1", 0),
    "handle": lambda told: call("name_to_handle_at", _AT_CWD, told["secret"], bytes(200), bytes(8), 0),
    "file in memory": lambda told: call("memfd_create", "x", 0),
}
PYTHON: dict[str, Callable[[Told], object]] = {
    "program: subprocess": lambda told: subprocess.run(["true"], check=True),
    "program: system": lambda told: os.system("true"),
    "program: exec": lambda told: os.execv("/bin/true", ["true"]),
    "program: spawn": lambda told: os.posix_spawn("/bin/true", ["true"], {}),
    "process: fork": lambda told: os.fork(),
    "process: signal to the service": lambda told: os.kill(told["service"], 0),
    "process: signal to the zygote": lambda told: os.kill(os.getppid(), 0),
    "socket: TCP": lambda told: socket.socket(),
    "socket: from a thread": lambda told: in_thread(socket.socket),
    "socket: connect": lambda told: socket.create_connection(("127.0.0.1", told["port"])),
    "socket: name": lambda told: socket.getaddrinfo("localhost", told["port"]),
    "socket: local": lambda told: socket.socket(socket.AF_UNIX),
}
NATIVE: dict[str, Callable[[Told], object]] = {
    "socket: local, libc": lambda told: checked(_libc.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0)),
    "socket: TCP": lambda told: checked(_libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)),
    "socket: TCP over IPv6": lambda told: call("socket", socket.AF_INET6, socket.SOCK_STREAM, 0),
    "socket: UDP": lambda told: call("socket", socket.AF_INET, socket.SOCK_DGRAM, 0),
    "socket: from a thread": lambda told: in_thread(lambda: call("socket", socket.AF_INET, 1, 0)),
    "socket: netlink": lambda told: call("socket", 16, socket.SOCK_RAW, 0),
    "socket: packets": lambda told: call("socket", 17, socket.SOCK_RAW, 0),
    "socket: virtual machine": lambda told: call("socket", 40, socket.SOCK_STREAM, 0),
    "socket: crypto": lambda told: call("socket", 38, socket.SOCK_SEQPACKET, 0),
    "socket: pair": lambda told: call("socketpair", socket.AF_UNIX, socket.SOCK_STREAM, 0, bytes(8)),
    "socket: connect": lambda told: call("connect", 0, bytes(16), 16),
    "rings": lambda told: call("io_uring_setup", 8, bytes(120)),
    "process: clone3": lambda told: call("clone3", bytes(88), 88),
    "process: descriptor of": lambda told: call("pidfd_open", told["service"], 0),
    "process: priority of": lambda told: call("setpriority", 0, told["service"], 19),
    "process: processors of": lambda told: call("sched_setaffinity", told["service"], 8, b"\1" + bytes(7)),
    "process: limits of": lambda told: call("prlimit64", told["service"], 7, None, bytes(16)),
    "process: own limits raised": lambda told: call("prlimit64", 0, 7, b"\xff" * 16, None),
    "process: signals by a file": lambda told: call("fcntl", 1, 8, told["service"]),
    "process: signal to a thread": lambda told: call("tkill", told["service"], 0),
    "terminal": lambda told: call("ioctl", 0, 0x5412, b"x"),
    "undying": lambda told: call("prctl", 1, 0, 0, 0, 0),
    "personality": lambda told: call("personality", 0x0040000),
    "counters": lambda told: call("perf_event_open", bytes(128), 0, -1, -1, 0),
    "page faults": lambda told: call("userfaultfd", 0),
    "newer than all": lambda told: checked(_libc.syscall(ctypes.c_long(5000))),
    "privileges": lambda told: fails_if(capabilities()),
    "open files": lambda told: fails_if(open_descriptors()),
}
_REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ELOOP)

# These end the process.
HOSTILE: dict[str, Callable[[Told], object]] = {
    "program: libc": lambda told: checked(_libc.system(b"true")),
    "program: execve": lambda told: call("execve", "/bin/true", None, None),
    "program: execveat": lambda told: call("execveat", _AT_CWD, "/bin/true", None, None, 0),
    "process: fork": lambda told: checked(_libc.fork()),
    "process: vfork": lambda told: call("clone", 0x4111, 0, 0, 0, 0),
    "process: signal to the service": lambda told: checked(_libc.kill(told["service"], 0)),
    "process: signal to all": lambda told: checked(_libc.kill(-1, 0)),
    "process: signal to the group": lambda told: checked(_libc.kill(0, 0)),
    "process: signal to a thread": lambda told: call("tgkill", told["service"], told["service"], 0),
    "process: traced": lambda told: call("ptrace", 16, told["service"], 0, 0),
    "process: read": lambda told: call("process_vm_readv", told["service"], bytes(16), 1, bytes(16), 1, 0),
    "namespace": lambda told: call("unshare", 0x10000000),
    "mount": lambda told: call("mount", "none", "/tmp", "tmpfs", 0, None),
    "keys": lambda told: call("keyctl", 0, -3, 0, 0, 0),
    "kernel program": lambda told: call("bpf", 0, bytes(72), 72),
    "user": lambda told: call("setuid", 0),
}
# On x86-64: getpid by the gate of 32-bit programs, and by the numbers of x32.
CODES = {"32-bit call": "b814000000cd80c3", "x32 call": "b8270000400f05c3", "execve": "b83b0000000f05c3"}


def work(directory: Path, source: dict[str, Any], limits: ParsingLimits) -> None:
    """Try what the document says, or all that fails with an error."""
    told = json.loads(Path(source["path"]).read_text()) | {"path": source["path"]}
    if "code" in told:
        machine_code(bytes.fromhex(told["code"]))
    elif "hostile" in told:
        HOSTILE[told["hostile"]](told)
    elif "uncaught" in told:
        read_by_libc(told["secret"])
    elif "rejection" in told:
        (directory / zygote.REJECTION).write_text(json.dumps(told["rejection"]))
    else:
        attempts = all_refused()
        outcomes = {name: tried(attempts[name], told) for name in told.get("only", attempts)}
        (directory / zygote.ARTEFACT).write_text(json.dumps(outcomes))


def all_refused() -> dict[str, Callable[[Told], object]]:
    """Return what fails with an error, by kind and name."""
    return {
        f"{kind}: {name}": attempt
        for kind, group in (("file", FILES), ("python", PYTHON), ("native", NATIVE)) for name, attempt in group.items()
    }


def tried(attempt: Callable[[Told], object], told: Told) -> str:
    """Return `refused`, or what else came of it."""
    try:
        attempt(told)
    except OSError as error:
        return "refused" if error.errno in _REFUSED else f"failed: {error}"
    except BaseException as error:
        return f"failed: {error!r}"
    return "done"


if __name__ == "__main__":
    zygote.main(work, lambda: None)
