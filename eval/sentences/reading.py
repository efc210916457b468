"""How well a reader tells supported sentences from others, beside the wording check and together with it.

All in this process, with the services' own code over a model's folder: what several trainings came to is compared in
minutes. What the embedding model makes of the sentences is kept, and need not be made again for the next training.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from eval.refusals.refusals import MODEL
from eval.reporting import report
from eval.retrieval.encoding import OfflineEncoder
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sentences.judging import indexed
from eval.sentences.pairs import read_pairs
from eval.sentences.reading_tables import Group, Read, reading_table
from eval.sentences.sentences import TENANT, Checked, defaults, sample_of
from eval.sets import handwritten, sentence_sets
from eval.sets.calibration import is_reported
from eval.sets.datasets import Dataset, Passage
from eval.sets.sentence_sets import Sentence
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.models.store import (
    MANIFEST_FILE,
    Manifest,
    Model,
    ModelFile,
    file_sha256,
    read_manifest,
)
from sourcier.services.chassis.tokens.late_interaction import LateInteraction
from sourcier.services.gateway.evidence.clause_check import ClauseCheck
from sourcier.services.gateway.evidence.reading.windows import Windows
from sourcier.services.gateway.evidence.support import SupportScorer
from sourcier.services.gateway.evidence.wording import Wording
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.peers.entailing import Relation
from sourcier.services.gateway.peers.reranking import RerankCandidate
from sourcier.services.rerank.entailment import EntailmentModel

TOKEN_LIMIT = 512
"""Of a folder without a manifest: what encoders of this size read."""
BATCH_TEXTS_MAX = 8
GRAPHS, FILES = ("model.int8.onnx", "model.onnx"), ("tokenizer.json", "config.json")
CALL_SECONDS_MAX = 60.0
QUESTIONS_FACTOR = 10
"""Questions of a set that are looked at for each sentence of a kind."""
SERVICES = Path(__file__).parents[2] / "sourcier" / "services"
CODE = ("gateway/evidence", "gateway/clauses", "gateway/figures", "index/language")
"""The folders of `SERVICES` that the check of wordings is made of."""
WINDOW_TOKENS = 128
"""For a model that says nothing of windows: it is shown the same ones."""


@dataclass(frozen=True)
class Material:
    """The sentences that are asked about, and their passages."""

    groups: tuple[Group, ...]
    sentences: tuple[Sentence, ...]
    passages: tuple[Passage, ...]


def measure_reader(
    dataset: Dataset, folder: Path, *, pairs: Sequence[Path], per_kind: int, engine: str, document: Path | None,
    command: str,
) -> None:
    """Ask a reader about sentences of every kind, and report."""
    material = gathered(dataset, pairs=pairs, per_kind=per_kind)
    wordings = InProcess(OfflineEncoder(model=MODEL, engine=engine, kept=RESULTS), material)
    reader = open_reader(folder)
    read = asyncio.run(_read(material, wordings, reader))
    body = "\n\n".join([
        "### The reader", reading_table(read, material.groups),
        report.provenance(system=f"{reader.name} of {folder.name}, {engine}", command=command),
    ])
    click.echo(body)
    if document is not None:
        report.write_block(document, "reader", body)


def gathered(dataset: Dataset, *, pairs: Sequence[Path], per_kind: int) -> Material:
    """Return so many sentences of each kind: made by rule over a set, written by hand, and of the sets of pairs."""
    handbook = handwritten.handbook_passages()
    by_hand = list(handwritten.handwritten(handbook))
    groups = [
        Group(frozenset({sentence_sets.VERBATIM, sentence_sets.REWORDED}), frozenset(sentence_sets.KINDS) - {
            *sentence_sets.SUPPORTED, sentence_sets.WRONG_ANSWER}),
        Group(frozenset({sentence_sets.QUESTION_ANSWER}), frozenset({sentence_sets.WRONG_ANSWER})),
        Group(frozenset({handwritten.HAND_WRITTEN}), frozenset({handwritten.INVENTED})),
        Group(frozenset({handwritten.IN_ENGLISH}), frozenset({handwritten.ENGLISH_OTHER})),
    ]
    # Of the rarest kind one question in ten has a sentence; making those of all questions takes longer than the reader.
    some = dataset.first(QUESTIONS_FACTOR * per_kind)
    chosen = [*sample_of(sentence_sets.sentences(some), per_kind), *by_hand]
    known = {passage.passage_id: passage for passage in (*dataset.passages, *handbook.values())}
    for path in pairs:
        if not path.is_file():
            click.echo(f"left out: {path} is not here", err=True)
            continue
        found = read_pairs(path)
        kinds = frozenset(sentence.kind for sentence in found.sentences)
        groups.append(Group(found.true_kinds, kinds - found.true_kinds, contradictions_only=found.contradictions_only))
        known.update((passage.passage_id, passage) for passage in found.passages)
        chosen += sample_of(iter(found.sentences), per_kind)
    cited = dict.fromkeys(sentence.passage_id for sentence in chosen)
    return Material(tuple(groups), tuple(chosen), tuple(known[each] for each in cited))


def open_reader(folder: Path) -> EntailmentModel:
    """Load a model of a folder, with its manifest or, of one that was just exported, without."""
    folder = folder.resolve()
    graph = next((name for name in GRAPHS if (folder / name).is_file()), "")
    if lacking := [name for name in (graph or GRAPHS[-1], *FILES) if not (folder / name).is_file()]:
        raise click.ClickException(f"{folder} holds no reader: {', '.join(lacking)} is missing")
    if (folder / MANIFEST_FILE).is_file():
        manifest = read_manifest(folder)
    else:
        files = {
            path.name: ModelFile(file_sha256(path), path.stat().st_size)
            for path in sorted(folder.iterdir()) if path.is_file()
        }
        manifest = Manifest(
            name="reader", kind="entailment", revision="", source=str(folder), licence="", files=files, exporter="",
            exporter_version="", variants={"int8": graph}, token_limit=TOKEN_LIMIT,
        )
    return EntailmentModel(Model(folder, manifest), threads=1, batch_texts_max=BATCH_TEXTS_MAX)


class InProcess:
    """Embeds and compares in this process, as the services do for the gateway's check."""

    def __init__(self, encoder: OfflineEncoder, material: Material) -> None:
        texts = list(dict.fromkeys(sentence.text for sentence in material.sentences))
        self.space_id = encoder.model.space_id
        self._questions = encoder.questions(texts, progress=Progress("sentences embedded"))
        self._places = {text: place for place, text in enumerate(texts)}
        codes = encoder.codes(
            [f"{passage.title}\n{passage.text}" for passage in material.passages],
            progress=Progress("passages embedded"),
        )
        self.codes = {
            passage.passage_id: codes.of(place).tobytes() for place, passage in enumerate(material.passages)
        }
        self._interaction = LateInteraction()

    async def embed_query(self, text: str, *, space_id: str, tenant: str, deadline: Deadline) -> QueryEmbedding:
        """Return what was made of a sentence."""
        place = self._places[text]
        return QueryEmbedding(
            space_id, self._questions.vectors[place], self._questions.tokens.of(place).astype("<f4").tobytes(),
            tuple(self._questions.weights.of(place).tolist()),
        )

    async def late_interaction(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, tenant: str,
        deadline: Deadline,
    ) -> dict[str, float]:
        """Return the score of each candidate."""
        place = self._places[text]
        scores = self._interaction.score(
            self._questions.tokens.of(place).astype("float32"), self._questions.weights.of(place).astype("float32"),
            candidates,
        )
        return dict(zip((entry.chunk_id for entry in candidates), scores.tolist(), strict=True))


