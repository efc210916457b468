"""Become another program that does not outlive its parent: `launch.py PARENT SIGNAL UID GID PROGRAM [ARGUMENT…]`.

A script of its own, run without site-packages, because what it does has to happen between fork and exec, where a
process with threads may not run Python (`preexec_fn`), and `setpriv` is not on every machine. The order matters:
changing the user clears the death signal, so it is asked for afterwards.
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Drop privileges where asked to, tie this process to its parent, and exec."""
    parent, death_signal, uid, gid = (int(value) for value in sys.argv[1:5])
    program = sys.argv[5:]
    if uid >= 0:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    os.umask(0o077)
    # Linux only. Elsewhere, children left by a killed stack are found and stopped at the next start.
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # the parent died before the signal was set
    os.execv(program[0], program)  # noqa: S606 (no shell is meant)


if __name__ == "__main__":
    main()
