"""What people are told: no text names a method of the API, for they type commands, or call a client."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from google.protobuf.descriptor import FileDescriptor

REPOSITORY = Path(__file__).parents[2]
PROTO = REPOSITORY / "proto"


@cache
def methods() -> frozenset[str]:
    """Return the names of all methods of all services, from their descriptors."""
    names = set[str]()
    for proto in PROTO.rglob("*.proto"):
        module = ".".join(proto.relative_to(PROTO).with_suffix("").parts) + "_pb2"
        described = import_module(module).DESCRIPTOR
        assert isinstance(described, FileDescriptor)
        names |= {method.name for service in described.services_by_name.values() for method in service.methods}
    return frozenset(names)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module with their lines: whatever is longer than a word and documents nothing."""
    tree = ast.parse(path.read_text("utf-8"))
    documenting = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in documenting:
            continue
        if " " in node.value.strip():
            yield node.lineno, node.value


@cache
def pattern_of(names: frozenset[str]) -> re.Pattern[str]:
    """Return what finds a name; `Ask` and the like are words, too, where a sentence begins."""
    either = "|".join(sorted(names, key=len, reverse=True))
    several = "|".join(name for name in sorted(names) if re.search("[a-z][A-Z]", name))
    return re.compile(rf"\b(?:{several})\b|(?:`|(?<=[\w,;] ))(?:{either})\b")


def named(text: str, names: frozenset[str]) -> list[str]:
    """Return the methods that a text names."""
    return sorted({found.strip("`") for found in pattern_of(names).findall(text)})


def modules() -> list[Path]:
    return [
        path for path in sorted((REPOSITORY / "sourcier").rglob("*.py"))
        if not path.stem.endswith(("_pb2", "_pb2_grpc"))
    ]


def test_no_text_names_a_method_of_the_api() -> None:
    names = methods()
    assert {"CreateCollection", "ListCollections", "Ask"} <= names
    told = [
        f"{path.relative_to(REPOSITORY)}:{line}: {', '.join(found)}"
        # Whole modules first: to parse one costs more than to look through it.
        for path in modules() if pattern_of(names).search(path.read_text("utf-8"))
        for line, text in texts(path) if (found := named(text, names))
    ]
    assert told == []


INNER = re.compile("learned response|dead letter|knowledge gap", re.IGNORECASE)
"""Names within the services: people know FAQ entries and failures."""


def test_no_error_uses_a_name_that_only_the_services_know() -> None:
    told = [
        f"{path.relative_to(REPOSITORY)}:{node.lineno}: {node.value}"
        for path in modules() if INNER.search(source := path.read_text("utf-8"))
        for raised in ast.walk(ast.parse(source)) if isinstance(raised, ast.Raise)
        for node in ast.walk(raised) if isinstance(node, ast.Constant) and INNER.search(str(node.value))
    ]
    assert told == []


@pytest.mark.parametrize(("text", "found"), [
    ("make it by CreateCollection", ["CreateCollection"]), ("call `Ask` again", ["Ask"]),
    ("ended by Cancel", ["Cancel"]), ("It changed since. Ask again.", []),
    ("Search narrowed to: a", []), ("Hello! Ask me.", []),
])
def test_a_method_is_told_from_a_word(text: str, found: list[str]) -> None:
    assert named(text, methods()) == found
