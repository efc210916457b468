"""The event `extract`: the sentence of the passages that answers best, quoted at once, its value marked."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise

from prometheus_client import Counter

from sourcier.services.gateway.answering import yes_no
from sourcier.services.gateway.clauses.ruling import Decision, Source
from sourcier.services.gateway.events import Citation, Extract, Token
from sourcier.services.gateway.evidence.clause_check import ClauseCheck
from sourcier.services.gateway.evidence.links import extract
from sourcier.services.gateway.evidence.source_terms import informing
from sourcier.services.gateway.extracts.candidates import QUOTED_CHARACTERS_MAX, SEPARATOR, Sentence, joint
from sourcier.services.gateway.extracts.choosing import Chosen, choose
from sourcier.services.gateway.findings import Finding
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)

extracts_total = Counter(
    "sourcier_extracts_total", "Sentences shown before the language model writes, by what the question asks for and "
    "whether they were the answer.", ["kind", "answers"],
)


def extract_of(
    question: str, passages: Sequence[Passage], clauses: ClauseCheck, *, today: date, may_answer: bool
) -> Extract | None:
    """Return the sentence that answers a question best; None where none is sure to. Blocks for milliseconds.

    Of a yes/no question it is the clause that the ruling quotes, whatever it says to the question.
    """
    informed = [informing(passage) for passage in passages]
    if clauses.asks_yes_or_no:
        return _of_ruling(clauses, passages, informed)
    chosen = choose(question, [
        Source(number, passage.text, passage.above)
        for number, passage in enumerate(informed, start=1)
    ], today=today)
    if chosen is None:
        return None
    text, span = _shown(chosen, informed[chosen.sentence.number - 1].text)
    is_answer = may_answer and chosen.is_sure and span != (0, 0)
    extracts_total.labels(chosen.kind.value, str(is_answer).lower()).inc()
    logger.info("a sentence is shown at once", extra={"kind": chosen.kind.value, "answers": is_answer})
    return Extract(
        text, span, chosen.kind.value, chosen.score, _citation(chosen.sentence, passages), is_answer,
    )


def with_answer(found: Extract) -> Iterator[Extract | Token | Citation]:
    """Give an extract, and the answer that it is."""
    yield found
    if found.is_answer:
        marker = f" [{found.citation.marker}]"
        yield Token(found.text)
        yield Token(marker, attached=True)
        end = len(found.text) + len(marker)
        yield Citation(
            found.citation.marker, found.citation.passage, True, Finding.SUPPORTED, None, (0, end),
            found.citation.passage_span,
        )


def _of_ruling(
    clauses: ClauseCheck, passages: Sequence[Passage], informed: Sequence[Passage]
) -> Extract | None:
    ruled = clauses.ruling
    if ruled is None or ruled.decision is not Decision.QUOTED:
        return None
    [place, *_] = ruled.places
    text = informed[place.number - 1].text
    spans = [span for span in (place.lead, (place.start, place.end)) if span is not None]
    shown = extract(" … ".join(text[start:end] for start, end in spans), text, characters_max=QUOTED_CHARACTERS_MAX)
    extracts_total.labels("yes_no", "false").inc()
    return Extract(shown, (0, 0), "yes_no", 1.0, yes_no.citation(place, passages))


def _citation(sentence: Sentence, passages: Sequence[Passage]) -> Citation:
    return Citation(
        marker=sentence.number, passage=passages[sentence.number - 1], attached=True, finding=Finding.SUPPORTED,
        score=None, passage_span=(sentence.spans[0][0], sentence.end),
    )


def _shown(chosen: Chosen, text: str) -> tuple[str, tuple[int, int]]:
    """Return a sentence as it is shown, and where the value stands in that."""
    sentence = chosen.sentence
    before, value, after = _row(chosen, text) if sentence.cells else _parts(chosen, text)
    shown = extract(f"{before}{value}{after}", text)
    if not value:
        return shown, (0, 0)
    # What is left out of a text as it is shown stands rarely before a value; then the value is looked for.
    value, expected = " ".join(value.split()), len(" ".join(f"{before}x".split())) - 1
    found = expected if shown.startswith(value, expected) else shown.find(value)
    return shown, (found, found + len(value)) if found >= 0 else (0, 0)


def _parts(chosen: Chosen, text: str) -> tuple[str, str, str]:
    sentence = chosen.sentence
    led = "".join(
        f"{text[start:end]}{joint(text, end, following)}" for (start, end), (following, _) in pairwise(sentence.spans)
    )
    start, end = chosen.answer or (sentence.end, sentence.end)
    return f"{led}{text[sentence.start : start]}", text[start:end], text[end : sentence.end]


def _row(chosen: Chosen, text: str) -> tuple[str, str, str]:
    """Return a row as its cells with their headers, in three parts around the cell that answers."""
    parts = ["", "", ""]
    for cell in chosen.sentence.cells:
        said = text[cell.start : cell.end]
        if not said:
            continue
        before = SEPARATOR if any(parts) else ""
        label = f"{before}{cell.header} : " if cell.header else before
        if chosen.answer == (cell.start, cell.end):
            parts[0], parts[1] = f"{parts[0]}{label}", said
        else:
            parts[2 if parts[1] else 0] += f"{label}{said}"
    return parts[0], parts[1], parts[2]
