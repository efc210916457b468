"""Marks what comes from documents as data, so that the language model can tell it from the service's own words (A11).

Each passage stands between two lines that carry a code no document can guess, keyed by a secret of the server and the
same for the passage every time: the engine's prefix cache keeps working. Each of its lines is marked as quoted (after
Hines et al., 2024, arXiv 2403.14720), and what a model would take for a marker or for the end of a turn is defused.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence

from sourcier.services.gateway.prompting.orders import without_orders
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)

CODE_CHARACTERS = 10
"""Of base 16: 40 bits, and a wrong guess is met by the marking of lines."""
CODE_PIECE_CHARACTERS = 6
"""Of a code; a shorter run of digits and letters may be a number or a word of the model's own."""
LINE_MARK = "> "
_BRACKETED = re.compile(r"[\[［【〔]([^\[\]［］【】〔〕\n]{1,40})[\]］】〕]")
_MARKER = re.compile(
    r"\s*+(?:[^\W\d_]{1,12}\.?\s*+)?\d{1,3}(?:\s*+(?:[,;&]|et|and)\s*+\d{1,3})*+\s*+(?:†.*)?", re.IGNORECASE
)
# What chat templates turn into tokens of their own: a document that has them would otherwise end its turn.
_CONTROL = re.compile(
    r"<\s*\|([^<>|]{0,60})\|\s*>"
    r"|<(/?(?:s|bos|eos|pad|unk|mask|start_of_turn|end_of_turn|tool_call|tool_response|tools|think))>"
    r"|\[(/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS))\]|<<(/?SYS)>>", re.IGNORECASE,
)
# A code with its delimiter, or a piece of one; what has as many digits and letters is looked at.
_RUN = re.compile(
    rf"(?P<opening><{{1,3}}[ \t]?)?(?P<run>[0-9a-f]{{{CODE_PIECE_CHARACTERS},}})(?P<closing>[ \t]?>{{1,3}})?",
    re.IGNORECASE,
)
_OPENING = re.compile(r"(?:<{1,3}[ \t]?)?\Z")
_CLOSING = re.compile(r"[ \t]?>{0,2}\Z")
_DIGITS = "0123456789abcdefABCDEF"
_BRACKETS = re.compile(r"[\[【\]】]")


class Marking:
    """Marks passages under one secret."""

    def __init__(self, secret: str = "") -> None:
        """Take the server's secret; one of this process alone where it is empty."""
        self._secret = (secret or secrets.token_urlsafe(32)).encode()

    def code(self, *, tenant: str, chunk_id: str, text: str) -> str:
        """Return the code of a passage: the same for the same passage, secret and tenant."""
        message = "\x00".join((tenant, chunk_id, hashlib.sha256(text.encode()).hexdigest()))
        return hmac.new(self._secret, message.encode(), hashlib.sha256).hexdigest()[:CODE_CHARACTERS]

    def markers(self, passages: Sequence[Passage], *, tenant: str) -> dict[str, int]:
        """Return the marker of each passage by its code."""
        return {
            self.code(tenant=tenant, chunk_id=passage.chunk_id, text=passage.text): number
            for number, passage in enumerate(passages, start=1)
        }

    def passage(self, text: str, *, tenant: str, chunk_id: str) -> str:
        """Return a passage between its delimiters, each line marked."""
        code = self.code(tenant=tenant, chunk_id=chunk_id, text=text)
        informing = without_orders(defused(text))
        lines = "\n".join(LINE_MARK + line.strip() for line in informing.splitlines() if line.strip())
        return f"<<<{code}\n{lines}\n{code}>>>"


