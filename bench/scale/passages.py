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
from bench.texts import ROOT, SEED, SHARED, questions
from eval.retrieval.encoding import OfflineEncoder, TokenRows

FloatArray = npt.NDArray[np.float32]

LANGUAGES = {
    "piaf-shared": "fr", "crpa-tiny": "fr", "service-public-fiches": "fr", "demo": "fr", "cisi": "en",
    "cranfield": "en", "xquad-es": "es", "xquad-de": "de",
}
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
    found = list(_all_passages())
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


def _all_passages() -> Iterator[RealPassage]:
    if not SHARED.is_dir():
        for path in sorted((ROOT / "demo" / "sources").iterdir()):
            yield from (RealPassage("demo", text) for text in _paragraphs(path.read_text("utf-8")))
        return
    for origin in ("piaf-shared", "crpa-tiny", "cisi", "cranfield", "xquad-es", "xquad-de"):
        for line in (SHARED / "retrieval" / origin / "corpus.jsonl").read_text("utf-8").splitlines():
            text = str(json.loads(line)["text"]).strip()
            if text:
                yield RealPassage(origin, text[:PASSAGE_CHARACTERS_MAX])
    for path in sorted((SHARED / "documents" / "service-public-fiches").glob("*.txt")):
        yield from (RealPassage("service-public-fiches", text) for text in _paragraphs(path.read_text("utf-8")))


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
