"""The rules that the documentation shows are rules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sourcier.services.ingest.buckets.rules import BucketRules

pytestmark = pytest.mark.unit

PAGE = Path(__file__).parents[4] / "docs" / "using" / "buckets.md"


def test_the_documented_rules_are_read_and_decide_as_told(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    path = tmp_path / "rules.toml"
    path.write_text(shown, "utf-8")
    rules = BucketRules.read(path)
    assert len(rules.rules) == 2
    contract = rules.of("company", "legal/2026/bail.pdf")
    assert contract is not None
    assert (contract.tenant, contract.collection, contract.lane) == ("acme", "legal", "interactive")
    assert rules.of("company", "legal/drafts/bail.pdf") is None
    rest = rules.of("company", "notes/a.md")
    assert rest is not None
    assert (rest.tenant, rest.collection) == ("default", "default")
