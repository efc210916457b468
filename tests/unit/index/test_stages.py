"""Every stage can fail: its failures can be listed by its name, and replayed."""

from __future__ import annotations

from typing import get_args

import pytest

from sourcier.options import FailureStageName
from sourcier.services.chassis.queue.subjects import DEAD_BY_STAGE, FED_BY_STAGE
from sourcier.services.index.pipeline.dead_letters import ACCEPT, STAGES
from sourcier.services.ingest.settings import STAGES as OF_INGEST

pytestmark = pytest.mark.unit

WITHOUT_DEAD_LETTERS = {"enrich"}
"""What it gives up is told with the chunk."""


def test_a_stage_that_gives_up_documents_is_fed_by_a_subject_that_a_replay_sends_to() -> None:
    assert FED_BY_STAGE.keys() == DEAD_BY_STAGE.keys() - WITHOUT_DEAD_LETTERS


def test_failures_are_listed_by_every_stage_that_has_them() -> None:
    assert (ACCEPT, *FED_BY_STAGE) == STAGES == get_args(FailureStageName)
    assert set(OF_INGEST) - {"collect"} - WITHOUT_DEAD_LETTERS <= set(STAGES)
