"""How a collection wants its documents cut."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Self

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.index.collections.chunking_digest import chunking_digest

HYBRID, PAGE, LINES = "hybrid", "page", "lines"
TOKENS, CHARACTERS = "tokens", "characters"
PAGE_WINDOW_CHARACTERS = 60
"""How far from its target the page method looks for strong punctuation."""
_DEFAULTS = {
    # Sections of up to 384 tokens stay whole, which leaves E5's 512 room for the title and the headings.
    (HYBRID, TOKENS): (256, 32, 384),
    (HYBRID, CHARACTERS): (1500, 200, 2000),
    (PAGE, CHARACTERS): (1000, 200, 1000 + PAGE_WINDOW_CHARACTERS),
    (LINES, CHARACTERS): (512, 50, 512),
}
_UNITS = {HYBRID: (TOKENS, CHARACTERS), PAGE: (CHARACTERS,), LINES: (CHARACTERS,)}
_TARGET_MIN = {TOKENS: 16, CHARACTERS: 64}
_TARGET_MAX = 100_000


@dataclass(frozen=True, slots=True)
class ChunkingConfiguration:
    """A method and its lengths, all counted in `unit`."""

    method: str = HYBRID
    unit: str = TOKENS
    target: int = 256
    overlap: int = 32
    maximum: int = 384

    @classmethod
    def of(
        cls, *, method: str = "", unit: str = "", target: int = 0, overlap: int | None = None, maximum: int = 0
    ) -> Self:
        """Fill what is empty or 0 with the method's defaults; an overlap of 0 is meant, None is not said."""
        method = method or HYBRID
        if method not in _UNITS:
            raise _invalid("method", method, f"use one of {', '.join(_UNITS)}")
        unit = unit or _UNITS[method][0]
        if (method, unit) not in _DEFAULTS:
            raise _invalid("unit", unit, f"the method “{method}” counts in {' or '.join(_UNITS[method])}")
        default_target, default_overlap, default_maximum = _DEFAULTS[method, unit]
        if target and not maximum:
            slack = PAGE_WINDOW_CHARACTERS if method == PAGE else target * (default_maximum - default_target)
            maximum = target + (slack if method == PAGE else slack // default_target)
        if overlap is None:
            overlap = min(default_overlap, target // 5) if target else default_overlap
        return cls(method, unit, target or default_target, overlap, maximum or default_maximum)

    def validate(self, token_limit: int) -> None:
        """Raise InvalidArgument unless the lengths make sense and fit `token_limit`, the tokens a passage may have."""
        if self.method not in _UNITS:
            raise _invalid("method", self.method, f"use one of {', '.join(_UNITS)}")
        if self.unit not in _UNITS[self.method]:
            raise _invalid(
                "unit", self.unit, f"the method “{self.method}” counts in {' or '.join(_UNITS[self.method])}"
            )
        if not _TARGET_MIN[self.unit] <= self.target <= _TARGET_MAX:
            raise _invalid("target", self.target, f"use {_TARGET_MIN[self.unit]} to {_TARGET_MAX:,} {self.unit}")
        if self.maximum < self.target:
            raise _invalid("maximum", self.maximum, f"use at least the target, {self.target}")
        if not 0 <= self.overlap <= self.target // 2:
            raise _invalid("overlap", self.overlap, f"use 0 to half the target, {self.target // 2}")
        self._validate_method()
        if self.unit == TOKENS and self.maximum > token_limit:
            raise _invalid(
                "maximum",
                self.maximum,
                f"the embedding model reads {token_limit} tokens of a passage, prefix and special tokens taken off; "
                f"use at most {token_limit}, or a model that reads more. Nothing is truncated silently",
            )

    def digest(self) -> str:
        """Return 32 hex digits that differ for every configuration that could cut differently."""
        return chunking_digest(**asdict(self))

    def _validate_method(self) -> None:
        if self.method == PAGE and self.target < 4 * PAGE_WINDOW_CHARACTERS:
            least = 4 * PAGE_WINDOW_CHARACTERS
            raise _invalid(
                "target", self.target, f"pages are cut within ±{PAGE_WINDOW_CHARACTERS}; use {least} or more"
            )
        if self.method == PAGE and self.maximum < self.target + PAGE_WINDOW_CHARACTERS:
            least = self.target + PAGE_WINDOW_CHARACTERS
            raise _invalid("maximum", self.maximum, f"pages are cut up to {least} characters; use that or more")


def _invalid(name: str, value: object, way_out: str) -> InvalidArgument:
    return InvalidArgument(f"chunking.{name} cannot be {value}: {way_out}.", field=f"chunking.{name}")
