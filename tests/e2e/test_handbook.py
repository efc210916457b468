"""The demo's own path: the handbook in, cited answers out, through six services, real E5 and a real vLLM."""

from __future__ import annotations

import json
from pathlib import Path

import psutil
import pytest

from sourcier.client import Client
from sourcier.gateway.v1 import place_pb2
from sourcier.options import SearchModeName
from tests.fix_stack import RunningStack

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(600)]

DEMO = Path(__file__).parents[2] / "demo"
QUESTIONS = json.loads((DEMO / "questions.json").read_text())
COLLECTION = "demo"


@pytest.fixture(scope="module")
def handbook(stack: RunningStack) -> RunningStack:
    """Ingest the handbook through the command line, as the demo does."""
    created = stack.run("collections", "create", COLLECTION)
    assert created.returncode == 0, created.stderr
    ingested = stack.run("ingest", str(DEMO / "documents"), "--collection", COLLECTION, "--wait")
    assert ingested.returncode == 0, ingested.stdout + ingested.stderr
    return stack


async def test_every_document_can_be_found(handbook: RunningStack, client: Client) -> None:
    files = {path.name for path in (DEMO / "documents").iterdir()}
    documents = [document async for document in client.documents(collection=COLLECTION)]
    assert {Path(document.source).name for document in documents} == files
    assert all(document.chunk_count > 0 for document in documents)


@pytest.mark.parametrize("entry", QUESTIONS["answerable"], ids=lambda entry: entry["source"])
async def test_search_finds_document_page_and_fact(handbook: RunningStack, client: Client, entry: dict) -> None:  # type: ignore[type-arg]
    found = await client.search(entry["question"], collection=COLLECTION, limit=3)
    places = [(Path(passage.source).name, passage.page) for passage in found.passages]
    assert (entry["source"], entry["page"]) in places
    text = " ".join(passage.text for passage in found.passages).casefold()
    for alternatives in entry["facts"]:
        assert any(fact.casefold() in text for fact in alternatives), alternatives


async def test_a_passage_is_shown_where_it_stands(handbook: RunningStack, client: Client, tmp_path: Path) -> None:
    entry = next(each for each in QUESTIONS["answerable"] if each["source"].endswith(".pdf"))
    found = await client.search(entry["question"], collection=COLLECTION, limit=3)
    passage = next(each for each in found.passages if Path(each.source).name == entry["source"])
    (place,) = passage.places
    assert place.page.number == entry["page"] == passage.page
    assert place.page.rectangles
    assert all(0 < each.left < each.left + each.width < place.page.width for each in place.page.rectangles)
    image, original = tmp_path / "page.png", tmp_path / "original.pdf"
    shown = handbook.run("documents", "show", passage.document_id, "--chunk", str(passage.chunk_index), "--image",
                         str(image))
    assert shown.returncode == 0, shown.stderr
    assert f"marked chunk {passage.chunk_index}: {len(place.page.rectangles)} rectangle" in shown.stdout
    assert image.read_bytes().startswith(b"\x89PNG")
    saved = handbook.run("documents", "get", passage.document_id, "--output", str(original))
    assert saved.returncode == 0, saved.stderr
    assert original.read_bytes() == (DEMO / "documents" / entry["source"]).read_bytes()


async def test_what_has_no_text_is_cited_by_page_cell_picture_and_minute(
    handbook: RunningStack, client: Client
) -> None:
    async def places(source: str, words: str) -> list[place_pb2.Place]:
        """Return where the file says the words that answer the demo's question on it."""
        entry = next(each for each in QUESTIONS["answerable"] if each["source"] == source)
        found = await client.search(entry["question"], collection=COLLECTION, limit=1)
        (passage,) = found.passages
        start = passage.text.index(words)
        return await client.locate(passage.chunk_id, start=start, end=start + len(words))

    (scan,) = await places("note-de-service-14.pdf", "27 juillet")
    assert (scan.page.number, len(scan.page.rectangles)) == (1, 1)
    (cell,) = await places("astreintes.pdf", "85")
    (box,) = cell.page.rectangles
    assert cell.page.number == 2
    assert box.left > cell.page.width * 0.6  # the column of Sundays
    assert box.width < 40
    (picture,) = await places("bilan-energie.pdf", "21")
    assert (picture.page.number, picture.picture) == (2, 1)
    (minute,) = await places("memo-atelier.ogg", "18 juin")
    assert 45 <= minute.time.start.seconds <= 70


