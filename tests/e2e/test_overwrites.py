"""One object overwritten fifty times while somebody asks about it: every answer is of one whole version."""

from __future__ import annotations

import asyncio
import itertools
import re
from contextlib import aclosing
from pathlib import Path

import obstore
import pytest

from sourcier.client import Client
from tests.chaos.bucket import clients
from tests.fix_stack import RunningStack

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(300)]

OVERWRITES, PAUSE_SECONDS = 50, 0.25
KEY = "registre.txt"
QUESTION = "Que dit le registre du dépôt de sa révision ?"
THINGS = ("des vannes", "des pompes", "des filtres", "des joints", "des câbles", "des capteurs")
REVISION = re.compile(r"révision (\d+)")


def content(revision: int) -> bytes:
    """Return a document of as many passages as there are things, each of which says which revision it is of."""
    return "\n".join(
        f"Le registre du dépôt tient la liste {thing} et de leurs fournisseurs habituels. "
        f"Pour {thing[4:]}, le registre du dépôt en est à la révision {revision}." for thing in THINGS
    ).encode()


async def ask(client: Client) -> tuple[set[str], set[int], set[int]]:
    """Return the versions and revisions of the passages an answer was made of, and the revisions that it speaks of."""
    versions: set[str] = set()
    given: set[int] = set()
    text = ""
    async with aclosing(client.ask(QUESTION, timeout_seconds=60)) as events:
        async for event in events:
            versions |= {passage.version_id for passage in event.reranked.passages}
            given |= {int(found) for passage in event.reranked.passages for found in REVISION.findall(passage.text)}
            versions |= {event.citation.version_id} - {""}
            text += event.token.text + event.quoted.text
    return versions, given, {int(found) for found in REVISION.findall(text)}


async def test_every_answer_is_of_one_whole_version_and_the_last_one_wins(
    scripted_stack: RunningStack, scripted_client: Client
) -> None:
    # What other files have left in it is no revision of the register.
    scripted_stack.run("collections", "delete", "default", "--yes")
    changed = scripted_stack.run(
        "collections", "create", "default", "--method", "lines", "--target", "200", "--overlap", "0", "--if-missing"
    )
    assert changed.returncode == 0, changed.stderr
    seen: list[int] = []
    async with clients(Path(scripted_stack.folder)) as (store, _, _):

        async def overwrite() -> None:
            for revision in range(1, OVERWRITES + 1):
                await obstore.put_async(store, KEY, content(revision))
                await asyncio.sleep(PAUSE_SECONDS)

        async def keep_asking(writing: asyncio.Task[None]) -> None:
            while not writing.done() or not seen or seen[-1] != OVERWRITES:
                versions, given, said = await ask(scripted_client)
                assert len(versions) <= 1, versions
                assert len(given) <= 1, given
                assert said <= given
                seen.extend(given)

        async with asyncio.timeout(120), asyncio.TaskGroup() as group:
            writing = group.create_task(overwrite())
            group.create_task(keep_asking(writing))
    # One question after the other never goes back, and more than the first and the last were met.
    assert all(earlier <= later for earlier, later in itertools.pairwise(seen)), seen
    assert len(set(seen)) > 2, seen
    found = await scripted_client.search(QUESTION, limit=20)
    assert {int(one) for passage in found.passages for one in REVISION.findall(passage.text)} == {OVERWRITES}
    assert len(found.passages) == len({passage.chunk_id for passage in found.passages}) == len(THINGS)
