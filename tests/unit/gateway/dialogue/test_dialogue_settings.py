"""What the gateway's dialogues can be told through the environment."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from sourcier.cli.answers.ask import ask
from sourcier.services.gateway.dialogue.dialogue import DialogueSettings
from sourcier.services.gateway.settings import GatewaySettings

pytestmark = pytest.mark.unit


def settings(**fields: object) -> GatewaySettings:
    return GatewaySettings(**({  # type: ignore[arg-type]
        "postgres_url": "unused", "ingest_url": "a:1", "embed_url": "a:1", "rerank_url": "a:1", "generate_url": "a:1",
    } | fields))


def test_what_is_not_set_is_as_the_modules_say() -> None:
    assert settings().dialogue == DialogueSettings()
    assert settings().rewrite_seconds_max == 30


def test_the_command_lines_patience_is_not_cut_short() -> None:
    timeout = next(parameter for parameter in ask.params if parameter.name == "timeout_seconds")
    assert settings().generate_seconds_max >= timeout.default


def test_the_keywords_are_read_by_comma() -> None:
    assert settings(search_keywords=" contrat, avenant,,").dialogue.keywords == ("contrat", "avenant")
    assert settings(search_keywords="").dialogue.keywords == ()


def test_a_refusal_of_spaces_is_the_one_of_the_questions_language() -> None:
    # Every text begins with nothing: each answer would be taken for a refusal.
    assert settings(refusal_text=" \n").refusal_text == ""


@pytest.mark.parametrize("fields", [
    {"rewrite_seconds_max": 0}, {"search_complexity": 1.5}, {"conversation_messages_max": 1},
])
def test_values_out_of_bounds_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        settings(**fields)
