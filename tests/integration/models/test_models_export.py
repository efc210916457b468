"""The exporters, on tiny models with random weights: what the store holds computes what PyTorch computes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from sourcier.installation import environment_python
from sourcier.services.chassis.models.store import Model, ModelStore
from sourcier.services.embed.engines import session_options
from sourcier.services.rerank.entailment import EntailmentModel

REPOSITORY = Path(__file__).parents[3]
EXPORT_PYTHON = environment_python("export")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(EXPORT_PYTHON is None, reason="needs requirements/install.py export"),
]
Fetch = Callable[..., Model]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a tiny model of each kind; return the folder that has one for each."""
    folder = tmp_path_factory.mktemp("tiny")
    run_export("tests.integration.models.tiny", str(folder))
    return folder


@pytest.fixture(scope="module")
def fetch(tmp_path_factory: pytest.TempPathFactory) -> Fetch:
    """Return a function that fetches from a folder by the command and loads the model."""
    root = tmp_path_factory.mktemp("store")

    def run(*arguments: str, name: str) -> Model:
        done = subprocess.run([sys.executable, "-m", "sourcier.models", "--root", str(root), "fetch", *arguments],
                              cwd=REPOSITORY,
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return ModelStore(root).load(name)

    return run


@pytest.fixture(scope="module")
def e5_base(tiny: Path, fetch: Fetch) -> Model:
    """Return another size of E5, fetched in both forms."""
    return fetch("--from", str(tiny / "embedding"), "intfloat/multilingual-e5-base", name="multilingual-e5-base")


def run_export(module: str, *arguments: str) -> None:
    command = [str(EXPORT_PYTHON), "-m", module, *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def onnx_outputs(graph: Path, ids: np.ndarray) -> np.ndarray:
    return run(onnxruntime.InferenceSession(str(graph), providers=["CPUExecutionProvider"]), ids)


def run(session: onnxruntime.InferenceSession, ids: np.ndarray) -> np.ndarray:
    columns = {"input_ids": ids[None].astype(np.int64), "attention_mask": np.ones((1, len(ids)), dtype=np.int64)}
    outputs: np.ndarray = session.run(None, {entry.name: columns[entry.name] for entry in session.get_inputs()})[0]
    return outputs


def operations(graph: Path, ids: np.ndarray) -> set[str]:
    """Return the kinds of steps that onnxruntime makes of a graph in the embed service."""
    options = session_options(precision="int8", threads=1)
    options.enable_profiling = True
    options.profile_file_prefix = str(graph.parent / "profile")
    session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    run(session, ids)
    events = json.loads(Path(session.end_profiling()).read_text("utf-8"))
    return {event["args"]["op_name"] for event in events if "op_name" in event.get("args", {})}


def test_a_cross_encoder_gives_the_scores_of_pytorch(tiny: Path, fetch: Fetch) -> None:
    folder = tiny / "cross-encoder"
    model = fetch("--kind", "cross-encoder", "--from", str(folder), "test/tiny-ranker", name="tiny-ranker")
    expected = np.load(folder / "expected.npz")
    tokenizer = Tokenizer.from_file(str(model.file("tokenizer.json")))
    encoding = tokenizer.encode("Le pont fut ouvert", "en automne")
    assert encoding.ids == expected["ids"].tolist()
    outputs = onnx_outputs(model.variant("fp32"), np.array(encoding.ids))
    assert outputs.shape == (1, 1)
    np.testing.assert_allclose(outputs, expected["outputs"], atol=1e-5)
    assert model.manifest.token_limit == 128


def test_an_entailment_model_gives_the_relations_of_pytorch(tiny: Path, fetch: Fetch) -> None:
    folder = tiny / "entailment"
    model = fetch("--kind", "entailment", "--from", str(folder), "test/tiny-nli", name="tiny-nli")
    expected = np.exp(np.load(folder / "expected.npz")["outputs"][0])
    loaded = EntailmentModel(model, threads=1, batch_texts_max=8)
    assert loaded.labels == ("entailment", "neutral", "contradiction")
    (found,) = loaded.relations(["Le pont fut ouvert"], ["en automne"])
    np.testing.assert_allclose(
        [found.entailment, found.neutral, found.contradiction], expected / expected.sum(), atol=1e-5
    )
    assert model.manifest.token_limit == 128


def test_the_readers_weights_on_the_embedding_model_give_the_logits_of_pytorch(
    tiny: Path, e5_base: Model, tmp_path: Path
) -> None:
    trained, weights, built = tiny / "reader", tmp_path / "reader.safetensors", tmp_path / "reader"
    run_export("sourcier.models.exports.reader", "--pack", str(trained), "--target", str(weights))
    base = e5_base.variant("fp32").parent
    run_export("sourcier.models.exports.reader", str(weights), "--base", str(base), "--target", str(built))
    with np.load(trained / "expected.npz") as kept:
        ids, expected = kept["ids"], kept["outputs"]
    # Seven bits for each weight: rounding moves logits by a tenth of what lies between them.
    found = onnx_outputs(built / "model.int8.onnx", ids)
    np.testing.assert_allclose(found, expected, atol=0.2 * float(np.ptp(expected)))
    config = json.loads((built / "config.json").read_text("utf-8"))
    assert config["sourcier_reader"]["hypothesis"] == "{question} {sentence}"
    # The packed file holds the one layer that was fitted, and no vocabulary.
    assert weights.stat().st_size < 200_000


def test_a_model_without_such_labels_is_not_taken_for_one(tiny: Path, tmp_path: Path) -> None:
    arguments = ["--kind", "entailment", "--from", str(tiny / "cross-encoder"), "test/tiny-nli"]
    done = subprocess.run([sys.executable, "-m", "sourcier.models", "--root", str(tmp_path / "store"), "fetch",
                           *arguments],
                          cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 1
    assert "an entailment model names entailment, neutral and contradiction" in done.stderr
    assert not (tmp_path / "store" / "tiny-nli").exists()


def test_another_size_of_e5_has_its_own_dimension_and_int8_form(tiny: Path, e5_base: Model, tmp_path: Path) -> None:
    model, manifest, expected = e5_base, e5_base.manifest, np.load(tiny / "embedding" / "expected.npz")
    assert (manifest.dimension, manifest.token_limit, manifest.pooling) == (64, 128, "mean")
    assert np.load(model.file(manifest.token_mean)).shape == (64,)
    np.testing.assert_allclose(onnx_outputs(model.variant("fp32"), expected["ids"]), expected["outputs"], atol=1e-5)
    int8 = onnx_outputs(model.variant("int8"), expected["ids"])
    assert cosine(int8, expected["outputs"]) > 0.99
    # No product is left in float32, and no weights are converted at each call.
    assert not operations(model.variant("int8"), expected["ids"]) & {"MatMul", "Gemm", "DequantizeLinear"}

    # In both layers the scale is in the weights, and the outputs are the same; sums of eight bits are nearly so.
    folded = tmp_path / "folded.onnx"
    run_export("tests.integration.models.folding", str(model.variant("fp32")), str(folded), "2")
    np.testing.assert_allclose(onnx_outputs(folded, expected["ids"]), expected["outputs"], atol=1e-5)
    sums = onnx_outputs(Path(f"{folded}.int8"), expected["ids"])
    assert cosine(sums, expected["outputs"]) > 0.99
    assert not np.allclose(sums, expected["outputs"], atol=1e-5)


def test_the_int8_form_of_a_model_too_large_for_one_file_is_made_by_openvino(e5_base: Model, tmp_path: Path) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(e5_base.file(name), tmp_path)
    # Weights beside the graph stand for such a model.
    (tmp_path / "model.onnx_data").touch()
    description = {"token_limit": 128, "variants": {}, "facts": {"inputs": e5_base.manifest.facts["inputs"]}}
    (tmp_path / "export.json").write_text(json.dumps(description), "utf-8")
    run_export("sourcier.models.exports.quantisation", str(tmp_path))
    made = json.loads((tmp_path / "export.json").read_text("utf-8"))["variants"]["int8"]
    assert made == "model.int8.xml"
    assert (tmp_path / "model.int8.bin").stat().st_size < (tmp_path / "model.onnx").stat().st_size


def test_token_weights_are_the_surprise_of_each_token(e5_base: Model) -> None:
    weights = np.load(e5_base.file(e5_base.manifest.token_weights))
    tokenizer = Tokenizer.from_file(str(e5_base.file("tokenizer.json")))
    assert (weights.dtype, weights.shape) == (np.float32, (tokenizer.get_vocab_size(),))
    assert weights[:4].tolist() == [0.0] * 4
    assert weights.min() >= 0.0
    assert weights[4:].max() > 1.0


def test_int8_weights_of_a_language_model_come_back_within_their_step(tiny: Path, fetch: Fetch) -> None:
    folder = tiny / "language"
    model = fetch("--kind", "language", "--int8", "--from", str(folder), "test/tiny-language", name="tiny-language")
    script = (
        "import sys; from safetensors.torch import load_file\n"
        "a, b = (load_file(path + '/model.safetensors') for path in sys.argv[1:])\n"
        "for name, scale in b.items():\n"
        "    if not name.endswith('weight_scale'): continue\n"
        "    weight = name.removesuffix('_scale')\n"
        "    source = 'model.embed_tokens.weight' if 'lm_head' in name else weight\n"
        "    assert str(b[weight].dtype) == 'torch.int8', weight\n"
        "    assert ((b[weight].float() * scale - a[source]).abs() <= scale / 2 + 1e-6).all(), weight\n"
        "assert sum(name.endswith('weight_scale') for name in b) == 2 * 7 + 1\n"
    )
    command = [str(EXPORT_PYTHON), "-c", script, str(folder), str(model.path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert model.variant("int8").name == "model.safetensors"


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float((one * other).sum() / np.linalg.norm(one) / np.linalg.norm(other))
