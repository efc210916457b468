"""Sourcier's SDK: the generated contracts, a typed asynchronous client and the command line.

`from sourcier import Client` is all that most programs need. Importing the package costs nothing: the client, and gRPC
with it, is loaded when it is first named.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcier.client import Client as Client
    from sourcier.errors import SourcierError as SourcierError
    from sourcier.results import Answer as Answer
    from sourcier.results import UploadResult as UploadResult

__all__ = ["Answer", "Client", "SourcierError", "UploadResult"]

_MODULES = {
    "Answer": "sourcier.results",
    "Client": "sourcier.client",
    "SourcierError": "sourcier.errors",
    "UploadResult": "sourcier.results",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
