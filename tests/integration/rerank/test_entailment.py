"""A tiny entailment model behind `RerankService`: a premise says a hypothesis as far as it holds its words."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sourcier.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, ModelInvalid
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline, open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.models.store import Manifest, ModelFile, file_sha256, manifest_to_json
from sourcier.services.rerank.__main__ import open_entailment, open_ranker
from sourcier.services.rerank.executor import RankExecutor
from sourcier.services.rerank.server import (
    HYPOTHESES_MAX,
    PAIRS_MAX,
    PREMISES_MAX,
    QUESTION_CHARACTERS_MAX,
    RerankServer,
)
from sourcier.services.rerank.settings import RerankSettings
from tests.integration.rerank import tiny_onnx
from tests.integration.rerank.test_cross_encoder import INPUTS, NODES, save_tokenizer
from tests.integration.rerank.tiny_onnx import Node

NAME = "tiny-nli"
TOKEN_LIMIT, SPECIAL_TOKENS = 12, 3
# Words of the hypothesis that the premise holds, as logits: −count, 0, count.
NLI_NODES = (
    *NODES[:-1],
    Node("Squeeze", ["sum", "two"], "said"),
    Node("Neg", ["said"], "unsaid"),
    Node("Sub", ["said", "said"], "open"),
    Node("Concat", ["unsaid", "open", "said"], "logits", {"axis": 1}),
)
GRAPH = tiny_onnx.model(
    NLI_NODES, inputs=INPUTS, outputs={"logits": ("batch", 3)}, constants={"one": [1], "two": [2]}
)
LABELS = {"0": "contradiction", "1": "neutral", "2": "entailment"}


READER = {"hypothesis": "{question} {sentence}", "window_tokens": 10}


def store_model(
    root: Path, *, labels: Any = LABELS, kind: Any = "entailment", graph: bytes = GRAPH, reader: Any = None
) -> RerankSettings:
    """Put an entailment model into a model store; return the settings that name it."""
    folder = root / NAME
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(graph)
    config = ({} if labels is None else {"id2label": labels}) | ({} if reader is None else {"sourcier_reader": reader})
    (folder / "config.json").write_text(json.dumps(config))
    save_tokenizer(folder)
    files = {path.name: ModelFile(file_sha256(path), path.stat().st_size) for path in folder.iterdir()}
    manifest = Manifest(
        name=NAME, kind=kind, revision="1", source="test", licence="none", files=files, exporter="test",
        exporter_version="1", variants={"fp32": "model.onnx"}, token_limit=TOKEN_LIMIT,
    )
    (folder / "manifest.json").write_text(json.dumps(manifest_to_json(manifest)))
    return RerankSettings(entailment_model=NAME, models_dir=root, batch_texts_max=2)


@asynccontextmanager
async def serving(settings: RerankSettings) -> AsyncIterator[Any]:
    """Yield a stub of a service that loaded what its settings name."""
    async with (
        RankExecutor(open_ranker(settings, threads=1), threads=1, waiting_max=4, seconds_max=10) as executor,
        AsyncExitStack() as opened,
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=8) as server,
    ):
        entailment = await open_entailment(settings, opened, threads=1)
        server.add(rerank_pb2_grpc.add_RerankServiceServicer_to_server,
                   RerankServer(executor, candidates_max=10, entailment=entailment),
                   "sourcier.rerank.v1.RerankService")
        await server.start()
        channel = open_channel(f"127.0.0.1:{server.port}")
        try:
            yield rerank_pb2_grpc.RerankServiceStub(channel)
        finally:
            await channel.close()


async def entail(stub: Any, premise: str, hypotheses: Sequence[str]) -> rerank_pb2.EntailResponse:
    return await asked(stub, rerank_pb2.EntailRequest(premise=premise, hypotheses=hypotheses))


async def asked(stub: Any, request: rerank_pb2.EntailRequest) -> rerank_pb2.EntailResponse:
    response: rerank_pb2.EntailResponse = await channels.call(
        stub.Entail, request, peer="rerank", tenant="acme", deadline=Deadline.after(10), cap_seconds=10,
    )
    return response


def probabilities(count: int) -> list[float]:
    """Return what the model gives so many words, in the order entailment, neutral, contradiction."""
    powers = [math.exp(count), 1.0, math.exp(-count)]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("labels", [LABELS, {"0": "CONTRADICTION", "1": "Neutral", "2": "ENTAILMENT"}])
async def test_probabilities_come_back_by_their_label_in_the_order_of_the_hypotheses(
    tmp_path: Path, labels: Any
) -> None:
    async with serving(store_model(tmp_path, labels=labels)) as stub:
        response = await entail(stub, "le pont fut ouvert", ["le pont", "la gare", "le pont fut ouvert"])
        described = await stub.Describe(rerank_pb2.DescribeRequest(), timeout=10)
    found = [(each.entailment, each.neutral, each.contradiction) for each in response.entailments]
    # The special tokens that end both texts are the same one, which counts 1.
    assert found == [pytest.approx(probabilities(count), abs=1e-6) for count in (3, 1, 5)]
    assert (response.model, described.entailment_model) == (NAME, NAME)
    # Late interaction ranks beside it.
    assert described.ranker == "late-interaction"


async def test_the_order_of_the_labels_is_the_models_own(tmp_path: Path) -> None:
    turned = {"0": "entailment", "1": "neutral", "2": "contradiction"}
    async with serving(store_model(tmp_path, labels=turned)) as stub:
        (found,) = (await entail(stub, "le pont", ["le pont"])).entailments
    assert (found.contradiction, found.neutral, found.entailment) == pytest.approx(tuple(probabilities(3)), abs=1e-6)


async def test_a_model_of_two_relations_leaves_nothing_open(tmp_path: Path) -> None:
    graph = tiny_onnx.model(
        [*NLI_NODES[:-1], Node("Concat", ["said", "unsaid"], "logits", {"axis": 1})], inputs=INPUTS,
        outputs={"logits": ("batch", 2)}, constants={"one": [1], "two": [2]},
    )
    labels = {"0": "entailment", "1": "not_entailment"}
    async with serving(store_model(tmp_path, graph=graph, labels=labels)) as stub:
        (found,) = (await entail(stub, "pont", ["pont"])).entailments
    assert (found.entailment, found.neutral) == (pytest.approx(1 / (1 + math.exp(-4)), abs=1e-6), 0.0)
    assert found.entailment + found.contradiction == pytest.approx(1)


async def test_a_long_premise_is_cut_at_its_end_and_a_hypothesis_never_is(tmp_path: Path) -> None:
    hypothesis = "pont ouvert"
    room = TOKEN_LIMIT - SPECIAL_TOKENS - 2
    async with serving(store_model(tmp_path)) as stub:
        for premise, count in (("gare " * room + "pont", 1), ("gare " * (room - 1) + "pont", 2)):
            (found,) = (await entail(stub, premise, [hypothesis])).entailments
            assert found.entailment == pytest.approx(probabilities(count)[0], abs=1e-6)
        with pytest.raises(InvalidArgument, match=f"{TOKEN_LIMIT} tokens") as refused:
            await entail(stub, "pont", ["pont " * TOKEN_LIMIT])
    assert refused.value.field == "hypotheses"


@pytest.mark.parametrize(("premise", "hypotheses", "field"), [
    (" ", ["pont"], "premise"), ("pont", [], "hypotheses"), ("pont", ["pont"] * (HYPOTHESES_MAX + 1), "hypotheses"),
    ("pont", ["pont", " "], "hypotheses[1]"), ("x" * 100_001, ["pont"], "premise"),
    ("pont", ["x" * 10_001], "hypotheses[0]"),
])
async def test_what_cannot_be_compared_is_refused_with_its_field(
    tmp_path: Path, premise: str, hypotheses: list[str], field: str
) -> None:
    async with serving(store_model(tmp_path)) as stub:
        with pytest.raises(InvalidArgument) as refused:
            await entail(stub, premise, hypotheses)
    assert refused.value.field == field


async def test_a_service_without_such_a_model_says_how_to_have_one(tmp_path: Path) -> None:
    async with serving(RerankSettings(models_dir=tmp_path)) as stub:
        with pytest.raises(FailedPrecondition, match="SOURCIER_RERANK_ENTAILMENT_MODEL"):
            await entail(stub, "pont", ["pont"])
        assert (await stub.Describe(rerank_pb2.DescribeRequest(), timeout=10)).entailment_model == ""


@pytest.mark.parametrize(("labels", "said"), [
    ({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, "LABEL_0, LABEL_1, LABEL_2"), (None, "names no labels"),
    ({"0": "entailment", "1": "neutral"}, "3 logits, and config.json names 2 labels"),
    ({"0": "entailment", "1": "entailment", "2": "neutral"}, "they have to be"),
    ({"0": "contradiction", "1": "neutral"}, "they have to be"), ({"zero": "entailment"}, "names no labels"),
])
async def test_a_model_whose_labels_say_nothing_is_refused(tmp_path: Path, labels: Any, said: str) -> None:
    async with AsyncExitStack() as opened:
        with pytest.raises(ModelInvalid, match=said):
            await open_entailment(store_model(tmp_path, labels=labels), opened, threads=1)


async def test_a_model_of_another_kind_is_refused_with_the_setting(tmp_path: Path) -> None:
    async with AsyncExitStack() as opened:
        with pytest.raises(FailedPrecondition, match="SOURCIER_RERANK_ENTAILMENT_MODEL"):
            await open_entailment(store_model(tmp_path, kind="cross-encoder"), opened, threads=1)


async def test_a_call_that_nobody_waits_for_any_more_is_over(tmp_path: Path) -> None:
    async with serving(store_model(tmp_path)) as stub:
        request = rerank_pb2.EntailRequest(premise="pont", hypotheses=["pont"])
        call = stub.Entail(request, timeout=10)
        call.cancel()
        # The service goes on serving.
        assert (await stub.Entail(request, timeout=10)).model == NAME


WINDOWS = ("le pont fut ouvert en automne", "la gare", "le pont")


@pytest.mark.parametrize(("reader", "question", "counts"), [
    # Words of the question count with those of the sentence: the separator, which both texts have, counts 1.
    (READER, "ouvert", [4, 1, 3]), (READER, "", [3, 1, 3]), (None, "ouvert", [3, 1, 3]),
    ({"hypothesis": "{sentence}", "window_tokens": 10}, "ouvert", [3, 1, 3]),
])
async def test_several_windows_are_read_at_once_with_the_question_where_the_model_wants_it(
    tmp_path: Path, reader: Any, question: str, counts: list[int]
) -> None:
    async with serving(store_model(tmp_path, reader=reader)) as stub:
        found = await asked(stub, rerank_pb2.EntailRequest(premises=WINDOWS, hypotheses=["le pont"], question=question))
        described = await stub.Describe(rerank_pb2.DescribeRequest(), timeout=10)
    assert [each.entailment for each in found.entailments] == [
        pytest.approx(probabilities(count)[0], abs=1e-6) for count in counts
    ]
    assert described.entailment_window_tokens == (0 if reader is None else 10)


async def test_each_window_is_read_with_each_sentence_in_the_requests_order_whatever_their_length(
    tmp_path: Path,
) -> None:
    hypotheses = ["le pont fut ouvert", "la", "la gare"]
    async with serving(store_model(tmp_path, reader=READER)) as stub:
        together = await asked(stub, rerank_pb2.EntailRequest(premises=WINDOWS, hypotheses=hypotheses))
        alone = [(await entail(stub, window, [hypothesis])).entailments[0]
                 for window in WINDOWS for hypothesis in hypotheses]
    assert [each.entailment for each in together.entailments] == [
        pytest.approx(each.entailment, abs=1e-6) for each in alone
    ]


async def test_braces_in_texts_are_not_places_of_the_form(tmp_path: Path) -> None:
    async with serving(store_model(tmp_path, reader=READER)) as stub:
        found = await asked(stub, rerank_pb2.EntailRequest(
            premises=["le pont"], hypotheses=["gare {question}"], question="{sentence}"))
    assert found.entailments[0].entailment == pytest.approx(probabilities(1)[0], abs=1e-6)


@pytest.mark.parametrize(("request_fields", "field"), [
    ({"premises": ["pont"], "premise": "pont", "hypotheses": ["pont"]}, "premises"),
    ({"premises": ["pont", " "], "hypotheses": ["pont"]}, "premises[1]"),
    ({"premises": ["pont"] * (PREMISES_MAX + 1), "hypotheses": ["pont"]}, "premises"),
    ({"premises": ["pont"] * PREMISES_MAX, "hypotheses": ["pont"] * (PAIRS_MAX // PREMISES_MAX + 1)}, "hypotheses"),
    ({"premises": ["pont"], "hypotheses": ["pont"], "question": "x" * (QUESTION_CHARACTERS_MAX + 1)}, "question"),
])
async def test_windows_that_cannot_be_read_are_refused_with_their_field(
    tmp_path: Path, request_fields: Any, field: str
) -> None:
    async with serving(store_model(tmp_path, reader=READER)) as stub:
        with pytest.raises(InvalidArgument) as refused:
            await asked(stub, rerank_pb2.EntailRequest(**request_fields))
    assert refused.value.field == field


@pytest.mark.parametrize("reader", [
    {"hypothesis": "{question}", "window_tokens": 10}, {"hypothesis": "{sentence}", "window_tokens": 0},
    {"hypothesis": "{sentence}"}, {"window_tokens": 10}, "reader", [],
])
async def test_a_reader_whose_form_cannot_be_is_refused(tmp_path: Path, reader: Any) -> None:
    async with AsyncExitStack() as opened:
        with pytest.raises(ModelInvalid, match="sourcier_reader"):
            await open_entailment(store_model(tmp_path, reader=reader), opened, threads=1)
