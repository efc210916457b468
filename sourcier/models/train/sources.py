"""Texts and questions that people wrote, read from folders of sets; what is measured later is left out.

A folder holds retrieval sets (`corpus.jsonl`, `queries.jsonl`, `qrels.tsv`) and, under `sentences`, pairs of sentences.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SENTENCE_WORDS = range(5, 40)
WINDOW_CHARACTERS_MAX = 320

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÀ-Þ«\d-])|\n+")


@dataclass(frozen=True)
class Text:
    """A passage in sentences, with the questions that it answers: question and answer strings."""

    title: str
    sentences: Sequence[str]
    asked: Sequence[tuple[str, str]] = ()


@dataclass
class Sources:
    """Everything that pairs are made from."""

    texts: list[Text] = field(default_factory=list)
    pairs: list[Mapping[str, str]] = field(default_factory=list)
    """Pairs that people wrote or that stand in other sets: premise, hypothesis, label, question, kind."""


def is_held(key: str) -> bool:
    """Return whether an article, a sheet or an agreement belongs to the half that is measured and never trained on."""
    return zlib.crc32(key.encode()) % 2 == 1


def read_sources(data: Path, *, sets: Sequence[str], held: bool = False) -> Sources:
    """Read the halves that may be trained on, or those that are held; FileNotFoundError names a set that is missing."""
    sources = Sources()
    retrieval, sentences = data / "retrieval", data / "sentences"
    for name in sets:
        sources.texts += _texts(retrieval / name, held=held)
    for name in ("siblings", "daccord-odd", "rte3-fr-dev"):
        sources.pairs += [row for row in _rows(sentences / f"{name}.jsonl") if is_held(origin(row["id"])) == held]
    sources.pairs += _answers(retrieval / "conventions-articles", held=held)
    return sources


def in_sentences(text: str) -> list[str]:
    """Return the sentences of a text, without the marks of headings and lists."""
    pieces = (piece.strip().lstrip("#-*• ").strip() for piece in _SENTENCE_END.split(text.replace("\ufeff", "")))
    return [piece for piece in pieces if len(piece) > 2]


def _texts(folder: Path, *, held: bool) -> Iterator[Text]:
    answers: dict[str, list[tuple[str, str]]] = defaultdict(list)
    relevant: dict[str, str] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        query, passage, *_ = line.split("\t")
        relevant.setdefault(query, passage)
    for row in _rows(folder / "queries.jsonl"):
        for answer in row.get("metadata", {}).get("answers", [])[:1]:
            if row["_id"] in relevant and len(answer.split()) < 20:
                answers[relevant[row["_id"]]].append((row["text"], answer))
    for row in _rows(folder / "corpus.jsonl"):
        if is_held(row["title"] or row["_id"]) == held:
            sentences = in_sentences(row["text"])[:60]
            if sentences:
                yield Text(row["title"], sentences, tuple(answers[row["_id"]]))


def origin(identifier: str) -> str:
    """Return what a pair's or a question's identifier says of where it is from: its agreement, or itself."""
    return identifier.split("-")[0]


def _answers(folder: Path, *, held: bool) -> Iterator[Mapping[str, str]]:
    """Give what people answered from the articles that they cited: each sentence beside the nearest of the article."""
    articles = {row["_id"]: row["text"] for row in _rows(folder / "corpus.jsonl")}
    cited: dict[str, list[str]] = defaultdict(list)
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        query, passage, *_ = line.split("\t")
        if passage in articles:
            cited[query].append(articles[passage])
    for row in _rows(folder / "queries.jsonl"):
        if is_held(origin(row["_id"])) != held or not cited[row["_id"]]:
            continue
        pool = [sentence for article in cited[row["_id"]] for sentence in in_sentences(article)]
        for answer in row["metadata"]["answers"]:
            for sentence in in_sentences(answer):
                place, share = _nearest(sentence, pool)
                if share > 0.6 and len(sentence.split()) in SENTENCE_WORDS:
                    window = " ".join(pool[max(0, place - 1) : place + 2])[:WINDOW_CHARACTERS_MAX]
                    question = row["text"].split(" Convention collective :")[0]
                    yield {"premise": window, "hypothesis": sentence, "label": "supported", "kind": "cited",
                           "question": question}


def _nearest(sentence: str, pool: Sequence[str]) -> tuple[int, float]:
    words = _content(sentence)
    shares = [len(words & _content(each)) / (len(words) or 1) for each in pool]
    best = max(range(len(pool)), key=shares.__getitem__)
    return best, shares[best]


def _content(text: str) -> set[str]:
    return {word[:6] for word in re.findall(r"[^\W_]{4,}|\d+", text.lower())}


def _rows(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
