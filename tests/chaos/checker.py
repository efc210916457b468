"""The one checker: what the record of a run allows, against what the index and the queues hold in the end.

F-I1: each version accepted is indexed, overtaken, or has a dead letter. F-I2: nothing twice, nothing by halves.
F-I3: the newest version answers, what is deleted has no rows. F-I4: no row in another tenant's hands. F-I6: all queues
are empty. F-I7 is the time until all this holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.chaos.generator import MARK
from tests.chaos.history import History, Known
from tests.chaos.state import IndexedDocument, IndexState

Kind = Literal["lost", "doubled", "half-made", "outdated", "foreign", "unfinished"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken invariant."""

    invariant: str
    kind: Kind
    detail: str

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.invariant} {self.kind}: {self.detail}"


def check(
    history: History, state: IndexState, waiting: Sequence[str], *, letters_allowed: frozenset[str] = frozenset()
) -> list[Finding]:
    """Return what is wrong; `letters_allowed` are the reasons for which a good document may have been given up."""
    findings = [Finding("F-I6", "unfinished", text) for text in (*state.under_way, *waiting)]
    by_name: dict[tuple[str, str], list[IndexedDocument]] = {}
    for document in state.documents:
        by_name.setdefault((document.tenant, document.name), []).append(document)
        findings += whole(document)
        findings += counts(document, state)
    known = history.known()
    for (tenant, name), allowed in known.items():
        documents = by_name.pop((tenant, name), [])
        if len(documents) > 1:
            findings.append(Finding("F-I2", "doubled", f"{name} is {len(documents)} documents"))
        findings += _answers(name, allowed, documents[0] if documents else None, state, letters_allowed)
    for tenant, name in by_name:
        findings.append(Finding("F-I4", "foreign", f"nobody of {tenant} sent {name}"))
    if state.orphans:
        findings.append(Finding("F-I3", "half-made", f"{state.orphans} rows belong to no document"))
    return findings


def whole(document: IndexedDocument) -> Iterator[Finding]:
    """Yield what is wrong with a document by itself, at any time: it is one whole version, or nothing."""
    name = document.name
    marks = [tuple(map(int, mark)) for text in document.texts for mark in MARK.findall(text)]
    versions = {version for version, _, _ in marks}
    if len(versions) > 1 or len(document.version_ids) > 1:
        yield Finding("F-I3", "half-made", f"{name} answers from versions {sorted(versions)} at once")
    elif marks:
        places = Counter(place for _, place, _ in marks)
        count = marks[0][2]
        if doubled := sorted(place for place, times in places.items() if times > 1):
            yield Finding("F-I2", "doubled", f"{name} has the paragraphs {doubled[:5]} twice")
        if missing := sorted(set(range(count)) - set(places)):
            yield Finding("F-I2", "half-made", f"{name} lacks {len(missing)} of {count} paragraphs")
    if list(document.indexes) != list(range(len(document.indexes))):
        yield Finding("F-I2", "doubled", f"the passages of {name} are numbered {list(document.indexes)[:9]}…")
    if len(document.texts) != document.chunk_count:
        yield Finding("F-I2", "half-made", f"{name} has {len(document.texts)} passages, not {document.chunk_count}")
    if document.tenants - {document.tenant}:
        yield Finding("F-I4", "foreign", f"{name} of {document.tenant} has passages of {sorted(document.tenants)}")


def version_of(document: IndexedDocument) -> int:
    """Return the number of the version that answers; 0 where none does."""
    return next((int(mark[0]) for text in document.texts for mark in MARK.findall(text)), 0)


def counts(document: IndexedDocument, state: IndexState) -> Iterator[Finding]:
    """Yield where passages, lexical entries, vectors and committed versions do not match."""
    key, count = document.document_id, len(document.texts)
    for what, counted in (("lexical entries", state.entries.get(key, 0)), ("vectors", state.vectors.get(key, 0))):
        if counted != count:
            kind: Kind = "doubled" if counted > count else "half-made"
            yield Finding("F-I2", kind, f"{document.name} has {count} passages and {counted} {what}")
    committed = state.committed.get(key, 0)
    if committed != (1 if document.version_id else 0):
        yield Finding("F-I2", "doubled", f"{document.name} has {committed} versions that answer")
    if document.version_ids - {document.version_id}:
        yield Finding("F-I3", "outdated", f"{document.name} has passages of a version that does not answer")


def _answers(
    name: str, allowed: Known, document: IndexedDocument | None, state: IndexState, letters_allowed: frozenset[str]
) -> Iterator[Finding]:
    version = version_of(document) if document else 0
    letter = ""
    if document is not None:
        letter = state.letters.get((document.document_id, state.newest[document.document_id]), "")
    if allowed.poison:
        if not letter:
            yield Finding("F-I1", "lost", f"{name} has no dead letter")
        return
    if letter and letter not in letters_allowed:
        yield Finding("F-I1", "lost", f"{name} is good, and was given up: {letter}")
    elif version not in (allowed.versions | allowed.earlier if letter else allowed.versions):
        wanted = " or ".join(str(number) for number in sorted(allowed.versions))
        kind: Kind = "lost" if version == 0 else "outdated"
        yield Finding("F-I3" if version else "F-I1", kind, f"{name} answers with version {version}, not {wanted}")
    elif version == 0 and document is not None and document.texts and not letter:
        yield Finding("F-I3", "outdated", f"{name} is deleted, and has {len(document.texts)} passages")
