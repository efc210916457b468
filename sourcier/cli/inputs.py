"""What is typed and piped in: text has to be UTF-8, as the contract's is, and a path has to name something."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from sourcier.cli.failure import Failure

NOT_UTF8 = "is not valid UTF-8"
RECODE = "iconv -f latin1 -t utf-8 turns Latin-1 into it"
COUNT_MAX = 2**31 - 1
"""The most that a number of things can be."""


def is_utf8(text: str) -> bool:
    """Tell whether a text can be sent: bytes that are no UTF-8 reach Python as characters that no encoding has."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_text(context: click.Context) -> None:
    """Refuse an argument or option whose text is not UTF-8, by its name; paths may be what they are."""
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if not isinstance(parameter.type, click.types.StringParamType):
            continue
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and not is_utf8(text):
                raise click.BadParameter(f"{text!r} {NOT_UTF8}", ctx=context, param=parameter)


def read_standard_input() -> str:
    """Return standard input to its end; raise Failure where it is not UTF-8."""
    text = sys.stdin.read()
    if not is_utf8(text):
        raise Failure(f"standard input {NOT_UTF8}", hint=RECODE, exit_code=2)
    return text


class GivenPath(click.Path):
    """A path that is not empty: an empty one, of a variable that is not set, would mean the folder one stands in."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            self.fail("a path is empty", param, ctx)
        return super().convert(value, param, ctx)
