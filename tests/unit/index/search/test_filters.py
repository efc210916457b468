"""What cannot be a filter, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.index.search.filters import (
    CATEGORIES_MAX,
    CHUNK_TYPES_MAX,
    DOCUMENTS_MAX,
    METADATA_KEYS_MAX,
    Filters,
)

DOCUMENT = "0193a7c0-0000-7000-8000-000000000000"


@pytest.mark.parametrize(("field", "most", "more"), [
    ("document_ids", (DOCUMENT,) * DOCUMENTS_MAX, (DOCUMENT,) * (DOCUMENTS_MAX + 1)),
    ("categories", ("RH",) * CATEGORIES_MAX, ("RH",) * (CATEGORIES_MAX + 1)),
    ("chunk_types", ("text",) * CHUNK_TYPES_MAX, ("text",) * (CHUNK_TYPES_MAX + 1)),
    ("metadata", {str(key): "x" for key in range(METADATA_KEYS_MAX)},
     {str(key): "x" for key in range(METADATA_KEYS_MAX + 1)}),
])
def test_every_list_of_a_filter_is_bounded_and_its_length_told(field: str, most: Any, more: Any) -> None:
    Filters(**{field: most})
    with pytest.raises(InvalidArgument) as refused:
        Filters(**{field: more})
    assert refused.value.field == field
    assert f"at most {len(most):,} " in refused.value.message
    assert f"not {len(more):,}; name fewer" in refused.value.message


@pytest.mark.parametrize(("field", "value"), [
    ("categories", ("RH", "a\x00b")), ("chunk_types", ("a\x00b",)), ("metadata", {"a\x00b": "x"}),
    ("metadata", {"x": "a\x00b"}),
])
def test_a_nul_is_told_by_its_field(field: str, value: Any) -> None:
    with pytest.raises(InvalidArgument, match="NUL") as refused:
        Filters(**{field: value})
    assert refused.value.field == field


def test_a_documents_id_that_is_none_is_told_without_all_of_it() -> None:
    with pytest.raises(InvalidArgument, match="is not a document's id") as refused:
        Filters(document_ids=("z" * 10_000,))
    assert len(refused.value.message) < 200
