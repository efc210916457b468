"""Run a recipe's heavy modules as subprocesses of the export environment."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from sourcier.installation import checkout, environment_python, import_folder, remedy
from sourcier.models.staging import FetchFailed, disk_full
from sourcier.services.chassis.errors import ResourceExhausted

PYTHON_VARIABLE = "SOURCIER_MODELS_EXPORT_PYTHON"
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONWARNINGS": "ignore",
}
LOG_LINES_SHOWN = 12


def export_python(environment: Mapping[str, str]) -> Path | None:
    """Return the interpreter that the variable names, else a checkout's, else this one if it has the extra `export`."""
    if named := environment.get(PYTHON_VARIABLE):
        return Path(named).expanduser().absolute()
    has_extra = find_spec("torch") and find_spec("optimum")
    return environment_python("export") or (Path(sys.executable) if has_extra else None)


@dataclass(frozen=True)
class ExportEnvironment:
    """The Python that has PyTorch and optimum, and the environment variables its processes inherit."""

    python: Path | None = None
    """None where there is none: what needs no export is fetched all the same."""
    variables: Mapping[str, str] = field(default_factory=dict)

    def require(self) -> Path:
        """Return the interpreter; FetchFailed tells how to come by one."""
        if self.python is None:
            where = "" if checkout() else f" in an environment of its own, whose Python {PYTHON_VARIABLE} names"
            raise FetchFailed(f"weights are converted with PyTorch and optimum, which are not installed: run "
                              f"`{remedy('export')}`{where}; or copy the model from another store with --from DIR, "
                              "which converts nothing")
        if not self.python.exists():
            raise FetchFailed(f"{self.python} is not there, the Python that converts weights; {PYTHON_VARIABLE} names "
                              f"another one, and `{remedy('export')}` installs what it needs")
        return self.python

    def run(self, module: str, *arguments: str | Path, log: Path, online: bool = False) -> None:
        """Run `python -m MODULE ARGUMENT…`, its output in `log`; FetchFailed quotes the end of it."""
        python = self.require()
        # Of another environment, maybe: it sees this package, and none of those that lie beside it.
        variables = {**self.variables, **QUIET, "PYTHONPATH": str(import_folder(log.parent / "import"))}
        if online:
            del variables["HF_HUB_OFFLINE"]
        command = [str(python), "-P", "-m", module, *map(str, arguments)]
        with log.open("wb") as output:
            process = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=output,
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