async def test_an_answer_streams_and_cites(handbook: RunningStack, client: Client) -> None:
    entry = QUESTIONS["answerable"][1]
    events = [event async for event in client.ask(entry["question"], collection=COLLECTION, tokens_max=60)]
    kinds = [event.WhichOneof("event") for event in events]
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert kinds[:4] == ["started", "searching", "retrieved", "reranked"]
    assert kinds.count("finished") == 1
    assert kinds[-1] == "finished"
    assert "failed" not in kinds
    # The small model is made for English and proves the path: its words may be poor, its sources may not.
    cited = [event.citation for event in events if event.WhichOneof("event") == "citation"]
    cited += [event.quoted.citation for event in events if event.WhichOneof("event") == "quoted"]
    assert cited, kinds
    given = next(event.reranked.passages for event in events if event.WhichOneof("event") == "reranked")
    for citation in cited:
        passage = given[citation.marker - 1]
        assert (citation.chunk_id, citation.page) == (passage.chunk_id, passage.page)
    finished = events[-1].finished
    assert finished.usage.completion_tokens > 0
    assert finished.model == "smollm2-135m-instruct"
    assert {duration.stage for duration in finished.durations} >= {"embed", "search", "rerank", "first_token", "total"}


async def test_a_question_is_judged_before_it_is_answered(handbook: RunningStack, client: Client) -> None:
    question = QUESTIONS["answerable"][1]["question"]
    asked = client.ask(question, collection=COLLECTION, tokens_max=10, judge=False, judge_question=True)
    events = [event async for event in asked]
    # What so small a model says of the passages is chance; that it was asked, and could say, is not.
    assert "judge" in {duration.stage for duration in events[-1].finished.durations}
    assert [event.degraded.reason for event in events if event.degraded.stage == "judge"] == []


async def test_what_the_handbook_does_not_hold_is_refused(handbook: RunningStack, client: Client) -> None:
    answer = await client.answer("Quelle est la recette de la tarte Tatin ?", collection=COLLECTION)
    assert answer.refused
    assert answer.text == "Je ne trouve pas cette information dans le corpus."
    assert answer.usage.completion_tokens == 0


async def test_a_deleted_document_is_not_found_again(handbook: RunningStack, client: Client) -> None:
    source = await client.upload(
        b"Le mot de passe du coffre bleu est Zanzibar.", filename="coffre.txt", collection=COLLECTION
    )
    await client.wait_for_job(source.job_id)
    question = "Quel est le mot de passe du coffre bleu ?"
    found = await client.search(question, collection=COLLECTION)
    assert found.passages[0].document_id == source.document_id
    deleted = handbook.run("documents", "delete", source.document_id)
    assert deleted.returncode == 0, deleted.stderr
    modes: tuple[SearchModeName, ...] = ("dense", "lexical", "reranked")
    for mode in modes:
        found = await client.search(question, collection=COLLECTION, mode=mode)
        assert source.document_id not in {passage.document_id for passage in found.passages}


def test_ask_on_the_command_line_names_the_source(handbook: RunningStack) -> None:
    entry = QUESTIONS["answerable"][2]
    asked = handbook.run("ask", entry["question"], "--collection", COLLECTION)
    assert asked.returncode in (0, 4), asked.stderr  # a model this small may say nothing that a passage supports
    in_json = handbook.run("ask", entry["question"], "--collection", COLLECTION, "--json")
    events = [json.loads(line) for line in in_json.stdout.splitlines()]
    assert "finished" in events[-1]
    (passages,) = (event["reranked"]["passages"] for event in events if "reranked" in event)
    assert passages[0]["title"] == "Congés et absences"
    (extract,) = (event["extract"] for event in events if "extract" in event)
    assert "30 septembre" in extract["text"]
    # Which of them a model this small cites is chance; that it is named is not.
    _, _, sources = asked.stdout.partition("\nSources\n")
    named = [line for line in sources.splitlines() if line.startswith("  [")]
    assert named, asked.stdout
    assert all(any(passage["title"] in line for passage in passages) for line in named)


def test_a_generate_service_that_is_killed_leaves_no_core_behind(handbook: RunningStack) -> None:
    # The last one: what starts in its place takes most of a minute, and nobody waits for it.
    service = psutil.Process(handbook.pid("generate"))
    children = service.children(recursive=True)
    assert any("EngineCore" in " ".join(child.cmdline()) for child in children)
    service.kill()
    assert psutil.wait_procs(children, timeout=10)[1] == []
