"""Which test files run a mutant: those that import its module, the nearest first."""

from __future__ import annotations

import ast
from collections import deque
from functools import cache
from pathlib import Path

STEPS_MAX = 4
"""Through so many imports a test file still counts as one of a module."""


class Imports:
    """Who imports whom, by the imports that stand in the files of a tree."""

    def __init__(self, root: Path) -> None:
        """Read every file of the package and of its tests."""
        self._root = root
        files = [path.relative_to(root) for name in ("sourcier", "tests") for path in (root / name).rglob("*.py")]
        self._modules = {_name(path): path for path in files if "v1" not in path.parts}
        self._importers: dict[Path, set[Path]] = {}
        for path in self._modules.values():
            for imported in self._imported(path):
                self._importers.setdefault(imported, set()).add(path)

    def tests_of(self, file: str) -> tuple[list[str], list[str]]:
        """Return the unit test files of a module, and those of integration, the nearest first."""
        steps = self._steps(Path(file))
        # Where two are as near, the one whose folder bears the room's names comes first.
        room = set(Path(file).parent.parts)
        near = sorted(steps, key=lambda path: (steps[path], -len(room & set(path.parts)), str(path)))
        tests = [str(path) for path in near if path.name.startswith("test_")]
        return ([each for each in tests if each.startswith("tests/unit/")],
                [each for each in tests if each.startswith("tests/integration/")])

    def _steps(self, file: Path) -> dict[Path, int]:
        found, waiting = {file: 0}, deque([file])
        while waiting:
            each = waiting.popleft()
            if found[each] < STEPS_MAX:
                for importer in self._importers.get(each, ()):
                    if importer not in found:
                        found[importer] = found[each] + 1
                        waiting.append(importer)
        return found

    def _imported(self, path: Path) -> set[Path]:
        tree = _parsed(self._root / path)
        found = set()
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("sourcier."):
                # What a test runs as a process, or forks, it names in a text.
                names = [node.value, f"{node.value}.__main__"]
            found |= {self._modules[name] for name in names if name in self._modules}
        return found - {path}


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
