"""Texts that make a pattern work: what it may begin with, then the same again and again, then what it cannot match.

They are made of the pattern itself. The alphabet is one character of each kind that it tells apart; what repeats is
each of them, each pair, what a repeat of the pattern repeats, and the pattern's own beginnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

_USUAL = " \n\ta1A_.-,:;'\"[](){}<>*/\\|`«»!?=&#%$@+~^é\u00a0\u2019\u2028\x00漢"
_CHARACTERS = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN)
_LOOKS = (_constants.ASSERT, _constants.ASSERT_NOT)
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_LETTERS_MAX, _PAIRED_MAX = 16, 10
"""Characters that are tried, and whose pairs are: patterns that tell more apart are lists of words."""
_OPTIONS_MAX = 4
_SAMPLES_MAX = 12
_ENDLESS = 500
"""A repeat of so many turns and more has no end as far as a test can tell."""
FAILING = "\x00"
"""What most often ends a text: no pattern of ours wants it."""
_AFTER = (FAILING, "\n" + FAILING, "", "a", "漢")
_BEFORE = ("", "a", "漢")


@dataclass(frozen=True)
class Attack:
    """A text of any length."""

    before: str
    repeated: str
    after: str

    def text(self, times: int) -> str:
        """Return the text with so many repetitions."""
        return self.before + self.repeated * times + self.after

    def __str__(self) -> str:
        return f"{self.before!r} + {self.repeated!r} * n + {self.after!r}"


def attacks(pattern: re.Pattern[Any]) -> Iterator[Attack]:
    """Give the texts to try a pattern with, each once; none for one without a repeat without end.

    Such a pattern looks at so many characters from each place and no further, whatever stands there. For the same
    reason nothing is repeated here but what a repeat without end may run over.
    """
    structure = _Structure(pattern)
    if not structure.is_endless:
        return
    letters, beginnings, bodies = structure.alphabet(), structure.beginnings(), structure.bodies()
    words = [word for word in (*bodies, *beginnings) if len(word) > 1 and all(map(structure.may_run_over, word))]
    pairs = [one + other for one in letters[:_PAIRED_MAX] for other in letters[:_PAIRED_MAX] if one != other]
    found = dict.fromkeys(
        Attack(before, letter, after) for letter in letters for before in _BEFORE for after in _AFTER
    )
    found |= dict.fromkeys(Attack("", word, after) for word in (*words, *pairs) for after in _AFTER[:2])
    found |= dict.fromkeys(
        Attack(before, repeated, FAILING) for before in beginnings for repeated in (*letters, *words)
        if not repeated.startswith(before)
    )
    yield from found


def largest_bound(pattern: re.Pattern[Any]) -> int:
    """Return the largest number of turns that a repeat with an end may take: growth shows beyond it."""
    return max(_bounds(_Structure(pattern).nodes), default=1)


class _Structure:
    def __init__(self, pattern: re.Pattern[Any]) -> None:
        source, self._flags = pattern.pattern, pattern.flags
        if isinstance(source, bytes):
            source, self._flags = source.decode("latin-1"), self._flags | re.ASCII
        self._parsed = _parser.parse(source, self._flags)
        self._flags |= self._parsed.state.flags
        self.nodes = list(self._parsed)
        self._tests: dict[str, Any] = {}
        self._ones: dict[str, str] = {}
        self._endless = [self._test(node) for body in _bodies(self.nodes) for node in _characters(body)]
        self.is_endless = bool(self._endless)

    def may_run_over(self, character: str) -> bool:
        """Return whether a repeat without end takes a character."""
        return any(test(character) for test in self._endless)

    def alphabet(self) -> list[str]:
        """Return one character of each kind that the pattern tells apart, those it names first."""
        nodes = {str(node): node for node in _characters(self.nodes)}.values()
        tests = [self._test(node) for node in nodes]
        tests += [re.compile(each).match for each in (r"\w", r"\s", r"\n")]
        named = dict.fromkeys(character for node in nodes for character in _named(node))
        kinds: dict[tuple[bool, ...], str] = {}
        for character in (*named, *_USUAL):
            kinds.setdefault(tuple(test(character) is not None for test in tests), character)
        # What is no letter is what patterns turn on, and its pairs come first.
        return sorted(filter(self.may_run_over, kinds.values()), key=str.isalnum)[:_LETTERS_MAX]

    def beginnings(self) -> list[str]:
        """Return what may stand before each repeat without end, and all of the pattern."""
        found = dict.fromkeys((*_before_repeats(self.nodes, [""], self._samples), *self._samples(self.nodes)))
        return [before for before in found if before][:_SAMPLES_MAX]

    def bodies(self) -> list[str]:
        """Return what the repeats without end repeat."""
        found: dict[str, None] = {}
        for body in _bodies(self.nodes):
            found |= dict.fromkeys(each for each in self._samples(body) if each)
        return list(found)[:_SAMPLES_MAX]

    def _test(self, node: tuple[Any, Any]) -> Any:
        """Return whether a node takes a character, asking `re`."""
        key = str(node)
        if key not in self._tests:
            self._tests[key] = _compiler.compile(_parser.SubPattern(self._parsed.state, [node]), self._flags).match
        return self._tests[key]

    def _one(self, node: tuple[Any, Any]) -> str:
        """Return a character that a node takes."""
        key = str(node)
        if key not in self._ones:
            test = self._test(node)
            self._ones[key] = next((each for each in (*_named(node), *"a1 ", *_USUAL) if test(each)), "")
        return self._ones[key]

    def _samples(self, nodes: Sequence[tuple[Any, Any]]) -> list[str]:
        """Return short texts that nodes match, apart from what lookarounds want, each once."""
        return list(dict.fromkeys(
            self._sample(nodes, turns=turns, option=option) for option in range(_OPTIONS_MAX) for turns in (0, 1)
        ))

    def _sample(self, nodes: Sequence[tuple[Any, Any]], *, turns: int, option: int) -> str:
        """Return a text with the same option of each branch, and so many turns of each repeat or the fewest it takes.
        """
        text = ""
        for kind, argument in nodes:
            if kind in _CHARACTERS:
                text += self._one((kind, argument))
            elif kind in _REPEATS:
                least, most, body = argument
                text += self._sample(list(body), turns=turns, option=option) * min(max(least, turns), int(most))
            elif inner := _inner((kind, argument)) if kind not in _LOOKS else []:
                text += self._sample(inner[option % len(inner)], turns=turns, option=option)
        return text


def _inner(node: tuple[Any, Any]) -> list[list[tuple[Any, Any]]]:
    """Return the sequences within a node."""
    kind, argument = node
    if kind in _REPEATS:
        return [list(argument[2])]
    if kind is _constants.BRANCH:
        return [list(option) for option in argument[1]]
    if kind is _constants.GROUPREF_EXISTS:
        return [list(option) for option in argument[1:] if option is not None]
    if kind is _constants.SUBPATTERN:
        return [list(argument[3])]
    if kind is _constants.ATOMIC_GROUP:
        return [list(argument)]
    return [list(argument[1])] if kind in _LOOKS else []


def _characters(nodes: Any) -> Iterator[tuple[Any, Any]]:
    for node in nodes:
        if node[0] in _CHARACTERS:
            yield node
        for inner in _inner(node):
            yield from _characters(inner)


def _named(node: tuple[Any, Any]) -> list[str]:
    """Return the characters that a node names: itself, or the ends of ranges."""
    kind, argument = node
    if kind in (_constants.LITERAL, _constants.NOT_LITERAL):
        return [chr(argument)]
    points: list[int] = []
    for each, value in argument if kind is _constants.IN else ():
        if each is _constants.LITERAL:
            points.append(value)
        elif each is _constants.RANGE:
            points += value
    return [chr(point) for point in points]


def _bodies(nodes: Sequence[tuple[Any, Any]]) -> Iterator[list[tuple[Any, Any]]]:
    for node in nodes:
        if _is_endless(node):
            yield list(node[1][2])
        for inner in _inner(node):
            yield from _bodies(inner)


def _is_endless(node: tuple[Any, Any]) -> bool:
    return node[0] in _REPEATS and node[1][1] >= _ENDLESS


def _before_repeats(nodes: Sequence[tuple[Any, Any]], before: Sequence[str], sample: Any) -> Iterator[str]:
    """Give what may stand before each repeat without end of a sequence that `before` precedes."""
    for place, node in enumerate(nodes):
        texts = [text + each for text in before for each in sample(nodes[:place])][:3]
        if _is_endless(node):
            yield from texts
        for inner in _inner(node):
            yield from _before_repeats(inner, texts, sample)


def _bounds(nodes: Any) -> Iterator[int]:
    for node in nodes:
        if node[0] in _REPEATS:
            yield int(node[1][0 if _is_endless(node) else 1])
        for inner in _inner(node):
            yield from _bounds(inner)
