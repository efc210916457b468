"""A GPU: one that onnxruntime cannot use is told and left; one that it can gives the processor's vectors."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import numpy as np
import pytest

from sourcier.services.chassis.errors import FailedPrecondition, ModelInvalid
from sourcier.services.chassis.models.gpu import GPU_PROVIDER, gpu_present
from sourcier.services.chassis.models.store import Model, ModelFile, ModelStore, root_of
from sourcier.services.chassis.telemetry import degradations_total
from sourcier.services.embed import engines
from sourcier.services.embed.encoder import CPU_BATCH_TOKENS, Encoder
from sourcier.services.embed.engines import GPU_BATCH_TOKENS, GPU_STREAMS, open_engine
from tests.integration.rerank.tiny_onnx import FLOAT, Node
from tests.integration.rerank.tiny_onnx import model as graph
from tests.unit.embed.fix_embedding import write_model

IDS = np.array([[4, 5, 6], [7, 8, 1]], dtype=np.int64)
NOT_IN_THE_PACKAGE = pytest.mark.filterwarnings("ignore:Specified provider 'CUDAExecutionProvider' is not in available")
TEXTS = ("Le télétravail est possible deux jours par semaine.", "Les frais de repas sont remboursés.", "Oui.")


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """A model in fp32 whose graph gives each token its own id, as a vector of one number."""
    content = graph(
        [Node("Cast", ["input_ids"], "numbers", {"to": FLOAT}), Node("Unsqueeze", ["numbers", "axes"], "hidden")],
        inputs={"input_ids": ["texts", "tokens"], "attention_mask": ["texts", "tokens"]},
        outputs={"hidden": ["texts", "tokens", 1]}, constants={"axes": [2]},
    )
    tmp_path.joinpath("model.onnx").write_bytes(content)
    return write_model(tmp_path, variants={"fp32": "model.onnx"}, files={"model.onnx": ModelFile("", len(content))})


@pytest.fixture
def unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device of a GPU, and an onnxruntime that cannot run on it, as where CUDA's libraries are missing."""
    import onnxruntime

    if GPU_PROVIDER in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime is made for GPUs; that it fails cannot be shown")
    monkeypatch.setattr(engines, "gpu_present", lambda: True)


@pytest.mark.usefixtures("unusable")
@NOT_IN_THE_PACKAGE
def test_a_gpu_that_cannot_be_used_is_told_and_the_processor_taken(
    model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    told = degradations_total.labels("embed", "GPU")
    before = told._value.get()
    with caplog.at_level(logging.WARNING):
        engine = open_engine(model, name="auto", threads=1, streams=1)
    assert (engine.name, engine.batch_tokens) == ("onnxruntime-fp32", CPU_BATCH_TOKENS)
    np.testing.assert_array_equal(engine.run(IDS, np.ones_like(IDS))[:, :, 0], IDS)
    assert told._value.get() == before + 1
    assert "there is a GPU, and onnxruntime could not use it" in caplog.text


@pytest.mark.usefixtures("unusable")
@NOT_IN_THE_PACKAGE
def test_a_gpu_that_was_asked_for_and_cannot_be_used_is_an_error(model: Model) -> None:
    with pytest.raises(FailedPrecondition, match=r"SOURCIER_EMBED_ENGINE=cuda-fp32 asks for.*leave it out"):
        open_engine(model, name="cuda-fp32", threads=1, streams=1)


def test_a_gpu_that_was_asked_for_and_is_not_there_is_an_error(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "gpu_present", lambda: False)
    with pytest.raises(FailedPrecondition, match="SOURCIER_EMBED_ENGINE=cuda-fp32 needs an NVIDIA GPU"):
        open_engine(model, name="cuda-fp32", threads=1, streams=1)


def test_engines_of_the_processor_stay_on_it_beside_a_gpu(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "gpu_present", lambda: True)
    engine = open_engine(model, name="onnxruntime-fp32", threads=1, streams=1)
    assert isinstance(engine, engines.OnnxRuntimeEngine)
    assert not engine.on_gpu


@pytest.mark.models
def test_a_gpu_gives_the_vectors_of_the_processor() -> None:
    if not gpu_present():
        pytest.skip("there is no NVIDIA GPU here with onnxruntime-gpu")
    try:
        model = ModelStore(root_of(os.environ)).load("multilingual-e5-small")
    except ModelInvalid as error:
        pytest.skip(f"the model store lacks multilingual-e5-small: {error.message}")
    on_gpu, on_processor = (
        Encoder(model, open_engine(model, name=name, threads=0, streams=0)) for name in ("auto", "onnxruntime-fp32")
    )
    engine = on_gpu.engine
    assert (engine.name, engine.streams, engine.batch_tokens) == ("cuda-fp32", GPU_STREAMS, GPU_BATCH_TOKENS)
    tokens = on_gpu.tokenize(TEXTS, prefix="passage: ", field="texts")
    for mine, other in zip(on_gpu.encode(tokens), on_processor.encode(tokens), strict=True):
        assert float(mine.vector @ other.vector) > 0.9999
        codes = [np.frombuffer(entry.token_codes, np.uint8) for entry in (mine, other)]
        assert np.unpackbits(codes[0] ^ codes[1]).mean() < 0.01
