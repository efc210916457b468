"""Real passages and questions with their E5 vectors: what a corpus of any size is grown from."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.embedding.embedding import MODEL
from bench.texts import SEED, questions
from eval import own_texts, shared_sets
from eval.retrieval.encoding import OfflineEncoder, TokenRows

FloatArray = npt.NDArray[np.float32]

LANGUAGES = {
    "piaf-shared": "fr", "crpa-tiny": "fr", "service-public-fiches": "fr", "demo": "fr", "cisi": "en",
    "cranfield": "en", "documentation": "en", "xquad-es": "es", "xquad-de": "de",
}
SETS = ("piaf-shared", "crpa-tiny", "cisi", "cranfield", "xquad-es", "xquad-de")
OWN_FRENCH = 400
"""Passages of the handbook where the sets are absent: more than there are English ones, as among the sets."""
SHEET_CHARACTERS = 700
"""What a passage cut from a sheet has at least."""
PASSAGE_CHARACTERS_MAX = 1_200
"""Read of a longer passage, so that the model reads it whole."""
QUESTIONS = 400


@dataclass(frozen=True, slots=True)
class RealPassage:
    """A passage as somebody wrote it."""

    origin: str
    text: str

    @property
    def language(self) -> str:
        """The language of the set that it is from."""
        return LANGUAGES[self.origin]


@dataclass(frozen=True)
class RealTexts:
    """Passages and questions with the vectors that the model gives them."""

    passages: tuple[RealPassage, ...]
    vectors: FloatArray
    """Shape (passages, dimension), L2 norm 1."""
    codes: TokenRows
    """The passages' token codes."""
    questions: tuple[str, ...]
    question_vectors: FloatArray
    space_id: str

    @property
    def dimension(self) -> int:
        """The number of values in a vector."""
        return int(self.vectors.shape[1])


def real_texts(*, limit: int, kept: Path) -> RealTexts:
    """Read at most `limit` passages, of each set alike, and encode them; what was encoded is kept in a folder."""
    found = list(all_passages())
    random.Random(SEED).shuffle(found)
    found = found[:limit]
    encoder = OfflineEncoder(model=MODEL, engine="auto", kept=kept)
    vectors, codes = encoder.passages([passage.text for passage in found], progress=_quiet)
    asked = questions(QUESTIONS)
    of_questions = encoder.questions(asked, progress=_quiet).vectors
    return RealTexts(
        passages=tuple(found), vectors=vectors.astype(np.float32), codes=codes,
        questions=tuple(asked), question_vectors=of_questions, space_id=encoder.model.space_id,
    )


def all_passages() -> Iterator[RealPassage]:
    """Give the passages of the sets and sheets that are here; where none is, texts of the project's own."""
    found = False
    for origin in SETS:
        folder = shared_sets.find(f"{shared_sets.RETRIEVAL}/{origin}")
        for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines() if folder else ():
            text = str(json.loads(line)["text"]).strip()
            if text:
                found = True
                yield RealPassage(origin, text[:PASSAGE_CHARACTERS_MAX])
    sheets = shared_sets.find(shared_sets.SHEETS)
    for path in sorted(sheets.glob("*.txt")) if sheets else ():
        found = True
        yield from (RealPassage(path.parent.name, text) for text in _paragraphs(path.read_text("utf-8")))
    if not found:
        yield from (RealPassage("demo", text) for text in own_texts.passages(OWN_FRENCH))
        yield from (RealPassage("documentation", text) for text in own_texts.english())


def _paragraphs(text: str) -> Iterator[str]:
    """Give a document's lines in runs of a passage's length."""
    run: list[str] = []
    for line in re.split(r"\s*\n\s*", text):
        run.append(line)
        if sum(map(len, run)) >= SHEET_CHARACTERS:
            yield "\n".join(run).strip()[:PASSAGE_CHARACTERS_MAX]
            run = []
    if sum(map(len, run)) > SHEET_CHARACTERS // 4:
        yield "\n".join(run).strip()[:PASSAGE_CHARACTERS_MAX]


def _quiet(_done: int, _all: int) -> None:
    """Say nothing of the progress."""
