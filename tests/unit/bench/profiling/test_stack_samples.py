"""Sampled stacks: whose code they are, and the graph that is drawn of them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from bench.profiling.flames import flame_graph
from bench.profiling.sampling import ROOT, owner, parsed, shares

MAIN = "<module> (sourcier/services/gateway/__main__.py:12)"
RAW = f"""\
{MAIN};run (/usr/lib/python3.11/asyncio/runners.py:1);find ({ROOT}/sourcier/services/gateway/x.py:3) 30
{MAIN};execute (/opt/v/lib/python3.11/site-packages/psycopg/cursor.py:9) 60
run (threading.py:2);_worker (concurrent/futures/thread.py:81) 500
<module> (sourcier/services/gateway/__main__.py:19);execute (/opt/v/lib/python3.11/site-packages/psycopg/cursor.py:7) 5
process 4711:"python -m sourcier.services.gateway";{MAIN};execute (/opt/v/lib/site-packages/psycopg/cursor.py:7) 5
not a stack
"""


def test_frames_name_modules_and_no_folder_of_this_machine() -> None:
    assert dict(parsed(RAW)) == {
        ("<module> (sourcier/services/gateway/__main__.py)", "run (asyncio/runners.py)",
         "find (sourcier/services/gateway/x.py)"): 30,
        ("<module> (sourcier/services/gateway/__main__.py)", "execute (psycopg/cursor.py)"): 70,
    }


def test_shares_are_by_owner_innermost_and_anywhere() -> None:
    assert shares(parsed(RAW)) == {
        "psycopg": (pytest.approx(0.7), pytest.approx(0.7)),
        "sourcier.services.gateway.x": (pytest.approx(0.3), pytest.approx(0.3)),
        "sourcier.services.gateway.__main__": (0, pytest.approx(1)),
        "standard library": (0, pytest.approx(0.3)),
    }
    assert owner("PyEval_EvalFrame") == "native"


def test_the_flame_graph_has_a_box_as_wide_as_each_share() -> None:
    svg = ElementTree.fromstring(flame_graph(parsed(RAW), title="gateway <busy>"))
    space = "{http://www.w3.org/2000/svg}"
    widths = {group.findtext(f"{space}title"): float(group.find(f"{space}rect").get("width"))  # type: ignore[union-attr,arg-type]
              for group in svg.iter(f"{space}g")}
    assert widths == {
        "<module> (sourcier/services/gateway/__main__.py): 100.0%": 1199.5, "execute (psycopg/cursor.py): 70.0%": 839.5,
        "run (asyncio/runners.py): 30.0%": 359.5, "find (sourcier/services/gateway/x.py): 30.0%": 359.5,
    }
