"""How an answer is made: who decides what is searched for, and when."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class AnswerMode(Enum):
    """Who searches."""

    INJECTION = "injection"
    """The gateway searches for the question, and the passages are in the prompt (A2)."""
    TOOLS = "tools"
    """The language model searches with a tool before it answers (A3)."""


@dataclass(frozen=True, kw_only=True)
class ToolLimits:
    """What bounds an answer in mode tools."""

    searches_max: int = 3
    """Searches of one answer, the gateway's own included."""
    sources_tokens_max: int = 2_000
    """Tokens of all sources together, as the embedding model counts them; the first is given whatever its length."""
