"""Finds every regular expression of the code, and how it is used: `match`, `fullmatch`, or a search from every place.

The sources are read, so that what cannot be imported here is found as well. What a module makes at its import out of
more than its own constants is taken from the module; what is made at run time, from the examples that a test gives.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("sourcier",)
MATCH, FULLMATCH, SEARCH = "match", "fullmatch", "search"
_SEARCHES = frozenset({"search", "sub", "subn", "split", "findall", "finditer"})
_FLAGS_PLACE = {"compile": 1, "sub": 4, "subn": 4, "split": 3}
"""Among the arguments of `re`'s functions; 2 for the others."""
Examples = Mapping[str, Sequence[Mapping[str, Any]]]
"""By module: values of the names that only a run binds."""


@dataclass(frozen=True)
class Use:
    """A pattern, and a way in which it is used."""

    where: str
    """The module, and the pattern's name or line."""
    pattern: re.Pattern[Any]
    way: str


class Module:
    """A source file."""

    def __init__(self, file: Path) -> None:
        self.name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        self.tree = ast.parse(file.read_text("utf-8"))
        self.nodes = _nodes(self.tree)

    @cached_property
    def constants(self) -> Mapping[str, Any]:
        """What its names stand for, as far as its own constants tell."""
        known: dict[str, Any] = {"re": re}
        for statement in self.tree.body:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)):
                with suppress(Exception):
                    exec(compile(ast.Module([statement], []), self.name, "exec"), known)
        return known

    @cached_property
    def imported(self) -> Mapping[str, Any]:
        """What its names stand for once it is imported."""
        return vars(importlib.import_module(self.name))

    @cached_property
    def calls(self) -> Sequence[ast.Call]:
        """The calls of `re`'s functions that take a pattern."""
        return [
            node for node in self.nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            and node.func.attr in _SEARCHES | {MATCH, FULLMATCH, "compile"}
        ]

    @cached_property
    def bound(self) -> Mapping[int, str]:
        """The names that calls are bound to, or the attributes that are asked of them at once, by the call."""
        return {
            id(node.value): node.attr if isinstance(node, ast.Attribute) else node.targets[0].id
            for node in self.nodes if isinstance(node, ast.Attribute)
            or (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name))
        }

    @cached_property
    def _statements(self) -> frozenset[int]:
        return frozenset(id(node) for statement in self.tree.body for node in _outside_functions(statement))

    def at_import(self, call: ast.Call) -> bool:
        """Return whether a call is made when the module is imported."""
        return id(call) in self._statements


@cache
def modules() -> list[Module]:
    """Return all modules of the code."""
    return [Module(file) for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]


def uses(found: Sequence[Module], examples: Examples) -> tuple[list[Use], list[str]]:
    """Return each use of a pattern once, and the calls whose pattern is not known."""
    ways = _ways(found)
    kept: dict[tuple[Any, int, str], Use] = {}
    unknown: list[str] = []
    for module in found:
        for call in module.calls:
            assert isinstance(call.func, ast.Attribute)
            name = module.bound.get(id(call), "")
            named = ways.get((module.name, name), {_way(name)})
            used = named if call.func.attr == "compile" else {_way(call.func.attr)}
            patterns = list(_patterns(module, call, examples.get(module.name, ())))
            if not patterns:
                unknown.append(f"{module.name}: {ast.unparse(call)}")
            for pattern in patterns:
                for way in used:
                    where = f"{module.name}.{name or call.lineno}"
                    kept.setdefault((pattern.pattern, pattern.flags, way), Use(where, pattern, way))
    return list(kept.values()), unknown


def _patterns(
    module: Module, call: ast.Call, examples: Sequence[Mapping[str, Any]]
) -> Iterator[re.Pattern[Any]]:
    """Give the pattern of a call, or those that it makes for the examples."""
    pattern = _pattern(call, module.constants)
    if pattern is not None:
        yield pattern
    elif module.at_import(call):
        yield from _held(list(module.imported.values()))
    else:
        for example in examples:
            if (pattern := _pattern(call, {**module.imported, **example})) is not None:
                yield pattern


def _pattern(call: ast.Call, names: Mapping[str, Any]) -> re.Pattern[Any] | None:
    assert isinstance(call.func, ast.Attribute)
    place = _FLAGS_PLACE.get(call.func.attr, 2)
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "flags"), None)
    given = call.args[place] if len(call.args) > place else named
    source = _value(call.args[0], names)
    flags = 0 if given is None else _value(given, names)
    return re.compile(source, flags) if isinstance(source, (str, bytes)) and flags is not None else None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return what an expression comes to; None where these names do not tell."""
    try:
        return eval(compile(ast.Expression(node), "<pattern>", "eval"), dict(names))
    except Exception:
        return None


def _held(value: Any, *, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    """Give the patterns that a value is or holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, (list, tuple, set, frozenset)):
        for each in value:
            yield from _held(each, depth=depth - 1)
    elif depth and isinstance(value, dict):
        yield from _held(list(value.values()), depth=depth - 1)


def _nodes(tree: ast.AST) -> list[ast.AST]:
    """Return all that is below a node, in the order of `ast.walk`, which takes three times as long."""
    found = [tree]
    for node in found:
        for value in vars(node).values():
            if isinstance(value, list):
                found.extend(each for each in value if isinstance(each, ast.AST))
            elif isinstance(value, ast.AST):
                found.append(value)
    return found


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _outside_functions(child)


def _ways(found: Sequence[Module]) -> Mapping[tuple[str, str], set[str]]:
    """Return how the code uses the names of modules. A name that is handed on may be searched with."""
    ways: dict[tuple[str, str], set[str]] = {}
    for module in found:
        nodes = module.nodes
        imported = {
            alias.asname or alias.name: (statement.module or "", alias.name)
            for statement in nodes if isinstance(statement, ast.ImportFrom) for alias in statement.names
        }
        calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
        seen: set[int] = set()
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                seen.add(id(node.value))
                key = imported.get(node.value.id, (module.name, node.value.id))
                ways.setdefault(key, set()).add(_way(node.attr, calls.get(id(node))))
                # `module.NAME`, whatever is done with it.
                ways.setdefault((".".join(key), node.attr), set()).add(SEARCH)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in seen:
                ways.setdefault(imported.get(node.id, (module.name, node.id)), set()).add(SEARCH)
    return ways


def _way(attribute: str, call: ast.Call | None = None) -> str:
    # `match` from a place on is asked at many places of one text.
    if attribute in (MATCH, FULLMATCH) and (call is None or len(call.args) == 1):
        return attribute
    return SEARCH
