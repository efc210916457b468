"""What is kept of an answer's citations and withheld sentences: each passage once, as it was when it was cited."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sourcier.services.gateway.events import Citation, Withheld
from sourcier.services.gateway.findings import Basis, Finding
from sourcier.services.index.search.passages import Passage, SourceDocument

_TEXT_CHARACTERS_MAX = 200_000
"""Of all passages together: an answer rests on 20 passages of 1,500 characters at most; imported ones may be longer."""
# What a newer gateway wrote besides is left out.
_PASSAGE_FIELDS = frozenset(field.name for field in fields(Passage))


@dataclass(frozen=True, slots=True)
class KeptEvidence:
    """The citations and the withheld sentences of an answer, in its order."""

    citations: tuple[Citation, ...] = ()
    withheld: tuple[Withheld, ...] = ()

    @property
    def passages(self) -> dict[str, Passage]:
        """The passages by their ids."""
        cited = (*self.citations, *(each.closest for each in self.withheld))
        return {citation.passage.chunk_id: citation.passage for citation in cited}


def as_json(evidence: KeptEvidence) -> str | None:
    """Return evidence as it is written down; None where there is none."""
    passages = evidence.passages
    if not passages or sum(len(passage.text) for passage in passages.values()) > _TEXT_CHARACTERS_MAX:
        return None
    # A model may say NUL, and PostgreSQL's JSON cannot hold it.
    return json.dumps({
        "passages": {chunk_id: _passage(passage) for chunk_id, passage in passages.items()},
        "citations": [_citation(citation) for citation in evidence.citations],
        "withheld": [
            {"sentence": each.sentence, "finding": each.finding.name, "reason": each.reason,
             "closest": _citation(each.closest)}
            for each in evidence.withheld
        ],
    }, ensure_ascii=False).replace("\\u0000", "")


def from_json(kept: Mapping[str, Any] | None) -> KeptEvidence:
    """Return what was written down."""
    if not kept:
        return KeptEvidence()
    passages = {chunk_id: _as_passage(each) for chunk_id, each in kept["passages"].items()}
    return KeptEvidence(
        tuple(_as_citation(each, passages) for each in kept["citations"]),
        tuple(
            Withheld(
                sentence=each["sentence"], finding=Finding[each["finding"]], reason=each["reason"],
                closest=_as_citation(each["closest"], passages),
            )
            for each in kept["withheld"]
        ),
    )


def _passage(passage: Passage) -> dict[str, Any]:
    written = asdict(replace(passage, token_codes=b"", metadata={}))
    del written["token_codes"]
    return written | {"place_map": base64.b64encode(passage.place_map).decode()}


def _as_passage(written: Mapping[str, Any]) -> Passage:
    documents: Sequence[Mapping[str, Any]] = written.get("documents", ())
    known = {name: value for name, value in written.items() if name in _PASSAGE_FIELDS}
    return Passage(**known | {
        "place_map": base64.b64decode(written["place_map"]),
        "documents": tuple(SourceDocument(**each) for each in documents),
    })


def _citation(citation: Citation) -> dict[str, Any]:
    return {
        "marker": citation.marker, "chunk_id": citation.passage.chunk_id, "attached": citation.attached,
        "finding": citation.finding.name, "basis": citation.basis.name, "score": citation.score,
        "sentence_span": citation.sentence_span, "passage_span": citation.passage_span, "reason": citation.reason,
        "absent": citation.absent,
    }


def _as_citation(written: Mapping[str, Any], passages: Mapping[str, Passage]) -> Citation:
    sentence, passage = written["sentence_span"], written["passage_span"]
    return Citation(
        marker=written["marker"], passage=passages[written["chunk_id"]], attached=written["attached"],
        finding=Finding[written["finding"]], score=written["score"], sentence_span=(sentence[0], sentence[1]),
        passage_span=(passage[0], passage[1]), reason=written["reason"], absent=tuple(written["absent"]),
        basis=Basis[written["basis"]],
    )
