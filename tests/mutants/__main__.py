"""Change single lines at random and see which change no test notices: `make mutants [N=20] [ROOM=…] [CHANGED=…]`."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from tests.mutants.forks import copied, warm
from tests.mutants.sites import Mutant, mutants
from tests.mutants.trial import Outcome, Trial

ROOT = Path(__file__).parents[2]
GENERATED = "v1"
EXPORTS = ("sourcier/models/exports/", "sourcier/models/train/")
"""What converts and trains models: it needs torch, which stands in another environment."""


def main() -> int:
    """Run what was asked for; the exit code is 1 where less than the wanted share was killed."""
    arguments = _arguments()
    files = _changed(arguments.changed) if arguments.changed else _files(arguments.room)
    lines = _lines(arguments.changed) if arguments.changed else None
    chosen = _choose(files, arguments.count, arguments.seed, lines=lines)
    if not chosen:
        print("nothing was changed that could be changed more")  # noqa: T201
        return 0
    warm()
    begun = time.monotonic()
    outcomes = _kept(chosen, arguments.kept)
    tried = {outcome.mutant for outcome in outcomes}
    outcomes += _attempted([mutant for mutant in chosen if mutant not in tried], arguments)
    killed = sum(bool(outcome.killed_by) for outcome in outcomes)
    seconds = time.monotonic() - begun
    for outcome in outcomes:
        if not outcome.killed_by:
            source = (ROOT / outcome.mutant.file).read_text(encoding="utf-8")
            note = "  (no test imports or runs it)" if outcome.untested else ""
            print(f"survived: {outcome.mutant.describe(source)}{note}")  # noqa: T201
    share = killed / len(outcomes) if outcomes else 1.0
    told = f"{killed} of {len(outcomes)} mutants killed ({share:.0%}) in {seconds:.0f} s"
    print(f"{told}; {len(chosen)} were chosen with seed {arguments.seed}")  # noqa: T201
    return 1 if share < arguments.share else 0


def _files(rooms: str) -> list[str]:
    files = [path for room in rooms.split(",") for path in (
        [ROOT / room] if room.endswith(".py") else sorted((ROOT / room).rglob("*.py")))]
    told = [str(path.relative_to(ROOT)) for path in files if GENERATED not in path.parts]
    return [file for file in told if rooms != "sourcier" or not file.startswith(EXPORTS)]


def _changed(base: str) -> list[str]:
    """Return the modules of the package that differ from a commit."""
    told = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", base, "--", "sourcier"],
                          cwd=ROOT, capture_output=True, text=True, check=True)
    return [file for file in told.stdout.split() if file.endswith(".py") and GENERATED not in Path(file).parts]


def _lines(base: str) -> dict[str, set[int]]:
    """Return the lines of each file that a commit lacks."""
    told = subprocess.run(["git", "diff", "-U0", "--diff-filter=d", base, "--", "sourcier"],
                          cwd=ROOT, capture_output=True, text=True, check=True)
    lines: dict[str, set[int]] = {}
    file = ""
    for line in told.stdout.splitlines():
        if line.startswith("+++ b/"):
            file = line.removeprefix("+++ b/")
        elif line.startswith("@@"):
            begin, _, count = line.split("+")[1].split(" ")[0].partition(",")
            lines.setdefault(file, set()).update(range(int(begin), int(begin) + int(count or 1)))
    return lines


def _choose(files: list[str], count: int, seed: int, *, lines: dict[str, set[int]] | None) -> list[Mutant]:
    """Draw mutants, each line of code as likely as any other: a table of numbers would be most of them.

    A line is drawn by its text and its function, so that the same lines come again after others were changed.
    """
    by_line: dict[str, list[Mutant]] = {}
    for file in files:
        source = (ROOT / file).read_text(encoding="utf-8")
        texts = source.splitlines()
        for mutant in mutants(file, source):
            if lines is None or mutant.line in lines.get(file, ()):
                text = f"{seed} {file} {mutant.function} {texts[mutant.line - 1]}"
                by_line.setdefault(hashlib.sha256(text.encode()).hexdigest(), []).append(mutant)
    return [random.Random(drawn).choice(by_line[drawn]) for drawn in sorted(by_line)[:count]]


def _kept(chosen: list[Mutant], kept: Path | None) -> list[Outcome]:
    """Return what became of mutants in an earlier run that was ended, by the file that keeps it."""
    if kept is None or not kept.exists():
        return []
    outcomes = [_outcome(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    return [outcome for outcome in outcomes if outcome.mutant in chosen]


def _outcome(line: str) -> Outcome:
    told = json.loads(line)
    return Outcome(Mutant(**told["mutant"]), told["killed_by"], told["untested"])


def _attempted(chosen: list[Mutant], arguments: argparse.Namespace) -> Iterator[Outcome]:
    """Try mutants in as many processes as asked for; yield what came of each, as it comes."""
    reading, writing = os.pipe()
    workers = []
    for number in range(arguments.jobs):
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _work(chosen[number::arguments.jobs], arguments, writing)
        workers.append(pid)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        for line in pipe:
            if arguments.kept:
                with arguments.kept.open("a", encoding="utf-8") as keeping:
                    keeping.write(line)
            yield _outcome(line)
    for pid in workers:
        os.waitpid(pid, 0)


def _work(chosen: list[Mutant], arguments: argparse.Namespace, writing: int) -> None:
    """Try mutants in this fork, tell of each by a line, and end."""
    ends_at = time.monotonic() + arguments.seconds
    try:
        with copied(ROOT) as tree:
            trial = Trial(tree, integration_seconds=arguments.integration_seconds, files_max=arguments.files,
                          known=arguments.known, ends_at=ends_at)
            for mutant in chosen:
                if time.monotonic() > ends_at:
                    break
                outcome = trial.attempt(mutant)
                os.write(writing, json.dumps(asdict(outcome)).encode() + b"\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    finally:
        sys.stderr.flush()
        os._exit(0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="so many mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", default="sourcier", help="folders or modules, by comma")
    parser.add_argument("--changed", default="", help="only lines that this commit lacks")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no mutant after so many")
    parser.add_argument("--integration-seconds", type=float, default=120.0, help="for a mutant's tests of integration")
    parser.add_argument("--files", type=int, default=60, help="so many unit test files of a module, the nearest")
    parser.add_argument("--share", type=float, default=0.0, help="exit with 1 where a smaller share is killed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--known", type=Path, default=None, help="a file that keeps what each test runs")
    parser.add_argument("--kept", type=Path, default=None,
                        help="a file that keeps what became of each mutant; those in it are not tried again")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
