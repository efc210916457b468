"""An RTF file as a run of tokens: groups, control words, bytes of text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32}+)(-?\d{1,10}+)?+[ ]?"
    rb"|\\'([0-9a-fA-F]{2})"
    rb"|\\([^a-zA-Z])"
    rb"|([{}])"
    rb"|([^\\{}\r\n\x00]++)",
    re.S,
)


class Kind(Enum):
    """What a token is."""

    OPEN = 1
    CLOSE = 2
    WORD = 3
    SIGN = 4
    BYTE = 5
    """A byte in hexadecimal."""
    TEXT = 6
    BINARY = 7
    """Bytes as they are, of a picture."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token; a control word's number is None where it has none."""

    kind: Kind
    text: bytes = b""
    number: int | None = None


_OPEN, _CLOSE = Token(Kind.OPEN), Token(Kind.CLOSE)


def tokens(content: bytes) -> Iterator[Token]:
    """Yield the tokens; what is none is left out."""
    at = 0
    while found := _TOKEN.search(content, at):
        at = found.end()
        word, number, hexadecimal, sign, brace, text = found.groups()
        if text is not None:
            yield Token(Kind.TEXT, text)
        elif brace is not None:
            yield _OPEN if brace == b"{" else _CLOSE
        elif hexadecimal is not None:
            yield Token(Kind.BYTE, bytes.fromhex(hexadecimal.decode()))
        elif sign is not None:
            yield Token(Kind.SIGN, sign)
        else:
            value = int(number) if number is not None else None
            if word == b"bin":
                end = at + max(value or 0, 0)
                yield Token(Kind.BINARY, content[at:end])
                at = end
            else:
                yield Token(Kind.WORD, word, value)
