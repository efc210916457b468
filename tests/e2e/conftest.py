"""Running services without a language model, for the gates that compare what is found with what is known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from eval.system import System, running_system
from tests.sharing import shared


@pytest.fixture(scope="module")
def search_system() -> System:
    """Return a stack that embeds, ranks and searches; the files that share it are in `tests.sharing`."""
    return shared.get("search", _search_system())


@contextmanager
def _search_system() -> Iterator[System]:
    with pytest.MonkeyPatch.context() as patch:
        # Near misses would be sources of the language model that there is none of.
        patch.setenv("SOURCIER_GATEWAY_FAQ_SOURCES", "0")
        with running_system(gateway="", data_dir=None, engine="auto") as system:
            yield system
