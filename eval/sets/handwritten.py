"""Sentences written by hand over the demo's documents: what a model would answer, true or invented, in other words."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from eval.sets.datasets import Passage
from eval.sets.json_lines import read_rows
from eval.sets.sentence_sets import Sentence

SENTENCES = Path(__file__).parents[1] / "data" / "handwritten.jsonl"
DEMO = Path(__file__).parents[2] / "demo"
HAND_WRITTEN, INVENTED = "written by hand, supported", "written by hand, invented"
IN_ENGLISH, ENGLISH_OTHER = "in English over a French passage", "in English over a passage of another document"
PASSAGE_CHARACTERS = 1_400
"""What the default chunking makes of the demo's short sections: neighbours merged up to about 380 tokens."""
_SECTION = re.compile(r"^(#{1,2}) (.+)$", re.MULTILINE)


def handwritten(passages: dict[tuple[str, str], Passage]) -> Iterator[Sentence]:
    """Give the sentences, each with the passage that holds its section."""
    others = [*passages.values()]
    for row in read_rows(SENTENCES):
        passage = passages[row["document"], row["section"]]
        kind = IN_ENGLISH if row.get("language") == "en" else HAND_WRITTEN if row["supported"] else INVENTED
        yield Sentence(kind, row["sentence"], passage.passage_id, f"{row['document']} {row['section']}")
        if kind == IN_ENGLISH:
            # What an English answer must not rest on: a passage of another document.
            other = others[zlib.crc32(row["sentence"].encode()) % len(others)]
            if not other.passage_id.startswith(row["document"]):
                yield Sentence(ENGLISH_OTHER, row["sentence"], other.passage_id, f"{row['document']} {row['section']}")


def handbook_passages() -> dict[tuple[str, str], Passage]:
    """Return the demo's passages by document and section; a section is named by how its heading begins."""
    found: dict[tuple[str, str], Passage] = {}
    wanted = [*read_rows(SENTENCES)]
    for document in dict.fromkeys(row["document"] for row in wanted):
        path = next(
            folder / f"{document}.md" for folder in (DEMO / "sources", DEMO / "documents")
            if (folder / f"{document}.md").exists()
        )
        cut = list(_cut(path.read_text("utf-8"), document))
        for section in dict.fromkeys(row["section"] for row in wanted if row["document"] == document):
            found[document, section] = next(
                passage for headings, passage in cut if any(heading.startswith(section) for heading in headings)
            )
    return found


def _cut(text: str, document: str) -> Iterator[tuple[list[str], Passage]]:
    text = text.replace("<!-- page -->", "").replace("**", "")
    places = [*_SECTION.finditer(text)]
    title = places[0].group(2)
    headings: list[str] = []
    body = ""
    number = 0
    for place, following in zip(places, [*places[1:], None], strict=True):
        section = text[place.end() : following.start() if following else len(text)].strip()
        if headings and len(body) + len(section) > PASSAGE_CHARACTERS:
            yield headings, Passage(f"{document}-{number}", title, body.strip())
            headings, body, number = [], "", number + 1
        headings.append(place.group(2))
        body += f"{place.group(2)}\n{section}\n\n"
    yield headings, Passage(f"{document}-{number}", title, body.strip())
