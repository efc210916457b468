"""Compacts the volumes of the embedded object store: `python -m …compaction FOLDER MASTER`.

SeaweedFS appends, and keeps the bytes of deleted objects until a volume is written anew. FOLDER has the configuration
of the store, whose certificate lets us in; MASTER is `host:port.grpc-port`.
"""

from __future__ import annotations

import subprocess
import sys
import time

from sourcier.services.stack import programs
from sourcier.services.stack.settings import server_environment

SECONDS_MAX = 590.0
GARBAGE_SHARE = 0.000001
"""Of a volume's bytes; a volume without a deleted object is left as it is."""
DELETIONS_SECONDS = 3.0
"""The filer tells the volumes what was deleted from a queue that it empties every 1.1 s: before that, a volume still
counts the object among those it keeps. Whoever must be sure compacts again later, as an erasure does."""
SCRIPT = f"lock\nvolume.vacuum -garbageThreshold={GARBAGE_SHARE:f}\nunlock\n"


def main(folder: str, master: str) -> int:
    """Have the store's master compact every volume with deleted objects; return the exit code."""
    time.sleep(DELETIONS_SECONDS)
    done = subprocess.run(
        [programs.beside_python("weed"), "shell", f"-master={master}"], input=SCRIPT, text=True, capture_output=True,
        cwd=folder, env=server_environment(), timeout=SECONDS_MAX, check=False,
    )
    told = f"{done.stdout}\n{done.stderr}"
    if done.returncode or "error:" in told:
        sys.stderr.write(told.strip() + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
