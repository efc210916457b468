"""Direct answers: a question that an agent's FAQ holds, asked through the running services, no model called."""

from __future__ import annotations

import asyncio
import time

from bench.environment import running_stack
from bench.measuring import Table, percentile
from bench.texts import questions
from sourcier.client import Client
from sourcier.errors import AnswerFailed

TARGET_MS = 60.0
ENTRIES_MAX = 20_000
"""The gateway's own limit for an agent."""
SIZES, SIZES_QUICK = (200, ENTRIES_MAX), (50, 400)
ASKED, ASKED_QUICK = 200, 50
CONCURRENCY = 8


async def run(*, quick: bool) -> list[Table]:
    """Ask questions in other writings than the FAQ has them, one at a time, of a small FAQ and of a large one."""
    sizes, count = (SIZES_QUICK, ASKED_QUICK) if quick else (SIZES, ASKED)
    table = Table("direct answer, whole call", "ms", higher_is_better=False)
    lookup = Table("direct answer, embedding and look-up", "ms", higher_is_better=False)
    async with (
        running_stack(SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway") as addresses,
        Client(addresses["SOURCIER_GATEWAY_URL"]) as client,
    ):
        await client.create_collection("direct")
        for size in sizes:
            agent = f"faq-{size}"
            await client.create_agent(agent, collection="direct")
            known = _questions(size)
            await _fill(client, agent, known)
            for question in known[:: len(known) // count][:count]:
                # A writing of its own for each size: the cache of embeddings would answer what was embedded before.
                asked = f"{'Bonjour' if size == sizes[0] else 'Bonsoir'}, {question}"
                started = time.perf_counter()
                try:
                    answer = await client.answer(asked, agent=agent)
                except AnswerFailed:
                    continue  # not taken for the FAQ's question: the language model is asked, which is not there
                if answer.direct is not None:
                    table.add(agent, 1000 * (time.perf_counter() - started))
                    lookup.add(agent, 1000 * answer.durations["direct"])
            table.limit(agent, at_most=TARGET_MS)
            samples = table.samples[agent]
            table.notes[agent] = f"p95 {percentile(samples, 0.95):.1f}; {len(samples)} of {count} answered directly"
    return [table, lookup]


def _questions(count: int) -> list[str]:
    """Return questions, no two alike: the number at the end tells those apart that are drawn again."""
    drawn = questions(4_000)
    return [f"{drawn[number % len(drawn)].rstrip(' ?')} (dossier {number}) ?" for number in range(count)]


async def _fill(client: Client, agent: str, known: list[str]) -> None:
    slots = asyncio.Semaphore(CONCURRENCY)

    async def add(question: str) -> None:
        async with slots:
            await client.add_faq_entry(question, "La réponse, en une phrase.", agent=agent, validated_by="bench")

    for start in range(0, len(known), 500):
        await asyncio.gather(*map(add, known[start : start + 500]))
