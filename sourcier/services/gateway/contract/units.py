"""Knowledge units as the contract tells them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from sourcier.gateway.v1 import answer_pb2, curation_pb2
from sourcier.services.chassis.grpc.serving import require
from sourcier.services.gateway.retrieval.query import Mode
from sourcier.services.index.search.passages import FAQ_KIND
from sourcier.services.index.search.units import UnitMatch
from sourcier.services.index.units.builds import UnitBuild, UnitCounts
from sourcier.services.index.units.units import STATES, Unit

_KINDS = {
    "text": answer_pb2.PASSAGE_KIND_TEXT, "qa_pair": answer_pb2.PASSAGE_KIND_QA_PAIR,
    "source_material": answer_pb2.PASSAGE_KIND_SOURCE_MATERIAL, "classic": answer_pb2.PASSAGE_KIND_CLASSIC,
    FAQ_KIND: answer_pb2.PASSAGE_KIND_FAQ,
}
_STATES = {
    "waiting": curation_pb2.UNIT_STATE_WAITING, "enriched": curation_pb2.UNIT_STATE_ENRICHED,
    "no_pairs": curation_pb2.UNIT_STATE_NO_PAIRS, "failed": curation_pb2.UNIT_STATE_FAILED,
}
_METHODS = {
    "qa_atomic": curation_pb2.INDEXING_METHOD_QA_ATOMIC, "classic": curation_pb2.INDEXING_METHOD_CLASSIC,
}


def passage_kinds(kinds: Sequence[int], *, mode: Mode) -> tuple[str, ...]:
    """Return the kinds that a filter names; raise `InvalidArgument` for one that is not known, or cannot be found."""
    names: dict[int, str] = {number: name for name, number in _KINDS.items() if name != FAQ_KIND}
    unknown = [kind for kind in kinds if kind not in names]
    require(not unknown, f"filter.kinds has {unknown[:1] or 0}, which is no kind; use PASSAGE_KIND_TEXT, "
            "PASSAGE_KIND_QA_PAIR, PASSAGE_KIND_SOURCE_MATERIAL or PASSAGE_KIND_CLASSIC", field="filter.kinds")
    found = tuple(dict.fromkeys(names[kind] for kind in kinds))
    require(mode is not Mode.LEXICAL or not found or "text" in found,
            "filter.kinds names vectors of knowledge units alone, and mode asks for full text alone; name "
            "PASSAGE_KIND_TEXT too, or use another mode", field="filter.kinds")
    return found


def unit_fields(unit: UnitMatch | None) -> dict[str, Any]:
    """Return the fields of a passage that tell what is known of it and by what it was found."""
    if unit is None:
        return {"kind": answer_pb2.PASSAGE_KIND_TEXT}
    return {
        "kind": _KINDS[unit.kind or "text"], "summary": unit.summary, "keywords": unit.keywords,
        "matched_question": unit.question, "matched_answer": unit.answer, "match_similarity": unit.similarity,
    }


def unit_message(unit: Unit) -> curation_pb2.Unit:
    """Return a chunk with what is known of it."""
    return curation_pb2.Unit(
        unit_id=unit.unit_id, chunk_id=unit.chunk_id, document_id=unit.document_id, version_id=unit.version_id,
        title=unit.title, chunk_index=unit.chunk_index, heading_path=unit.heading_path, text=unit.text,
        state=_STATES[unit.state], reason=unit.reason, message=unit.message, category=unit.category,
        summary=unit.summary, keywords=unit.keywords, usefulness=unit.usefulness, edited_by=unit.edited_by,
        edited_at=None if unit.edited_at is None else _timestamp(unit.edited_at), model=unit.model,
        prompt_tokens=unit.prompt_tokens, completion_tokens=unit.completion_tokens,
        updated_at=_timestamp(unit.updated_at),
        pairs=[
            curation_pb2.UnitPair(
                pair_id=pair.pair_id, question=pair.question, answer=pair.answer, edited_by=pair.edited_by
            )
            for pair in unit.pairs
        ],
    )


def unit_states(value: int) -> tuple[str, ...]:
    """Return the states that a request asks for; raise `InvalidArgument` for one that is not known."""
    if value == 0:
        return STATES
    names: dict[int, str] = {number: name for name, number in _STATES.items()}
    require(value in names, f"state {value} is not known; use one of 1 to {len(names)}", field="state")
    return (names[value],)


def set_message(build: UnitBuild, counts: UnitCounts) -> curation_pb2.UnitSet:
    """Return a set of units and how far it is."""
    return curation_pb2.UnitSet(
        build_id=build.build_id, methods=[_METHODS[method] for method in build.methods],
        regenerated=build.regenerate, planned=build.planned_after is None, waiting=counts.waiting,
        enriched=counts.enriched, no_pairs=counts.no_pairs, failed=counts.failed,
        without_vectors=counts.without_vectors, prompt_tokens=counts.prompt_tokens,
        completion_tokens=counts.completion_tokens, error=build.error, created_at=_timestamp(build.created_at),
    )


def _timestamp(moment: Any) -> Timestamp:
    timestamp = Timestamp()
    timestamp.FromDatetime(moment)
    return timestamp
