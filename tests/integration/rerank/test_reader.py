"""The reader's own weights through the rerank service's gRPC and the gateway's check; skipped where they are absent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sourcier.rerank.v1 import rerank_pb2_grpc
from sourcier.services.chassis.errors import ModelInvalid
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.chassis.settings import ModelSettings
from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.evidence.checking import Verdict
from sourcier.services.gateway.evidence.entailment import Entailment, EntailmentMode, EntailmentSettings
from sourcier.services.gateway.evidence.judge import Judge, JudgeMode, JudgeSettings
from sourcier.services.gateway.evidence.reading.verdicts import ReaderThresholds
from sourcier.services.gateway.evidence.second_opinion import Opinions
from sourcier.services.gateway.evidence.wording import Span
from sourcier.services.gateway.findings import Basis, Finding
from sourcier.services.gateway.peers.services import Limits, Peers
from sourcier.services.rerank.entailment import EntailmentModel
from sourcier.services.rerank.executor import EntailmentExecutor, RankExecutor
from sourcier.services.rerank.late_interaction import LateInteractionRanker
from sourcier.services.rerank.server import RerankServer
from tests.unit.gateway.fix_gateway_domain import passage

NAME = "reader"
PASSAGE = (
    "Le règlement de la salle est affiché à l'entrée. La cantine ne sert pas le mercredi. Elle ouvre à 11 h 45 et "
    "ferme à 13 h 30. L'installation de la climatisation est prévue au second semestre 2027, sous réserve du budget. "
    "La carte d'accès coûte 12 euros ; perdue, elle est remplacée au prix de 20 euros."
)
FALSE = [
    ("Est-ce que la cantine sert le mercredi ?", "Oui, la cantine sert le mercredi."),
    ("Combien coûte la carte d'accès ?", "La carte d'accès coûte 15 euros."),
    ("Combien coûte la carte d'accès ?", "La carte d'accès est gratuite."),
]


PAIRS = [
    ("La cantine ne sert pas le mercredi.", "Il n'y a pas de cantine le mercredi.",
     "Oui, la cantine sert le mercredi."),
    ("La carte d'accès coûte 12 euros.", "Le prix de la carte d'accès est de 12 euros.",
     "La carte d'accès coûte 15 euros."),
    ("L'arrêté a été signé le 4 mai 2021.", "L'arrêté date du 4 mai 2021.", "L'arrêté a été signé le 6 mai 2021."),
    ("L'accord ne prévoit pas de prime de nuit.", "Selon l'accord, il n'y a pas de prime de nuit.",
     "L'accord prévoit une prime de nuit."),
    ("Le parking sera ouvert en 2028.", "À partir de 2028, le parking sera ouvert.", "Le parking est ouvert."),
]


@asynccontextmanager
async def reading() -> AsyncIterator[Peers]:
    """Yield clients of a rerank service that has the reader."""
    try:
        model = ModelStore(ModelSettings().models_root).load(NAME)
    except ModelInvalid as error:
        pytest.skip(f"the reader's weights are absent: {error}")
    ranker = RankExecutor(LateInteractionRanker(), threads=1, waiting_max=4, seconds_max=10)
    reader = EntailmentExecutor(EntailmentModel(model, threads=2, batch_texts_max=8), waiting_max=4, seconds_max=30)
    async with ranker, reader, Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=8) as server:
        server.add(rerank_pb2_grpc.add_RerankServiceServicer_to_server,
                   RerankServer(ranker, candidates_max=10, entailment=reader), "sourcier.rerank.v1.RerankService")
        await server.start()
        url = f"127.0.0.1:{server.port}"
        async with Peers(
            ingest_url=url, embed_url=url, rerank_url=url, generate_url=url, limits=Limits(30, 30, 30)
        ) as peers:
            yield peers


async def test_what_a_window_says_is_more_supported_than_what_it_does_not() -> None:
    found = {}
    async with reading() as peers:
        for window, *sentences in PAIRS:
            said, changed = [
                (await peers.read([window], sentence, question="", tenant="acme", deadline=Deadline.after(60)))[0]
                for sentence in sentences
            ]
            found[window] = (said, changed)
    wrong = {
        window: (said, changed) for window, (said, changed) in found.items()
        if said.supported < 2 * changed.supported or said.contradicted > changed.contradicted
    }
    assert not wrong


async def test_a_false_sentence_is_not_shown_as_supported_by_the_gateways_check() -> None:
    judge = JudgeSettings(mode=JudgeMode.OFF, threshold=0.5, seconds_max=3, cheap_seconds=0.3, questions=False,
                          question_threshold=0.5, question_seconds_max=3)
    # Stricter than the default, which is chosen to mark little of what people word freely.
    strict = ReaderThresholds(supported=0.5, contradicted=0.8)
    entailing = EntailmentSettings(mode=EntailmentMode.ON, threshold=0.5, seconds_max=30, reader=strict)
    supported = Verdict(Finding.SUPPORTED, 0.6, Span(0, len(PASSAGE), PASSAGE, 0.6))
    async with reading() as peers:
        opinions = Opinions(Judge(peers, judge), Entailment(peers, entailing))
        found = {}
        for question, sentence in FALSE:
            opinion = opinions.open(
                Prompt("", "", ""), [passage(1, PASSAGE)], language="fr", tenant="acme", judge=None,
                judge_question=None, question=question,
            )
            verdicts = await opinion.on(sentence, {1: supported}, deadline=Deadline.after(60))
            assert opinion.degradations == []
            assert verdicts[1].basis is Basis.READ
            found[sentence] = verdicts[1].finding
    assert Finding.SUPPORTED not in found.values(), found
