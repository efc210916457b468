"""The release before this one, as a checkout whose services run beside those of this tree."""

from __future__ import annotations

import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parents[2]
MIGRATIONS = "sourcier/services/index/migrations"
LOCK = "requirements/services.lock"
SHOWN = 3


class NoEarlierRelease(Exception):
    """The services of an earlier release cannot run here; the message says why."""


def earlier_release(named: str = "") -> str:
    """Return the commit of the release before: the one named, the newest tag, else the last one of an older schema.

    Raises NoEarlierRelease where there is no history to find it in.
    """
    if named:
        return _git("rev-parse", "--verify", f"{named}^{{commit}}")
    try:
        return _git("rev-parse", "--verify", _git("describe", "--tags", "--abbrev=0", "HEAD^") + "^{commit}")
    except NoEarlierRelease:
        changes = _git("log", "--first-parent", "--format=%H", "--", MIGRATIONS).split()
    ours = {path.name: _git("hash-object", str(path)) for path in (REPOSITORY / MIGRATIONS).glob("*.sql")}
    for change in changes[:-1]:
        theirs = _migrations_at(before := _git("rev-parse", f"{change}^"))
        # Numbers that branches gave twice were changed when these met: no database has ever seen such a schema.
        if theirs and len(theirs) < len(ours) and theirs.items() <= ours.items():
            return before
    raise NoEarlierRelease("no commit here has an older schema")


def _migrations_at(commit: str) -> dict[str, str]:
    listed = _git("ls-tree", commit, f"{MIGRATIONS}/").splitlines()
    return {Path(name).name: about.split()[2] for about, _, name in (line.partition("\t") for line in listed)
            if name.endswith(".sql")}


def check_out(commit: str, folder: Path) -> None:
    """Write a release's files into a folder; raise NoEarlierRelease where this environment is not the one it asks for.
    """
    folder.mkdir(parents=True)
    packed = subprocess.run(["git", "archive", commit], cwd=REPOSITORY, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    if unlike := packages_unlike((folder / LOCK).read_text("utf-8")):
        raise NoEarlierRelease(f"{commit[:12]} runs with other packages: {', '.join(unlike[:SHOWN])}")


def packages_unlike(lock: str) -> list[str]:
    """Return the packages of a lock file that this environment lacks, or has in another version."""
    unlike = []
    for line in lock.splitlines():
        if not line[:1].isalnum():
            continue
        pinned = Requirement(line)
        if pinned.marker is not None and not pinned.marker.evaluate():
            continue  # of another system, or of another Python
        found = _installed(pinned.name)
        if found is None or not pinned.specifier.contains(found, prereleases=True):
            unlike.append(f"{pinned.name} {pinned.specifier}, here {found or 'none'}")
    return unlike


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise NoEarlierRelease("git is not installed") from error
    if done.returncode:
        raise NoEarlierRelease(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()
