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
from collections.abc import Sequence

from sourcier.services.gateway.prompting.orders import without_orders
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)

CODE_CHARACTERS = 10
"""Of base 16: 40 bits, and a wrong guess is met by the marking of lines."""
LINE_MARK = "> "
_BRACKETED = re.compile(r"[\[［【〔]([^\[\]［］【】〔〕\n]{1,40})[\]］】〕]")
_MARKER = re.compile(r"\s*(?:[^\W\d_]{1,12}\.?\s*)?\d{1,3}(?:\s*(?:[,;&]|et|and)\s*\d{1,3})*\s*(?:†.*)?", re.IGNORECASE)
# What chat templates turn into tokens of their own: a document that has them would otherwise end its turn.
_CONTROL = re.compile(
    r"<\s*\|([^<>|]{0,60})\|\s*>"
    r"|<(/?(?:s|bos|eos|pad|unk|mask|start_of_turn|end_of_turn|tool_call|tool_response|tools|think))>"
    r"|\[(/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS))\]|<<(/?SYS)>>", re.IGNORECASE,
)


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
