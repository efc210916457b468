"""What every engine offers: a conversation in, pieces of text and one end out."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import ClassVar, Literal, Protocol, Self

from sourcier.services.chassis.errors import Unavailable

Role = Literal["system", "user", "assistant", "tool"]


class EngineDead(Unavailable):
    """The language model's engine has stopped working; the process restarts: try again in a moment."""

    reason: ClassVar[str] = "ENGINE_DEAD"


@dataclass(frozen=True)
class Tool:
    """A function that the model may ask for."""

    name: str
    description: str
    parameters: str
    """A JSON schema of type `object`."""


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model asks for; as a piece of an answer, once it is whole."""

    id: str
    name: str
    arguments: str
    """As the model wrote them: a JSON object, unless it wrote something else."""


@dataclass(frozen=True)
class Message:
    """One message of the prompt."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of the assistant."""
    tool_call_id: str = ""
    """Of a tool: the call that the message answers."""
    tool_name: str = ""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the next token is chosen."""

    tokens_max: int
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What is asked of an engine."""

    id: str
    messages: tuple[Message, ...]
    sampling: Sampling
    deadline: float
    """Seconds of the event loop's clock."""
    json_schema: str = ""
    """The JSON schema to obey; empty for free text."""
    cache_salt: str = ""
    """Cached prefixes are shared only under the same salt."""
    tools: tuple[Tool, ...] = ()
    """What the model may ask for."""
    bulk: bool = False
    """Whether nobody waits for it: it leaves the model to those that somebody waits for."""
    tenant: str = ""
    """Whose turn it takes."""


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """What an engine is asked to compare: answers to a prompt, none of which is generated."""

    id: str
    messages: tuple[Message, ...]
    choices: tuple[str, ...]
    """Told apart by their first tokens."""
    deadline: float
    """Seconds of the event loop's clock."""
    cache_salt: str = ""
    """Cached prefixes are shared only under the same salt."""
    tenant: str = ""
    """Whose turn it takes."""


@dataclass(frozen=True)
class Delta:
    """Text to append, never empty."""

    text: str


class FinishReason(StrEnum):
    """Why a generation ended."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"


@dataclass(frozen=True)
class Usage:
    """Tokens that a generation used."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class Finish:
    """The end, always the last piece."""

    reason: FinishReason
    usage: Usage


Piece = Delta | ToolCall | Finish


@dataclass(frozen=True)
class ChoiceScore:
    """How likely an answer is."""

    choice: str
    log_probability: float
    """Natural logarithm of the probability that the model begins with its first token."""
    at_most: bool = False
    """Whether it is only known not to be more."""


@dataclass(frozen=True)
class Scores:
    """The answers' probabilities, in the order of the request."""

    choices: tuple[ChoiceScore, ...]
    usage: Usage


@dataclass(frozen=True, kw_only=True)
class Description:
    """What an engine is and what it allows."""

    engine: str
    model: str
    revision: str = ""
    context_tokens_max: int = 0
    """Most tokens of prompt and answer together; 0 where the engine does not tell."""
    structured_output: bool = True
    scores: bool = True
    """Whether the engine tells how likely answers are."""
    tools_refusal: str = ""
    """Why the model takes no tools, and the setting that changes it; empty where it does."""
    supervised: bool = True
    """Whether the engine lives and dies with this process, so that its silence means that it hangs."""


@dataclass(frozen=True)
class Status:
    """How an engine is doing."""

    dead: str = ""
    """Why the engine is beyond repair; empty while it works."""
    steps: int = 0
    """Counts the engine's work, tokens or not: a long prompt that is being read is progress."""
    running: int = 0
    waiting: int = 0


class Engine(Protocol):
    """Runs one model; an async context manager."""

    async def __aenter__(self) -> Self:
        """Load the model."""
        ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free everything, child processes included."""
        ...

    def describe(self) -> Description:
        """Name the model and its limits."""
        ...

    def status(self) -> Status:
        """Tell whether the engine is alive, and what it is doing; at once."""
        ...

    def generate(self, generation: Generation) -> AsyncGenerator[Piece, None]:
        """Yield the answer's pieces, then its Finish; closing the generator aborts the generation at once.

        Raises InvalidArgument for what the model cannot take, and EngineDead when the engine died.
        """
        ...

    async def score(self, scoring: Scoring) -> Scores:
        """Return how likely each answer is; a call that is cancelled is aborted at once.

        Raises InvalidArgument for answers that begin alike, FailedPrecondition where the engine does not tell
        probabilities, and EngineDead when the engine died.
        """
        ...
