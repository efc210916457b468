"""An engine that says what a script says: for tests and benchmarks of everything around the model."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Self

from sourcier.services.chassis.errors import ResourceExhausted, ServiceError, TooLarge, Unavailable
from sourcier.services.generate.engine import (
    ChoiceScore,
    Delta,
    Description,
    EngineDead,
    Finish,
    FinishReason,
    Generation,
    Message,
    Piece,
    Sampling,
    Scores,
    Scoring,
    Status,
    ToolCall,
    Usage,
)
from sourcier.services.generate.scripted.script import Rule, Script, filled, filled_arguments, probability
from sourcier.services.generate.tools.calls import call_id

_TOKEN = re.compile(r"\s*\S+|\s+$")
"""A word with the white space before it."""


class ScriptedEngine:
    """Behaves like a model: it queues, takes its time, counts tokens, stops, and fails where it is told to."""

    def __init__(self, script: Script, *, sequences_max: int) -> None:
        self.aborted = 0
        self._script = script
        self._slots = asyncio.Semaphore(sequences_max)
        self._in_hand = 0
        self._running = 0
        self._steps = 0
        self._dead = asyncio.Event()
        self._waiters: set[asyncio.Future[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def describe(self) -> Description:
        """Name the script's model."""
        return Description(engine="scripted", model=self._script.model,
                           context_tokens_max=self._script.context_tokens_max,
                           # A script that says nothing of answers' probabilities would have a judge that knows nothing.
                           scores=any(rule.scores for rule in self._script.rules))

    def status(self) -> Status:
        """Tell whether a rule has killed the engine."""
        return Status(dead="its script says so" if self._dead.is_set() else "", steps=self._steps,
                      running=self._running, waiting=self._in_hand - self._running)

    async def generate(self, generation: Generation) -> AsyncGenerator[Piece, None]:
        """Yield the scripted answer; tokens that are due together come as one delta."""
        prompt_tokens = self._prompt_tokens(generation.messages)
        message = generation.messages[-1].content
        rule = self._script.rule_for(
            message, by_tool=generation.messages[-1].role == "tool", tools=bool(generation.tools)
        )
        tokens, reason = cut(_TOKEN.findall(filled(rule.text, message)), generation.sampling)
        self._in_hand += 1
        ended = False
        try:
            async with self._slots:
                self._running += 1
                try:
                    async for delta in self._paced(tokens, rule, ends=reason is FinishReason.STOP):
                        yield delta
                    for arguments in rule.calls:
                        reason = FinishReason.TOOL_CALLS
                        name = generation.tools[0].name
                        yield ToolCall(call_id(), name, filled_arguments(arguments, message))
                    await self._fail(rule)
                finally:
                    self._running -= 1
            ended = True
            yield Finish(reason, Usage(prompt_tokens=prompt_tokens, completion_tokens=len(tokens)))
        finally:
            self._in_hand -= 1
            self.aborted += not ended

    async def score(self, scoring: Scoring) -> Scores:
        """Return the probabilities of the rule that the prompt meets, after its time to the first token."""
        prompt_tokens = self._prompt_tokens(scoring.messages)
        rule = self._script.rule_for(scoring.messages[-1].content)
        self._in_hand += 1
        ended = False
        try:
            async with self._slots:
                self._running += 1
                try:
                    await self._until(asyncio.get_running_loop().time() + (rule.first_token_seconds or 0.0))
                    await self._fail(rule)
                finally:
                    self._running -= 1
            self._steps += 1
            ended = True
        finally:
            self._in_hand -= 1
            self.aborted += not ended
        return Scores(
            tuple(ChoiceScore(choice, math.log(probability(rule, choice))) for choice in scoring.choices),
            Usage(prompt_tokens=prompt_tokens, completion_tokens=1),
        )

    def _prompt_tokens(self, messages: tuple[Message, ...]) -> int:
        count = sum(len(_TOKEN.findall(message.content)) for message in messages)
        if count >= self._script.context_tokens_max:
            raise TooLarge(f"the prompt has {count} tokens, and prompt and answer together have room for "
                           f"{self._script.context_tokens_max}; send fewer or shorter passages", field="messages")
        return count

    async def _paced(self, tokens: list[str], rule: Rule, *, ends: bool) -> AsyncGenerator[Delta, None]:
        loop = asyncio.get_running_loop()
        pace = 1.0 / rule.tokens_per_second if rule.tokens_per_second else 0.0
        start = loop.time() + (rule.first_token_seconds or 0.0)
        sent = 0
        while sent < len(tokens):
            await self._until(start + sent * pace)
            due = int((loop.time() - start) / pace) + 1 if pace else sent + 1
            due = min(max(due, sent + 1), len(tokens))
            self._steps += 1
            yield Delta("".join(tokens[sent:due]))
            sent = due
        if ends and pace and tokens:
            # A model says that its answer is whole with a token of its own, which takes as long as any other.
            await self._until(start + len(tokens) * pace)

    async def _until(self, when: float) -> None:
        """Wait, unless the engine dies meanwhile."""
        # A future and a timer, not `asyncio.timeout` around an event: some thousands of tokens a second wait here.
        loop = asyncio.get_running_loop()
        if not self._dead.is_set():
            waiter = loop.create_future()
            timer = loop.call_at(when, _wake, waiter)
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                timer.cancel()
                self._waiters.discard(waiter)
        if self._dead.is_set():
            raise EngineDead()

    async def _fail(self, rule: Rule) -> None:
        match rule.failure:
            case "hang":
                await self._dead.wait()
                raise EngineDead()
            case "die":
                self._dead.set()
                for waiter in self._waiters:
                    _wake(waiter)
                raise EngineDead("the engine died as its script says")
            case "unavailable":
                raise Unavailable("the engine failed on this generation as its script says; try again")
            case "exhausted":
                raise ResourceExhausted("the engine is full as its script says; try again later")
            case "internal":
                raise ServiceError()


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def cut(tokens: list[str], sampling: Sampling) -> tuple[list[str], FinishReason]:
    """Return the tokens up to the first stop text or the limit, whichever comes first, and why the answer ends."""
    limited = tokens[:sampling.tokens_max]
    text = "".join(limited)
    places = [place for stop in sampling.stop if (place := text.find(stop)) >= 0]
    if places:
        return _TOKEN.findall(text[:min(places)]), FinishReason.STOP
    return limited, FinishReason.STOP if len(limited) == len(tokens) else FinishReason.LENGTH
