"""Whether the passages found hold the answer: the search's signs, the judge, and both, with the passage and without.

Each question is asked twice of the same corpus, the second time as if the passage that answers it had never been there:
its neighbours of the same article stay, which is what makes it hard.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import grpc.aio
import numpy as np
import numpy.typing as npt

from eval.refusals.logistic import fit
from eval.refusals.refusals import MODEL
from eval.refusals.situations import own_situations
from eval.reporting import report
from eval.retrieval.encoding import OfflineEncoder
from eval.retrieval.measures import auroc
from eval.retrieval.offline_asking import OfflineAsker
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sentences.judging import MARKING, YES_NO, indexed
from eval.sentences.opinions import logit
from eval.sentences.sentences import TENANT
from eval.sets.calibration import is_reported
from eval.sets.datasets import Dataset, Passage, Question
from eval.sets.situations import PASSAGE_REMOVED, PRESENT
from eval.system import System
from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis.grpc.channels import Deadline, Identity, open_channel
from sourcier.services.gateway.answering.answerability import answerability
from sourcier.services.gateway.answering.answerer import DOUBTFUL_MIN
from sourcier.services.gateway.evidence.judge import log_odds, question_prompt, yes_probability
from sourcier.services.gateway.evidence.second_opinion import SIGNS_WEIGHT, are_answered
from sourcier.services.gateway.peers.reranking import RerankCandidate
from sourcier.services.gateway.peers.services import Limits, Peers
from sourcier.services.gateway.phrases import FRENCH
from sourcier.services.gateway.prompting.prompt import build_prompt
from sourcier.services.gateway.settings import GatewaySettings

CALL_SECONDS_MAX = 300.0
CANDIDATES = 20
CONCURRENCY = 4
FALSE_MAX = 0.05
RESAMPLES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is known of a question in one state of the corpus."""

    question: str
    """Its id."""
    article: str
    present: bool
    """Whether the passage that answers it is in the corpus."""
    late_interaction: float
    """Of the best passage."""
    likely: float
    """How likely an answer is by the signs of the search."""
    judged: float
    """The judge's probability that the best passages hold the answer."""


@dataclass(frozen=True)
class _Corpus:
    """The passages, embedded."""

    passages: Sequence[Passage]
    vectors: npt.NDArray[np.float32]
    """Shape (passages, dimension), rows of norm 1."""
    codes: Sequence[bytes]


