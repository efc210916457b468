"""How well models tell supported sentences from others: the language model as judge, and an entailment model.

Both are asked as the gateway asks them, over its own prompts; beside them stands what the wording alone tells.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from eval.reporting import report
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sentences.opinions import Asked
from eval.sentences.sentences import TENANT, Checker, checker_of
from eval.sentences.tables import opinion_tables
from eval.sets import handwritten, sentence_sets
from eval.sets.calibration import is_reported
from eval.sets.datasets import Dataset, Passage
from eval.sets.sentence_sets import Sentence
from eval.system import System
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.evidence.judge import sentence_prompt, yes_probability
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.gateway.phrases import FRENCH
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.prompting.prompt import build_prompt
from sourcier.services.index.search.passages import Passage as IndexedPassage

CALL_SECONDS_MAX = 300.0
KINDS_MIN = 9
"""A passage is chosen where so many kinds of sentences can be made of it: its prompt is read once for all of them."""
MARKING = Marking("eval")
YES_NO = ("Oui", "Non")


async def measure_opinions(
    dataset: Dataset, system: System, *, per_kind: int, sources: int, judge: bool, entailment: bool,
    document: Path | None, command: str, label: str,
) -> None:
    """Ask about sentences of every kind, report, and keep what was found."""
    handbook = handwritten.handbook_passages()
    known = {passage.passage_id: passage for passage in (*dataset.passages, *handbook.values())}
    chosen = [*sample(dataset, per_kind), *handwritten.handwritten(handbook)]
    # What people wrote comes first: it is the hardest, and a run may be cut short.
    chosen.sort(key=lambda sentence: (sentence.kind in sentence_sets.KINDS, sentence.passage_id))
    wanted = {sentence.passage_id for sentence in chosen}
    async with checker_of(system) as checker:
        too_long = await checker.add([known[each] for each in sorted(wanted)])
        chosen = [sentence for sentence in chosen if checker.knows(sentence)]
        asker = Asker(checker, known, sources=sources, judge=judge, entailment=entailment)
        model = await asker.judge_model() if judge else ""
        asked, progress = [], Progress("sentences asked about")
        RESULTS.mkdir(exist_ok=True)
        with (RESULTS / f"opinions-{dataset.name}{f'-{label}' if label else ''}.jsonl").open("w", 1, "utf-8") as lines:
            for sentence in chosen:
                asked.append(await asker.ask(sentence))
                lines.write(json.dumps(asdict(asked[-1]), ensure_ascii=False) + "\n")
                progress(len(asked), len(chosen))
    body = "\n\n".join([
        f"### Second opinions{f': {label}' if label else ''}", opinion_tables(asked),
        f"{sources} passage{'s' if sources > 1 else ''} a prompt; {len(too_long)} passages are longer than a chunk and "
        "left out.",
        report.provenance(system=f"{f'judge {model}, ' if model else ''}{system.described}", command=command),
    ])
    click.echo(body)
    if document is not None:
        report.write_block(document, f"opinions{f'-{label}' if label else ''}", body)


class Asker:
    """Asks about one sentence after the other; those of a passage belong together, for the sake of the prefix cache."""

    def __init__(
        self, checker: Checker, passages: dict[str, Passage], *, sources: int, judge: bool, entailment: bool
    ) -> None:
        self._checker = checker
        self._peers: Peers = checker.peers
        self._passages = passages
        self._sources = sources
        self._judge = judge
        self._entailment = entailment

    async def judge_model(self) -> str:
        """Return the name of the language model."""
        return await self._peers.language_model(tenant=TENANT, deadline=_deadline())

    async def ask(self, sentence: Sentence) -> Asked:
        """Return what wording and models make of a sentence."""
        names = self._beside(sentence)
        number = names.index(sentence.passage_id) + 1
        asked = Asked(await self._checker.check(sentence), tuple(names), number)
        if self._entailment:
            started = time.perf_counter()
            own = self._passages[sentence.passage_id]
            probability = await self._peers.entailment(
                f"{own.title}\n{own.text}", sentence.text, tenant=TENANT, deadline=_deadline()
            )
            asked = replace(asked, entailed=probability, entailment_seconds=time.perf_counter() - started)
        if self._judge:
            prompt = sentence_prompt(sentence.text, (number,), self._prompt(names), language="fr")
            started = time.perf_counter()
            scores, usage = await self._peers.score(prompt, YES_NO, tenant=TENANT, deadline=_deadline())
            asked = replace(
                asked, judged=yes_probability(*(scores[each] for each in YES_NO)),
                seconds=time.perf_counter() - started, prompt_tokens=usage.prompt_tokens,
                cached_tokens=usage.cached_tokens,
            )
        return asked

    def _prompt(self, names: Sequence[str]) -> Prompt:
        return build_prompt(
            "", [indexed(self._passages[name]) for name in names], FRENCH, refusal=FRENCH.refusal, marking=MARKING,
            tenant=TENANT,
        )

    def _beside(self, sentence: Sentence) -> list[str]:
        """Return the passages of the prompt: the sentence's own among others, the same for all sentences of it."""
        seed = zlib.crc32(sentence.passage_id.encode())
        own = sentence.passage_id
        pool = sorted(name for name in self._passages if name != own and name[:4] == own[:4])
        others = [pool[(seed + 7_919 * step) % len(pool)] for step in range(self._sources - 1)]
        others.insert(seed % self._sources, own)
        return others


def sample(dataset: Dataset, count: int) -> Iterator[Sentence]:
    """Give the sentences made of so many questions, at even distances, among those of which most kinds can be made.

    A sentence of another article is set against a passage that is asked about anyway.
    """
    rich = [made for made in _by_question(dataset) if len(made) >= KINDS_MIN]
    step = max(1.0, len(rich) / count)
    chosen = [rich[int(place * step)] for place in range(min(count, len(rich)))]
    for place, made in enumerate(chosen):
        for sentence in made:
            if sentence.kind != sentence_sets.OTHER_ARTICLE:
                yield sentence
                continue
            # Of the same half: an article that sets the threshold must not report on it.
            others = [
                other[0] for other in (*chosen[place + 1 :], *chosen[:place])
                if other[0].article != sentence.article
                and is_reported(other[0].article) == is_reported(sentence.article)
            ]
            if others:
                yield replace(sentence, passage_id=others[0].passage_id)


def _by_question(dataset: Dataset) -> Iterator[list[Sentence]]:
    made: list[Sentence] = []
    for sentence in sentence_sets.sentences(dataset):
        # The first of each question is the passage's own sentence.
        if sentence.kind == sentence_sets.VERBATIM and made:
            yield made
            made = []
        made.append(sentence)
    if made:
        yield made


def indexed(passage: Passage, *, token_codes: bytes = b"") -> IndexedPassage:
    """Return a passage as the gateway would have found it."""
    return IndexedPassage(
        chunk_id=passage.passage_id, document_id=passage.passage_id, version_id="", collection="", title=passage.title,
        source="", filename="", chunk_index=0, kind="text", method="", language="", page=0, start_character=0,
        end_character=len(passage.text), token_count=0, heading_path=(), text=passage.text, category="", metadata={},
        token_codes=token_codes,
    )


def _deadline() -> Deadline:
    return Deadline.after(CALL_SECONDS_MAX)
