"""How values are written for a person and for a program."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sourcier.gateway.v1 import place_pb2

# Documents and models are strangers: their text must not steer the terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NOT_UTF8 = re.compile("[\ud800-\udfff]")
PREVIEW_CHARACTERS = 200
TOLD_CHARACTERS_MAX = 4_096
"""Of what is told whole, on one line: as long as a path can be."""


def printable(text: str) -> str:
    """Return the text without control characters; line ends and tabs stay."""
    return _CONTROL.sub("", spelled(text))


def spelled(text: str) -> str:
    r"""Return the text with bytes that were not UTF-8 spelled out, as in `caf\xe9`: no output could take them."""
    return _NOT_UTF8.sub(_spelled, text)


def one_line(text: str, *, characters_max: int = PREVIEW_CHARACTERS) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(printable(text).split())
    return line if len(line) <= characters_max else line[: characters_max - 1].rstrip() + "…"


def in_french() -> bool:
    """Tell whether the person reads French, by the locale of the messages."""
    named = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    return named.lower().startswith("fr")


def place(title: str, source: str, page: int, places: Iterable[place_pb2.Place] = ()) -> str:
    """Name a place in a document: title, page or time where it has one, source."""
    name = one_line(title) or "Document"
    places = list(places)
    where = f"page {page}" if page else _moment(places)
    if any(each.picture for each in places):
        # A gateway before pictures tells none.
        where = ", ".join(filter(None, ("image" if in_french() else "picture", where)))
    return f"{name}{f', {where}' if where else ''} ({one_line(source)})"


def _moment(places: Iterable[place_pb2.Place]) -> str:
    from sourcier.moments import moment_of

    return moment_of(places, french=in_french())


def size(byte_count: int) -> str:
    """Return a number of bytes as 12 B, 3.4 KB, 5.6 MB."""
    value, unit = float(byte_count), "B"
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


def _spelled(found: re.Match[str]) -> str:
    code = ord(found.group())
    # So Python keeps a byte that it could not decode.
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 document, 2 documents, 12,000 documents."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def moment(timestamp: Any) -> str:
    """Return a protobuf timestamp in local time; empty for none."""
    if not timestamp.seconds:
        return ""
    from datetime import UTC

    local = timestamp.ToDatetime(tzinfo=UTC).astimezone()
    return str(local.strftime("%Y-%m-%d %H:%M:%S"))


def word(kind: Any, value: int) -> str:
    """Return a value of one of the contract's enumerations as it is typed: ACCOUNT_ROLE_READER is reader."""
    prefix = str(kind.keys()[0]).removesuffix("UNSPECIFIED")
    return str(kind.Name(value)).removeprefix(prefix).lower()


def json_line(message: Any) -> str:
    """Return a protobuf message as one line of JSON, its fields named as in the contract."""
    from google.protobuf import json_format

    return str(json_format.MessageToJson(message, indent=None, ensure_ascii=False, preserving_proto_field_name=True))


def write_table(headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Write a table: aligned on a terminal, row by row where it is too narrow, separated by tabs into a pipe."""
    import click

    if not sys.stdout.isatty():
        for row in (headers, *rows):
            click.echo("\t".join(map(one_line, row)))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    cells = [tuple(map(one_line, row)) for row in rows]
    widths = (max(len(cell) for cell in column) for column in zip(headers, *cells, strict=True))
    if cells and sum(widths) + len(headers) - 1 > console.width:
        for number, row in enumerate(cells):
            if number:
                console.print()
            # What is empty says nothing here; a value that is folded keeps to its own column.
            table = Table(box=None, pad_edge=False, show_header=False)
            table.add_column(style="bold", no_wrap=True)
            table.add_column(overflow="fold")
            for header, cell in zip(headers, row, strict=True):
                if cell:
                    table.add_row(header.lower(), Text(cell))
            console.print(table)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header, no_wrap=True)
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def days(start: str, end: str) -> str:
    """Return a time by its first and last day, which may be one."""
    return start if start == end else f"{start} to {end}"
