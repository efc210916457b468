"""The gate on retrieval: the default of now over samples of five sets, beside what was recorded of them."""

from __future__ import annotations

import pytest

from eval import shared_sets
from eval.retrieval.encoding import OfflineEncoder
from eval.variants import gate
from sourcier.services.chassis.errors import ModelInvalid

pytestmark = [pytest.mark.models, pytest.mark.timeout(300)]
NAME = "multilingual-e5-small"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> OfflineEncoder:
    try:
        return OfflineEncoder(model=NAME, engine="auto", kept=tmp_path_factory.mktemp("encoded"))
    except ModelInvalid as error:
        pytest.skip(f"the model store lacks {NAME}: {error.message}")


@pytest.mark.parametrize("name", gate.SAMPLES)
def test_retrieval_does_not_fall_by_more_than_its_noise(name: str, encoder: OfflineEncoder) -> None:
    dataset = gate.sample(name)
    if dataset is None:
        pytest.skip(shared_sets.absent(f"{shared_sets.RETRIEVAL}/{name}"))
    now = gate.measured(dataset, encoder, progress=lambda _: lambda _, __: None)
    found = list(gate.compared(name, now, gate.read()))
    assert len(found) == len(gate.MODES)
    assert not [each for each in found if each.fell], gate.table(found)
