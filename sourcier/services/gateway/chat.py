"""What is sent to the language model, as the gateway's domain sees it: a prompt, or a chat with tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ChatRole = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True)
class ToolDefinition:
    """A function that the model may ask for."""

    name: str
    description: str
    parameters: str
    """A JSON schema of type `object`."""


@dataclass(frozen=True)
class ToolCall:
    """A tool that the model asks for."""

    id: str
    name: str
    arguments: str
    """As the model wrote them: a JSON object, unless it wrote something else."""


@dataclass(frozen=True)
class ChatMessage:
    """One message of the chat."""

    role: ChatRole
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of the assistant; each is answered by a message of a tool that follows."""
    answers: ToolCall | None = None
    """Of a tool: the call that the message answers."""


@dataclass(frozen=True)
class Prompt:
    """What the language model reads."""

    system: str
    user: str
    sources: str = ""
    """How `user` begins: the passages. What else is asked about them begins so too, and finds them in the engine's
    prefix cache."""
