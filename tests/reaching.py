"""Which test files import a module, directly or through other modules of the project: `python -m tests.reaching NAME`.

Read from the sources, nothing is imported: imports inside functions count, those by name at run time do not.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]


def files_reaching(module: str, *, root: Path = REPOSITORY) -> list[Path]:
    """Return the test files that reach a module, sorted; ValueError where there is no such module."""
    wanted = _file_of(module, root)
    if wanted is None:
        raise ValueError(f"there is no module {module} in {root}")
    texts = {path: path.read_text("utf-8") for folder in root.iterdir() if not folder.name.startswith(".")
             for path in folder.rglob("*.py")}
    reached, waiting = {wanted}, [wanted]
    while waiting:
        target = waiting.pop()
        name = target.parent.name if target.name == "__init__.py" else target.stem
        # Reading a file's imports takes most of the time: only of those that hold the module's name at all.
        for path in [path for path, text in texts.items() if path not in reached and name in text]:
            if target in _imported(path, root):
                reached.add(path)
                waiting.append(path)
    return sorted(path for path in reached if path.name.startswith("test_") and path.is_relative_to(root / "tests"))


@cache
def _imported(path: Path, root: Path) -> frozenset[Path]:
    """Return the project's files that a file imports."""
    names = list(_names(ast.parse(path.read_text("utf-8"))))
    return frozenset(file for name in names if (file := _file_of(name, root)) is not None)


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            # What is imported may be a module itself.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def _file_of(name: str, root: Path) -> Path | None:
    place = root.joinpath(*name.split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def main(arguments: Sequence[str]) -> int:
    """Print the paths, relative to the repository, one a line."""
    for module in arguments:
        for path in files_reaching(module):
            print(path.relative_to(REPOSITORY))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