async def measure_answerability(
    dataset: Dataset, system: System, *, questions: int, sources: int, document: Path | None, command: str
) -> None:
    """Ask the judge about questions with and without their passages, report, and keep what was found."""
    if not system.environment:
        raise click.ClickException("the judge is asked through a stack's own services; leave --gateway out")
    urls = {name: system.environment[f"SOURCIER_{name.upper()}_URL"] for name in ("embed", "rerank", "generate")}
    kept = RESULTS / f"answerable-{dataset.name}.jsonl"
    RESULTS.mkdir(exist_ok=True)
    async with open_channel(urls["embed"], identity=Identity(token=system.token)) as channel, Peers(
        ingest_url=urls["embed"], embed_url=urls["embed"], rerank_url=urls["rerank"], generate_url=urls["generate"],
        limits=Limits(CALL_SECONDS_MAX, CALL_SECONDS_MAX, CALL_SECONDS_MAX),
        identity=Identity(token=system.token),
    ) as peers:
        (space, *_) = await peers.embed.served(tenant=TENANT, deadline=_deadline())
        corpus = await _embedded(dataset.passages, embed_pb2_grpc.EmbedServiceStub(channel))
        likely = await _likely(dataset.first(questions), engine=system.engine)
        asked, progress = dataset.first(questions).questions, Progress("questions asked about")
        looks: list[Look] = []
        with kept.open("w", 1, "utf-8") as lines:
            for question in asked:
                async for look in _look(question, corpus, peers, likely, space_id=space.space_id, sources=sources):
                    looks.append(look)
                    lines.write(json.dumps(asdict(look), ensure_ascii=False) + "\n")
                progress(len(looks) // 2, len(asked))
        model = await peers.language_model(tenant=TENANT, deadline=_deadline())
    body = "\n\n".join([
        "### Whether the passages hold the answer", answerability_table(looks),
        f"{len(asked)} questions, each with its passage and without; the judge reads the best "
        f"{f'{sources} passages' if sources > 1 else 'passage'} by late interaction over {CANDIDATES} candidates. "
        "The regression and the thresholds are set on half of the articles for the other half, and the other way "
        "round. The value after ± is a standard error by bootstrap. " + _at_defaults(looks),
        report.provenance(system=f"judge {model}, {system.described}", command=command),
    ])
    click.echo(body)
    if document is not None:
        report.write_block(document, "answerable", body)


async def _likely(dataset: Dataset, *, engine: str) -> dict[tuple[str, bool], float]:
    """Return how likely an answer is by the signs of a search in this process, by question and state of the corpus."""
    asker = OfflineAsker(OfflineEncoder(model=MODEL, engine=engine, kept=RESULTS), progress=Progress)
    situations = await own_situations(asker, dataset, collection=await asker.hold(dataset))
    return {
        (each.question, each.state == PRESENT): answerability(each.signs)
        for each in situations if each.state in (PRESENT, PASSAGE_REMOVED)
    }


async def _embedded(passages: Sequence[Passage], embed: embed_pb2_grpc.EmbedServiceStub) -> _Corpus:
    waiting = iter(enumerate(passages))
    found: dict[int, tuple[npt.NDArray[np.float32], bytes]] = {}

    async def work() -> None:
        for place, passage in waiting:
            request = embed_pb2.EmbedRequest(
                role=embed_pb2.TEXT_ROLE_PASSAGE, texts=[f"{passage.title}\n{passage.text}"], token_vectors=True
            )
            try:
                response = await embed.Embed(request, timeout=CALL_SECONDS_MAX)
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.INVALID_ARGUMENT:
                    raise
                # Longer than a chunk: left out, as nothing is measured on it elsewhere either.
                continue
            (embedding,) = response.embeddings
            rows = np.frombuffer(embedding.tokens.vectors, "<f4").reshape(embedding.tokens.count, -1)
            found[place] = (np.frombuffer(embedding.vector, "<f4"), np.packbits(rows > 0, axis=-1).tobytes())

    async with asyncio.TaskGroup() as tasks:
        for number in range(CONCURRENCY):
            tasks.create_task(work(), name=f"embed {number}")
    places = sorted(found)
    return _Corpus(
        [passages[place] for place in places], np.stack([found[place][0] for place in places]),
        [found[place][1] for place in places],
    )


async def _look(
    question: Question, corpus: _Corpus, peers: Peers, likely: Mapping[tuple[str, bool], float], *, space_id: str,
    sources: int,
) -> AsyncIterator[Look]:
    embedding = await peers.embed_query(question.text, space_id=space_id, tenant=TENANT, deadline=_deadline())
    nearest = np.argsort(-(corpus.vectors @ embedding.vector), kind="stable")
    titles = {passage.passage_id: passage.title for passage in corpus.passages}
    article = next((titles[each] for each in question.relevant if each in titles), "")
    for present in (True, False):
        places = [
            int(place) for place in nearest if present or corpus.passages[place].passage_id not in question.relevant
        ][:CANDIDATES]
        scores = await peers.late_interaction(
            question.text, embedding,
            [RerankCandidate(str(place), corpus.passages[place].text, corpus.codes[place]) for place in places],
            tenant=TENANT, deadline=_deadline(),
        )
        best = sorted(places, key=lambda place: -scores[str(place)])[:sources]
        prompt = build_prompt(
            question.text, [indexed(corpus.passages[place]) for place in best], FRENCH, refusal=FRENCH.refusal,
            marking=MARKING, tenant=TENANT,
        )
        found, _ = await peers.score(
            question_prompt(question.text, prompt, language="fr"), YES_NO, tenant=TENANT, deadline=_deadline()
        )
        yield Look(
            question=question.question_id, article=article, present=present, late_interaction=scores[str(best[0])],
            likely=likely[question.text, present], judged=yes_probability(*(found[each] for each in YES_NO)),
        )


def answerability_table(looks: Sequence[Look]) -> str:
    """Return the figures as Markdown: each half of the articles is reported with what the other half has set."""
    scores = {
        "late interaction": [look.late_interaction for look in looks],
        "the signs of the search": [logit(look.likely) for look in looks],
        "the judge": [logit(look.judged) for look in looks],
        "signs and judge, as the gateway joins them": [log_odds(look.judged) + SIGNS_WEIGHT * log_odds(look.likely)
                                                       for look in looks],
        "signs and judge, by a regression": _joined(looks),
    }
    rows = [["score", "AUROC", "mean of the AUROC of both halves",
             f"refused without the passage, threshold at {FALSE_MAX:.0%} false refusals", "refused with it"]]
    for name, values in scores.items():
        there = [value for value, look in zip(values, looks, strict=True) if look.present]
        gone = [value for value, look in zip(values, looks, strict=True) if not look.present]
        refused = {present: _refused(values, looks, present=present) for present in (True, False)}
        halves = [_auroc_of_half(values, looks, half=half) for half in (True, False)]
        rows.append([name, f"{auroc(there, gone):.3f} ±{_error(there, gone):.3f}", f"{sum(halves) / 2:.3f}",
                     f"{refused[False]:.0%}", f"{refused[True]:.0%}"])
    return report.markdown_table(rows)


def _at_defaults(looks: Sequence[Look]) -> str:
    """Return in words what the gateway refuses at its default thresholds, with the judge asked about questions."""
    settings = GatewaySettings.model_fields
    least, threshold = (float(settings[name].default)
                        for name in ("answerability_threshold", "judge_questions_threshold"))
    refused = {present: [
        look.likely < min(DOUBTFUL_MIN, least)
        or not are_answered(look.judged, threshold, margin=log_odds(look.likely) - log_odds(least))
        for look in looks if look.present is present
    ] for present in (False, True)}
    gone, there = (sum(refused[present]) / len(refused[present]) for present in (False, True))
    return f"At the gateway's default thresholds, they refuse {gone:.0%} without the passage and {there:.0%} with it."


def _joined(looks: Sequence[Look]) -> list[float]:
    """Return the log-odds of a logistic regression that has not seen the half of the articles it scores."""
    found = [0.0] * len(looks)
    for half in (True, False):
        setting = [look for look in looks if is_reported(look.article) is not half]
        own = [place for place, look in enumerate(looks) if is_reported(look.article) is half]
        model = fit([_features(look) for look in setting], [look.present for look in setting], [1.0] * len(setting))
        for place, score in zip(own, model.scores([_features(looks[place]) for place in own]), strict=True):
            found[place] = score
    return found


def _auroc_of_half(values: Sequence[float], looks: Sequence[Look], *, half: bool) -> float:
    """Return the AUROC within a half: what one model has scored, where two have scored a half each."""
    own = [(value, look) for value, look in zip(values, looks, strict=True) if is_reported(look.article) is half]
    return auroc([value for value, look in own if look.present], [value for value, look in own if not look.present])


def _refused(values: Sequence[float], looks: Sequence[Look], *, present: bool) -> float:
    """Return the share below the threshold that loses `FALSE_MAX` of the answerable questions of the other half."""
    refused: list[bool] = []
    for half in (True, False):
        kept = [value for value, look in zip(values, looks, strict=True)
                if look.present and is_reported(look.article) is not half]
        threshold = float(np.quantile(kept, FALSE_MAX))
        refused += [value < threshold for value, look in zip(values, looks, strict=True)
                    if look.present is present and is_reported(look.article) is half]
    return sum(refused) / len(refused)


def _features(look: Look) -> list[float]:
    return [logit(look.likely), logit(look.judged)]


def _error(there: Sequence[float], gone: Sequence[float]) -> float:
    """Return the standard error of the AUROC; the two scores of a question are drawn together."""
    random = np.random.default_rng(0)
    pairs = np.array(list(zip(there, gone, strict=True)))
    drawn = [pairs[random.integers(0, len(pairs), len(pairs))] for _ in range(RESAMPLES)]
    return float(np.std([auroc(list(each[:, 0]), list(each[:, 1])) for each in drawn]))


def _deadline() -> Deadline:
    return Deadline.after(CALL_SECONDS_MAX)
