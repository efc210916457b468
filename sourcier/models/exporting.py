"""Run a recipe's heavy modules as subprocesses of the export environment."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sourcier.models.staging import FetchFailed, disk_full
from sourcier.services.chassis.errors import ResourceExhausted

PROJECT = Path(__file__).resolve().parents[2]
EXPORT_PYTHON = PROJECT / ".venv" / "export" / "bin" / "python"
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONWARNINGS": "ignore",
}
LOG_LINES_SHOWN = 12


@dataclass(frozen=True)
class ExportEnvironment:
    """The Python that has PyTorch and optimum, and the environment variables its processes inherit."""

    python: Path = EXPORT_PYTHON
    variables: Mapping[str, str] = field(default_factory=dict)

    def require(self) -> None:
        """Check that the environment exists; FetchFailed tells how to make it."""
        if not self.python.exists():
            raise FetchFailed(f"the export environment is missing ({self.python}); make it with "
                              "`python3 requirements/install.py export`")

    def run(self, module: str, *arguments: str | Path, log: Path, online: bool = False) -> None:
        """Run `python -m MODULE ARGUMENT…`, its output in `log`; FetchFailed quotes the end of it."""
        self.require()
        variables = {**self.variables, **QUIET, "PYTHONPATH": str(PROJECT)}
        if online:
            del variables["HF_HUB_OFFLINE"]
        command = [str(self.python), "-m", module, *map(str, arguments)]
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=PROJECT, env=variables, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT)
            try:
                status = process.wait()
            except BaseException:
                # Ctrl-C: the folder it writes to is about to be removed, so it must be gone first.
                process.kill()
                process.wait()
                raise
        if status != 0:
            raise failure(module, status=status, log=log)


def failure(module: str, *, status: int, log: Path) -> FetchFailed | ResourceExhausted:
    text = log.read_text(encoding="utf-8", errors="replace")
    if os.strerror(28) in text:
        return disk_full(log.parent.parent, module)
    if status == -9:
        return ResourceExhausted(f"{module} was killed, most likely for want of memory; close other programs and run "
                                 "the command again")
    tail = "\n".join(text.strip().splitlines()[-LOG_LINES_SHOWN:])
    return FetchFailed(f"{module} ended with status {status}:\n{tail}")
