"""From the PUT of an object into the watched bucket returning to the document being found, one at a time, at rest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import timedelta

import obstore
from obstore.store import S3Store

from bench.environment import running_stack
from bench.measuring import Table
from bench.texts import passages
from sourcier.client import Client
from sourcier.errors import SourcierError
from sourcier.services.stack.servers.s3 import REGION

DOCUMENTS = 100
P95_SECONDS_MAX = 3.0
LOOK_SECONDS = 0.02
PAGE_CHARACTERS = 2_500
SECONDS_MAX = 60.0


async def run(*, quick: bool) -> list[Table]:
    """Put one-page documents and search each for a word that it alone has, until it is found."""
    table = Table("freshness", "s", higher_is_better=False)
    texts, origin = passages(400)
    async with running_stack(SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway") as addresses:
        store = _bucket(addresses)
        async with Client(addresses["SOURCIER_GATEWAY_URL"]) as client:
            # The first ones wait for the bucket's first volume and the streams' first files.
            for number in range(2):
                await _found_after(client, store, _page(texts, number), f"warm{number:04}")
            for number in range(12 if quick else DOCUMENTS):
                table.add("put to found", await _found_after(client, store, _page(texts, number), f"mot{number:04}x"))
    table.limit("put to found", at_most=P95_SECONDS_MAX, share=0.95)
    table.notes["put to found"] = f"one-page texts of {origin}"
    return [table]


def _page(texts: list[str], number: int) -> str:
    start = 3 * number % max(len(texts) - 12, 1)
    return "\n\n".join(texts[start : start + 12])[:PAGE_CHARACTERS]


async def _found_after(client: Client, store: S3Store, page: str, word: str) -> float:
    await obstore.put_async(store, f"{word}.md", f"# Fiche {word}\n\n{page}\n".encode())
    started = time.perf_counter()
    async with asyncio.timeout(SECONDS_MAX):
        while not await _is_found(client, word):  # noqa: ASYNC110 - nothing tells, as nothing tells a person
            await asyncio.sleep(LOOK_SECONDS)
    return time.perf_counter() - started


async def _is_found(client: Client, word: str) -> bool:
    try:
        found = await client.search(word, mode="lexical", limit=1)
    except SourcierError:
        return False  # the collection is made with the first object
    return any(passage.source.endswith(f"/{word}.md") for passage in found.passages)


def _bucket(addresses: Mapping[str, str]) -> S3Store:
    return S3Store(
        "documents", endpoint=addresses["SOURCIER_S3_URL"], access_key_id=addresses["SOURCIER_S3_ACCESS_KEY"],
        secret_access_key=addresses["SOURCIER_S3_SECRET_KEY"], region=REGION, virtual_hosted_style_request=False,
        client_options={"allow_http": True, "timeout": timedelta(seconds=10)},
    )
