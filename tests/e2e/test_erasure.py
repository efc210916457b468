"""What is erased is gone: a mark goes in through every door, and no file of the data folder and no stream has it after.

The other tenant, which has the same documents, is whole.
"""

from __future__ import annotations

import io
import re
import secrets
from collections import defaultdict
from pathlib import Path

import nats
import nats.js.errors
import pytest

from sourcier import errors
from sourcier.client import Client
from tests.fix_stack import RunningStack
from tests.waiting import eventually
from tests.walking import contents_below, paths_below

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(420)]

TENANT, OTHER = "parti", "reste"
QUESTION = "Combien de jours de télétravail par semaine ?"
DOORS_SEEN_MIN = 20
"""Of those that are in files before the erasure, uncompressed."""
LETTERS = str.maketrans({"a": "k", "e": "q", "i": "x", "o": "z", "u": "j", "y": "v"})


class Marks:
    """Words that no language stems and nothing else holds: one for each door."""

    def __init__(self) -> None:
        """Make up the beginning that all have."""
        self.beginning = "".join(secrets.choice("bcdfgkqvxz") for _ in range(14))

    def __call__(self, door: str) -> str:
        """Return the word of a door."""
        return self.beginning + door.translate(LETTERS)

    def doors_in(self, content: bytes) -> set[str]:
        """Return the marks that stand in some bytes."""
        content = content.lower()
        if self.beginning.encode() not in content:  # faster than the pattern, of gigabytes
            return set()
        found = re.findall(self.beginning.encode() + b"[a-z]*", content)
        return {each.decode().removeprefix(self.beginning) for each in found}


async def fill(client: Client, mark: Marks) -> str:
    """Bring a mark in by every door; return the id of a document."""
    collection = f"notes-{mark('collection')}"
    await client.create_collection(collection)
    uploaded = await client.upload(
        f"# Télétravail\n\nLe télétravail est de deux jours par semaine, dit {mark('file')}.\n".encode(),
        filename=f"{mark('filename')}.md", source=f"dossier/{mark('source')}.md", title=f"Charte {mark('title')}",
        metadata={mark("key"): mark("value")}, category=mark("category"), collection=collection,
    )
    await client.wait_for_job(uploaded.job_id)
    await client.ingest_text(f"Deux jours de télétravail par semaine, selon {mark('text')}.", source=mark("textsource"))
    large = f"{mark('large')} {secrets.token_hex(700_000)}".encode()  # in parts, and not compressed
    job = (await client.upload(large, filename="grand.bin")).job_id
    broken = (await client.upload(f"%PDF-1.4 {mark('failed')}".encode(), filename=f"{mark('failedname')}.pdf")).job_id
    await client.wait_for_job(job)
    with pytest.raises(errors.SourcierError):
        await client.wait_for_job(broken)
    with pytest.raises(errors.SourcierError):
        await client.upload(b"", filename=f"{mark('empty')}.md")
    conversation = await client.create_conversation(title=f"Sur {mark('conversation')}")
    answer = await client.answer(
        f"{QUESTION} {mark('question')}", conversation_id=conversation.conversation_id, collection=collection
    )
    await client.rate_message(answer.message_id, "down", comment=f"Non, {mark('comment')}.")
    await client.answer(f"{QUESTION} {mark('asked')}", collection=collection)
    await client.search(f"télétravail {mark('searched')}", collection=collection)
    agent = f"agent-{mark('agent')}"
    await client.create_agent(agent, collection=collection, description=mark("description"), categories=[mark("theme")])
    await client.add_faq_entry(
        f"Qui est {mark('faqquestion')} ?", f"C'est {mark('faqanswer')}.", agent=agent, validated_by=mark("validator"),
        document_ids=[uploaded.document_id], source=mark("faqsource"), heading_path=[mark("heading")],
    )
    await client.create_deployment(f"site-{mark('deployment')}", agent=agent)
    await client.create_key(f"clé {mark('apikey')}")
    await client.add_grant(f"user:{mark('grantee')}", collection=collection)
    return uploaded.document_id


def holders(folder: Path, mark: Marks) -> dict[str, set[str]]:
    """Return the files and streams that have a mark, by name, with the doors of theirs."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, content in contents_below(folder):
        found[str(path.relative_to(folder))] |= mark.doors_in(content)
    for name in paths_below(folder):
        found["names of files"] |= mark.doors_in(name.name.encode())
    return {name: doors for name, doors in found.items() if doors}


async def in_streams(stack: RunningStack, mark: Marks) -> dict[str, set[str]]:
    """Return the marks in the messages of every stream, the ones in memory too."""
    password = (stack.folder / "nats" / "password").read_text().strip()
    port = stack._component("nats")["ports"]["nats"]
    client = await nats.connect(f"nats://sourcier:{password}@127.0.0.1:{port}")
    found: dict[str, set[str]] = defaultdict(set)
    try:
        context = client.jetstream()
        for info in await context.streams_info():
            name, sequence = str(info.config.name), 1
            while True:
                try:
                    message = await context.get_msg(name, seq=sequence, subject=">", next=True)
                except nats.js.errors.NotFoundError:
                    break
                sequence = (message.seq or 0) + 1
                found[name] |= mark.doors_in(message.data or b"") | mark.doors_in(str(message.headers).encode())
    finally:
        await client.close()
    return {name: doors for name, doors in found.items() if doors}


async def test_no_file_and_no_stream_has_anything_of_an_erased_tenant(scripted_stack: RunningStack) -> None:
    mark, kept = Marks(), Marks()
    async with Client(scripted_stack.gateway, tenant=TENANT) as client, \
            Client(scripted_stack.gateway, tenant=OTHER) as other:
        await fill(client, mark)
        document_id = await fill(other, kept)
        before = await other.statistics()
        seen = set[str]().union(*(holders(scripted_stack.folder, mark)).values())
        assert len(seen) >= DOORS_SEEN_MIN, seen

        dry = scripted_stack.run("tenants", "erase", TENANT, "--dry-run")
        assert dry.returncode == 0, dry.stdout + dry.stderr
        assert "documents\t" in dry.stdout
        refused = scripted_stack.run("tenants", "erase", TENANT)  # nobody there to confirm
        assert refused.returncode != 0
        assert [each async for each in client.documents()]

        done = scripted_stack.run("tenants", "erase", TENANT, "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"erased {TENANT}" in done.stdout
        assert not [each async for each in client.documents()]
        assert not [each async for each in client.conversations()]
        left = scripted_stack.run("tenants", "erase", TENANT, "--dry-run")
        assert "nothing\t0" in left.stdout, left.stdout

        files: dict[str, set[str]] = {}
        streams: dict[str, set[str]] = {}

        async def gone() -> bool:
            nonlocal files, streams
            files, streams = holders(scripted_stack.folder, mark), await in_streams(scripted_stack, mark)
            return not files and not streams

        try:
            await eventually(gone, seconds=150)
        except TimeoutError:
            pytest.fail(f"traces are left in {files} and {streams}; {done.stdout}")

        after = await other.statistics()
        assert (after.document_count, after.chunk_count) == (before.document_count, before.chunk_count)
        assert (await other.get_document(document_id)).title.startswith("Charte")
        file = io.BytesIO()
        await other.download(document_id, file)
        assert kept.doors_in(file.getvalue())
        answer = await other.answer(QUESTION)
        assert answer.citations
