"""Chunks around a passage: what the budget affords, one text, and citations that name the right chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.events import Citation, Quoted, RankedPassage, Token, Withheld
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.retrieval.neighbours import join, located, with_neighbours
from sourcier.services.index.search.passages import Passage
from tests.unit.gateway.fix_gateway_domain import FakeRetriever, query, result

TEXTS = ("Le premier point est traité ici.", "Le deuxième point suit aussitôt.", "Le troisième point ferme la liste.")


def chunk(index: int, *, text: str = "", tokens: int = 10, codes: bytes = b"") -> Passage:
    found = result(1, text=text or TEXTS[index]).passage
    return replace(found, chunk_id=f"chunk-{index}", chunk_index=index, page=index + 1, token_count=tokens,
                   start_character=100 * index, end_character=100 * index + 50, token_codes=codes)


def ranked(index: int, **fields: object) -> RankedPassage:
    return RankedPassage(replace(result(1), passage=chunk(index, **fields)))  # type: ignore[arg-type]


def indexes(passage: RankedPassage) -> list[int]:
    return [each.chunk_index for each in passage.neighbours]


def test_the_budget_goes_to_the_best_passage_and_the_nearest_chunks_first() -> None:
    around = {"chunk-5": [chunk(index, text="x") for index in (3, 4, 6, 7)],
              "chunk-9": [chunk(index, text="x") for index in (8, 10)]}
    passages = [ranked(5, text="x"), ranked(9, text="x")]
    assert [indexes(each) for each in with_neighbours(passages, around, tokens_max=1_000)] == [[3, 4, 6, 7], [8, 10]]
    assert [indexes(each) for each in with_neighbours(passages, around, tokens_max=35)] == [[3, 4, 6], []]
    assert [indexes(each) for each in with_neighbours(passages, around, tokens_max=50)] == [[3, 4, 6, 7], [8]]
    assert [indexes(each) for each in with_neighbours(passages, around, tokens_max=9)] == [[], []]


def test_no_chunk_comes_twice_and_none_stands_behind_a_gap() -> None:
    around = {"chunk-5": [chunk(index, text="x") for index in (4, 6, 7)],
              "chunk-6": [chunk(index, text="x") for index in (4, 5, 7, 8)]}
    passages = with_neighbours([ranked(5, text="x"), ranked(6, text="x")], around, tokens_max=1_000)
    # 6 is a passage itself, so 7 is no neighbour of 5; of 6 it is.
    assert [indexes(each) for each in passages] == [[4], [7, 8]]


def test_what_chunks_share_stands_once() -> None:
    shared = " la fin du premier passage, reprise ensuite."
    before = chunk(0, text=f"Début du document, puis{shared}", codes=b"ab")
    own = replace(ranked(1, text=f"{shared.strip()} Et la suite."), neighbours=(before,))
    joined = join(own)
    assert joined.passage.text == f"Début du document, puis{shared} Et la suite."
    assert joined.passage.chunk_id == "chunk-1"
    assert joined.passage.token_codes == b"ab" + own.passage.token_codes


@pytest.mark.parametrize(("sentence", "index"), [(TEXTS[0], 0), (TEXTS[1], 1), (TEXTS[2], 2)])
def test_a_citation_names_the_chunk_that_says_it(sentence: str, index: int) -> None:
    joined = join(replace(ranked(1), neighbours=(chunk(0), chunk(2))))
    start = joined.passage.text.index(sentence)
    citation = Citation(1, joined.passage, False, Finding.SUPPORTED, 0.6,
                        passage_span=(start, start + len(sentence)))
    for event in (citation, Quoted("…", citation), Withheld("s", Finding.OFF_TOPIC, "r", citation)):
        placed = located(event, [joined])
        found = placed if isinstance(placed, Citation) else (
            placed.citation if isinstance(placed, Quoted) else placed.closest  # type: ignore[union-attr]
        )
        assert (found.marker, found.passage.chunk_index, found.passage.page) == (1, index, index + 1)
        assert found.passage.text[slice(*found.passage_span)] == sentence
        assert found.passage.start_character == 100 * index


def test_characters_are_those_of_the_chunk_where_its_beginning_was_shared() -> None:
    shared = "reprise de la fin du passage."
    joined = join(replace(ranked(0, text=f"Avant. {shared}"), neighbours=(chunk(1, text=f"{shared} Une suite."),)))
    start = joined.passage.text.index("Une suite.")
    found = located(Citation(1, joined.passage, False, Finding.SUPPORTED, 0.6, passage_span=(start, start + 10)),
                    [joined])
    assert isinstance(found, Citation)
    assert found.passage.text[slice(*found.passage_span)] == "Une suite."


def test_a_citation_of_the_whole_stays_with_the_passage() -> None:
    joined = join(replace(ranked(1), neighbours=(chunk(0, text="x" * 500),)))
    whole = Citation(1, joined.passage, False, Finding.UNCHECKED, None, passage_span=(0, len(joined.passage.text)))
    found = located(whole, [joined])
    assert isinstance(found, Citation)
    assert (found.passage.chunk_index, found.passage_span) == (1, (0, len(TEXTS[1])))
    assert located(Token("x"), [joined]) == Token("x")


def test_a_passage_alone_is_left_as_it_is() -> None:
    alone = ranked(1)
    joined = join(alone)
    assert joined.passage == alone.passage
    citation = Citation(1, joined.passage, False, Finding.SUPPORTED, 0.6, passage_span=(0, 3))
    assert located(citation, [joined]) == citation


async def test_passages_come_without_pictures_visibly_where_those_cannot_be_read() -> None:
    class Failing(FakeRetriever):
        async def pictures(
            self, chunks: Sequence[Passage], *, tenant: str, deadline: Deadline
        ) -> dict[str, tuple[Passage, ...]]:
            raise Unavailable("the database cannot be reached")

    found = await Failing().find(query(), deadline=Deadline.after(30))
    assert [each.pictures for each in found.passages] == [(), ()]
    assert [(each.stage, each.reason) for each in found.degradations] == [
        ("pictures", "the database cannot be reached; the passages come without their pictures")
    ]
