"""What a person sees while the stack starts, runs and stops: live lines on a terminal, plain ones elsewhere."""

from __future__ import annotations

import contextlib
import json
import time
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sourcier.services.stack.status import ComponentStatus, StackStatus, State

LOG_LINES_SHOWN = 8
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
STYLES = {
    State.WAITING: "dim", State.STARTING: "cyan", State.READY: "green", State.UNRESPONSIVE: "yellow",
    State.RESTARTING: "yellow", State.FAILED: "red", State.STOPPING: "cyan", State.STOPPED: "dim",
}
TROUBLE = {State.FAILED, State.RESTARTING, State.UNRESPONSIVE}


class Display:
    """Shows status after status; use it with `with`."""

    def __init__(self, console: Console | None = None) -> None:
        """Choose by the console: live where it is a terminal."""
        self.console = console or Console(highlight=False, soft_wrap=True)
        self._live: Live | None = None
        self._shown: dict[str, tuple[State, str]] = {}
        self._status: StackStatus | None = None

    def __enter__(self) -> Self:
        """Take the terminal."""
        if self.console.is_terminal:
            self._live = Live(console=self.console, refresh_per_second=8, get_renderable=self._render)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back, the last status left on it."""
        if self._live is not None:
            with contextlib.suppress(OSError):
                self._live.stop()
            self._live = None

    def show(self, status: StackStatus) -> None:
        """Show what changed."""
        for component in status.components:
            now = (component.state, component.message)
            if self._shown.get(component.name) == now:
                continue
            self._shown[component.name] = now
            if self._live is None or component.state in TROUBLE:
                self._print(*_lines(component))
        self._status = status
        if self._live is not None:
            with contextlib.suppress(OSError):
                self._live.refresh()

    def _render(self) -> RenderableType:
        # Drawn anew each time, so that seconds tick while nothing else changes.
        return _table(self._status, animated=True) if self._status else ""

    def say(self, text: str) -> None:
        """Print a line above what is live."""
        self._print(escape(text))

    def _print(self, *lines: RenderableType) -> None:
        # On a full disk, or without the terminal that was closed, nothing is told; what it is about goes on.
        with contextlib.suppress(OSError):
            self.console.print(*lines, sep="\n")


def print_status(console: Console, status: StackStatus) -> None:
    """Print the whole status once."""
    console.print(_table(status, animated=False))
    for component in status.components:
        if component.state in TROUBLE:
            console.print(*_lines(component), sep="\n")


def summary(component: ComponentStatus) -> str:
    """Return one part's state in a few words."""
    seconds = time.time() - component.since
    if component.state is State.READY:
        text = f"ready in {component.ready_seconds:.1f} s" if component.ready_seconds is not None else "ready"
        return f"{text}; {component.message}" if component.message else text
    if component.state is State.STARTING and seconds >= 1:
        return f"starting, {seconds:.0f} s"
    return f"{component.state}: {component.message}" if component.message else str(component.state)


def readable(line: str) -> str:
    """Return a log line as a person reads it: level and message of JSON, anything else as it is."""
    try:
        record = json.loads(line)
    except ValueError:
        return line
    if not isinstance(record, dict) or "message" not in record:
        return line
    error = f" ({record['error']})" if isinstance(record.get("error"), str) else ""
    return f"{record.get('level', 'INFO')} {record['message']}{error}"


def uptime(seconds: float) -> str:
    """Return a length of time as `2 h 05 min`, `5 min 12 s` or `12 s`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def connection(found: StackStatus) -> str:
    """Return how to reach a stack, in a sentence."""
    page = f"The page is {found.page} (`sourcier open` opens it). " if found.page else ""
    gateway = f"The gateway listens on {found.gateway}; " if found.gateway else ""
    return f"{page}{gateway}{'the' if gateway else 'The'} data lie in {found.folder}."


def _lines(component: ComponentStatus) -> list[RenderableType]:
    style = STYLES[component.state]
    lines: list[RenderableType] = [Text(f"{component.name:<9} {summary(component)}", style=style)]
    if component.state in TROUBLE:
        lines += [Text(f"          │ {readable(line)}", style="dim") for line in component.log_lines[-LOG_LINES_SHOWN:]]
        if component.way_out:
            lines.append(Text(f"          {component.way_out}"))
    return lines


def _table(status: StackStatus, *, animated: bool) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for component in status.components:
        style = STYLES[component.state]
        moving = animated and component.state in {State.STARTING, State.STOPPING}
        frame = FRAMES[int(time.time() * 8) % len(FRAMES)] + " " if moving else ""
        table.add_row(
            Text(component.name), Text(frame + summary(component), style=style),
            Text(_main_port(component), style="dim"),
            Text(f"pid {component.pid}" if component.pid else "", style="dim"),
            Text(_age(component), style="dim"),
            Text(f"restarted {component.restarts}×" if component.restarts else "", style="yellow"),
        )
    for name, address in status.external.items():
        table.add_row(Text(name), Text("external", style="green"), Text(address, style="dim"), "", "", "")
    return table


def _main_port(component: ComponentStatus) -> str:
    return f"port {next(iter(component.ports.values()))}" if component.pid and component.ports else ""


def _age(component: ComponentStatus) -> str:
    return f"up {uptime(time.time() - component.created)}" if component.created and component.pid else ""