async def check_wordings(material: Material, wordings: InProcess) -> list[Checked]:
    """Return what wording, clauses and figures make of each sentence; kept, for it is the same for every reader."""
    digest = hashlib.sha256(repr((material.sentences, material.passages, wordings.space_id)).encode())
    for folder in CODE:
        for path in sorted((SERVICES / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    kept = RESULTS / f"wording-{digest.hexdigest()[:24]}.json"
    if kept.exists():
        return [Checked(**row) for row in json.loads(kept.read_text("utf-8"))]
    known = {passage.passage_id: passage for passage in material.passages}
    checked, progress = [], Progress("wordings checked")
    for sentence in material.sentences:
        checked.append(await _checked(sentence, known[sentence.passage_id], wordings))
        progress(len(checked), len(material.sentences))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps([asdict(each) for each in checked], ensure_ascii=False), "utf-8")
    return checked


async def _read(material: Material, wordings: InProcess, reader: EntailmentModel) -> list[Read]:
    known = {passage.passage_id: passage for passage in material.passages}
    windows = {name: Windows(Wording(passage.text, passage.title)) for name, passage in known.items()}
    found, progress = [], Progress("sentences read")
    checks = await check_wordings(material, wordings)
    for sentence, checked in zip(material.sentences, checks, strict=True):
        started = time.perf_counter()
        shown = windows[sentence.passage_id].of(
            sentence.text, sentence.question, tokens_max=reader.form.window_tokens or WINDOW_TOKENS
        )
        relations = reader.relations([each.text for each in shown], [sentence.text], question=sentence.question)
        found.append(Read(
            checked, tuple(Relation(each.entailment, each.contradiction) for each in relations),
            is_reported=is_reported(sentence.article), seconds=time.perf_counter() - started,
        ))
        progress(len(found), len(material.sentences))
    return found


async def _checked(sentence: Sentence, passage: Passage, wordings: InProcess) -> Checked:
    """Return what wording, clauses and figures make of a sentence."""
    held = indexed(passage, token_codes=wordings.codes[passage.passage_id])
    scorer = SupportScorer(wordings, [held], tenant=TENANT, space_id=wordings.space_id, thresholds=defaults())
    check = await scorer.check(sentence.text, (1,), deadline=Deadline.after(CALL_SECONDS_MAX))
    finding, score = check.verdicts[1].finding, check.verdicts[1].score or 0.0
    if finding.shown:
        clauses = ClauseCheck([held], question=sentence.question, language="fr", today=datetime.now(UTC).date())
        objection = clauses.objection(sentence.text, (1,), confirmed=False)
        finding = finding if objection is None else Finding(max(finding, objection.finding))
    return Checked(
        sentence.kind, sentence.article, sentence.text, sentence.passage_id, score, check.repeated, finding.name
    )
