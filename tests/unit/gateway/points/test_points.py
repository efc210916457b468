"""Points of both known forms are read alike (R9), and what is none is told why."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from sourcier.services.gateway.points.reading import PointInvalid, read_point

TEXT = "Le télétravail est possible deux jours par semaine."


def read(**fields: Any) -> Any:
    return read_point(json.dumps(fields))


NEW = {"type": "source_material", "display_text": TEXT, "category": "RH", "source_doc": "Charte",
       "parent_context": "Travail > Télétravail", "summary": "Deux jours.", "keywords": ["télétravail", "jours"],
       "document_id": "d1", "chunk_id": "c1", "page": 3}
OLD = {"content": TEXT, "chunk_category": "RH", "document_title": "Charte",
       "parent_context": ["Travail", "Télétravail"],
       "chunk_summary": "Deux jours.", "chunk_keywords": ["télétravail", "jours"], "document_id": "d1",
       "chunk_id": "c1", "page": "3"}


@pytest.mark.parametrize("fields", [
    {"id": "p1", "payload": NEW}, {"id": "p1", "payload": OLD}, {"id": "p1", **NEW}, {"id": "p1", **OLD},
])
def test_both_forms_give_the_same_point(fields: dict[str, Any]) -> None:
    point = read(**fields)
    assert (point.identity, point.title, point.text, point.category) == ("p1", "Charte", TEXT, "RH")
    assert (point.heading_path, point.page) == (("Travail", "Télétravail"), 3)
    assert point.kind == ("source_material" if "type" in fields.get("payload", fields) else "text")
    assert point.metadata == {"summary": "Deux jours.", "keywords": "télétravail, jours", "document_id": "d1",
                              "chunk_id": "c1"}


def test_a_name_that_is_there_is_never_overwritten() -> None:
    point = read(payload={**NEW, "content": "Un autre texte.", "chunk_category": "Paie", "document_title": "Autre"})
    assert (point.text, point.category, point.title) == (TEXT, "RH", "Charte")
    # What stood under the old names is kept all the same.
    assert point.metadata["content"] == "Un autre texte."
    assert point.metadata["chunk_category"] == "Paie"
    assert read(payload={"display_text": "", "content": TEXT}).text == TEXT
    assert read(payload={"display_text": TEXT, "content": TEXT}).metadata == {}


@pytest.mark.parametrize(("fields", "title"), [
    ({}, "Document"), ({"source_doc": None}, "Document"), ({"source_doc": "  "}, "Document"),
    ({"document_title": "Guide"}, "Guide"),
])
def test_an_absent_source_reads_document(fields: dict[str, Any], title: str) -> None:
    assert read(display_text=TEXT, **fields).title == title


def test_questions_and_methods_and_files_and_distances() -> None:
    pair = read(payload={"type": "qa_pair", "question": "Combien de jours ?", "display_text": "Deux.",
                         "indexing_method": "qr_atomique", "metadata": "file:3f2c", "is_faq": True}, _distance=0.25)
    assert (pair.kind, pair.text) == ("qa_pair", "Combien de jours ?\nDeux.")
    assert pair.metadata == {"indexing_method": "qa_atomic", "document_id": "3f2c", "is_faq": "true",
                             "similarity": "0.750000"}
    assert read(content=TEXT, method="legacy").metadata["indexing_method"] == "classic"
    assert read(content=TEXT, distance=0).metadata["similarity"] == "1.000000"
    assert read(content=TEXT, metadata='{"file": "file:ab", "team": "paie"}').metadata == {"file": "ab", "team": "paie"}
    assert read(content=TEXT, category={"id": 4, "name": "Paie"}).category == "Paie"


def test_the_identity_is_the_points_own_or_follows_from_it() -> None:
    assert read(id=17, content=TEXT).identity == "17"
    assert read(content=TEXT, chunk_id="c9").identity == "c9"
    assert read(content=TEXT, document_title="A").identity == read(document_title="A", content=TEXT).identity
    assert read(content=TEXT, document_title="A").identity != read(content=TEXT, document_title="B").identity


def test_vectors_come_at_norm_one() -> None:
    vector = read(content=TEXT, vector=[3, 4]).vector
    assert np.allclose(vector, [0.6, 0.8])
    assert np.allclose(read(content=TEXT, vectors={"default": [0, 2.0]}).vector, [0, 1])
    assert read(content=TEXT).vector is None


@pytest.mark.parametrize(("line", "reason"), [
    ("{", "not JSON"), ("[1]", "not a JSON object"), ("17", "not a JSON object"), ('{"content": NaN}', "NaN"),
    ('{"payload": []}', "payload is list"), ("{}", "no text"), ('{"content": "  "}', "no text"),
    ('{"content": 5}', "display_text is int"), (json.dumps({"content": "x" * 60_000}), "60,000 characters"),
    ('{"content": "x", "vector": [0, 0]}', "norm is 0"), ('{"content": "x", "vector": ["a"]}', "not a list of numbers"),
    ('{"content": "x", "vector": [1e400]}', "not finite"),
    ('{"content": "x", "vectors": {"a": [1], "b": [2]}}', "2 named"),
    (json.dumps({"content": "x", "category": "c" * 501}), "category has 501"),
    (json.dumps({"content": "x", "note": "n" * 1_025}), "note has 1,025"),
    (json.dumps({"content": "x"} | {f"k{n}": n for n in range(65)}), "65 facts"),
    ('{"content": "x", "vector": [1' + "0" * 400 + ", 1]}", "vector has a whole number"),
    ('{"content": "x", "distance": 1' + "0" * 400 + "}", "distance is a whole number"),
    ('{"content": "x", "page": "' + "9" * 5_000 + '"}', "page has 5,000"),
    (json.dumps({"content": "x", "metadata": "[" * 100_000}), "too deep"),
    (json.dumps({"content": "x", "k" * 65: 1}), "is not of 1 to 64"), ("[" * 100_000, "not JSON"),
])
def test_what_is_no_point_is_told_why(line: str, reason: str) -> None:
    with pytest.raises(PointInvalid, match=reason):
        read_point(line)


def test_what_postgresql_cannot_hold_is_cleaned() -> None:
    point = read_point('{"content": "a\\u0000b \\ud800", "document_title": "x\\u0000\\ny"}')
    assert (point.text, point.title) == ("ab", "x y")


def test_texts_are_cleaned_as_those_of_documents_are() -> None:
    hidden = "\u200b\u202e\U000e0041\u00ad"
    point = read(
        id=f"p{hidden}", question=f"Combien{hidden} ?", content=f"Te\u0301le\u0301{hidden}travail\r\npossible  \n",
        document_title=f"Char{hidden}te", category=f"R{hidden}H", parent_context=[f"Con{hidden}gés"],
        metadata={f"ser{hidden}vice": f"pa{hidden}ie", "tags": [f"a{hidden}", "b"]},
    )
    assert point.text == "Combien ?\nTélétravail\npossible"
    assert (point.title, point.category, point.heading_path) == ("Charte", "RH", ("Congés",))
    assert point.metadata == {"service": "paie", "tags": "a, b"}
    # What tells points apart is what the other system says.
    assert point.identity == f"p{hidden}"
    with pytest.raises(PointInvalid, match="no text"):
        read(content=hidden)
