"""F-R22: nothing forks a process that has threads; the one fork is in the parsing process, which has none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SERVICES = Path(__file__).parents[2] / "sourcier" / "services"
ALLOWED = {
    ("ingest/parsing/zygote.py", "os.fork"),
    # A trial child of that same process of one thread: what can be locked here is found out before it is needed.
    ("ingest/parsing/confining/lock.py", "os.fork"),
    # It only asks which processes vLLM has started.
    ("generate/vllm/engine.py", "multiprocessing"), ("generate/vllm/engine.py", "multiprocessing.active_children"),
}


def _names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield ast.unparse(node)
        elif isinstance(node, ast.Name | ast.alias):
            yield node.id if isinstance(node, ast.Name) else node.name
        elif isinstance(node, ast.keyword) and node.arg == "preexec_fn":
            yield "preexec_fn"
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_only_the_parsing_process_forks() -> None:
    forbidden = {"os.fork", "os.forkpty", "fork", "pty.fork", "preexec_fn", "ProcessPoolExecutor",
                 "futures.ProcessPoolExecutor", "concurrent.futures.ProcessPoolExecutor"}
    found = set()
    for path in SERVICES.rglob("*.py"):
        for name in _names(ast.parse(path.read_text("utf-8"))):
            if name in forbidden or name.split(".")[0] == "multiprocessing":
                found.add((path.relative_to(SERVICES).as_posix(), name))
    assert found == ALLOWED
