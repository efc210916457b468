"""Counts the steps that a regular expression takes over a text, as a backtracking engine takes them.

`re` tells nobody how often it compared a character, and a clock tells that of the machine rather than of the pattern.
So the parsed pattern is run here once more, with the semantics of `re` (greedy, lazy and possessive repeats, atomic
groups, lookarounds, back references, conditionals), in continuation-passing style: every entry into a node, and every
character that a repeat runs over, is a step. `re` does the same or less, since it also skips starts at which no match
can begin.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any

Continuation = Callable[[int], int | None]
Matcher = Callable[[int, Continuation], int | None]

_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
_CHARACTERS = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN)


def _followed(later: Matcher, first: Matcher) -> Matcher:
    return lambda start, then: first(start, lambda end: later(end, then))


class TooManySteps(Exception):
    """The limit was reached."""


class SteppedPattern:
    """A pattern that counts its steps; `match`, `fullmatch` and `spans` give what `re` gives."""

    def __init__(self, pattern: re.Pattern[Any], *, steps_max: int) -> None:
        source = pattern.pattern
        flags = pattern.flags
        if isinstance(source, bytes):
            # Bytes are read as the characters of Latin-1; classes as `\\w` are ASCII's there.
            source, flags = source.decode("latin-1"), flags | re.ASCII
        self._parsed = _parser.parse(source, flags)
        self._flags = flags | self._parsed.state.flags
        self._steps_max = steps_max
        self.steps = 0
        self._text = ""
        self._groups: dict[int, tuple[int, int]] = {}
        self._made: dict[str, re.Pattern[str]] = {}
        self._matcher = self._sequence(list(self._parsed), self._flags)

    def match(self, text: str, start: int = 0) -> int | None:
        """Return the end of the match that begins at `start`."""
        self._text, self._groups = text, {}
        return self._matcher(start, lambda end: end)

    def fullmatch(self, text: str) -> int | None:
        """Return the end of the text where all of it matches."""
        self._text, self._groups = text, {}
        return self._matcher(0, lambda end: end if end == len(text) else None)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return all matches, as `finditer` does."""
        found: list[tuple[int, int]] = []
        start, filled_from = 0, 0
        while start <= len(text):
            self._text, self._groups = text, {}
            # An empty match may not stand where one was found already.
            end = self._matcher(
                start, lambda end, start=start, before=filled_from: None if end == start < before else end
            )
            if end is None:
                start += 1
                continue
            found.append((start, end))
            if end == start:
                filled_from = start + 1
            else:
                start = filled_from = end
        return found

    def _step(self, count: int = 1) -> None:
        self.steps += count
        if self.steps > self._steps_max:
            raise TooManySteps(f"more than {self._steps_max:,} steps")

    def _sequence(self, nodes: Sequence[tuple[Any, Any]], flags: int) -> Matcher:
        matchers = [self._node(node, flags) for node in nodes]
        return reduce(_followed, reversed(matchers)) if matchers else lambda start, then: then(start)

    def _node(self, node: tuple[Any, Any], flags: int) -> Matcher:
        kind, argument = node
        if kind in _CHARACTERS:
            return self._character(node, flags)
        if kind in _REPEATS:
            return self._repeat(kind, *argument, flags=flags)
        if kind is _constants.BRANCH:
            return self._branch([self._sequence(list(option), flags) for option in argument[1]])
        if kind is _constants.SUBPATTERN:
            group, added, removed, body = argument
            return self._group(group, self._sequence(list(body), flags & ~removed | added))
        if kind is _constants.ATOMIC_GROUP:
            return self._atomic(self._sequence(list(argument), flags))
        if kind in (_constants.ASSERT, _constants.ASSERT_NOT):
            return self._look(*argument, wanted=kind is _constants.ASSERT, flags=flags)
        if kind is _constants.GROUPREF:
            return self._reference(argument)
        if kind is _constants.GROUPREF_EXISTS:
            group, present, absent = argument
            return self._conditional(group, self._sequence(list(present), flags),
                                     self._sequence(list(absent or ()), flags))
        if kind is _constants.AT:
            return self._place(node, flags)
        raise NotImplementedError(f"{kind} is not counted yet")

    def _compiled(self, nodes: Sequence[tuple[Any, Any]], flags: int) -> re.Pattern[str]:
        """Return nodes as a pattern of `re`: what one character is, and what a place, is not told twice."""
        key = f"{nodes} {flags}"
        if key not in self._made:
            self._made[key] = _compiler.compile(_parser.SubPattern(self._parsed.state, list(nodes)), flags)
        return self._made[key]

    def _character(self, node: tuple[Any, Any], flags: int) -> Matcher:
        one = self._compiled([node], flags).match

        def matcher(start: int, then: Continuation) -> int | None:
            self._step()
            return then(start + 1) if one(self._text, start) else None

        return matcher

    def _place(self, node: tuple[Any, Any], flags: int) -> Matcher:
        here = self._compiled([node], flags).match

        def matcher(start: int, then: Continuation) -> int | None:
            self._step()
            return then(start) if here(self._text, start) else None

        return matcher

    def _branch(self, options: Sequence[Matcher]) -> Matcher:
        def matcher(start: int, then: Continuation) -> int | None:
            for option in options:
                self._step()
                if (end := option(start, then)) is not None:
                    return end
            return None

        return matcher

    def _group(self, group: int | None, body: Matcher) -> Matcher:
        if group is None:
            return body

        def matcher(start: int, then: Continuation) -> int | None:
            def close(end: int) -> int | None:
                before = self._groups.get(group)
                self._groups[group] = (start, end)
                if (found := then(end)) is None:
                    if before is None:
                        del self._groups[group]
                    else:
                        self._groups[group] = before
                return found

            return body(start, close)

        return matcher

    def _atomic(self, body: Matcher) -> Matcher:
        def matcher(start: int, then: Continuation) -> int | None:
            self._step()
            end = body(start, lambda end: end)
            return None if end is None else then(end)

        return matcher

    def _look(self, direction: int, nodes: Any, *, wanted: bool, flags: int) -> Matcher:
        body = self._sequence(list(nodes), flags)
        back = nodes.getwidth()[0] if direction < 0 else 0

        def matcher(start: int, then: Continuation) -> int | None:
            self._step()
            found = start >= back and body(start - back, lambda end: end) is not None
            return then(start) if found is wanted else None

        return matcher

    def _reference(self, group: int) -> Matcher:
        def matcher(start: int, then: Continuation) -> int | None:
            first, last = self._groups.get(group, (0, -1))
            self._step(max(last - first, 1))
            held = last >= first and self._text.startswith(self._text[first:last], start)
            return then(start + last - first) if held else None

        return matcher

    def _conditional(self, group: int, present: Matcher, absent: Matcher) -> Matcher:
        def matcher(start: int, then: Continuation) -> int | None:
            self._step()
            return (present if group in self._groups else absent)(start, then)

        return matcher

    def _repeat(self, kind: Any, least: int, most: int, nodes: Any, *, flags: int) -> Matcher:
        single = len(nodes) == 1 and nodes[0][0] in _CHARACTERS
        if single and kind is not _constants.MIN_REPEAT:
            run = self._compiled([(_constants.MAX_REPEAT, (0, most, nodes))], flags).match
            return self._run(run, least, possessive=kind is _constants.POSSESSIVE_REPEAT)
        body = self._sequence(list(nodes), flags)
        if kind is _constants.MIN_REPEAT:
            return self._lazy(body, least, most)
        greedy = self._greedy(body, least, most)
        return self._atomic(greedy) if kind is _constants.POSSESSIVE_REPEAT else greedy

    def _run(self, run: Callable[[str, int], re.Match[str] | None], least: int, *, possessive: bool) -> Matcher:
        """Return a repeat of one character."""

        def matcher(start: int, then: Continuation) -> int | None:
            found = run(self._text, start)
            last = found.end() if found else start
            self._step(last - start + 1)
            for end in range(last, start + least - 1, -1):
                self._step()
                if (after := then(end)) is not None:
                    return after
                if possessive:
                    break
            return None

        return matcher

    def _greedy(self, body: Matcher, least: int, most: int) -> Matcher:
        def again(start: int, count: int, then: Continuation) -> int | None:
            self._step()
            if count < most:
                # A turn that matches nothing would go on for ever.
                end = body(start, lambda end: again(end, count + 1, then) if end > start or count < least else None)
                if end is not None:
                    return end
            return then(start) if count >= least else None

        return lambda start, then: again(start, 0, then)

    def _lazy(self, body: Matcher, least: int, most: int) -> Matcher:
        def again(start: int, count: int, then: Continuation) -> int | None:
            self._step()
            if count >= least and (end := then(start)) is not None:
                return end
            if count >= most:
                return None
            return body(start, lambda end: again(end, count + 1, then) if end > start or count < least else None)

        return lambda start, then: again(start, 0, then)
