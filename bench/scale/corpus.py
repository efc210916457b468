"""A corpus of any size, grown out of real passages: vectors by shaped noise, texts by recombined sentences.

A chunk's vector is a real passage's with noise of the real vectors' own covariance, as far from it as real passages are
from their nearest; its token codes are the passage's own. Its text is sentences of passages of that language, whose
rare words are drawn anew from a tail without an end: common words keep their shares (Zipf), and the vocabulary keeps
growing (Heaps).
"""

from __future__ import annotations

import hashlib
import math
import re
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from bench.scale.passages import FloatArray, RealTexts
from sourcier.services.index.language.analyser import Analysis, analyse_passage, passage_stems
from sourcier.services.index.language.stop_words import STOP_WORDS
from sourcier.services.index.language.words import split_words

BLOCK = 2_000
"""Chunks made at once; the same numbers give the same chunks, whatever the size of the corpus."""
DOCUMENT = 20
"""Chunks of a document."""
ANALYSED = frozenset(STOP_WORDS)
RARE_MAX = 2
"""Words that occur so often in the real passages, at most, are drawn anew."""
FILLER = "on"
"""A function word in French and in English, which no analysis counts: in the place of a word that is to be drawn, it
keeps the numbers around it apart."""
NOISE_SAMPLE = 1_000
"""Passages that tell how far neighbours are apart."""
SEED = 20_251_122
SYLLABLES = [consonant + vowel for consonant in "bcdfglmnprstvz" for vowel in ("a", "e", "i", "o", "u")]
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
# Between spaces, so that no elision, number or code is taken apart.
_SLOT = re.compile(r"(?<!\S)([^\W\d_]{5,})(?=[,.;:!?]?(?:\s|$))")

VectorBlock = npt.NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class GrownChunk:
    """A chunk's text, and what the product's analyser finds in it."""

    text: str
    language: str
    analysis: Analysis


@dataclass(frozen=True, slots=True)
class Block:
    """`BLOCK` chunks of `BLOCK / DOCUMENT` documents."""

    number: int
    chunks: list[GrownChunk]
    origins: list[str]
    """By document: the set that its passages are from."""
    vectors: VectorBlock
    """Shape (BLOCK, dimension), L2 norm 1."""
    token_codes: list[bytes]


@dataclass(frozen=True, slots=True)
class _Sentence:
    parts: tuple[str, ...]
    """Fixed, to be drawn, fixed, …"""
    stems: tuple[str, ...]
    """Those of the fixed parts."""
    length: int
    words: int


@dataclass(frozen=True, slots=True)
class _Pool:
    language: str
    sentences: tuple[_Sentence, ...]
    rare: tuple[str, ...]
    lengths: tuple[int, ...]
    """Words of each real passage."""


@dataclass(frozen=True, slots=True)
class _Draws:
    uniform: Iterator[float]
    """In [0, 1)."""
    tail: Iterator[float]
    """Lomax, scale 1."""


