"""No regular expression of the code takes more than linear time, whatever text of documents and models it meets.

How it is measured: the steps of each pattern are counted (`steps`) over texts that are made to be hard for it
(`attacks`), of n, 2n and 3n repetitions. Where the second n more cost more than the first n more, the growth is not
linear, and the pattern would take seconds or minutes for 100,000 characters. No clock is read: a busy machine changes
nothing, and a pattern is caught with some dozens of characters, before it can hang the test.

`re` retries a search at each place of the text, so `\\s+$` is quadratic though it looks innocent; a pattern that is
only ever used with `match` or `fullmatch` is tried like that alone (`uses`). What helps: begin only where a run begins,
`(?<!\\s)\\s*+x`; possessive repeats; or let the pattern take what it failed on as well, so that no later place of it is
tried again, and tell by a group which it was.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.patterns.growth import STEPS_MAX, digest, listed, offence
from tests.unit.patterns.steps import SteppedPattern
from tests.unit.patterns.uses import FULLMATCH, MATCH, SEARCH, Use, modules, uses

RUN_TIME = {
    "sourcier.services.chassis.models.processor": [{"names": "flags|Features"}],
    "sourcier.services.generate.vllm.prompt": [{"marks": ["<|im_end|>", "</s>"]}],
    # What scripts of tests search for is theirs.
    "sourcier.services.generate.scripted.script": [
        {"number": 2, "pattern": "congés", "rule": SimpleNamespace(pattern="congés")},
    ],
    "sourcier.services.index.language.figures": [{"spelled": r"en[\W_]*374[\W_]*b"}],
    "sourcier.services.ingest.buckets.rules": [
        {"glob": glob} for glob in ("*.pdf", "**/*.pdf", "**/*a*b*.pdf", "**a**b*c", "a/**/b/**/*c", "[a-z]*[!x]?")
    ],
}
"""Values for the names out of which a call makes its pattern at run time."""
KNOWN = "patterns/linear"
"""Where pytest keeps the digests of patterns that were found linear, and are not yet in the list that is checked in."""


@pytest.fixture(autouse=True)
def _deep() -> Iterator[None]:
    """Let a repeat call itself for each of its turns."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    yield
    sys.setrecursionlimit(before)


@cache
def all_uses() -> tuple[list[Use], list[str]]:
    """Return how the code uses its patterns, and what of them is not known."""
    return uses(modules(), RUN_TIME)


# Where the list is stale all patterns are counted: half a minute of a processor that others may use as well.
@pytest.mark.timeout(600)
def test_no_pattern_takes_more_than_linear_time(pytestconfig: pytest.Config) -> None:
    found, unknown = all_uses()
    assert not unknown, "say in RUN_TIME what these patterns are made of"
    assert len(found) > 100
    known = _known(pytestconfig)
    offenders = [f"{use.where} ({use.way}): {attack}" for use in found
                 if digest(use) not in known and (attack := offence(use)) is not None]
    assert not offenders, "\n".join(offenders)
    if pytestconfig.pluginmanager.hasplugin("cacheprovider"):
        pytestconfig.cache.set(KNOWN, [digest(use) for use in found])


def _known(config: pytest.Config) -> set[str]:
    """Return the digests of what was found linear: by the list, and by earlier runs here."""
    kept = config.cache.get(KNOWN, []) if config.pluginmanager.hasplugin("cacheprovider") else []
    return listed().union(kept)


def test_the_list_of_linear_patterns_is_of_patterns_that_there_are() -> None:
    """One that was changed goes from the list; what is new is counted until it is in it."""
    if sys.version_info[:2] == (3, 11):
        found, _ = all_uses()
        assert len(listed() & set(map(digest, found))) > 0.8 * len(found), "run: python -m tests.unit.patterns"


def test_what_is_known_of_a_pattern_is_forgotten_when_anything_of_it_changes() -> None:
    use = Use("here", re.compile("a+"), SEARCH)
    assert digest(use) == digest(Use("there", re.compile("a+"), SEARCH))
    others = [Use("here", re.compile("a+", re.IGNORECASE), SEARCH), Use("here", re.compile("a+"), MATCH),
              Use("here", re.compile("a*"), SEARCH), Use("here", re.compile(b"a+"), SEARCH)]
    assert digest(use) not in set(map(digest, others))


def test_no_module_hides_its_patterns() -> None:
    hidden = [
        module.name for module in modules() for node in module.nodes
        if (isinstance(node, ast.ImportFrom) and node.module in ("re", "regex"))
        or (isinstance(node, ast.Import) and any(each.name == "regex" or (each.name == "re" and each.asname)
                                                 for each in node.names))
    ]
    assert not hidden, "write `import re` and `re.compile`, which `uses` finds"


@pytest.mark.parametrize(("source", "way"), [
    (r"\s+$", SEARCH), (r"\s*x", SEARCH), (r"(a+)+b", MATCH), (r"\w+@", SEARCH), (r"a*a*b", FULLMATCH),
    (r"<!--.*?-->", SEARCH), (r"\[[^\]]*\]", SEARCH), (r"x\s*\n\s*y", MATCH), (r"(?:a|ab|b)*c", FULLMATCH),
    (r"(\w+)x\1", MATCH), (r"[\u4e00-\u9fff](?:z+|zz)+[\u4e00-\u9fff]", MATCH), (r"\(a[^)]{600,}\)", SEARCH),
    (r"(x)?(?(1)y|a+b)", SEARCH),
])
def test_what_is_quadratic_is_caught(source: str, way: str) -> None:
    assert offence(Use("", re.compile(source), way)) is not None


@pytest.mark.parametrize(("source", "way"), [
    (r"\s+$", MATCH), (r"(?<!\s)\s++x", SEARCH), (r"\w+", SEARCH), (r".*x", MATCH), (r"\w{1,40}@", SEARCH),
    (r"(?<!\w)\w++@", SEARCH), (r"(?:a+b)*c", FULLMATCH), (r"<!--.*?(?:-->|\Z)", SEARCH), (r"(?>a*)b|c", MATCH),
])
def test_what_is_linear_is_not(source: str, way: str) -> None:
    assert offence(Use("", re.compile(source, re.DOTALL), way)) is None


SOURCES = (
    r"(?<!\w)(\w++)(?:-|\n)(\w+)", r"a(?:b|bc)*?c", r"(?:a|ab)(?:c|bcd)?+(d*)", r"(?P<x>a+)-(?P=x)b?",
    r"(?=ab)a|(?!a)\w", r"(?i:A)b|^c$", r"(?>a+)ab|b{2,3}", r"(?:a*)*b|\Z", r"(a|b)*?(?<=b)c", r"[^ab]?+c{,2}",
    r"(?:(a)|b)+(?(1)c|d)", r"(a)?b(?(1)c+)",
)


@given(source=st.sampled_from(SOURCES), text=st.text("abcd-A\n ", max_size=12))
def test_steps_are_those_of_re(source: str, text: str) -> None:
    pattern = re.compile(source)
    stepped = SteppedPattern(pattern, steps_max=STEPS_MAX)
    assert stepped.spans(text) == [match.span() for match in pattern.finditer(text)]
    assert stepped.match(text) == (match.end() if (match := pattern.match(text)) else None)
    assert stepped.fullmatch(text) == (match.end() if (match := pattern.fullmatch(text)) else None)
