"""What the scripted engine answers: rules in a JSON file, tried in order on the last message, by a person or a tool.

    {"tokens_per_second": 50, "first_token_seconds": 0.2,
     "rules": [{"pattern": "télétravail", "text": "{passage:1} [1]."},
               {"pattern": "congés", "calls": ["{\"query\": \"{question}\"}"]},
               {"pattern": "panne", "text": "Je commence", "failure": "die"}],
     "default": "Je ne trouve pas cette information dans le corpus."}

`{passage:n}` stands for the first sentence of the passage that the prompt numbers `[Source n]` or `[n]`, `{question}`
for the prompt's last line, `{clock}` for the seconds of the machine's monotonic clock, from which whoever reads the
answer can tell when each token was due. `calls` are the arguments of calls of the first tool that is offered, made
after the text; such a rule is passed over where none is offered, and once a tool has answered, unless it is for
`after_tool`, as rules for the tool's answer alone are. The failures: `hang` and `die` concern the engine,
`unavailable`, `exhausted` and `internal` the one call; they come after the text. Asked how likely answers are, a rule
tells the probabilities of its `scores`; an answer that they leave out has 0.98 where the rule's text begins with it,
else 0.01.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from sourcier.services.chassis.errors import FailedPrecondition

LIKELY, UNLIKELY = 0.98, 0.01
_NEXT_PASSAGE = re.compile(r"(?<!\s)[^\S\n]*+\n(?:[^\S\n]*+\n)++(?=\[\d+\])")
"""A blank line, and the number of the passage that follows."""
Failure = Literal["", "hang", "die", "unavailable", "exhausted", "internal"]
Seconds = Annotated[float, Field(ge=0, le=3600)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rule(_Strict):
    """One answer."""

    pattern: Annotated[str, StringConstraints(min_length=1)]
    """Regular expression, searched for without regard to case."""
    text: str = ""
    scores: Mapping[str, Annotated[float, Field(gt=0, le=1)]] = Field(default_factory=dict)
    calls: tuple[str, ...] = ()
    """Arguments of the tool calls that are asked for after the text."""
    after_tool: bool = False
    """Whether the rule is for what a tool answered alone."""
    failure: Failure = ""
    first_token_seconds: Seconds | None = None
    tokens_per_second: Annotated[float, Field(ge=0)] | None = None

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
        return pattern


class Script(_Strict):
    """All answers."""

    model: str = "scripted"
    tokens_per_second: Annotated[float, Field(ge=0)] = 0.0
    """How fast an answer streams; 0 is as fast as it can."""
    first_token_seconds: Seconds = 0.0
    context_tokens_max: Annotated[int, Field(ge=1)] = 4096
    rules: tuple[Rule, ...] = ()
    default: str = "Je ne trouve pas cette information dans le corpus."

    def rule_for(self, message: str, *, by_tool: bool = False, tools: bool = False) -> Rule:
        """Return the first rule that applies to the last message, its pace filled in; `tools` tells whether any are
        offered."""
        found = next((rule for rule in self.rules if _applies(rule, by_tool=by_tool, tools=tools)
                      and re.search(rule.pattern, message, re.IGNORECASE)), Rule(pattern=".", text=self.default))
        return found.model_copy(update={
            "first_token_seconds": _either(found.first_token_seconds, self.first_token_seconds),
            "tokens_per_second": _either(found.tokens_per_second, self.tokens_per_second),
        })


def probability(rule: Rule, choice: str) -> float:
    """Return how likely an answer is by a rule."""
    begins = rule.text.casefold().startswith(choice.casefold())
    return rule.scores.get(choice, LIKELY if begins else UNLIKELY)


def read_script(path: Path) -> Script:
    """Read a script file; FailedPrecondition says what is wrong with it."""
    try:
        return Script.model_validate_json(path.read_bytes())
    except OSError as error:
        raise FailedPrecondition(f"SOURCIER_GENERATE_SCRIPT_FILE={path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise FailedPrecondition(f"SOURCIER_GENERATE_SCRIPT_FILE={path} is not a script: {error}") from error


def _applies(rule: Rule, *, by_tool: bool, tools: bool) -> bool:
    if rule.after_tool:
        return by_tool and (tools or not rule.calls)
    return not rule.calls or (tools and not by_tool)


def filled_arguments(text: str, message: str) -> str:
    """Return the arguments of a call with the last line of the message in its place, as JSON has it."""
    return text.replace("{question}", json.dumps(message.rstrip().rpartition("\n")[2], ensure_ascii=False)[1:-1])


def filled(text: str, message: str) -> str:
    """Return the text with its places filled from the user's message."""
    def fill(place: re.Match[str]) -> str:
        if place[0] == "{question}":
            return message.rstrip().rpartition("\n")[2]
        if place[0] == "{clock}":
            return f"{time.monotonic():.6f}"
        return first_sentence(passage(message, int(place["number"])))

    return re.sub(r"\{question\}|\{clock\}|\{passage:(?P<number>\d+)\}", fill, text)


def passage(message: str, number: int) -> str:
    """Return the passage that the prompt numbers, without its header and its marking as a document's; or nothing.

    `[Source 2] - Title`, then lines marked with `> ` between delimiters; or `[2] Title`, then plain text.
    """
    marked = re.search(rf"^\[Source {number}\][^\n]*\n<<<(?P<code>\w+)\n", message, re.MULTILINE)
    if marked:
        lines, closing, _ = message[marked.end():].partition(f"\n{marked['code']}>>>")
        if closing:
            return "\n".join(line.removeprefix("> ") for line in lines.splitlines()).strip()
    found = re.search(rf"^\[{number}\][^\n]*\n", message, re.MULTILINE)
    return _NEXT_PASSAGE.split(message[found.end():], maxsplit=1)[0].strip() if found else ""


def first_sentence(text: str) -> str:
    """Return the text up to its first full stop that ends a sentence, or its first line."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    found = re.match(r".+?[.!?](?=\s|$)", text, re.DOTALL)
    return " ".join((found[0] if found else line).split()).rstrip(".")


def _either(value: float | None, default: float) -> float:
    return default if value is None else value
