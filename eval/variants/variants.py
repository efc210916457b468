"""The variants of retrieval that are compared: each changes some settings of today's default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from eval.retrieval.encoding import WHOLE, Variant
from eval.retrieval.offline import Fusion, Reranking
from sourcier.services.gateway.retrieval.asked_times import EARLIER_SHARE, LATEST_WEIGHT, TIME_WEIGHT, Weights
from sourcier.services.gateway.retrieval.ranking_order import LEXICAL_POWER, LEXICAL_WEIGHT, TITLE_WEIGHT
from sourcier.services.gateway.retrieval.retriever import CANDIDATE_HEADS
from sourcier.services.index.search.fusion import RANK_CONSTANT
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration

DENSE, FULL_TEXT, FUSED, RERANKED = "dense", "full text", "fused", "re-ranked"
MODES = (DENSE, FULL_TEXT, FUSED, RERANKED)
DEFAULT = RERANKED
"""What today's default is called: its re-ranked mode."""


class VariantInvalid(Exception):
    """A variant that was asked for is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that a variant may change; the defaults are those of the services."""

    mode: str = field(default=RERANKED, metadata={"one of": MODES})
    candidates: int = 20
    heads: int = CANDIDATE_HEADS
    """First places of each list that are re-ranked in any case."""
    constant: float = float(RANK_CONSTANT)
    """Of reciprocal rank fusion."""
    dense_weight: float = 1.0
    words_weight: float = 1.0
    share: float = LEXICAL_WEIGHT
    """What the best full-text score adds to late interaction."""
    power: float = LEXICAL_POWER
    title_share: float = TITLE_WEIGHT
    """What a title that the question names adds to late interaction."""
    time_share: float = TIME_WEIGHT
    """What a document of the time that is asked for gains."""
    latest_share: float = LATEST_WEIGHT
    """What the latest of the papers that are named gains."""
    earlier_share: float = EARLIER_SHARE
    """Of it for the paper before."""
    fused_share: float = 0.0
    """What the best of the fusion adds to late interaction, and the others as a share of it."""
    dense_share: float = 0.0
    """What a cosine of 1 adds to late interaction; a passage that dense search did not find has the least of those."""
    identifiers: bool = True
    acronyms: bool = True
    slips: bool = True
    duplicates: bool = False
    """Whether passages that say what a better one says are shown, too."""
    title_embedded: bool = True
    title_times: int = 1
    """How often words of title and headings count for full text; 0 for not at all."""
    tokens: int = WHOLE.target
    """Of a chunk, at most."""

    @property
    def encoding(self) -> Variant:
        """Return how passages are cut and read."""
        chunking = WHOLE if self.tokens == WHOLE.target else ChunkingConfiguration.of(
            method=WHOLE.method, unit=WHOLE.unit, target=self.tokens, maximum=self.tokens, overlap=0
        )
        return Variant(
            chunking, title_embedded=self.title_embedded, title_words=self.title_times > 0,
            title_times=max(self.title_times, 1),
        )

    @property
    def fusion(self) -> Fusion:
        """Return how the lists become one: only what is re-ranked has heads."""
        return Fusion(
            constant=self.constant, dense_weight=self.dense_weight, lexical_weight=self.words_weight,
            heads=self.heads if self.mode == RERANKED else 0,
        )

    @property
    def reranking(self) -> Reranking:
        """Return how candidates are put in order."""
        return Reranking(candidates=self.candidates, lexical_weight=self.share, lexical_power=self.power)

    @property
    def times(self) -> Weights:
        """Return what time is worth."""
        return Weights(self.time_share, self.latest_share, self.earlier_share)


def modes() -> dict[str, Settings]:
    """Return the four modes of today's default by name."""
    return {mode: Settings(mode=mode) for mode in MODES}


NAMED: Mapping[str, Settings] = {
    "50 candidates": Settings(candidates=50),
    "without full text's share": Settings(share=0.0),
    "twice full text's share": Settings(share=2 * LEXICAL_WEIGHT),
    "without the title's share": Settings(title_share=0.0),
    "half the title's share": Settings(title_share=TITLE_WEIGHT / 2),
    "twice the title's share": Settings(title_share=2 * TITLE_WEIGHT),
    "without time": Settings(time_share=0.0, latest_share=0.0),
    "without identifiers": Settings(identifiers=False),
    "without acronyms": Settings(acronyms=False),
    "without slips": Settings(slips=False),
    "with duplicates": Settings(duplicates=True),
    "titles not embedded": Settings(title_embedded=False),
    "titles count twice": Settings(title_times=2),
    "titles count three times": Settings(title_times=3),
    "cosine's share": Settings(dense_share=1.0),
    "fusion's share": Settings(fused_share=0.05),
    "chunks of 128 tokens": Settings(tokens=128),
}
"""Variants that anyone can ask for by name."""


def parse(written: str) -> tuple[str, Settings]:
    """Read a variant: the name of one of `NAMED`, or `NAME=field:value,field:value`; raise `VariantInvalid`."""
    name, given, changes = written.partition("=")
    if not given:
        if name not in NAMED:
            raise VariantInvalid(f"no variant is called {name!r}; there are {', '.join(NAMED)}, and NAME=field:value,…")
        return name, NAMED[name]
    if not name or name in MODES:
        raise VariantInvalid(f"{written!r} needs a name of its own before the equals sign, none of {', '.join(MODES)}")
    return name, replace(Settings(), **dict(_changes(changes)))


def _changes(written: str) -> Iterator[tuple[str, Any]]:
    known = {each.name: each for each in fields(Settings)}
    for part in written.split(","):
        name, _, value = part.strip().partition(":")
        if name not in known:
            raise VariantInvalid(f"{part!r} changes no setting of retrieval; there are {', '.join(known)}")
        yield name, _read(known[name].default, name, value, one_of=known[name].metadata.get("one of", ()))


def _read(default: object, name: str, value: str, *, one_of: tuple[str, ...]) -> object:
    if one_of and value not in one_of:
        raise VariantInvalid(f"{name} is one of {', '.join(one_of)}, not {value!r}")
    if one_of:
        return value
    if isinstance(default, bool):
        if value not in ("true", "false"):
            raise VariantInvalid(f"{name} is true or false, not {value!r}")
        return value == "true"
    try:
        return int(value) if isinstance(default, int) else float(value)
    except ValueError:
        raise VariantInvalid(f"{name} is a number such as {default}, not {value!r}") from None
