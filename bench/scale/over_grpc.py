"""`Search` over gRPC as the collection grows: whole calls of one client and of many, and a call beside its parts."""

from __future__ import annotations

from bench.environment import running_stack
from bench.measuring import Curve, Table, percentile
from bench.scale.loading import TENANT, loaded_index
from bench.scale.passages import RealTexts, real_texts
from bench.scale.scale import FULL, QUICK
from bench.scale.searching import CLIENTS, by_size, timed_under_load, under_load
from bench.scale.server import asked_sizes, scale_server
from bench.search.parts import bare_search, in_turn
from sourcier.client import Client

PARTS_RATIO_MAX = 1.2


async def run(*, quick: bool) -> list[Table]:
    """Fill the product's schema at each size, let the services search it; `SOURCIER_BENCH_SCALE_DIR` keeps it."""
    calls = Table("search as the collection grows, whole call", "ms", higher_is_better=False)
    parts = Table("search as the collection grows, against the sum of its parts", "ms", higher_is_better=False)
    # Of the same corpus as `scale`, which has filled it in the same run.
    effort = QUICK if quick else FULL
    async with scale_server() as (server, kept):
        real = real_texts(limit=effort.passages, kept=kept)
        for size in asked_sizes(effort.sizes):
            async with loaded_index(server, real, size=size, kept=kept) as index:
                url = index.url
            await _measure(calls, parts, real, url=url, name=f"{size:,} chunks", quick=quick)
    _note(calls, parts)
    return [calls, parts]


async def _measure(calls: Table, parts: Table, real: RealTexts, *, url: str, name: str, quick: bool) -> None:
    """Run the services that search on a filled database: all kinds of load, then calls and parts in turn."""
    count = 30 if quick else len(real.questions)
    async with (
        # A question is asked several times, and is to be embedded each time.
        running_stack(
            SOURCIER_STACK_SERVICES="embed,rerank,gateway", SOURCIER_POSTGRES_URL=url,
            SOURCIER_EMBED_QUERY_CACHE_SIZE="0",
        ) as addresses,
        Client(addresses["SOURCIER_GATEWAY_URL"], tenant=TENANT) as client,
    ):
        async def ask(number: int) -> None:
            found = await client.search(real.questions[number], mode="reranked")
            # Other spellings that were searched for, too, are told there: they add, and take nothing.
            lesser = [each for each in found.degradations if each.stage != "spelling"]
            if not found.passages or lesser:
                raise RuntimeError(f"{real.questions[number]!r} was not answered whole: {lesser}")

        # Once for the caches, which a service that runs has warm.
        await under_load(ask, clients=2, questions=count, times=count, seconds_max=60)
        for clients in CLIENTS:
            await timed_under_load(
                calls, f"{name}, {clients} clients", ask, clients=clients, questions=count, times=count * clients,
                seconds_max=1 if quick else 20,
            )
        await _beside_parts(parts, client, url=url, name=name, questions=real.questions[:count])


async def _beside_parts(table: Table, client: Client, *, url: str, name: str, questions: tuple[str, ...]) -> None:
    async with bare_search(url, tenant=TENANT) as bare:
        async for call, parts in in_turn(client, bare, questions):
            for part, seconds in (
                ("Search over gRPC", call.whole), ("the parts, bare", parts.total),
                ("embedding, bare", parts.embedding), ("statements, bare", parts.statements),
                ("re-ranking, bare", parts.ranking),
            ):
                table.add(f"{name}, {part}", 1000 * seconds)
    table.ratio(f"{name}, Search over gRPC", f"{name}, the parts, bare", target=PARTS_RATIO_MAX)


def _note(calls: Table, parts: Table) -> None:
    series = by_size({f"{name}, p95": percentile(samples, 0.95) for name, samples in calls.samples.items()})
    calls.curves.append(Curve("p95 of Search over gRPC by the size of the collection", "chunks", "ms", series,
                              log_x=True, log_y=True))
    for name in parts.samples:
        parts.notes[name] = f"p95 {percentile(parts.samples[name], 0.95):.1f}"
