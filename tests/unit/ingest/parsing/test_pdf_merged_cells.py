"""Cells of a ruled table that span rows or columns: said in each place, unless they are long."""

from __future__ import annotations

import pytest

from sourcier.services.ingest.parsing.pdf.ruled import _filled
from sourcier.services.ingest.parsing.pdf.tables import Cell


@pytest.mark.parametrize(("characters", "repeated"), [(80, True), (81, False)])
def test_a_cell_over_two_rows_is_said_in_both_up_to_a_length(characters: int, repeated: bool) -> None:
    long, first, second = map(Cell, ("a" * characters, "b", "c"))
    # Places 0 and 2 are one cell, the first column's.
    [above, below] = _filled({0: long, 1: first, 3: second}, [0, 1, 0, 3], 2, 2, header=1)
    assert [cell.text for cell in above] == [long.text, "b"]
    assert [cell.text for cell in below] == [long.text if repeated else "", "c"]
