"""How statements are called in traces: by verb and table, and by no value."""

from __future__ import annotations

import pytest

from sourcier.services.chassis.postgres.statements import LOOKED_AT_MAX, _summary, summary_of


@pytest.mark.parametrize(("statement", "summary"), [
    ("select name from collections where tenant = %s", "select collections"),
    ("\ninsert into document_versions (version_id) values (%s)\n", "insert document_versions"),
    ("update documents set title = %(title)s", "update documents"),
    ("delete from jobs", "delete jobs"),
    ("with found as (select 1 from chunks)\nselect * from found", "select chunks"),
    (b"begin; set local sourcier.tenant = 'acme'", "begin"),
    ("SELECT pg_advisory_xact_lock(1)", "select"),
    ("", "statement"), ("from", "statement"), ("é", "statement"),
    (b"\xff select 1 from a", "select a"),
    ("select " + "x, " * LOOKED_AT_MAX + "y from late", "select"),
])
def test_a_statement_is_called_by_what_it_does(statement: str | bytes, summary: str) -> None:
    assert summary_of(statement) == summary


@pytest.mark.parametrize("value", ["hunter2", "'hunter2'", "from 'hunter2'", "where a = 'x' and b = 'hunter2'"])
def test_no_value_is_part_of_it(value: str) -> None:
    assert "hunter2" not in summary_of(f"select a from b where c = 1 and {value}")
    assert "hunter2" not in summary_of(f"select {value}".replace("hunter2", "é hunter2"))


def test_statements_that_differ_in_their_values_are_kept_once() -> None:
    _summary.cache_clear()
    for number in range(50):
        assert summary_of(f"begin; select set_config('sourcier.tenant', 'acme-{number}', true)") == "begin"
        assert summary_of(f"select a from b where c = 'it''s {number}' and d = 'cut".encode()) == "select b"
    assert _summary.cache_info().currsize == 2
