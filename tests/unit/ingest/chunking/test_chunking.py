"""What every chunking method promises, over documents made by hypothesis, and each method's own rules."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcier.services.chassis.errors import DocumentEmpty, DocumentTooCostly, InvalidArgument
from sourcier.services.ingest.chunking.chunks import Chunk
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.chunking.cutting import TEXT_BYTES_MAX, CuttingLimits, cut
from sourcier.services.ingest.chunking.lines import join_lines
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.stages.chunk import cut_digest
from tests.unit.ingest.fix_words import WordCounter, document_of

pytestmark = pytest.mark.unit

TOKENS = WordCounter()
CONFIGURATIONS = [
    ChunkingConfiguration.of(),
    ChunkingConfiguration.of(target=20, overlap=5, maximum=30),
    ChunkingConfiguration.of(unit="characters"),
    ChunkingConfiguration.of(unit="characters", target=100, overlap=20, maximum=120),
    ChunkingConfiguration.of(method="page"),
    ChunkingConfiguration.of(method="page", target=240, overlap=40),
    ChunkingConfiguration.of(method="lines"),
    ChunkingConfiguration.of(method="lines", target=64, overlap=10),
]

words = st.text(alphabet="abcdéàç中文0,'", min_size=1, max_size=30)
sentences = st.lists(words, min_size=1, max_size=40).map(lambda parts: " ".join(parts) + ".")
tables = st.lists(st.lists(words, min_size=2, max_size=2), min_size=3, max_size=40).map(
    lambda rows: "\n".join(["| k | v |", "|---|---|", *(f"| {row[0]} | {row[1]} |" for row in rows)])
)
paragraphs = st.one_of(
    sentences,
    st.lists(sentences, min_size=1, max_size=6).map("\n".join),
    words.map(lambda word: "# T" + word),
    tables,
    st.integers(1, 3000).map(lambda length: "x" * length),
)
pages = st.lists(st.lists(paragraphs, min_size=1, max_size=8).map("\n\n".join), min_size=1, max_size=3)
documents = pages.map(lambda texts: document_of(*texts))


def chunks_of(document: ParsedDocument, configuration: ChunkingConfiguration) -> list[Chunk]:
    try:
        return cut(document, configuration, TOKENS)
    except DocumentEmpty:
        return []


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda c: f"{c.method}-{c.unit}-{c.target}")
@settings(max_examples=20)
@given(document=documents)
def test_chunks_keep_their_promises(document: ParsedDocument, configuration: ChunkingConfiguration) -> None:
    chunks = chunks_of(document, configuration)
    assert chunks == chunks_of(document, configuration)
    for index, chunk in enumerate(chunks):
        span = document.text[chunk.start_character : chunk.end_character]
        assert chunk.index == index
        assert chunk.token_count == TOKENS.count(chunk.text) <= TOKENS.passage_limit
        assert TOKENS.count(chunk.embedding_text) <= TOKENS.passage_limit
        assert chunk.embedding_text.endswith(chunk.text)
        length = chunk.token_count if configuration.unit == "tokens" else len(chunk.text)
        assert length <= configuration.maximum
        assert chunk.text == join_lines(span) if configuration.method == "lines" else chunk.text.endswith(span)
        assert span == span.strip() != ""
    starts = [chunk.start_character for chunk in chunks]
    assert starts == sorted(starts)


@pytest.mark.parametrize(
    "configuration",
    [configuration for configuration in CONFIGURATIONS if configuration.method != "lines"],
    ids=lambda c: f"{c.method}-{c.unit}-{c.target}",
)
@settings(max_examples=20)
@given(document=documents)
def test_chunks_cover_the_text_and_stay_on_their_page(
    document: ParsedDocument, configuration: ChunkingConfiguration
) -> None:
    covered = bytearray(len(document.text))
    for chunk in chunks_of(document, configuration):
        covered[chunk.start_character : chunk.end_character] = b"\1" * (chunk.end_character - chunk.start_character)
        touched = {
            block.page
            for block in document.blocks
            if block.start < chunk.end_character and chunk.start_character < block.end
        }
        assert touched == {chunk.page}
    assert all(done or letter.isspace() for done, letter in zip(covered, document.text, strict=True))


def test_a_section_that_fits_stays_whole_with_its_heading() -> None:
    document = document_of("# Congés\n\n" + "un mot " * 90 + "\n\n# Frais\n\n" + "deux mots " * 90)
    chunks = cut(document, ChunkingConfiguration.of(), TOKENS)
    assert [chunk.heading_path for chunk in chunks] == [("Congés",), ("Frais",)]
    assert chunks[1].text.startswith("Frais\n\n")
    # The heading is in the passage already: only the title is put before it.
    assert chunks[1].embedding_text == f"Guide\n{chunks[1].text}"


def test_small_sections_merge_and_a_later_part_of_a_section_gets_its_heading() -> None:
    small = document_of("# A\n\nune phrase.\n\n# B\n\nune autre.")
    assert len(cut(small, ChunkingConfiguration.of(), TOKENS)) == 1
    long = document_of("# Congés\n\n" + "\n\n".join(f"Phrase {n} " + "mot " * 60 + "." for n in range(12)))
    later = cut(long, ChunkingConfiguration.of(), TOKENS)[1]
    assert later.heading_path == ("Congés",)
    assert later.embedding_text.startswith("Guide\nCongés\n")


def test_a_large_table_is_cut_between_rows_with_its_header_repeated() -> None:
    rows = "\n".join(f"| Ville{n} | {n} € |" for n in range(200))
    document = document_of(f"Avant.\n\n| Ville | Prix |\n|---|---|\n{rows}\n\nAprès.")
    chunks = [chunk for chunk in cut(document, ChunkingConfiguration.of(), TOKENS) if "Ville" in chunk.text]
    assert len(chunks) > 3
    for chunk in chunks[1:]:
        assert chunk.text.startswith("| Ville | Prix |\n|---|---|\n| Ville")
        assert all(line.endswith("|") for line in chunk.text.split("\n"))
    assert sum(chunk.text.count(" € |") for chunk in chunks) == 200


def _block(kind: BlockKind, text: str, *, level: int = 0, page: int = 1) -> tuple[BlockKind, str, int, int]:
    return kind, text, level, page


def _document(*parts: tuple[BlockKind, str, int, int]) -> ParsedDocument:
    builder = DocumentBuilder(ParsingLimits())
    for kind, text, level, page in parts:
        builder.add(kind, text, level=level, page=page)
    return builder.build(format="text", filename="Guide")


ITEMS = [_block(BlockKind.LIST_ITEM, f"- pratiquer l'activité numéro {n} dans les caves ;", level=1) for n in range(60)]


@pytest.mark.parametrize("configuration", [
    ChunkingConfiguration.of(), ChunkingConfiguration.of(target=60, overlap=15, maximum=80),
    ChunkingConfiguration.of(unit="characters", target=500, overlap=100, maximum=700),
], ids=lambda c: f"{c.unit}-{c.target}")
def test_each_part_of_a_long_list_has_what_introduces_it_and_begins_with_an_item(
    configuration: ChunkingConfiguration
) -> None:
    lead = "Il est interdit au locataire :"
    document = _document(_block(BlockKind.PARAGRAPH, f"Le bail court neuf ans. {lead}"), *ITEMS)
    chunks = cut(document, configuration, TOKENS)
    assert len(chunks) > 2
    for chunk in chunks[1:]:
        assert chunk.text.startswith(f"Le bail court neuf ans. {lead}\n- pratiquer")
        assert document.text[chunk.start_character :].startswith("- pratiquer")
        assert chunk.text.endswith(document.text[chunk.start_character : chunk.end_character])
    assert sum(chunk.text.count("activité numéro") for chunk in chunks) == len(ITEMS)


def test_a_list_goes_on_over_a_page_and_a_sublist_has_its_item_too() -> None:
    sub = [
        _block(BlockKind.LIST_ITEM, f"- la machine numéro {n} de l'atelier bas ;", level=2, page=2) for n in range(40)
    ]
    document = _document(
        _block(BlockKind.PARAGRAPH, "Sont interdits les actes suivants."),
        _block(BlockKind.LIST_ITEM, "- toucher sans gants :", level=1), *sub,
        _block(BlockKind.PARAGRAPH, "Le reste est permis.", page=2),
    )
    first, *others = cut(document, ChunkingConfiguration.of(target=60, overlap=0, maximum=80), TOKENS)
    assert first.text.startswith("Sont interdits")
    for chunk in others:
        if "machine" in chunk.text:
            assert chunk.text.startswith("Sont interdits les actes suivants.\n- toucher sans gants :\n- la machine")


def test_items_that_nothing_introduces_overlap_by_whole_items() -> None:
    document = _document(_block(BlockKind.PARAGRAPH, "Le bail court."), *ITEMS)
    chunks = cut(document, ChunkingConfiguration.of(target=60, overlap=20, maximum=80), TOKENS)
    assert all(chunk.text.startswith("- pratiquer") for chunk in chunks[1:])


def test_a_tables_part_has_its_caption_and_all_lines_of_its_header() -> None:
    header = "| Magasin | S1 | S1 |\n| Magasin | Neuf | Occasion |\n|---|---|---|"
    rows = "\n".join(f"| Niort {n} | {n} | {n + 1} |" for n in range(100))
    document = _document(
        _block(BlockKind.PARAGRAPH, "Avant."), _block(BlockKind.CAPTION, "Tableau 3 : ventes"),
        _block(BlockKind.TABLE, f"{header}\n{rows}"),
    )
    chunks = [chunk for chunk in cut(document, ChunkingConfiguration.of(), TOKENS) if "Niort" in chunk.text]
    assert len(chunks) > 2
    assert chunks[0].text.startswith("Avant.\n\nTableau 3 : ventes\n\n| Magasin")
    for chunk in chunks[1:]:
        assert chunk.text.startswith(f"Tableau 3 : ventes\n{header}\n| Niort")


@pytest.mark.parametrize("method", ["hybrid", "page"])
def test_what_stands_around_the_content_shares_no_chunk_with_it(method: str) -> None:
    document = _document(
        _block(BlockKind.PARAGRAPH, "Le congé dure 25 jours."), _block(BlockKind.ASIDE, "Nous utilisons des cookies.")
    )
    chunks = cut(document, ChunkingConfiguration.of(method=method), TOKENS)
    assert [chunk.text for chunk in chunks] == ["Le congé dure 25 jours.", "Nous utilisons des cookies."]


def test_overlap_repeats_whole_sentences() -> None:
    document = document_of("\n\n".join(f"Voici la phrase numéro {n} de ce long texte." for n in range(80)))
    configuration = ChunkingConfiguration.of(target=60, overlap=20, maximum=80)
    first, second = cut(document, configuration, TOKENS)[:2]
    assert second.start_character < first.end_character
    assert second.text.startswith("Voici")
    none = cut(document, ChunkingConfiguration.of(target=60, overlap=0, maximum=80), TOKENS)
    assert none[1].start_character >= none[0].end_character


def test_pages_are_cut_on_strong_punctuation_near_the_target_else_at_it() -> None:
    text = "a" * 969 + ". " + "b" * 2000
    first, second, *_ = cut(document_of(text), ChunkingConfiguration.of(method="page"), WordCounter(10_000))
    assert first.end_character == 970
    assert second.start_character == 970 - 200
    assert second.end_character == 770 + 1000


def test_lines_are_joined_by_a_space_and_short_chunks_dropped() -> None:
    document = document_of("  Été comme hiver,  \n\n\n à l'école. ")
    (chunk,) = cut(document, ChunkingConfiguration.of(method="lines"), TOKENS)
    assert chunk.text == "Été comme hiver, à l'école."
    with pytest.raises(DocumentEmpty, match="leaves no passage"):
        cut(document_of("Vingt caractères ..."), ChunkingConfiguration.of(method="lines"), TOKENS)


def test_lines_count_characters_and_overlap() -> None:
    document = document_of("\n".join("é" * 100 for _ in range(12)))
    chunks = cut(document, ChunkingConfiguration.of(method="lines"), TOKENS)
    assert max(len(chunk.text) for chunk in chunks) <= 512
    assert all(later.start_character < former.end_character for former, later in itertools.pairwise(chunks))


def test_a_passage_of_characters_over_the_models_limit_is_split() -> None:
    document = document_of("中" * 1500)
    chunks = cut(document, ChunkingConfiguration.of(unit="characters"), WordCounter(passage_limit=50))
    assert "".join(chunk.text for chunk in chunks).count("中") >= 1500
    assert max(chunk.token_count for chunk in chunks) <= 50


def test_a_long_title_gives_way_to_the_passage() -> None:
    document = document_of("mot " * 40, title="titre " * 30)
    (chunk,) = cut(document, ChunkingConfiguration.of(target=40, maximum=50, overlap=0), WordCounter(60))
    assert chunk.embedding_text == chunk.text


@pytest.mark.parametrize(
    ("field", "arguments"),
    [
        ("maximum", {"target": 800}),
        ("maximum", {"target": 100, "maximum": 99}),
        ("target", {"target": 3}),
        ("overlap", {"target": 100, "overlap": 90}),
        ("target", {"method": "page", "target": 100}),
        ("maximum", {"method": "page", "target": 1000, "maximum": 1000}),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_with_the_field(field: str, arguments: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        ChunkingConfiguration.of(**arguments).validate(507)  # type: ignore[arg-type]
    assert caught.value.field == f"chunking.{field}"


def test_over_the_models_limit_the_message_names_both_and_the_way_out() -> None:
    with pytest.raises(InvalidArgument, match=r"cannot be 800: the embedding model reads 507 tokens.*use at most 507"):
        ChunkingConfiguration.of(target=700, maximum=800).validate(507)


@pytest.mark.parametrize("arguments", [{"method": "semantic"}, {"method": "page", "unit": "tokens"}])
def test_an_unknown_method_or_unit_is_refused(arguments: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument):
        ChunkingConfiguration.of(**arguments)  # type: ignore[arg-type]


def test_the_digest_is_stable_and_tells_configurations_apart() -> None:
    digests = {configuration.digest() for configuration in CONFIGURATIONS}
    assert len(digests) == len(CONFIGURATIONS)
    assert ChunkingConfiguration.of().digest() == ChunkingConfiguration().digest()


class UnknownWords(WordCounter):
    """A run of characters that the model does not know is one token, however long."""

    def count(self, text: str) -> int:
        return len(text.split())

    def starts(self, text: str) -> Sequence[int]:
        return [match.start() for match in re.finditer(r"\S+", text)]


@pytest.mark.parametrize("character", ["𓀀", "中", "x"])
def test_a_passage_fits_its_message_however_few_tokens_its_text_is(character: str) -> None:
    text = character * 200_000
    chunks = cut(document_of(text), ChunkingConfiguration.of(), UnknownWords())
    assert max(len(chunk.text.encode()) for chunk in chunks) <= TEXT_BYTES_MAX
    assert sum(chunk.end_character - chunk.start_character for chunk in chunks) >= len(text)


def test_the_digest_of_a_cut_tells_passages_places_and_batches() -> None:
    first, second = (
        Chunk(
            index=index, text=f"passage {index}", start_character=index * 100, end_character=index * 100 + 9,
            token_count=2, page=1, heading_path=("Titre", "Partie"), embedding_text=f"Titre : passage {index}",
            embedding_token_count=4, language="fr",
        )
        for index in range(2)
    )
    changes: list[dict[str, Any]] = [
        {"text": "passage"}, {"start_character": 7}, {"end_character": 8}, {"page": 2}, {"heading_path": ("Titre",)},
        {"heading_path": ("TitrePartie", "")}, {"embedding_text": "passage 1"},
    ]
    cuts: list[list[list[Chunk]]] = [
        [], [[first]], [[first, second]], [[first], [second]], [[second, first]],
        *([[first, dataclasses.replace(second, **changed)]] for changed in changes),
    ]
    digests = [cut_digest(batches) for batches in cuts]
    assert len(set(digests)) == len(digests)
    assert cut_digest([[dataclasses.replace(first), dataclasses.replace(second)]]) == digests[2]


@pytest.mark.parametrize("method", ["hybrid", "page", "lines"])
def test_a_document_that_costs_too_much_is_refused_with_the_figure(method: str) -> None:
    document = document_of("\n\n".join(f"Le paragraphe {n} dit que le pont fut ouvert." for n in range(800)))
    configuration = ChunkingConfiguration.of(method=method, target=240, overlap=0, maximum=300)
    chunks = cut(document, configuration, TOKENS)
    assert len(chunks) > 10
    assert cut(document, configuration, TOKENS, limits=CuttingLimits(len(chunks))) == chunks
    with pytest.raises(DocumentTooCostly, match=f"more than {len(chunks) - 1:,} passages.*DOCUMENT_CHUNKS_MAX"):
        cut(document, configuration, TOKENS, limits=CuttingLimits(len(chunks) - 1))
