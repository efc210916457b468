"""A file or a module that code names by a text exists: nothing else tells when one of them moves."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("sourcier", "bench", "eval", "demo", "tests", "requirements")
MADE = {".venv", ".sourcier", "build", "dist", "results", ".git"}
"""Made when they are needed."""
MODULE = re.compile(r"(?:bench|eval|sourcier|tests)(?:\.[a-z_0-9]+)+(?:\.[A-Z]\w+)?")


NAMING = re.compile(r"(?:ROOT|REPOSITORY) / |\"-m\"")
"""What every module has that names a file or a module so: the others are not parsed."""


@cache
def trees() -> tuple[tuple[Path, ast.Module], ...]:
    """Return the code that names any, but for what is generated."""
    return tuple(
        (path, ast.parse(text)) for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.stem.endswith(("_pb2", "_pb2_grpc")) and NAMING.search(text := path.read_text("utf-8"))
    )


def parts_of(node: ast.expr) -> list[str] | None:
    """Return the constant parts of `ROOT / "a" / "b"`, as far as they are constant; None for anything else."""
    if isinstance(node, ast.Name):
        return [] if node.id in ("ROOT", "REPOSITORY") else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
        before = parts_of(node.left)
        return None if before is None else [*before, str(node.right.value)]
    return None


def test_files_that_code_names_are_there() -> None:
    missing = []
    for path, tree in trees():
        if "ROOT = root_of" in path.read_text("utf-8"):
            continue  # the model store's
        for node in ast.walk(tree):
            parts = parts_of(node) if isinstance(node, ast.BinOp) else None
            if parts and parts[0] in FOLDERS and not MADE & set(parts) and not (ROOT / Path(*parts)).exists():
                missing.append(f"{path.relative_to(ROOT)}:{node.lineno}: {'/'.join(parts)}")
    assert missing == []


def test_modules_that_code_runs_are_there() -> None:
    missing = []
    for path, tree in trees():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call | ast.Tuple | ast.List):
                continue
            items = node.args if isinstance(node, ast.Call) else node.elts
            for flag, item in itertools.pairwise(items):
                if isinstance(flag, ast.Constant) and flag.value == "-m":
                    missing += [f"{path.relative_to(ROOT)}:{item.lineno}: {name}" for name in unknown(item)]
    assert missing == []


def unknown(item: ast.expr) -> Iterator[str]:
    """Yield the module that a text names, unless it is there; of an f-string, its package."""
    if isinstance(item, ast.JoinedStr) and isinstance(item.values[0], ast.Constant):
        name, dot, start = str(item.values[0].value).rpartition(".")
        if dot and (start or importlib.util.find_spec(name) is None):
            yield f"{name}.{start}…"
    elif isinstance(item, ast.Constant) and MODULE.fullmatch(str(item.value)):
        try:
            found = importlib.util.find_spec(str(item.value))
        except ModuleNotFoundError:
            found = None
        if found is None:
            yield str(item.value)
