"""Text of the project's own, in any amount: what tests and benchmarks read where the documents of others are absent.

The French is the demo's handbook. What goes beyond it is its sentences, drawn anew with a seed, between sentences that
name people and places of their own: in real text, too, most words that occur once are names. The same numbers give the
same texts. The English is the project's documentation.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from eval.sets.json_lines import read_rows

REPOSITORY = Path(__file__).resolve().parents[1]
DEMO = REPOSITORY / "demo"
REWORDED = Path(__file__).parent / "data" / "handbook-reworded.jsonl"
NAME = "the demo's handbook, recombined"
SEED = 7
SENTENCE_CHARACTERS = (40, 400)
PASSAGE_SENTENCES = (3, 7)
SHEETS = 94
SHEET_CHARACTERS_MEDIAN, SHEET_SIGMA, SHEET_CHARACTERS = 10_000, 0.8, (2_000, 60_000)
"""As the administrative sheets are that stand in their place elsewhere: half of them shorter, a few very long."""
ENGLISH_CHARACTERS = (200, 1_200)
NAMED_SHARE = 0.3
"""Sentences after which one with a name follows."""
NAMED = (
    "Le dossier est suivi par {person}, du site de {place}.", "À {place}, la demande passe par {person}.",
    "Une exception a été accordée à {person} pour le site de {place}.",
    "En cas de doute, écrire à {person} au bureau de {place}.",
)
BEGINNINGS = ("Bar", "Cour", "Fal", "Gri", "Lar", "Mau", "Mon", "Par", "Rou", "Sau", "Tri", "Val", "Ver", "Vil")
MIDDLES = ("be", "cha", "di", "fou", "gne", "le", "mi", "no", "ra", "ti", "va", "zi")
ENDINGS = {"person": ("bard", "jeau", "let", "nier", "quin", "rand", "son", "toulet"),
           "place": ("court", "gnac", "mont", "nay", "rolles", "seuil", "val", "ville")}
_MARKS = re.compile(r"\*\*|<!-- [^<>]+-->")
_LIST_ITEM = re.compile(r"^(?:-|\d+\.) ", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the handbook under a heading."""

    heading: str
    paragraphs: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the paragraphs, without the heading."""
        return "\n\n".join(self.paragraphs)


@cache
def sections() -> tuple[Section, ...]:
    """Return the handbook's sections: of the documents that it has in Markdown, their tables left out."""
    paths = sorted([*(DEMO / "sources").glob("*.md"), *(DEMO / "documents").glob("*.md")], key=lambda path: path.name)
    found = []
    for path in paths:
        heading, paragraphs = "", list[str]()
        for block in _MARKS.sub("", path.read_text("utf-8")).split("\n\n"):
            parts = [" ".join(part.split()) for part in _LIST_ITEM.split(block) if part.strip()]
            if parts and parts[0].startswith("#"):
                found.append(Section(heading, tuple(paragraphs)))
                heading, paragraphs = parts[0].lstrip("# "), []
            else:
                paragraphs += [part for part in parts if not part.startswith("|")]
        found.append(Section(heading, tuple(paragraphs)))
    return tuple(section for section in found if section.paragraphs)


@cache
def sentences() -> tuple[str, ...]:
    """Return the handbook's sentences, those of a usual length."""
    shortest, longest = SENTENCE_CHARACTERS
    return tuple(
        sentence for section in sections() for paragraph in section.paragraphs
        for sentence in _SENTENCE_END.split(paragraph) if shortest <= len(sentence) <= longest
    )


def passages(count: int) -> list[str]:
    """Return passages, no two alike: the handbook's sections, then recombined ones."""
    own = [section.text for section in sections()][:count]
    return own + [_passage(number) for number in range(count - len(own))]


def questions(count: int) -> list[str]:
    """Return questions that the handbook answers, no two alike: those drawn again have a number."""
    asked = [entry["question"] for entry in json.loads((DEMO / "questions.json").read_text("utf-8"))["answerable"]]
    asked += [row["question"] for row in read_rows(REWORDED)]
    return [asked[number] if number < len(asked) else f"{asked[number % len(asked)]} ({number})"
            for number in range(count)]


def sheets(count: int = SHEETS) -> Iterator[tuple[str, str]]:
    """Yield names and texts of sheets: a title, then headings with a few paragraphs each."""
    shortest, longest = SHEET_CHARACTERS
    for number in range(count):
        chance = random.Random(f"sheet {SEED} {number}")
        drawn = round(chance.lognormvariate(math.log(SHEET_CHARACTERS_MEDIAN), SHEET_SIGMA))
        wanted = min(max(drawn, shortest), longest)
        parts = [f"Fiche {number + 1} : {chance.choice(sections()).heading} ({_name(chance, 'place')})"]
        while sum(map(len, parts)) < wanted:
            parts.append(chance.choice(sections()).heading)
            parts += [_paragraph(chance) for _ in range(chance.randint(1, 4))]
        yield f"fiche-{number + 1:03}.txt", "\n\n".join(parts) + "\n"


def write_sheets(folder: Path, count: int = SHEETS) -> list[Path]:
    """Write the sheets into a folder; return their paths in order."""
    written = []
    for name, text in sheets(count):
        path = folder / name
        path.write_text(text, "utf-8")
        written.append(path)
    return written


@cache
def english() -> tuple[str, ...]:
    """Return the paragraphs of the documentation that are prose."""
    shortest, longest = ENGLISH_CHARACTERS
    pages = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    blocks = (" ".join(block.split()) for page in pages for block in page.read_text("utf-8").split("\n\n"))
    return tuple(dict.fromkeys(block for block in blocks if shortest <= len(block) <= longest and block[0].isalpha()))


def _passage(number: int) -> str:
    return _paragraph(random.Random(f"passage {SEED} {number}"))


def _paragraph(chance: random.Random) -> str:
    drawn = []
    for sentence in chance.sample(sentences(), chance.randint(*PASSAGE_SENTENCES)):
        drawn.append(sentence)
        # After the first one always: a paragraph without a name could be drawn twice.
        if len(drawn) == 1 or chance.random() < NAMED_SHARE:
            drawn.append(chance.choice(NAMED).format(
                person=f"{chance.choice(('Mme', 'M.'))} {_name(chance, 'person')}", place=_name(chance, "place"),
            ))
    return " ".join(drawn)


def _name(chance: random.Random, kind: str) -> str:
    middles = "".join(chance.choices(MIDDLES, k=chance.randint(1, 2)))
    return chance.choice(BEGINNINGS) + middles + chance.choice(ENDINGS[kind])
