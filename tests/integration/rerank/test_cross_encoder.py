"""A tiny cross-encoder behind `RerankService`: it counts the words of a passage that the question has, too."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import pytest_asyncio
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from sourcier.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, ModelInvalid
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline, open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.models.gpu import GPU_PROVIDER
from sourcier.services.chassis.models.store import Manifest, Model, ModelFile, ModelStore, file_sha256, manifest_to_json
from sourcier.services.chassis.telemetry import degradations_total
from sourcier.services.rerank import onnx_pairs
from sourcier.services.rerank.__main__ import open_ranker
from sourcier.services.rerank.executor import RankExecutor
from sourcier.services.rerank.onnx_pairs import PairModel
from sourcier.services.rerank.server import RerankServer
from sourcier.services.rerank.settings import RerankSettings
from tests.integration.rerank import tiny_onnx
from tests.integration.rerank.tiny_onnx import Node

NAME = "tiny-ranker"
WORDS = ["le", "pont", "fut", "ouvert", "en", "automne", "quand", "gare", "reste", "fermée"]
TOKEN_LIMIT = 12
SPECIAL_TOKENS = 3
INPUTS = dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), ("batch", "tokens"))
QUESTION = "quand le pont fut ouvert"

# same[i, j] of two tokens, × 1 where i is of the question and j of the passage, summed.
NODES = (
    Node("Unsqueeze", ["input_ids", "two"], "rows"),
    Node("Unsqueeze", ["input_ids", "one"], "columns"),
    Node("Equal", ["rows", "columns"], "equal"),
    Node("Cast", ["equal"], "same", {"to": tiny_onnx.FLOAT}),
    Node("Mul", ["token_type_ids", "attention_mask"], "of_passage"),
    Node("Sub", ["attention_mask", "of_passage"], "of_question"),
    Node("Cast", ["of_passage"], "passage", {"to": tiny_onnx.FLOAT}),
    Node("Cast", ["of_question"], "question", {"to": tiny_onnx.FLOAT}),
    Node("Unsqueeze", ["passage", "two"], "passage_column"),
    Node("Unsqueeze", ["question", "one"], "question_row"),
    Node("MatMul", ["question_row", "same"], "found"),
    Node("MatMul", ["found", "passage_column"], "sum"),
    Node("Squeeze", ["sum", "two"], "logits"),
)
GRAPH = tiny_onnx.model(NODES, inputs=INPUTS, outputs={"logits": ("batch", 1)}, constants={"one": [1], "two": [2]})
EMBEDDING_GRAPH = tiny_onnx.model(
    NODES[:4], inputs=INPUTS, outputs={"same": ("batch", "tokens", "tokens")}, constants={"one": [1], "two": [2]}
)
UNKNOWN_INPUT_GRAPH = tiny_onnx.model(
    [*NODES[:-1], Node("Squeeze", ["sum", "position_ids"], "logits")], inputs=INPUTS | {"position_ids": (1,)},
    outputs={"logits": ("batch", 1)}, constants={"one": [1], "two": [2]},
)


def store_model(root: Path, *, graph: bytes = GRAPH, **fields: Any) -> RerankSettings:
    """Put a cross-encoder into a model store; return the settings that name it."""
    folder = root / NAME
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(graph)
    save_tokenizer(folder)
    files = {path.name: ModelFile(file_sha256(path), path.stat().st_size) for path in folder.iterdir()}
    manifest = Manifest(
        name=NAME, kind="cross-encoder", revision="1", source="test", licence="none", files=files, exporter="test",
        exporter_version="1", variants={"fp32": "model.onnx"}, token_limit=TOKEN_LIMIT,
    )
    (folder / "manifest.json").write_text(json.dumps(manifest_to_json(replace(manifest, **fields))))
    return RerankSettings(model=NAME, models_dir=root, batch_texts_max=2)


def save_tokenizer(folder: Path) -> None:
    """Write a tokenizer of whole words, which tells two texts apart by their type."""
    vocabulary = {word: place for place, word in enumerate(["<s>", "<pad>", "</s>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))


@pytest_asyncio.fixture(loop_scope="session")
async def stub(tmp_path: Path) -> AsyncIterator[Any]:
    """Yield a stub of a running service that loaded the model as its settings say."""
    ranker = open_ranker(store_model(tmp_path), threads=1)
    async with (
        RankExecutor(ranker, threads=1, waiting_max=4, seconds_max=10) as executor,
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=8) as server,
    ):
        server.add(rerank_pb2_grpc.add_RerankServiceServicer_to_server, RerankServer(executor, candidates_max=10),
                   "sourcier.rerank.v1.RerankService")
        await server.start()
        channel = open_channel(f"127.0.0.1:{server.port}")
        yield rerank_pb2_grpc.RerankServiceStub(channel)
        await channel.close()


async def rerank(stub: Any, query: str, texts: Sequence[str]) -> list[tuple[str, float]]:
    """Return the candidates' texts and scores, best first."""
    request = rerank_pb2.RerankRequest(query=query, candidates=[
        rerank_pb2.Candidate(chunk_id=str(place), text=text) for place, text in enumerate(texts)
    ])
    response: rerank_pb2.RerankResponse = await channels.call(
        stub.Rerank, request, peer="rerank", tenant="acme", deadline=Deadline.after(10), cap_seconds=10
    )
    assert response.ranker == NAME
    return [(texts[int(entry.chunk_id)], entry.score) for entry in response.ranked]


