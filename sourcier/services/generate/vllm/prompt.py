"""Turns a conversation into the tokens that the model was trained on."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any, Protocol

from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, TooLarge
from sourcier.services.generate.engine import Message, Tool
from sourcier.services.generate.openai.request import tool_definition


class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used."""

    chat_template: Any

    @property
    def all_special_tokens(self) -> Sequence[str]:
        """The control marks that have a name."""
        ...

    def apply_chat_template(
        self, conversation: Any, *, tools: Any, tokenize: bool, add_generation_prompt: bool
    ) -> Any:
        """Render the model's template."""
        ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Return the text's tokens."""
        ...


class PromptEncoder:
    """Renders the model's chat template and tokenizes it, within the context length."""

    def __init__(self, tokenizer: Tokenizer, *, model: str, context_tokens_max: int) -> None:
        """Raise FailedPrecondition for a model that has no chat template."""
        if not tokenizer.chat_template:
            raise FailedPrecondition(f"{model} has no chat template; name an instruction-tuned model with "
                                     "SOURCIER_GENERATE_MODEL")
        self._tokenizer = tokenizer
        self._context_tokens_max = context_tokens_max
        self._characters_max = context_tokens_max * int(getattr(tokenizer, "max_chars_per_token", 128))
        marks = sorted(_control_marks(tokenizer), key=len, reverse=True)
        self._marks = re.compile("|".join(map(re.escape, marks))) if marks else None

    @property
    def takes_tools(self) -> bool:
        """Whether the model's template has a place for tools: it was then trained to ask for them."""
        template = self._tokenizer.chat_template
        templates = template.values() if isinstance(template, dict) else [template]
        return any("tools" in str(each) for each in templates)

    def encode(self, messages: Sequence[Message], tools: Sequence[Tool] = ()) -> list[int]:
        """Return the prompt's tokens; TooLarge when no room is left for an answer."""
        characters = sum(len(message.content) for message in messages)
        if characters > self._characters_max:
            # Tokenizing what cannot fit would keep others waiting.
            raise self._too_large(f"the prompt has {characters} characters, more than any "
                                  f"{self._context_tokens_max} tokens can hold")
        try:
            text = self._tokenizer.apply_chat_template(
                [self._written(message) for message in messages],
                tools=[tool_definition(tool) for tool in tools] or None, tokenize=False, add_generation_prompt=True,
            )
        except Exception as error:
            # Templates raise errors of their own for an order of roles that the model does not know.
            if type(error).__module__.partition(".")[0] != "jinja2":
                raise
            raise InvalidArgument(f"the model's chat template refuses these messages: {error}",
                                  field="messages") from error
        tokens = self._tokenizer.encode(text, add_special_tokens=False)
        if len(tokens) >= self._context_tokens_max:
            raise self._too_large(f"the prompt has {len(tokens)} tokens, and prompt and answer together have room "
                                  f"for {self._context_tokens_max}")
        return tokens

    def first_tokens(self, choices: Sequence[str]) -> list[tuple[int, ...]]:
        """Return, for each answer, the tokens it may begin with: as it is, in other letters, after a space.

        Raises InvalidArgument for two answers that begin with the same token.
        """
        own = [self._first_token(choice) for choice in choices]
        for (choice, token), (other, other_token) in combinations(zip(choices, own, strict=True), 2):
            if token == other_token:
                raise InvalidArgument(
                    f"choices {choice!r} and {other!r} begin with the same token of this model; send answers that "
                    "begin differently", field="choices",
                )
        forms = [
            {self._first_token(space + form) for space in ("", " ")
             for form in (choice, choice.lower(), choice.capitalize())}
            for choice in choices
        ]
        claimed = Counter(token for tokens in forms for token in tokens)
        # A form that another answer may begin with, too, tells nothing: a lone space, a first letter.
        return [
            tuple(sorted({first, *(token for token in tokens if claimed[token] == 1)}))
            for first, tokens in zip(own, forms, strict=True)
        ]

    def _first_token(self, text: str) -> int:
        return self._tokenizer.encode(text, add_special_tokens=False)[0]

    def _written(self, message: Message) -> dict[str, Any]:
        """Return a message as templates read it: the arguments of a call as an object, which they write themselves."""
        written: dict[str, Any] = {"role": message.role, "content": self._quoted(message.content)}
        if message.tool_calls:
            written["tool_calls"] = [
                {"id": call.id, "type": "function",
                 "function": {"name": call.name, "arguments": self._arguments(call.arguments)}}
                for call in message.tool_calls
            ]
        if message.role == "tool":
            written |= {"tool_call_id": message.tool_call_id, "name": message.tool_name}
        return written

    def _arguments(self, text: str) -> Any:
        try:
            return json.loads(self._quoted(text))
        except ValueError:
            return {}

    def _quoted(self, content: str) -> str:
        # A document that spells out the model's control marks must not become a message of its own.
        return self._marks.sub(lambda found: f"{found[0][0]} {found[0][1:]}", content) if self._marks else content

    def _too_large(self, fact: str) -> TooLarge:
        return TooLarge(
            f"{fact}; send fewer or shorter passages, or raise SOURCIER_GENERATE_CONTEXT_TOKENS_MAX where the model "
            "allows it", field="messages", context_tokens_max=self._context_tokens_max,
        )


def _control_marks(tokenizer: Tokenizer) -> set[str]:
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    marks = {*tokenizer.all_special_tokens, *(token.content for token in added if token.special)}
    return {mark for mark in marks if len(mark) > 1}
