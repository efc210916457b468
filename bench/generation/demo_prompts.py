"""The prompts that the demo's questions become.

`python -m bench.generation.demo_prompts` writes `demo_prompts.json` again.

Kept in a file, so that a comparison of engines needs no index, and reads the same prompts on every machine.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from bench.environment import ROOT, running_stack
from sourcier.client import Client
from sourcier.gateway.v1 import answer_pb2
from sourcier.services.gateway.phrases import FRENCH
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.prompting.prompt import build_prompt
from sourcier.services.index.search.passages import Passage

FILE = Path(__file__).with_name("demo_prompts.json")
PASSAGES = 5
SECRET = "bench"


def prompts() -> list[list[dict[str, str]]]:
    """Return the messages of each prompt: the instructions, the same for all, then passages and question."""
    found: list[list[dict[str, str]]] = json.loads(FILE.read_text("utf-8"))
    return found


async def make() -> None:
    """Ask an index of the demo's documents for each question's passages, and write the prompts over them."""
    asked = json.loads((ROOT / "demo" / "questions.json").read_text("utf-8"))["answerable"]
    async with (
        running_stack(SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway") as addresses,
        Client(addresses["SOURCIER_GATEWAY_URL"]) as client,
    ):
        await client.create_collection("default")
        for path in sorted((ROOT / "demo" / "documents").iterdir()):
            uploaded = await client.upload(path)
            await client.wait_for_job(uploaded.job_id)
        made = []
        for entry in asked:
            found = await client.search(entry["question"], limit=PASSAGES)
            prompt = build_prompt(
                entry["question"], [_passage(each) for each in found.passages], FRENCH, refusal=FRENCH.refusal,
                marking=Marking(SECRET), tenant="default",
            )
            made.append([{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}])
    FILE.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _passage(found: answer_pb2.Passage) -> Passage:
    return Passage(
        chunk_id=found.chunk_id, document_id=found.document_id, version_id="", collection="default",
        title=found.title, source=found.source, filename=found.source, chunk_index=found.chunk_index, kind="text",
        method="", language="fr", page=found.page, start_character=0, end_character=0, token_count=0,
        heading_path=tuple(found.heading_path), text=found.text, category=found.category, metadata={},
    )


if __name__ == "__main__":
    asyncio.run(make())
