"""Runs evaluations one after the other, each in a process of its own, and compares what they found with the gates."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from eval import gates, shared_sets
from eval.catalogue import EVALUATIONS, Evaluation

ROOT = Path(__file__).parents[1]
INSTALL = ROOT / "requirements" / "install.py"
STOP_SECONDS_MAX = 120.0
"""What an evaluation has to stop its stack."""


def run_all(names: Sequence[str], *, data: Path, report: bool) -> None:
    """Run evaluations in order; one that fails keeps no other from running.

    Raise `ClickException` at once where data is absent, or at the end where one failed or a figure fell.
    """
    chosen = {name: EVALUATIONS[name] for name in names}
    _require(chosen, data)
    click.echo(f"{len(chosen)} evaluations, about {sum(each.minutes for each in chosen.values())} min on two cores")
    failed = []
    for number, (name, evaluation) in enumerate(chosen.items(), start=1):
        click.echo(f"\n[{number}/{len(chosen)}] {name}: {evaluation.about}; takes about {evaluation.minutes} min")
        began = time.monotonic()
        if not (_prepare(evaluation) and _run(evaluation.command(data, report=report)) == 0):
            failed.append(name)
        click.echo(f"{name}: {'failed' if name in failed else 'done'} after {(time.monotonic() - began) / 60:.0f} min")
    if failed:
        raise click.ClickException(f"{len(failed)} of {len(chosen)} evaluations failed: {', '.join(failed)}")
    click.echo("")
    gates.check(record=False)


def _require(chosen: Mapping[str, Evaluation], data: Path) -> None:
    absent = [name for name in dict.fromkeys(name for each in chosen.values() for name in each.wanted)
              if shared_sets.find(name, root=data) is None]
    if absent:
        without = ", ".join(name for name, each in EVALUATIONS.items() if not each.wanted)
        raise click.ClickException(
            f"{shared_sets.absent(*absent, root=data)}; --data-root (make: DATA=folder) names another folder"
            f"{f', and {without} need none' if without else ''}"
        )


def list_all() -> str:
    """Return the names, how long each takes, and what it measures."""
    width = max(map(len, EVALUATIONS))
    return "\n".join(
        f"{name:{width}}  {each.minutes:3d} min  {each.about}{' (language model)' if each.language_model else ''}"
        for name, each in EVALUATIONS.items()
    )


def _prepare(evaluation: Evaluation) -> bool:
    """Make the environment and the model that only some evaluations need; return whether both are there."""
    if not evaluation.language_model:
        return True
    return all(
        subprocess.run(command, cwd=ROOT, env=_environment(), check=False).returncode == 0
        for command in (
            (sys.executable, str(INSTALL), "generate"),
            (sys.executable, "-m", "sourcier.models", "fetch", *_stack_models()),
        )
    )


def _stack_models() -> list[str]:
    listed = subprocess.run(
        (sys.executable, "-m", "sourcier.services.stack", "models"),
        cwd=ROOT, env=_environment(), text=True, check=True,
        stdout=subprocess.PIPE,
    )
    return listed.stdout.split()


def _run(arguments: Sequence[str]) -> int:
    """Run one evaluation where the reader is; on Ctrl-C wait until it has stopped its stack."""
    child = subprocess.Popen((sys.executable, "-m", "eval", *arguments), env=_environment(), process_group=0)
    try:
        return child.wait()
    except KeyboardInterrupt:
        click.echo("stopping it and what it started …")
        child.send_signal(signal.SIGINT)
        try:
            child.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            child.kill()  # its stack looks for it and stops by itself
        raise


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
