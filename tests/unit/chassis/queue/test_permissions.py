"""What each service may publish at the broker: its own subjects of the table, and none of the others'."""

from __future__ import annotations

import pytest

from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.permissions import permissions

PREFIX = "kept.v1."
ALLOWED = {each.service: each for each in permissions(PREFIX)}
PUBLISHED = {
    "embed": {"chunks.embedded", "dead.embed", "version.standing"},
    "gateway": {"bucket.notification", "answer", "answer.owner"},
    "notifier": {"bucket.notification"},
}
"""By service; ingest, which runs most stages, publishes the others."""
OF_NOBODY = {"answer.live", "chunks.told"}
"""What the broker tells again by itself."""


def published(service: str) -> set[str]:
    """Return the names of the subjects that a service may publish to."""
    return {each.name for each in subjects.TABLE if each.pattern(PREFIX) in ALLOWED[service].publish}


@pytest.mark.parametrize("service", PUBLISHED)
def test_a_service_publishes_its_own_subjects_alone(service: str) -> None:
    assert published(service) == PUBLISHED[service]


def test_ingest_publishes_no_vectors_of_its_own_and_no_answers() -> None:
    foreign = OF_NOBODY | {"answer", "answer.owner", "version.standing", "bucket.notification"}
    assert not published("ingest") & foreign
    everything = {each.name for each in subjects.TABLE}
    assert everything - OF_NOBODY == published("ingest").union(*PUBLISHED.values())


@pytest.mark.parametrize("service", ALLOWED)
def test_no_service_publishes_everything_or_hears_anothers_answers(service: str) -> None:
    assert not {">", "*", f"{PREFIX}>"} & {*ALLOWED[service].publish, *ALLOWED[service].subscribe}
    assert [each for each in ALLOWED[service].subscribe if each.startswith("_INBOX")] == [f"_INBOX.{service}.>"]
