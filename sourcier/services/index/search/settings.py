"""How passages are searched for, as one place says it: a request, a collection or the service.

Each place may leave anything open; `first_said` puts them in order, so that the nearest to the question wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

from sourcier.services.chassis.errors import InvalidArgument

MODES = ("dense", "lexical", "fused", "reranked")
_WAY_OUT = "leave it out for the service's own"
_RANGES: Mapping[str, tuple[float, float]] = {
    "limit": (1, 100), "passages": (1, 20), "candidates": (1, 100), "result_threshold": (-1, 1), "neighbours": (0, 5),
    "neighbour_tokens": (1, 8_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """What one place says; None leaves it to the next."""

    limit: int | None = None
    """Most passages that a search returns."""
    passages: int | None = None
    """Passages given to the language model."""
    candidates: int | None = None
    """Passages found before re-ranking."""
    mode: str | None = None
    """One of `MODES`."""
    rerank: bool | None = None
    """True is the mode `reranked`, False turns that into `fused`."""
    result_threshold: float | None = None
    """Passages of a lower cosine similarity are left out."""
    exact: bool | None = None
    """Never use an approximate index."""
    suppress_duplicates: bool | None = None
    """Whether passages that say the same count once."""
    neighbours: int | None = None
    """Chunks before and after each passage that come with it."""
    neighbour_tokens: int | None = None
    """Most tokens of all neighbours together."""
    detect_categories: bool | None = None
    """Whether categories that a question names narrow the search."""

    @classmethod
    def stored(cls, values: Mapping[str, Any]) -> Self:
        """Read what was stored, by name; a name that only a newer version knows says nothing to this one."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    @property
    def said(self) -> dict[str, Any]:
        """What is set, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def ranking(self) -> str | None:
        """The mode that `mode` and `rerank` come to; None where neither is set."""
        if self.mode is not None:
            return self.mode
        return None if self.rerank is None else "reranked" if self.rerank else "fused"

    def checked(self, *, prefix: str = "") -> Self:
        """Return the settings; raise `InvalidArgument` that names the field, its value and the way out."""
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise _invalid(name, f"{value:g}", f"use {low:g} to {high:,g}", prefix)
        if self.mode is not None and self.mode not in MODES:
            raise _invalid("mode", repr(self.mode[:40]), f"use one of {', '.join(MODES)}", prefix)
        if self.mode is not None and self.rerank is not None and self.rerank != (self.mode == "reranked"):
            raise _invalid("rerank", str(self.rerank).lower(),
                           f"the mode {self.mode} says otherwise; give one of the two", prefix)
        least = max(self.limit or 0, self.passages or 0)
        if self.candidates is not None and self.candidates < least:
            raise _invalid("candidates", str(self.candidates), f"use at least as many as are returned, {least}", prefix)
        return self

    def changed(self, changes: RetrievalSettings, *, reset: Sequence[str] = ()) -> RetrievalSettings:
        """Return the settings with what is said anew, and without what is left open again."""
        said = changes.said
        for name in reset:
            _check_name(name)
            if name in said:
                raise _invalid(name, str(said[name]), "it is to be reset, too; do one of the two", "retrieval.")
        # One word on the ranking takes the place of the other.
        ranking = {"mode": None, "rerank": None} if changes.ranking is not None else {}
        return replace(self, **(dict.fromkeys(reset) | ranking | said))


NOTHING_SAID = RetrievalSettings()


def first_said(*places: RetrievalSettings) -> RetrievalSettings:
    """Return what the first place says of each setting; `mode` holds the ranking, and `rerank` is left open."""
    values: dict[str, Any] = {}
    for place in places:
        said = place.said | ({"mode": place.ranking} if place.ranking is not None else {})
        values = said | values
    values.pop("rerank", None)
    return RetrievalSettings(**values)


def _check_name(name: str) -> None:
    known = [field.name for field in fields(RetrievalSettings)]
    if name not in known:
        raise InvalidArgument(f"There is no retrieval setting {name[:40]!r}; there are {', '.join(known)}.",
                              field="retrieval")


def _invalid(name: str, value: str, way_out: str, prefix: str) -> InvalidArgument:
    return InvalidArgument(f"{prefix}{name} cannot be {value}: {way_out}, or {_WAY_OUT}.", field=f"{prefix}{name}")
