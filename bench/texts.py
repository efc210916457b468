"""The texts to measure on: French passages and sheets that others made, else texts of the project's own."""

from __future__ import annotations

import atexit
import json
import math
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path

from eval import own_texts, shared_sets

ROOT = Path(__file__).parents[1]
SEED = 7
WORDS_MEDIAN, WORDS_SIGMA, WORDS_MIN, WORDS_MAX = 40, 1.0, 4, 280


def passages(count: int) -> tuple[list[str], str]:
    """Return passages and where they come from."""
    piaf = shared_sets.find(shared_sets.PIAF)
    if piaf is None:
        return own_texts.passages(count), own_texts.NAME
    texts = [json.loads(line)["text"] for line in (piaf / "corpus.jsonl").read_text("utf-8").splitlines()]
    random.Random(SEED).shuffle(texts)
    return [texts[number % len(texts)] for number in range(count)], piaf.name


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
    piaf = shared_sets.find(shared_sets.PIAF)
    if piaf is None:
        return own_texts.questions(count)
    found = [json.loads(line)["text"] for line in (piaf / "queries.jsonl").read_text("utf-8").splitlines()]
    random.Random(SEED).shuffle(found)
    return found[:count]


def sheets() -> tuple[list[Path], str]:
    """Return text files to ingest, in UTF-8, and where they come from."""
    folder = shared_sets.find(shared_sets.SHEETS)
    files = sorted(folder.glob("*.txt")) if folder else []
    return (files, files[0].parent.name) if files else (_own_sheets(), own_texts.NAME)


@cache
def _own_sheets() -> list[Path]:
    """Write them into a folder that goes when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="sourcier-sheets-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return own_texts.write_sheets(folder)
