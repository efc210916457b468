"""The texts to measure on: French passages from the data sets beside the checkout, else from the demo's handbook."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"
SEED = 7
WORDS_MEDIAN, WORDS_SIGMA, WORDS_MIN, WORDS_MAX = 40, 1.0, 4, 280


def passages(count: int) -> tuple[list[str], str]:
    """Return passages and where they come from."""
    corpus = SHARED / "retrieval" / "piaf-shared" / "corpus.jsonl"
    if corpus.is_file():
        texts = [json.loads(line)["text"] for line in corpus.read_text("utf-8").splitlines()]
        random.Random(SEED).shuffle(texts)
        return [texts[number % len(texts)] for number in range(count)], "piaf-shared"
    sources = sorted((ROOT / "demo" / "sources").iterdir())
    paragraphs = [part for source in sources for part in source.read_text("utf-8").split("\n\n") if len(part) > 80]
    return [f"{number} {paragraphs[number % len(paragraphs)]}" for number in range(count)], "demo handbook"


def long_tailed(count: int) -> tuple[list[str], str]:
    """Return texts of very different lengths and what they are: words drawn from a log-normal distribution.

    Median 40 words, sigma 1.0, kept within 4 and 280 (about 370 tokens of French, under E5's 512): half of the texts
    are short, most of the words are in long ones. Each text is a run of words of the passages, cut where it falls.
    """
    paragraphs, origin = passages(2 * count)
    words = " ".join(paragraphs).split()
    drawn = random.Random(SEED)
    texts, place = [], 0
    for _ in range(count):
        length = min(max(round(drawn.lognormvariate(math.log(WORDS_MEDIAN), WORDS_SIGMA)), WORDS_MIN), WORDS_MAX)
        if place + length > len(words):
            place = 0
        texts.append(" ".join(words[place : place + length]))
        place += length
    return texts, f"log-normal lengths, cut from {origin}"


def questions(count: int) -> list[str]:
    """Return questions, each different."""
    queries = SHARED / "retrieval" / "piaf-shared" / "queries.jsonl"
    if queries.is_file():
        found = [json.loads(line)["text"] for line in queries.read_text("utf-8").splitlines()]
        random.Random(SEED).shuffle(found)
        return found[:count]
    asked = json.loads((ROOT / "demo" / "questions.json").read_text("utf-8"))["answerable"]
    return [f"{asked[number % len(asked)]['question']} ({number})" for number in range(count)]


def sheets() -> tuple[list[Path], str]:
    """Return files to ingest and where they come from."""
    folder = SHARED / "documents" / "service-public-fiches"
    if folder.is_dir():
        return sorted(folder.glob("*.txt")), "service-public-fiches"
    return sorted((ROOT / "demo" / "documents").iterdir()), "demo handbook"
