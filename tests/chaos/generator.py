"""What senders do: documents, new versions, the same again, deletions, poison; all of it follows from the seed.

Each paragraph carries a mark, `mk00042p003of070`: which version it is of, which paragraph it is, and of how many.
Whoever reads the index can tell a whole version from half a one, and an old one from a new one.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

TENANTS = ("acme", "beta")
POISONS = ("crash", "hang", "memory", "encrypted", "damaged", "empty")
MARK = re.compile(r"mk(\d{5})p(\d{3})of(\d{3})")
WORDS = ("le", "la", "chat", "chien", "dort", "mange", "télétravail", "congés", "jours", "mot")
LARGE_PARAGRAPHS = 72
"""Over two batches of chunks, so that a version is made of several messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing a sender does."""

    kind: Literal["put", "delete", "submit"]
    tenant: str
    name: str
    """The object's key, or the name of the upload."""
    version: int = 0
    """The number in the marks; 0 for a deletion."""
    body: bytes = b""
    poison: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How senders behave."""

    names: int = 24
    """How many documents there are; fewer of them have more versions."""
    large_share: float = 0.25
    delete_share: float = 0.1
    same_share: float = 0.1
    submit_share: float = 0.25
    poison_share: float = 0.0
    scan_share: float = 0.0
    """Of the names: documents whose paragraphs are pages that OCR reads."""
    recorded_share: float = 0.0
    """Of the names, before those: documents whose paragraphs are parts of recordings."""


class Generator:
    """An endless series of steps."""

    def __init__(self, seed: int, habits: Habits) -> None:
        """Begin the series of a seed."""
        self._random = random.Random(f"steps {seed}")
        self._habits = habits
        self._last: dict[str, Step] = {}
        self._number = 0

    def steps(self) -> Iterator[Step]:
        """Yield what is done next, without end."""
        while True:
            step = self._next()
            if not step.poison:
                self._last[step.name] = step
            yield step

    def _next(self) -> Step:
        habits, chance = self._habits, self._random
        place = chance.randrange(habits.names)
        tenant = TENANTS[place % len(TENANTS)]
        if chance.random() < habits.poison_share:
            return self._poison(tenant)
        if place < habits.names * habits.submit_share:
            return self._version("submit", tenant, f"upload-{place:02}.txt")
        name = f"{tenant}/folder/été {place:02}.{('md', 'txt', 'html')[place % 3]}"
        if place >= habits.names * (1 - habits.scan_share):
            name = f"{tenant}/folder/scan {place:02}.pdf"
        elif place >= habits.names * (1 - habits.scan_share - habits.recorded_share):
            name = f"{tenant}/folder/recording {place:02}.mp3"
        last = self._last.get(name)
        if last is not None and last.kind == "put":
            drawn = chance.random()
            if drawn < habits.delete_share:
                return Step(kind="delete", tenant=tenant, name=name)
            if drawn < habits.delete_share + habits.same_share:
                return last
        return self._version("put", tenant, name)

    def _version(self, kind: Literal["put", "submit"], tenant: str, name: str) -> Step:
        self._number += 1
        large = self._random.random() < self._habits.large_share
        count = LARGE_PARAGRAPHS if large else self._random.randint(1, 4)
        return Step(kind=kind, tenant=tenant, name=name, version=self._number, body=self._text(name, count))

    def _text(self, name: str, count: int) -> bytes:
        marks = (f"mk{self._number:05}p{place:03}of{count:03}" for place in range(count))
        paragraphs = [" ".join([mark, *self._random.choices(WORDS, k=14)]) for mark in marks]
        if name.endswith(".html"):
            paragraphs = [f"<p>{paragraph}</p>" for paragraph in paragraphs]
        if name.endswith(".pdf"):
            paragraphs = ["!scanned", *paragraphs]
        if name.endswith(".mp3"):
            paragraphs = ["!recorded", *paragraphs]
        return "\n\n".join(paragraphs).encode()

    def _poison(self, tenant: str) -> Step:
        self._number += 1
        poison = POISONS[self._number % len(POISONS)]
        # Not named as text: small texts have no parsing process to break.
        return Step(
            kind="put", tenant=tenant, name=f"{tenant}/poison/{poison}-{self._number:05}.md", version=self._number,
            body=b"" if poison == "empty" else f"!{poison} mk{self._number:05}p000of001".encode(), poison=poison,
        )