class GrownCorpus:
    """Gives any block of the corpus."""

    def __init__(self, real: RealTexts) -> None:
        """Cut the passages into sentences, and find the noise that real neighbours have between them."""
        self.real = real
        self._of_origin: dict[str, npt.NDArray[np.int64]] = {}
        languages: defaultdict[str, list[str]] = defaultdict(list)
        for origin in dict.fromkeys(passage.origin for passage in real.passages):
            places = [place for place, passage in enumerate(real.passages) if passage.origin == origin]
            self._of_origin[origin] = np.asarray(places)
        for passage in real.passages:
            languages[passage.language].append(passage.text)
        self._pools = {language: _pool(language, texts) for language, texts in languages.items()}
        self.heaps = heaps_exponent([passage.text for passage in real.passages if passage.language == "fr"])
        """β of V = K·n^β over the real French passages; the tail that words are drawn from has 1/β."""
        self.nearest_cosine, self.noise = self._noise()

    @property
    def origins(self) -> tuple[str, ...]:
        """The sets that documents are from."""
        return tuple(self._of_origin)

    def block(self, number: int) -> Block:
        """Return a block, the same each time."""
        random = np.random.default_rng((SEED, number))
        names = self.origins
        shares = np.asarray([len(self._of_origin[name]) for name in names], dtype=float)
        origins = [names[place] for place in random.choice(len(names), BLOCK // DOCUMENT, p=shares / shares.sum())]
        places = np.concatenate([random.choice(self._of_origin[origin], DOCUMENT) for origin in origins])
        noise = random.standard_normal((BLOCK, self.real.dimension), dtype=np.float32) @ self._shape
        vectors = self.real.vectors[places] + np.float32(self.noise) * noise
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        draws = _Draws(_numbers(random.random), _numbers(lambda count: random.pareto(1 / self.heaps - 1, count)))
        chunks = [self._chunk(self._pools[self.real.passages[place].language], draws) for place in places]
        codes = [self.real.codes.of(int(place)).tobytes() for place in places]
        return Block(number, chunks, origins, vectors.astype(np.float16), codes)

    def _chunk(self, pool: _Pool, draws: _Draws) -> GrownChunk:
        wanted = pool.lengths[int(next(draws.uniform) * len(pool.lengths))]
        stems: Counter[str] = Counter()
        texts: list[str] = []
        words = length = 0
        language = pool.language if pool.language in ANALYSED else ""
        while words < wanted:
            sentence = pool.sentences[int(next(draws.uniform) * len(pool.sentences))]
            parts = list(sentence.parts)
            for place in range(1, len(parts), 2):
                # Flat over the words that were seen once or twice, then the power law that Heaps' exponent asks for.
                rank = int(next(draws.tail) * len(pool.rare))
                parts[place] = pool.rare[rank] if rank < len(pool.rare) else _word(rank)
                found, read = _read(parts[place], language)
                stems.update(found)
                length += read
            stems.update(sentence.stems)
            texts.append("".join(parts))
            words += sentence.words
            length += sentence.length
        return GrownChunk("\n".join(texts), language, Analysis(language, stems, length))

    @cached_property
    def _shape(self) -> FloatArray:
        """A square root of the real vectors' covariance."""
        values, axes = np.linalg.eigh(np.cov(self.real.vectors.T.astype(np.float64)))
        root: FloatArray = (axes * np.sqrt(np.clip(values, 0, None))).T.astype(np.float32)
        return root

    def _noise(self) -> tuple[float, float]:
        """Return the median cosine of real passages to their nearest, and the σ that puts a copy so far off."""
        some = self.real.vectors[:NOISE_SAMPLE]
        cosines = some @ self.real.vectors.T
        # The passage itself, and doubles in the data, are no neighbours.
        cosines[cosines > 0.999] = -1
        wanted = float(np.median(cosines.max(axis=1)))
        noise = np.random.default_rng(SEED).standard_normal(some.shape, dtype=np.float32) @ self._shape
        low, high = 0.0, 4.0
        for _ in range(20):
            middle = (low + high) / 2
            copies = some + np.float32(middle) * noise
            found = np.median((copies * some).sum(axis=1) / np.linalg.norm(copies, axis=1))
            low, high = (middle, high) if found > wanted else (low, middle)
        return wanted, low


def identifier(kind: str, number: int) -> str:
    """Return the id of a grown chunk or document: spread as the product's UUIDv5 are, the same each time."""
    return str(uuid.UUID(bytes=hashlib.blake2b(f"{kind}{number}".encode(), digest_size=16).digest()))


def heaps_exponent(texts: Sequence[str]) -> float:
    """Return β of V = K·n^β, fitted on how the stems of the texts grow from a tenth of them to all."""
    seen: set[str] = set()
    words = 0
    lengths: list[float] = []
    sizes: list[float] = []
    for place, text in enumerate(texts):
        analysis = analyse_passage(text, language="fr")
        seen.update(analysis.frequencies)
        words += analysis.length
        if place >= len(texts) // 10:
            lengths.append(math.log(words))
            sizes.append(math.log(len(seen)))
    return float(np.polyfit(lengths, sizes, 1)[0])


def _pool(language: str, texts: Sequence[str]) -> _Pool:
    counts = Counter(word for text in texts for word in _SLOT.findall(text))
    rare = frozenset(word for word, count in counts.items() if count <= RARE_MAX)
    sentences = [line.strip() for text in texts for line in _SENTENCE_END.split(text)]
    analysed = language if language in ANALYSED else ""
    return _Pool(
        language, tuple(_sentence(line, rare, analysed) for line in sentences if len(line) > 20),
        tuple(sorted(rare)), tuple(len(text.split()) for text in texts),
    )


def _sentence(line: str, rare: frozenset[str], language: str) -> _Sentence:
    parts = [""]
    for place, part in enumerate(_SLOT.split(line)):
        if place % 2 and part in rare:
            parts += [part, ""]
        else:
            parts[-1] += part
    # Its own language tells how it is read, so that parts of it are read as they are within the whole.
    stems, length = _read(f" {FILLER} ".join(parts[::2]), language)
    return _Sentence(tuple(parts), stems, length, len(line.split()))


@lru_cache(maxsize=50_000)
def _read(text: str, language: str) -> tuple[tuple[str, ...], int]:
    """Return the stems of a text and how many words had any; all languages' where its own is not among the analysed."""
    found = [passage_stems(word, language) for word in split_words(text)]
    return tuple(stem for stems in found for stem in stems), sum(map(bool, found))


def _numbers(draw: Callable[[int], npt.NDArray[np.float64]]) -> Iterator[float]:
    """Give numbers one by one, drawn many at once."""
    while True:
        yield from draw(4 * BLOCK).tolist()


def _word(rank: int) -> str:
    """Return the word of a rank, unlike any other's."""
    syllables = []
    while rank:
        rank, place = divmod(rank, len(SYLLABLES))
        syllables.append(SYLLABLES[place])
    return "".join(syllables).ljust(5, "x")
