"""Work begun before it is known to be wanted: on what a text seems to be, while the language model writes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from prometheus_client import Counter

T = TypeVar("T")

foreseen_total = Counter(
    "sourcier_sentences_foreseen_total", "Sentences compared before it was certain that they had ended, by whether "
    "they had.", ["outcome"],
)


class Foreseen(Generic[T]):
    """One such work at a time, for one text; use it as an async context manager, which ends what nobody wants."""

    def __init__(self, *, name: str) -> None:
        """Take what the work is called among tasks."""
        self._name = name
        self._text = ""
        self._task: asyncio.Task[T] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._give_up()

    async def begin(self, text: str, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        """Begin the work for a text, unless that was done; what was begun for another one is given up."""
        if self._task is not None and text == self._text:
            return
        await self._give_up()
        self._text = text
        self._task = asyncio.create_task(work(), name=self._name)

    async def result(self, text: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what the work for a text comes to, begun now where it was not; raise what it raises."""
        task = self._task
        if task is None or text != self._text:
            await self._give_up()
            return await work()
        self._task = None
        foreseen_total.labels("wanted").inc()
        return await task

    async def _give_up(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            foreseen_total.labels("given up").inc()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
