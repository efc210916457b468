"""Tries mutants one after another: the unit tests that run them, then those of integration that fit the time."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.choosing import Imports
from tests.mutants.forks import Followed, run
from tests.mutants.sites import Mutant

UNIT_SECONDS_MAX = 120.0
INTEGRATION_FILES_MAX = 12
UNKNOWN = Followed(-1.0)
NO_SUCH_TEST = "pytest ended with 4"
"""One whose name pytest does not find again, as of some parameters: it is taken at its word."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant."""

    mutant: Mutant
    killed_by: str
    """A test; empty for a survivor."""
    untested: bool = False
    """Whether no test at all runs or imports it."""


class Trial:
    """Tries mutants in a copy of the tree."""

    def __init__(
        self, tree: Path, *, integration_seconds: float, files_max: int, known: Path | None, ends_at: float
    ) -> None:
        """Keep in the file `known` what each test file runs; none is looked at for that after `ends_at`."""
        self._ends_at = ends_at
        self._tree = tree
        self._imports = Imports(tree)
        self._integration_seconds = integration_seconds
        self._files_max = files_max
        self._known = known
        self._ran: dict[str, Followed] = {}
        if known is not None and known.exists():
            for line in known.read_text(encoding="utf-8").splitlines():
                told = json.loads(line)
                self._ran[told["test"]] = Followed(told["seconds"], frozenset(told["ran"]))

    def attempt(self, mutant: Mutant) -> Outcome:
        """Run the tests of one mutant."""
        path = self._tree / mutant.file
        source = path.read_text(encoding="utf-8")
        unit, integration = self._imports.tests_of(mutant.file)
        chosen = self._that_run(unit[:self._files_max], mutant)
        path.write_text(mutant.apply(source), encoding="utf-8")
        _forget(path)
        try:
            if chosen:
                expected = sum(self._ran[test].seconds for test in chosen)
                told = run(self._tree, chosen, seconds_max=UNIT_SECONDS_MAX + 10 * expected)
                if not told.ended or (told.failed and self._passes_unchanged(path, source, mutant, told.failed)):
                    return Outcome(mutant, told.failed or "never ended")
            near = integration[:INTEGRATION_FILES_MAX] if self._integration_seconds else []
            ends_at = time.monotonic() + self._integration_seconds
            while near and (seconds := ends_at - time.monotonic()) > 1:
                # The servers of a run start once, and the nearest file runs first.
                told = run(self._tree, near, seconds_max=seconds)
                if not told.failed:
                    break
                if self._passes_unchanged(path, source, mutant, told.failed):
                    return Outcome(mutant, told.failed)
                near = [file for file in near if file != told.failed.partition("::")[0]]
        finally:
            path.write_text(source, encoding="utf-8")
            _forget(path)
        return Outcome(mutant, "", untested=not chosen and not near)

    def _passes_unchanged(self, path: Path, source: str, mutant: Mutant, test: str) -> bool:
        """Whether a test that failed passes without the change: one that waits may fail on a busy machine, too."""
        if ".py" not in test:
            # The process of the tests died: there is no test to ask again.
            return True
        path.write_text(source, encoding="utf-8")
        _forget(path)
        try:
            told = run(self._tree, [test], seconds_max=3 * UNIT_SECONDS_MAX)
            return (told.passed > 0 and not told.failed) or told.failed == NO_SUCH_TEST
        finally:
            path.write_text(mutant.apply(source), encoding="utf-8")
            _forget(path)

    def _that_run(self, tests: list[str], mutant: Mutant) -> list[str]:
        """Return the test files that call the mutant's function; all of them where it is run by the import."""
        unknown = [test for test in tests if test not in self._ran]
        if unknown and time.monotonic() < self._ends_at:
            self._follow(unknown)
        able = [test for test in tests if self._ran.get(test, UNKNOWN).seconds >= 0]
        if not mutant.function:
            return able
        called = f"{mutant.file}:{mutant.function}"
        return [test for test in able if called in self._ran[test].ran]

    def _follow(self, tests: list[str]) -> None:
        """See what test files run where nothing is changed, in one process; those that fail there are left out."""
        told = run(self._tree, tests, seconds_max=UNIT_SECONDS_MAX * (2 + len(tests)), follow=True)
        if not told.followed and len(tests) > 1:
            # One file ended the process: each by itself.
            for test in tests:
                self._follow([test])
            return
        for test in tests:
            # A file without tests here, as one that skips itself does, runs nothing.
            self._ran[test] = followed = told.followed.get(test, UNKNOWN)
            if self._known is not None:
                line = {"test": test, "seconds": round(followed.seconds, 2), "ran": sorted(followed.ran)}
                with self._known.open("a", encoding="utf-8") as keeping:
                    keeping.write(json.dumps(line) + "\n")


def _forget(path: Path) -> None:
    """Remove the bytecode of a file: Python knows an old one by the second of the change and the length alone."""
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()
