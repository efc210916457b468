"""Direct answers (SPEC A9): questions of an FAQ asked again, and questions that only look like one of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from eval.reporting import report
from eval.sets.datasets import Question
from eval.sets.near_misses import near_misses, rewritten
from sourcier import Client
from sourcier.errors import AlreadyExists, SourcierError
from sourcier.services.index.curation.learned_responses import question_key

AGENT = "eval-answers"
AGAIN, NEAR_MISS = "asked again", "another number or name"
ASK_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A question put to the FAQ, and what came of it; the language model is never waited for."""

    kind: str
    known: str
    """The question of the FAQ that it was made of."""
    asked: str
    direct: bool
    right: bool
    """Whether the entry of the known question was given."""
    milliseconds: float

    @property
    def as_wanted(self) -> bool:
        """Whether the same question was answered by its entry, and another one not directly."""
        return self.right if self.kind == AGAIN else not self.direct


async def fill(client: Client, questions: Sequence[Question], *, collection: str) -> None:
    """Give an agent of a collection a FAQ of questions and their answers; what it has stays.

    The language model reads no chunk for it: its questions would answer too, and are not what is measured.
    """
    with contextlib.suppress(AlreadyExists):
        await client.create_agent(AGENT, collection=collection, indexing_method="none")
    for question in questions:
        with contextlib.suppress(AlreadyExists):
            await client.add_faq_entry(question.text, question.answers[0], agent=AGENT, validated_by="eval")


def cases(questions: Sequence[Question]) -> list[tuple[str, str, str]]:
    """Return kind, known question and what is asked: each in other writings, and what only looks like it."""
    texts = [question.text for question in questions]
    known = set(map(question_key, texts))
    return [
        *((AGAIN, text, again) for text in texts for again in rewritten(text)),
        # With another's name a question may become that other one, which the FAQ answers rightly.
        *((NEAR_MISS, miss.known, miss.asked) for miss in near_misses(texts) if question_key(miss.asked) not in known),
    ]


async def look(client: Client, kind: str, known: str, asked: str) -> Looked:
    """Ask, and read until it is told whether there is a direct answer."""
    began_at = time.perf_counter()
    matched, direct = "", False
    async with aclosing(client.ask(asked, agent=AGENT, tokens_max=1, timeout_seconds=ASK_SECONDS_MAX)) as events:
        async for event in events:
            if event.HasField("failed"):
                raise SourcierError(event.failed.message)
            if event.HasField("direct_answer"):
                matched, direct = event.direct_answer.matched_question, True
                continue
            if event.WhichOneof("event") in ("finished", "retrieved", "refused"):
                break
    milliseconds = 1_000 * (time.perf_counter() - began_at)
    return Looked(
        kind=kind, known=known, asked=asked, direct=direct, right=matched == known, milliseconds=round(milliseconds, 1)
    )


def table(looked: Sequence[Looked]) -> str:
    """Return by kind how many were answered directly, and in what time."""
    rows = [("questions put to an FAQ", "count", "answered directly", "by the right entry", "median ms", "p95 ms")]
    for kind in (AGAIN, NEAR_MISS):
        chosen = [each for each in looked if each.kind == kind]
        if not chosen:
            continue
        given = sorted(each.milliseconds for each in chosen if each.direct) or [0.0]
        direct = sum(each.direct for each in chosen)
        rows.append((
            kind, str(len(chosen)), str(direct), str(sum(each.right for each in chosen)),
            f"{given[len(given) // 2]:.0f}" if direct else "", f"{given[int(len(given) * 0.95)]:.0f}" if direct else "",
        ))
    return report.markdown_table(rows)
