"""The real E5 from the model store: it tells meanings apart, and precision costs little."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt
import openvino
import pytest

from sourcier.services.chassis.errors import ModelInvalid
from sourcier.services.chassis.models.store import Model, ModelStore, root_of
from sourcier.services.embed import lengths
from sourcier.services.embed.encoder import Encoder, InferenceEngine
from sourcier.services.embed.engines import open_engine
from sourcier.services.embed.openvino_engine import OpenVinoEngine

pytestmark = pytest.mark.models

NAME = "multilingual-e5-small"
PASSAGES = (
    "Le télétravail est possible deux jours par semaine, après accord du responsable.",
    "Les frais de repas sont remboursés jusqu'à 19 euros, sur justificatif.",
    "Un incident de sécurité se signale sans délai au service informatique.",
)
QUESTIONS = (
    "Combien de jours peut-on travailler depuis chez soi ?",
    "Quel est le plafond pour une note de restaurant ?",
    "Qui prévenir en cas de piratage ?",
)


@pytest.fixture(scope="module")
def model() -> Model:
    try:
        return ModelStore(root_of(os.environ)).load(NAME)
    except ModelInvalid as error:
        pytest.skip(f"the model store lacks {NAME}: {error.message}")


@pytest.fixture(scope="module")
def encoder(model: Model) -> Encoder:
    return Encoder(model, open_engine(model, name="onnxruntime-fp32", threads=2, streams=1))


@pytest.fixture(scope="module")
def int8(model: Model) -> Path:
    if "int8" not in model.manifest.variants:
        pytest.skip(f"the model store has {NAME} in {', '.join(model.manifest.variants)} alone")
    return model.variant("int8")


@pytest.fixture(scope="module")
def automatic(int8: Path, model: Model) -> InferenceEngine:
    """The engine that a service takes on this processor, with one stream."""
    return open_engine(model, name="auto", threads=2, streams=1)


@pytest.fixture(scope="module")
def any_length(int8: Path) -> OpenVinoEngine:
    """OpenVINO with two streams, which is never compiled for the lengths that a load comes in."""
    return OpenVinoEngine(int8, name="openvino-int8", threads=2, streams=2, fixed_lengths_max=0)


def vectors(encoder: Encoder, texts: tuple[str, ...], *, prefix: str) -> npt.NDArray[np.float32]:
    tokens = encoder.tokenize(texts, prefix=prefix, field="texts")
    return np.stack([entry.vector for entry in encoder.encode(tokens)])


def test_a_question_is_closest_to_its_passage(encoder: Encoder) -> None:
    similarities = vectors(encoder, QUESTIONS, prefix="query: ") @ vectors(encoder, PASSAGES, prefix="passage: ").T
    assert similarities.argmax(axis=1).tolist() == [0, 1, 2]


def test_a_paraphrase_is_closer_than_another_subject(encoder: Encoder) -> None:
    reworded = "On peut travailler à domicile deux jours chaque semaine si le chef est d'accord."
    same, paraphrase, other = vectors(encoder, (PASSAGES[0], reworded, PASSAGES[1]), prefix="query: ")
    assert same @ paraphrase > 0.88
    assert same @ paraphrase > same @ other + 0.03


def test_a_text_is_the_same_alone_and_beside_a_longer_one(encoder: Encoder) -> None:
    tokens = encoder.tokenize((PASSAGES[0], " ".join(PASSAGES)), prefix="passage: ", field="texts")
    (alone,), together = encoder.encode(tokens[:1]), encoder.encode(tokens)[0]
    assert float(alone.vector @ together.vector) > 0.9999
    codes = [np.frombuffer(entry.token_codes, np.uint8) for entry in (alone, together)]
    assert np.unpackbits(codes[0] ^ codes[1]).mean() < 0.01


def test_prefix_and_special_tokens_have_no_codes(encoder: Encoder) -> None:
    (tokens,) = encoder.tokenize(("télétravail",), prefix="passage: ", field="texts")
    (encoded,) = encoder.encode([tokens])
    assert 0 < len(encoded.weights) <= tokens.count - tokens.prefix_count - 1
    assert len(encoded.token_codes) == len(encoded.weights) * encoder.dimension // 8


def test_int8_agrees_with_fp32(model: Model, encoder: Encoder, automatic: InferenceEngine) -> None:
    quantised = Encoder(model, automatic)
    texts = PASSAGES + QUESTIONS
    agreement = (
        vectors(encoder, texts, prefix="passage: ") * vectors(quantised, texts, prefix="passage: ")
    ).sum(axis=1)
    assert agreement.min() > 0.98


def test_a_question_that_is_alone_gets_the_vector_of_one_in_a_stream(
    model: Model, int8: Path, automatic: InferenceEngine, any_length: OpenVinoEngine
) -> None:
    # With one stream there is one compiled model; with two, another one for a short text alone, made at the first.
    engines = [
        automatic if isinstance(automatic, OpenVinoEngine)
        else OpenVinoEngine(int8, name="openvino-int8", threads=2, streams=1), any_length,
    ]
    one, two = (Encoder(model, engine) for engine in engines)
    two.encode(two.tokenize(QUESTIONS[:1], prefix="query: ", field="texts"))
    engines[1].wait_until_compiled()
    assert engines[0]._alone is None
    assert engines[1]._alone is not None
    for question in QUESTIONS:
        tokens = one.tokenize([question], prefix="query: ", field="texts")
        in_stream, alone = one.encode(tokens)[0], two.encode(tokens)[0]
        assert float(alone.vector @ in_stream.vector) > 0.999
        codes = [np.frombuffer(entry.token_codes, np.uint8) for entry in (alone, in_stream)]
        assert np.unpackbits(codes[0] ^ codes[1]).mean() < 0.02


def test_a_load_runs_in_a_model_compiled_for_its_lengths_until_it_is_over(
    model: Model, int8: Path, any_length: OpenVinoEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lengths, "WORTH_TOKENS", 4 * 64)
    engine = OpenVinoEngine(int8, name="openvino-int8", threads=2, streams=2, fixed_lengths_max=2)
    never, fixed = Encoder(model, any_length), Encoder(model, engine)
    of_any_length = engine._for_streams
    long = tuple(" ".join(PASSAGES[number:] + PASSAGES[:number]) for number in range(3))
    short = tuple(" ".join((*PASSAGES[number:], *PASSAGES[:number])[: len(PASSAGES) // 2 + 1]) for number in range(3))
    expected = {texts: vectors(never, texts, prefix="passage: ") for texts in (long, short)}
    padded = sorted({fixed.padded_length(max(item.count for item in fixed.tokenize(
        texts, prefix="passage: ", field="texts"))) for texts in (long, short)})
    for _ in range(4):
        for texts in (long, short):
            assert (vectors(fixed, texts, prefix="passage: ") * expected[texts]).sum(axis=1).min() > 0.999
            engine.wait_until_compiled()
    assert list(engine._lengths_compiled) == padded
    assert engine._for_streams is not of_any_length
    assert not any_length._lengths_compiled
    # Other lengths and numbers of texts, several at once, go through the same model.
    with ThreadPoolExecutor(2) as both:
        for texts in (PASSAGES, long[:1], (*long, *short)):
            right = vectors(never, texts, prefix="passage: ")
            found = list(both.map(lambda _, texts=texts: vectors(fixed, texts, prefix="passage: "), range(4)))
            assert min((each * right).sum(axis=1).min() for each in found) > 0.999

    engine.rest()
    assert list(engine._lengths_compiled) == padded
    engine.rest()
    engine.wait_until_compiled()
    assert not engine._lengths_compiled
    # It begins to count anew.
    assert (vectors(fixed, long[:1], prefix="passage: ") * expected[long][:1]).sum() > 0.999
    engine.wait_until_compiled()
    assert not engine._lengths_compiled


def test_a_length_that_cannot_be_compiled_for_costs_speed_alone(
    model: Model, int8: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lengths, "WORTH_TOKENS", 1)
    engine = OpenVinoEngine(int8, name="openvino-int8", threads=2, streams=2)

    def refused(*_: object) -> object:
        raise RuntimeError("no memory")

    monkeypatch.setattr(engine, "compile_for", refused)
    encoder = Encoder(model, engine)
    before = vectors(encoder, PASSAGES, prefix="passage: ")
    engine.wait_until_compiled()
    assert "a tenth slower" in caplog.text
    # It is not tried again and again.
    caplog.clear()
    assert (vectors(encoder, PASSAGES, prefix="passage: ") * before).sum(axis=1).min() > 0.999
    engine.wait_until_compiled()
    assert not caplog.text


def test_the_first_inference_is_over_before_streams_begin(
    model: Model, int8: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two first calls at once may wait for each other for ever, inside the engine's bindings.
    asked = []
    infer = openvino.InferRequest.infer

    def noted(request: openvino.InferRequest, *arguments: object, **options: object) -> object:
        asked.append(threading.current_thread())
        return infer(request, *arguments, **options)

    monkeypatch.setattr(openvino.InferRequest, "infer", noted)
    open_engine(model, name="openvino-int8", threads=2, streams=2)
    assert asked == [threading.current_thread()]
