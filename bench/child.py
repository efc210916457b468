"""One benchmark in a process of its own: nothing that it leaves behind, or breaks, reaches the next one."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

from bench.results import Outcome, Run, write_outcome, write_table

PARENT_SECONDS = 1.0
EXIT_FAILED, EXIT_INTERRUPTED = 3, 130


def main() -> int:
    """Run the benchmark that the arguments name; 0 when it ended, 3 when it failed, 130 when it was interrupted."""
    parser = argparse.ArgumentParser(prog="bench.child", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("module", help="has `async def run(*, quick: bool) -> list[Table]`")
    parser.add_argument("results", type=Path)
    parser.add_argument("run", type=json.loads)
    arguments = parser.parse_args()
    name, path, run = arguments.name, arguments.results, Run(**arguments.run)
    started, outcome, reason = time.monotonic(), Outcome.FINISHED, ""
    try:
        asyncio.run(_measure(arguments.module, name, path, run))
    except (asyncio.CancelledError, KeyboardInterrupt):
        outcome = Outcome.INTERRUPTED
    except (Exception, SystemExit) as error:  # noqa: BLE001, RUF100 - whatever it is, the report tells it
        traceback.print_exc()
        outcome, reason = Outcome.FAILED, _told(error)
    write_outcome(path, outcome, benchmark=name, run=run, seconds=time.monotonic() - started, reason=reason)
    return {Outcome.FINISHED: 0, Outcome.FAILED: EXIT_FAILED, Outcome.INTERRUPTED: EXIT_INTERRUPTED}[outcome]


async def _measure(module_name: str, name: str, path: Path, run: Run) -> None:
    task = asyncio.current_task()
    assert task is not None
    # Ctrl-C and SIGTERM end it alike, and once: the second signal must not cut short the stopping of the stack.
    stop = _Once(task)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(_end_without_parent(os.getppid(), stop), name="parent")
        module = await asyncio.to_thread(importlib.import_module, module_name)
        for table in await module.run(quick=run.quick):
            write_table(path, table, benchmark=name, run=run)
            print("\n" + "\n".join(table.lines()), flush=True)
        watching.cancel()


class _Once:
    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task
        self._called = False

    def __call__(self) -> None:
        if not self._called:
            self._called = True
            self._task.cancel()


async def _end_without_parent(parent: int, stop: _Once) -> None:
    while os.getppid() == parent:  # noqa: ASYNC110 - nothing tells of a parent's end
        await asyncio.sleep(PARENT_SECONDS)
    stop()


def _told(error: BaseException) -> str:
    """Return an error as one line of a report: what it says first, without the traceback."""
    if isinstance(error, BaseExceptionGroup):
        return _told(error.exceptions[0])
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if len(lines) < 2 else f"{lines[0]} {lines[-1]}"
    return f"{type(error).__name__}: {text}"[:400] if lines else type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
