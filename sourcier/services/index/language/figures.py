"""The figures and codes of a text: what a passage must hold to be the source of a sentence that has them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sourcier.services.index.language.numerals import written_numbers
from sourcier.services.index.language.stop_words import fold

_SPACES = "\u00a0\u2009\u202f "
_FIGURE = re.compile(rf"(?:\d{{1,3}}(?:[.,{_SPACES}]\d{{3}})+(?!\d)|\d+)(?:[.,]\d+)?")
_DATE = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b|\b(\d{1,2})[/.](\d{1,2})[/.](\d{4}|\d{2})\b")
_HOUR = re.compile(r"\b(\d{1,2})\s?(?:h|H|:)\s?(\d{2})\b")
# Letters with a digit behind them, in themselves or in what they are joined to. The digit is looked for once a run.
_RUN_TO_DIGIT = re.compile(r"(?<![\w./-])([\w./-]*\d)[\w./-]*+")
_CODE = re.compile(r"\b[^\W\d_]\w*+(?:[-./]\w++)*+")
_PAGE = re.compile(r"\bpages?\s+\d{1,4}\b|\b[Ss]ource\s+\d{1,2}\b", re.IGNORECASE)
_SCALE = re.compile(r"(?<!\s)\s*+\b(mill(?:ion|iard)|billion)s?\b", re.IGNORECASE)
_SCALES = {"million": 10**6, "milliard": 10**9, "billion": 10**9}
_MONTHS = {
    name: number for names in (
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        "january february march april may june july august september october november december",
    ) for number, name in enumerate(names.split(), start=1)
}
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b")


@dataclass(frozen=True)
class Figures:
    """What a text has of numbers, each in one form: `1 200,50`, `1.200,50` and `1200.5` are the same."""

    numbers: frozenset[str]
    codes: frozenset[str]
    """Letters with digits, as `P2` or `EN-374`, folded and without what separates them."""

    @property
    def any(self) -> bool:
        """Whether there is one at all."""
        return bool(self.numbers or self.codes)


def stated(sentence: str) -> Figures:
    """Return the figures that a sentence states, and that its source has to hold; where it stands is none of them."""
    codes, rest = _codes(_PAGE.sub(" ", sentence))
    numbers = _numbers(rest) | {str(number) for number in written_numbers(rest, sure=True)}
    return Figures(frozenset(numbers), frozenset(codes))


def held(text: str) -> Figures:
    """Return the figures that a text holds, in whatever form: digits, words, the number of a month, parts of codes."""
    codes, _ = _codes(text)
    numbers = _numbers(text) | {str(number) for number in written_numbers(text, sure=False)}
    numbers |= {str(_MONTHS[match.group()]) for match in _MONTH.finditer(fold(text.casefold()))}
    return Figures(frozenset(numbers), frozenset(codes))


def absent(sentence: Figures, passage: Figures, *, text: str) -> tuple[str, ...]:
    """Return what a sentence states and a passage of this text lacks, sorted; empty when it holds all."""
    lacking = {number for number in sentence.numbers if not _holds(number, passage)}
    for code in sentence.codes - passage.codes:
        spelled = r"[\W_]*".join(re.findall(r"[^\W\d_]+|\d+", code))
        if not re.search(rf"(?<!\w){spelled}(?!\w)", fold(text.casefold())):
            lacking.add(code)
    return tuple(sorted(lacking))


def in_digits(text: str) -> tuple[str, ...]:
    """Return the numbers that a text writes in digits, each in one form, in their order."""
    return tuple(_normal(match.group()) for match in _FIGURE.finditer(text))


def _holds(number: str, passage: Figures) -> bool:
    mantissa, _, scale = number.partition("×")
    if not scale:
        return number in passage.numbers
    # `14,2 milliards` may stand as `14 200 000 000`, or once for several: `3,7 milliards …, 2 aux biens durables`.
    whole = _times(mantissa, _SCALES[scale])
    return number in passage.numbers or whole in passage.numbers or (
        mantissa in passage.numbers and any(each.endswith(f"×{scale}") for each in passage.numbers)
    )


def _codes(text: str) -> tuple[set[str], str]:
    codes: set[str] = set()

    def take_run(run: re.Match[str]) -> str:
        last_digit = len(run.group(1)) - 1

        def take(match: re.Match[str]) -> str:
            if match.start() > last_digit:
                return match.group()
            codes.add(re.sub(r"[\W_]", "", fold(match.group().casefold())))
            return " "

        return _CODE.sub(take, run.group())

    return codes, _RUN_TO_DIGIT.sub(take_run, text)


def _numbers(text: str) -> set[str]:
    found: set[str] = set()

    def take(match: re.Match[str]) -> str:
        found.update(part.lstrip("0") or "0" for part in match.groups() if part)
        return " "

    def take_hour(match: re.Match[str]) -> str:
        hour, minute = match.groups()
        found.add(hour.lstrip("0") or "0")
        if int(minute):
            found.add(minute.lstrip("0"))
        return " "

    rest = _HOUR.sub(take_hour, _DATE.sub(take, text))
    for match in _FIGURE.finditer(rest):
        number = _normal(match.group())
        scale = _SCALE.match(rest, match.end())
        found.add(f"{number}×{scale.group(1).lower()}" if scale else number)
    return found


def _normal(figure: str) -> str:
    compact = re.sub(f"[{_SPACES}]", "", figure)
    whole, separator, decimals = compact.rpartition(",") if "," in compact else compact.rpartition(".")
    if not separator:
        return compact.lstrip("0") or "0"
    if len(decimals) == 3:
        whole, decimals = whole + decimals, ""
    whole = re.sub(r"[.,]", "", whole).lstrip("0") or "0"
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def _times(mantissa: str, scale: int) -> str:
    whole, _, decimals = mantissa.partition(".")
    return str(int(whole + decimals) * scale // 10 ** len(decimals))
