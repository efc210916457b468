"""gRPC's poller is chosen before gRPC is loaded: it is asked for once, and later changes pass unnoticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[4]
LOOK = """
import importlib, os, sys
class Look:
    def find_spec(self, name, path=None, target=None):
        if name == "grpc":
            print(os.environ.get("GRPC_EXPERIMENTS", "not set"), flush=True)
            os._exit(0)  # what is imported after it takes seconds
sys.meta_path.insert(0, Look())
importlib.import_module(sys.argv[1])
"""


def told(module: str, **variables: str) -> str:
    """Return what gRPC finds in its variable when a module is imported first."""
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_EXPERIMENTS"}
    return subprocess.run(
        [sys.executable, "-c", LOOK, module], cwd=REPOSITORY, env=environment | variables, check=True,
        capture_output=True, text=True,
    ).stdout.strip()


@pytest.mark.parametrize("module", ["sourcier.services.gateway.__main__", "sourcier.services.generate.__main__"])
def test_a_service_chooses_the_poller_before_grpc_is_loaded(module: str) -> None:
    assert told(module) == "-event_engine_client,-event_engine_listener"


def test_who_runs_a_service_may_choose_otherwise() -> None:
    assert told("sourcier.services.chassis.grpc.serving", GRPC_EXPERIMENTS="") == ""
