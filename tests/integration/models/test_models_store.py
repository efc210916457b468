"""The fetched multilingual-e5-small: whole, multilingual, and the int8 form close to the float one."""

from __future__ import annotations

import os

import numpy as np
import onnxruntime
import pytest
from tokenizers import Tokenizer

from sourcier.services.chassis.errors import ModelInvalid
from sourcier.services.chassis.models.store import Model, ModelStore, root_of

pytestmark = pytest.mark.models

PASSAGES = (
    "Les congés non pris au 31 mai sont perdus, sauf accord écrit de l'employeur.",
    "La turbine tourne à 500 tours par minute et entraîne un alternateur.",
    "Holiday that is not taken by the end of May is lost unless the employer agrees in writing.",
)


@pytest.fixture(scope="module")
def model() -> Model:
    """Return the default embedding model, or skip where it has not been fetched."""
    root = root_of(os.environ)
    try:
        return ModelStore(root).load("multilingual-e5-small")
    except ModelInvalid as error:
        pytest.skip(str(error))


def embed(model: Model, variant: str, texts: list[str]) -> np.ndarray:
    tokenizer = Tokenizer.from_file(str(model.file("tokenizer.json")))
    session = onnxruntime.InferenceSession(str(model.variant(variant)), providers=["CPUExecutionProvider"])
    rows = []
    for text in texts:
        encoding = tokenizer.encode(text)
        columns = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask,
                   "token_type_ids": encoding.type_ids}
        inputs = {entry.name: np.array([columns[entry.name]], dtype=np.int64) for entry in session.get_inputs()}
        pooled = session.run(["last_hidden_state"], inputs)[0][0].mean(axis=0)
        rows.append(pooled / np.linalg.norm(pooled))
    return np.array(rows)


@pytest.mark.parametrize("variant", ["fp32", "int8"])
def test_a_question_finds_its_passage_across_languages(model: Model, variant: str) -> None:
    passages = embed(model, variant, ["passage: " + passage for passage in PASSAGES])
    questions = embed(model, variant, ["query: Que deviennent les jours de congé restants ?",
                                       "query: How fast does the turbine turn?"])
    order = np.argsort(-questions @ passages.T, axis=1)
    assert set(order[0][:2]) == {0, 2}
    assert order[1][0] == 1


def test_int8_stays_close_to_float(model: Model) -> None:
    texts = ["passage: " + passage for passage in PASSAGES]
    assert (embed(model, "fp32", texts) * embed(model, "int8", texts)).sum(axis=1).min() > 0.99


def test_constants_of_the_space_have_its_shape(model: Model) -> None:
    mean, weights = (np.load(model.file(name)) for name in (model.manifest.token_mean, model.manifest.token_weights))
    assert (mean.dtype, mean.shape) == (np.float32, (384,))
    assert weights.dtype == np.float32
    tokenizer = Tokenizer.from_file(str(model.file("tokenizer.json")))
    assert weights[tokenizer.token_to_id("</s>")] == 0.0
    # A rare word tells more than an article.
    rare, article = (weights[tokenizer.encode(word).ids].max() for word in ("turbine", "de"))
    assert rare > 2 * article


def test_the_tokenizer_cleans_what_sentencepiece_cleans(model: Model) -> None:
    tokenizer = Tokenizer.from_file(str(model.file("tokenizer.json")))
    assert tokenizer.encode("été\u00a0\t ﬁn\u0007").ids == tokenizer.encode("été fin").ids
