"""The engine that computes nothing: the same text the same vector, and no other space than its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.models.store import Model
from sourcier.services.embed.encoder import Encoder
from sourcier.services.embed.engines import open_engine
from tests.unit.embed.fix_embedding import write_model


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return write_model(tmp_path / "model")


def in_null_space(model: Model) -> Model:
    return replace(model, manifest=replace(model.manifest, precision="null"))


def test_the_same_text_gets_the_same_vector_and_codes(model: Model) -> None:
    null = in_null_space(model)
    first, second = (Encoder(null, open_engine(null, name="auto", threads=1, streams=1)) for _ in range(2))
    tokens = first.tokenize(["le chat dort", "le chien mange"], prefix="passage: ", field="texts")
    cat, dog = first.encode(tokens)
    (again,) = second.encode(tokens[:1])
    assert np.array_equal(cat.vector, again.vector)
    assert cat.token_codes == again.token_codes
    assert float(cat.vector @ cat.vector) == pytest.approx(1.0, abs=1e-5)
    assert float(cat.vector @ dog.vector) < 0.99


def test_its_vectors_are_in_a_space_apart(model: Model) -> None:
    assert in_null_space(model).space_id != model.space_id


def test_no_real_space_gets_its_vectors(model: Model) -> None:
    with pytest.raises(FailedPrecondition, match=f"SOURCIER_EMBED_MODEL={model.manifest.name}@null"):
        open_engine(model, name="null", threads=1, streams=1)


def test_no_real_engine_fills_its_space(model: Model) -> None:
    with pytest.raises(FailedPrecondition, match="SOURCIER_EMBED_ENGINE=onnxruntime-fp32 does not run"):
        open_engine(in_null_space(model), name="onnxruntime-fp32", threads=1, streams=1)
