"""Install the checkout itself into an environment, so that its commands work from any folder and run this code.

It is what `pip install --editable .` does, without a build backend, which the environment of the services has none of:
a wheel whose one file names this folder, made here and installed by pip. It takes a second, and no network.
"""

from __future__ import annotations

import base64
import hashlib
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
STAMP = "checkout"


class InstallError(Exception):
    """pip could not install the checkout; the text says what it said."""


def ensure(environment: Path, *, root: Path = ROOT) -> None:
    """Install the checkout unless this very one, with these commands, is installed already."""
    import tomllib  # of Python 3.11; install.py tells users of an older one so

    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    files = wheel_files(project, root=root)
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()
    stamp = environment / STAMP
    if stamp.exists() and stamp.read_text("utf-8") == digest:
        return
    stamp.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="sourcier-") as folder:
        wheel = Path(folder) / f"{project['name']}-{project['version']}-py3-none-any.whl"
        write_wheel(wheel, files)
        install(environment, wheel)
    stamp.write_text(digest, "utf-8")


def install(environment: Path, wheel: Path) -> None:
    """Have the environment's pip install the wheel, and nothing else: the lock files brought what it needs."""
    command = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
               "--no-input", "--no-index", "--no-deps", "--force-reinstall", str(wheel)]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise InstallError(f"pip could not install the checkout into {environment}:\n{done.stderr.strip()}")


def wheel_files(project: dict[str, Any], *, root: Path) -> dict[str, str]:
    """Return the wheel's files by name: the path to the code, and what is known of the project."""
    information = f"{project['name']}-{project['version']}.dist-info"
    scripts = "\n".join(f"{name} = {entry}" for name, entry in project["scripts"].items())
    files = {
        f"{project['name']}-checkout.pth": f"{root}\n",
        f"{information}/METADATA": metadata(project),
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: sourcier\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{information}/entry_points.txt": f"[console_scripts]\n{scripts}\n",
    }
    record = [f"{name},sha256={digest(text)},{len(text.encode())}" for name, text in files.items()]
    return files | {f"{information}/RECORD": "\n".join([*record, f"{information}/RECORD,,"]) + "\n"}


def metadata(project: dict[str, Any]) -> str:
    """Return the METADATA: name, version and what is required, extras included."""
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in project["dependencies"]]
    for extra, requirements in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {requirement}; extra == "{extra}"' for requirement in requirements]
    return "\n".join(lines) + "\n"


def digest(text: str) -> str:
    """Return a file's digest as RECORD writes it."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def write_wheel(path: Path, files: dict[str, str]) -> None:
    """Write the files into a wheel."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
