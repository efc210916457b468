"""The analysis of a question by a real language model (SPEC A13): is it valid, and does it help to find the answer?

Asked of the demo's questions over its documents, each in a category of its own: so there is a right category, and a
wrong one hides the right document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from eval.answers.answers import ANSWER_SECONDS_MAX, Wanted, handbook_questions
from eval.kept import Kept
from eval.reporting import report
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets import handbook
from eval.sets.corpus import ingest_files
from eval.system import System
from sourcier import Client
from sourcier.errors import SourcierError
from sourcier.results import Answer

COLLECTION = "eval-analyses"
STAGE = "analyse"


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysed:
    """A question that has an answer, and what its analysis came to."""

    question: str
    category: str
    """That of the document that answers."""
    failure: str
    """Why there was no analysis; empty where there was one."""
    intent: str
    searched: str
    """What was searched for then."""
    ignored: tuple[str, ...]
    """What of the analysis was not used."""
    narrowed: tuple[str, ...]
    """The categories that the search was narrowed to."""
    seconds: float
    place_without: int
    """Place of the right document among the sources without the analysis, from 1; 0 for none."""
    place_with: int

    @property
    def is_reworded(self) -> bool:
        """Whether another wording was searched for."""
        return not self.failure and self.searched != self.question

    @property
    def is_refused_wording(self) -> bool:
        """Whether the model's wording was not used."""
        return any("searched for as it was asked" in each for each in self.ignored)


async def measure_analyses(
    system: System, *, questions: int | None, again: bool, kept_only: bool, document: Path | None, command: str
) -> None:
    """Ask with and without the analysis, and report; what was asked before is kept."""
    wanted = [each for each in handbook_questions() if each.source][:questions]
    kept = Kept(RESULTS / "analyses.jsonl", again=again, run_of=system.described_with_model)
    async with Client(system.gateway) as client:
        if not kept_only:
            await ingest_files(client, handbook.paths(), collection=COLLECTION, category_of=category_of)
        found = await _analysed(client, wanted, kept, kept_only=kept_only)
    body = "\n\n".join([
        "### The analysis of a question", analyses_table(found),
        report.provenance(system=system.described_with_model, command=command),
    ])
    click.echo(body)
    if document is not None:
        report.write_block(document, "analyses", body)


def category_of(filename: str) -> str:
    """Return the category that a document of the demo is under: `notes-de-frais.docx` is under `notes de frais`."""
    return Path(filename).stem.replace("-", " ")


async def _analysed(
    client: Client, wanted: Sequence[Wanted], kept: Kept, *, kept_only: bool
) -> list[Analysed]:
    found = []
    progress = Progress("questions analysed")
    for number, each in enumerate(wanted, start=1):
        row = kept.get(each.question)
        if row is None:
            if kept_only:
                continue
            try:
                row = asdict(await _ask(client, each))
            except SourcierError as error:
                click.echo(f"{each.question}: {error}; left out, run again to ask it again", err=True)
                continue
            kept.add(each.question, row)
        found.append(Analysed(**{**row, "ignored": tuple(row["ignored"]), "narrowed": tuple(row["narrowed"])}))
        progress(number, len(wanted))
    return found


async def _ask(client: Client, wanted: Wanted) -> Analysed:
    """Ask twice; what is answered does not matter, so a word is enough."""
    plain, analysed = [
        await client.answer(
            wanted.question, collection=COLLECTION, tokens_max=1, analyse=analyse, answerability_threshold=0.0, seed=0,
            timeout_seconds=ANSWER_SECONDS_MAX,
        ) for analyse in (False, True)
    ]
    analysis = analysed.analysis
    return Analysed(
        question=wanted.question, category=category_of(wanted.source),
        failure="; ".join(each.reason for each in analysed.degradations if each.stage == STAGE),
        intent=analysis.intent if analysis is not None else "",
        searched=analysis.question if analysis is not None else "",
        ignored=tuple(analysis.ignored) if analysis is not None else (),
        narrowed=tuple(analysis.filter.categories) if analysis is not None else (),
        seconds=round(analysed.durations.get(STAGE, 0.0), 2),
        place_without=_place(plain, wanted.source), place_with=_place(analysed, wanted.source),
    )


def _place(answer: Answer, source: str) -> int:
    return next((place for place, each in enumerate(answer.sources, start=1) if each.source == source), 0)


def analyses_table(found: Sequence[Analysed]) -> str:
    """Return what became of the analyses, and what they did to the search."""
    valid = [each for each in found if not each.failure]
    narrowed = [each for each in valid if each.narrowed]
    rows = [
        ("of the questions", "count"),
        ("analysed", f"{len(valid)} of {len(found)}"),
        ("searched for in another wording", str(sum(each.is_reworded for each in valid))),
        ("whose wording was not used, for it asks something else", str(sum(each.is_refused_wording for each in valid))),
        ("narrowed to a category", str(len(narrowed))),
        ("… to the right one", str(sum(each.category in each.narrowed for each in narrowed))),
        ("right document first, without the analysis", str(sum(each.place_without == 1 for each in found))),
        ("right document first, with it", str(sum(each.place_with == 1 for each in found))),
        ("right document among the sources, without", str(sum(each.place_without > 0 for each in found))),
        ("right document among the sources, with", str(sum(each.place_with > 0 for each in found))),
    ]
    intents = Counter(each.intent for each in valid)
    seconds = sorted(each.seconds for each in found) or [0.0]
    failures = Counter(each.failure for each in found if each.failure)
    return "\n\n".join([
        report.markdown_table(rows),
        f"Intents: {', '.join(f'{name} {count}' for name, count in intents.most_common())}. An analysis takes "
        f"{seconds[len(seconds) // 2]:.1f} s at the median, {seconds[-1]:.1f} s at most.",
        *([f"Failed: {'; '.join(f'{reason} ({count})' for reason, count in failures.most_common())}."]
          if failures else []),
    ])
