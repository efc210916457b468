"""Write the list of linear patterns, counting those that are not in it yet: `python -m tests.unit.patterns`."""

from __future__ import annotations

import sys

from tests.unit.patterns.growth import LIST, digest, listed, offence
from tests.unit.patterns.test_patterns import all_uses

# A repeat calls itself for each of its turns.
sys.setrecursionlimit(100_000)
found, _ = all_uses()
offenders = [use.where for use in found if digest(use) not in listed() and offence(use) is not None]
if offenders:
    sys.exit(f"not linear: {', '.join(offenders)}")
LIST.write_text("".join(f"{each}\n" for each in sorted({digest(use) for use in found})), "ascii")
