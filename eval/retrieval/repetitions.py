"""Passages that say the same, and passages that only look like it: which method tells them apart.

Made by rule from a set's passages: the same text as another file would have it (letters, line breaks, spelling, a
sentence less), and the same text with one word that matters changed; beside them, passages of the same article.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eval.reporting import report
from eval.retrieval.encoding import FloatArray, OfflineEncoder
from eval.retrieval.retrieval import Progress
from eval.sets.alterations import absent_name, absent_number, antonymised, inner_capitals, negated
from eval.sets.datasets import Dataset, Passage
from sourcier.services.gateway.retrieval.near_duplicates import says
from sourcier.services.index.language.stop_words import fold

PASSAGES = 300
COSINES = (0.95, 0.97, 0.99)
JACCARDS = (0.8, 0.9)
_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?]) ")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts, and whether they say the same."""

    kind: str
    same: bool
    text: str
    other: str


def pairs(dataset: Dataset, seed: int = 0) -> list[Pair]:
    """Return the pairs of a set's passages, the same in every run."""
    generator = random.Random(seed)
    step = max(len(dataset.passages) // PASSAGES, 1)
    chosen = dataset.passages[::step][:PASSAGES]
    made = [pair for passage in chosen for pair in _altered(passage, chosen, generator)]
    articles: defaultdict[str, list[str]] = defaultdict(list)
    for passage in dataset.passages:
        articles[passage.title].append(passage.text)
    siblings = [(texts[0], texts[1]) for texts in articles.values() if len(texts) > 1]
    return made + [Pair("another passage of the article", False, *each) for each in siblings]


def compare(dataset: Dataset, encoder: OfflineEncoder) -> str:
    """Return the table: of each kind of pair, how many each method takes for the same."""
    made = pairs(dataset)
    texts = list(dict.fromkeys(text for pair in made for text in (pair.text, pair.other)))
    vectors = encoder.passage_vectors(texts, progress=Progress("texts encoded"))
    places = {text: place for place, text in enumerate(texts)}
    methods: dict[str, Callable[[Pair], bool]] = {"words in order": lambda pair: says(pair.text, pair.other)}
    for limit in JACCARDS:
        methods[f"shared runs of three words ≥ {limit:g}"] = _shingled(limit)
    for limit in COSINES:
        methods[f"cosine ≥ {limit:g}"] = _close(limit, vectors, places)
    counts: defaultdict[tuple[str, bool], int] = defaultdict(int)
    taken: defaultdict[tuple[str, str], int] = defaultdict(int)
    for pair in made:
        counts[pair.kind, pair.same] += 1
        for name, method in methods.items():
            taken[pair.kind, name] += method(pair)
    rows = [("taken for the same", "pairs", *methods)]
    for (kind, same), count in sorted(counts.items(), key=lambda item: not item[0][1]):
        shown = f"*the same:* {kind}" if same else kind
        rows.append((shown, str(count), *(f"{taken[kind, name] / count:.1%}" for name in methods)))
    return report.markdown_table(rows)


def _altered(passage: Passage, others: Sequence[Passage], generator: random.Random) -> list[Pair]:
    text = passage.text
    sentences = _SENTENCE.split(text)
    foreign = [name for other in others[:40] if other.title != passage.title for name in inner_capitals(other.text)]
    words = [word for word in set(_WORD.findall(text)) if len(word) > 7 and word.isalpha() and word.islower()]
    word = generator.choice(sorted(words)) if words else ""
    same = {
        "capitals": text.upper(),
        "lines of another width": re.sub(r" ", lambda _: generator.choice(" \n"), text),
        "without accents": "".join(fold(character) for character in text),
        "a hyphen at a line's end": text.replace(word, f"{word[:4]}-\n{word[4:]}", 1) if word else "",
        "a letter less": text.replace(word, word[:3] + word[4:], 1) if word else "",
        "its last sentence left out": " ".join(sentences[:-1]) if len(sentences) > 2 else "",
    }
    other = {
        "a number changed": absent_number(text, text, generator),
        "a name changed": absent_name(text, text, foreign, generator),
        "a verb denied": negated(text),
        "a word turned into its opposite": antonymised(text),
        "a sentence more": f"{text} {generator.choice(others).text.split('. ')[0]}.",
    }
    return [
        *(Pair(kind, True, text, each) for kind, each in same.items() if each and each != text),
        *(Pair(kind, False, text, each) for kind, each in other.items() if each and each != text),
    ]


def _shingled(limit: float) -> Callable[[Pair], bool]:
    def method(pair: Pair) -> bool:
        one, other = (_runs(text) for text in (pair.text, pair.other))
        return len(one & other) >= limit * len(one | other)

    return method


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(fold(text.casefold()))
    return {tuple(words[place : place + 3]) for place in range(max(len(words) - 2, 1))}


def _close(limit: float, vectors: FloatArray, places: dict[str, int]) -> Callable[[Pair], bool]:
    return lambda pair: float(vectors[places[pair.text]] @ vectors[places[pair.other]]) >= limit
