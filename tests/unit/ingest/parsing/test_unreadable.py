"""Text that no person reads is cut down and told; whatever people write stays as it is."""

from __future__ import annotations

import base64
import random
import string

import pytest

from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.text.light import read_light
from sourcier.services.ingest.parsing.unreadable import without_unreadable
from sourcier.services.ingest.reading_warnings import WarningCode

RANDOM = random.Random(1)
WORDS = ["".join(RANDOM.choices(string.ascii_lowercase, k=RANDOM.randint(2, 11))) for _ in range(3_000)]
PROSE = " ".join(RANDOM.choices(WORDS, k=8_000))
LONG = 60_000

UNREADABLE = {
    "one letter": "a" * (3 * LONG),
    "one sign": "☃" * LONG,
    "one ligature": "ﬁ" * LONG,
    "one ideograph": "一" * LONG,
    "marks upon one letter": "e" + "\u0301" * LONG,
    "marks upon each letter": "".join("e" + "\u0316\u0301" * 40 for _ in range(1_000)),
    "enclosing marks": "x" + "\u20dd" * LONG,
    "one letter between spaces": "a " * LONG,
    "one ligature between breaks": "ﬁ\n" * LONG,
    "two letters in turn": "ab" * LONG,
    "two ideographs in turn": "中文" * LONG,
    "a phrase without end": "Le chat dort sur le toit. " * 5_000,
    "words in turn": "un deux trois " * 5_000,
    "one word of random letters": "".join(RANDOM.choices(string.ascii_letters, k=LONG)),
    "base64": base64.b64encode(RANDOM.randbytes(LONG)).decode(),
    "one word of accented letters": "".join(RANDOM.choices("éèàùçœêîôû", k=LONG)),
}

READABLE = {
    "prose": PROSE,
    "a rule": "Titre\n" + "-" * 120 + "\nTexte",
    "dots to a page number": "Chapitre un " + "." * 90 + " 7",
    "ideographs": "".join(chr(RANDOM.randint(0x4E00, 0x9FA5)) for _ in range(50_000)),
    "Thai": "".join(chr(RANDOM.randint(0x0E01, 0x0E2E)) for _ in range(20_000)),
    "cantillated Hebrew": "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים אֵ֥ת הַשָּׁמַ֖יִם וְאֵ֥ת הָאָֽרֶץ׃ " * 20,
    "Vietnamese": "Người ta thường nói rằng điều đó không dễ. " * 20,
    "an address": "https://example.org/?" + "&".join(f"k{n}={n * 7}" for n in range(80)),
    "a table of zeros": "\n".join(f"{n};0;0;0;0" for n in range(1_000)),
    "a log": "\n".join(f"2026-01-31T12:{n % 60:02}:00 request {n} served in {n * 7 % 91} ms" for n in range(1_000)),
    "a chant": "na " * 150,
    "emoji": "👩‍👩‍👧‍👦 " * 100,
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_no_person_reads_is_cut(text: str) -> None:
    kept, removed = without_unreadable(text)
    assert len(kept) < max(len(text) / 8, 4_000)
    assert removed == len(text) - len(kept)
    assert text.startswith(kept[:8])


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE.keys())
def test_what_people_write_stays(text: str) -> None:
    assert without_unreadable(text) == (text, 0)


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_stands_around_it_stays(text: str) -> None:
    before, after = PROSE[:9_000], PROSE[-9_000:]
    kept, _ = without_unreadable(f"{before}\n\n{text}\n\n{after}")
    assert kept.startswith(before.rstrip())
    if text not in (UNREADABLE["a phrase without end"], UNREADABLE["words in turn"]):
        assert kept.endswith(after.lstrip())
        assert len(kept) < len(before) + len(after) + max(len(text) / 8, 4_000)


def test_it_is_told_as_a_warning() -> None:
    document = read_light(
        ("Le pont fut ouvert.\n\n" + "a" * 100_000).encode(), filename="a.txt", limits=ParsingLimits()
    )
    assert document is not None
    (warning,) = document.warnings
    assert (warning.code, warning.count) == (WarningCode.UNREADABLE_TEXT, 1)
    assert "99,800 characters" in warning.detail
    assert len(document.text) < 1_000


def test_places_are_told_where_there_are_pages() -> None:
    builder = DocumentBuilder(ParsingLimits())
    builder.add(BlockKind.PARAGRAPH, "Un pont.", page=1)
    for page in (3, 3, 7):
        builder.add(BlockKind.PARAGRAPH, "é" * 5_000, page=page)
    (warning,) = builder.build(format="pdf", filename="a.pdf").warnings
    assert (warning.count, warning.places) == (3, ("3", "7"))
