"""The attacker's process on a kernel that has neither Landlock nor filters of system calls."""

from sourcier.services.ingest.parsing import zygote
from sourcier.services.ingest.parsing.confining import landlock, seccomp
from tests.integration.ingest.parsing.attacker import work

if __name__ == "__main__":
    landlock.version = lambda: 0
    seccomp.is_known = lambda: False
    zygote.main(work, lambda: None)