class CodeEraser:
    """Takes the codes out of a model's text, which comes in pieces that may be cut anywhere.

    Small models repeat the delimiters of passages, and cite a passage by its code: that becomes the passage's marker.
    A piece of a code, or one with a mistake in it, is dropped.
    """

    def __init__(self, codes: Mapping[str, int]) -> None:
        """Take the markers of codes; 0 where a code has none, and is dropped."""
        self._codes = codes
        self._pieces = frozenset(
            code[start : start + CODE_PIECE_CHARACTERS]
            for code in codes for start in range(len(code) - CODE_PIECE_CHARACTERS + 1)
        )
        self._pending = ""
        self._in_brackets = False
        """Whether the text so far is within brackets, where the number alone makes a marker."""

    def feed(self, delta: str) -> str:
        """Take more text; return what is certain by now."""
        self._pending += delta
        certain = self._open_at()
        text, self._pending = self._pending[:certain], self._pending[certain:]
        return self._erased(text)

    def finish(self) -> str:
        """Return what is left at the end of the text."""
        text, self._pending = self._pending, ""
        return self._erased(text)

    def _open_at(self) -> int:
        """Return from where on the text may become a code, or go on as one."""
        text, end = self._pending, len(self._pending)
        closing = _start(_CLOSING, text, end)
        run = len(text[:closing].rstrip(_DIGITS))
        if closing - run < CODE_PIECE_CHARACTERS:
            run = len(text.rstrip(_DIGITS))
        return _start(_OPENING, text, run)

    def _erased(self, text: str) -> str:
        kept, place = [], 0
        for found in _RUN.finditer(text):
            before = text[place : found.start()]
            self._look_for_brackets(before)
            kept += [before, self._instead(found)]
            place = found.end()
        self._look_for_brackets(text[place:])
        return "".join((*kept, text[place:]))

    def _look_for_brackets(self, text: str) -> None:
        for bracket in _BRACKETS.findall(text):
            self._in_brackets = bracket in "[【"

    def _instead(self, found: re.Match[str]) -> str:
        run = found["run"].lower()
        code = next((code for code in self._codes if code in run), None)
        if code is not None:
            number = self._codes[code]
            if not number or found["opening"] or found["closing"]:
                return ""
            return str(number) if self._in_brackets else f"[{number}]"
        pieces = (run[start : start + CODE_PIECE_CHARACTERS] for start in range(len(run) - CODE_PIECE_CHARACTERS + 1))
        return "" if any(piece in self._pieces for piece in pieces) else found.group()


def _start(pattern: re.Pattern[str], text: str, end: int) -> int:
    """Return where the last few characters before `end` begin that a pattern matches, which may be none."""
    found = pattern.search(text, max(end - 4, 0), end)
    return end if found is None else found.start()


def without_codes(text: str, codes: Mapping[str, int]) -> str:
    """Return a whole text of a model without codes and pieces of them."""
    eraser = CodeEraser(dict.fromkeys(codes, 0))
    return eraser.feed(text) + eraser.finish()


def open_marking(secret: str) -> Marking:
    """Return the marking under a secret; say so where there is none."""
    if not secret:
        logger.info("SOURCIER_GATEWAY_PROMPT_SECRET is not set: prompts are marked under a secret of this process, and "
                    "the engine's prefix cache is not shared with other gateways")
    return Marking(secret)


def defused(text: str) -> str:
    """Return a text in which `[2]` reads `(2)`, and nothing ends a turn of a chat."""
    text = _CONTROL.sub(lambda match: f"({next((each for each in match.groups() if each), '')})", visible(text))
    return _BRACKETED.sub(
        lambda match: f"({match.group(1)})" if _MARKER.fullmatch(match.group(1)) else match.group(), text
    )


def one_line(text: str) -> str:
    """Return a title or a heading as it may stand in a header: defused, on one line, without brackets."""
    return " ".join(without_orders(defused(text)).translate({ord("["): "(", ord("]"): ")"}).split())


def visible(text: str) -> str:
    """Return the text without characters that nobody sees: direction marks, zero widths, tags."""
    if text.isprintable():
        return text
    return "".join(
        character for character in text
        if character in "\n\t\u200d" or unicodedata.category(character) not in ("Cf", "Cc")
    )
