"""The examples of the docstrings are run, `await` and all."""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import io
import types
from typing import Any

import pytest

from sourcier.client import Client

pytestmark = pytest.mark.unit
PLACEHOLDER = "localhost:8080"


def _examples() -> list[Any]:
    found = [("Client", Client), *inspect.getmembers(Client, inspect.isfunction)]
    return [
        pytest.param(inspect.getdoc(member), id=name)
        for name, member in found if ">>>" in (inspect.getdoc(member) or "")
    ]


async def _run(source: str, names: dict[str, Any]) -> str:
    """Run one example as the asynchronous REPL does; return what it prints."""
    output = io.StringIO()
    single = compile(source, "<example>", "single", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with contextlib.redirect_stdout(output):
        coroutine = types.FunctionType(single, names)()
        if inspect.isawaitable(coroutine):
            await coroutine
    return output.getvalue()


@pytest.mark.parametrize("docstring", _examples())
async def test_example(docstring: str, address: str) -> None:
    names: dict[str, Any] = {"Client": Client}
    checker = doctest.OutputChecker()
    for example in doctest.DocTestParser().get_examples(docstring):
        got = await _run(example.source.replace(PLACEHOLDER, address), names)
        # `print(end="|")` leaves no line end for the next prompt.
        got = got if not got or got.endswith("\n") else got + "\n"
        assert checker.check_output(example.want, got, 0), f"{example.source}\nexpected {example.want}\ngot {got}"