async def test_passages_are_ranked_by_what_the_model_says(stub: Any) -> None:
    # The special tokens that end question and passage are the same one, which counts 1 for each pair.
    ranked = await rerank(stub, QUESTION, [
        "la gare reste fermée", "le pont", "en automne", "le pont fut ouvert", "pont",
    ])
    assert ranked == [
        ("le pont fut ouvert", 4 + 1), ("le pont", 2 + 1), ("pont", 1 + 1),
        ("la gare reste fermée", 1), ("en automne", 1),
    ]


async def test_a_long_passage_is_cut_at_its_end(stub: Any) -> None:
    room = TOKEN_LIMIT - SPECIAL_TOKENS - len(QUESTION.split())
    ranked = await rerank(stub, QUESTION, ["gare " * room + "pont " * 50, "gare " * (room - 1) + "pont"])
    assert [score for _, score in ranked] == [2, 1]


async def test_a_question_that_leaves_no_room_is_refused_with_the_limit(stub: Any) -> None:
    longest = " ".join(["pont"] * (TOKEN_LIMIT - SPECIAL_TOKENS - 1))
    assert await rerank(stub, longest, ["pont", "pont gare"])
    with pytest.raises(InvalidArgument, match=f"{TOKEN_LIMIT} tokens") as refused:
        await rerank(stub, f"{longest} pont", ["pont", "pont gare"])
    assert refused.value.field == "query"


@pytest.mark.parametrize(("query", "texts", "field"), [(" ", ["pont"], "query"), ("pont", [""], "candidates.text")])
async def test_a_ranker_that_reads_texts_wants_texts(stub: Any, query: str, texts: list[str], field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await rerank(stub, query, texts)
    assert refused.value.field == field


async def test_the_service_describes_its_model(stub: Any) -> None:
    described = await stub.Describe(rerank_pb2.DescribeRequest(), timeout=10)
    assert (described.ranker, described.revision) == (NAME, "1")
    assert (described.reads_text, described.reads_codes) == (True, False)


@pytest.mark.parametrize(("graph", "fields", "message"), [
    (b"not a graph", {}, r"model\.onnx .*cannot be loaded"),
    (EMBEDDING_GRAPH, {}, r"model\.onnx gives .*same.* one row"),
    (UNKNOWN_INPUT_GRAPH, {}, r"model\.onnx wants position_ids"),
    (GRAPH, {"token_limit": 0}, "token_limit"),
    (GRAPH, {"variants": {}}, "has no variant 'fp32'"),
], ids=["no graph", "another model's graph", "unknown input", "no limit", "no file"])
def test_a_file_that_is_no_cross_encoder_is_named(
    tmp_path: Path, graph: bytes, fields: dict[str, Any], message: str
) -> None:
    settings = store_model(tmp_path, graph=graph, **fields)
    with pytest.raises(ModelInvalid, match=message):
        open_ranker(settings, threads=1)


def test_a_damaged_file_and_a_model_of_another_kind_are_refused(tmp_path: Path) -> None:
    damaged = store_model(tmp_path / "damaged")
    (tmp_path / "damaged" / NAME / "model.onnx").write_bytes(GRAPH + b"\0")
    with pytest.raises(ModelInvalid, match="bytes, its manifest says"):
        open_ranker(damaged, threads=1)
    with pytest.raises(FailedPrecondition, match="SOURCIER_RERANK_MODEL"):
        open_ranker(store_model(tmp_path / "other", kind="embedding"), threads=1)


@pytest.mark.filterwarnings("ignore:Specified provider 'CUDAExecutionProvider' is not in available")
def test_a_gpu_that_cannot_be_used_leaves_the_processor_its_own_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if GPU_PROVIDER in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime is made for GPUs; that it fails cannot be shown")
    stored = ModelStore(store_model(tmp_path).models_root).load(NAME)
    (tmp_path / NAME / "model.int8.onnx").write_bytes(GRAPH)
    variants = {**stored.manifest.variants, "int8": "model.int8.onnx"}
    monkeypatch.setattr(onnx_pairs, "gpu_present", lambda: True)
    told = degradations_total.labels("rerank", "GPU")
    before = told._value.get()
    model = PairModel(Model(stored.path, replace(stored.manifest, variants=variants)), threads=1, cut="only_second")
    assert model.path.name == "model.int8.onnx"
    assert told._value.get() == before + 1
    # Two words, and the end of a text, which both have.
    assert model.logits([(QUESTION, "le pont")]).tolist() == [[3.0]]
