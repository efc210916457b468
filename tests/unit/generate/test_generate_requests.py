"""What a request may say, and what is said about one that may not."""

from __future__ import annotations

import pytest

from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.generate.engine import Message, Sampling
from sourcier.services.generate.server import TokenLimits, checked_messages, checked_sampling, checked_schema

LIMITS = TokenLimits(default=512, maximum=2048)
QUESTION = pb.Message(role=pb.ROLE_USER, content="Combien de jours de congé ?")


def conversation(*messages: pb.Message) -> pb.GenerateRequest:
    return pb.GenerateRequest(messages=messages)


def test_a_conversation_keeps_its_order_and_its_roles() -> None:
    messages = checked_messages(conversation(
        pb.Message(role=pb.ROLE_SYSTEM, content="Réponds en français."), QUESTION,
        pb.Message(role=pb.ROLE_ASSISTANT, content="25 jours."), pb.Message(role=pb.ROLE_USER, content="Et en plus ?"),
    ))
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[1] == Message("user", "Combien de jours de congé ?")


@pytest.mark.parametrize(("request_", "field", "says"), [
    (conversation(), "messages", "0 messages; send 1 to 200"),
    (conversation(*[QUESTION] * 201), "messages", "201 messages"),
    (conversation(pb.Message(content="x")), "messages[0].role", "send ROLE_SYSTEM"),
    (conversation(pb.Message(role=9, content="x")), "messages[0].role", "role is 9"),  # type: ignore[arg-type]
    (conversation(QUESTION, pb.Message(role=pb.ROLE_USER, content=" \n")), "messages[1].content", "is empty"),
    (conversation(QUESTION, pb.Message(role=pb.ROLE_SYSTEM, content="x")), "messages[1].role", "first message only"),
    (conversation(QUESTION, pb.Message(role=pb.ROLE_ASSISTANT, content="x")), "messages", "end with one of ROLE_USER"),
])
def test_a_conversation_that_no_model_takes_is_refused(request_: pb.GenerateRequest, field: str, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says) as raised:
        checked_messages(request_)
    assert raised.value.field == field


def test_unset_sampling_is_the_most_likely_token_and_the_default_length() -> None:
    assert checked_sampling(pb.Sampling(), limits=LIMITS) == Sampling(tokens_max=512)


def test_zero_is_a_seed() -> None:
    assert checked_sampling(pb.Sampling(seed=0), limits=LIMITS).seed == 0


@pytest.mark.parametrize(("sampling", "field", "says"), [
    (pb.Sampling(temperature=-0.1), "sampling.temperature", "send 0 to 2"),
    (pb.Sampling(temperature=2.5), "sampling.temperature", "is 2.5"),
    (pb.Sampling(temperature=float("nan")), "sampling.temperature", "is nan"),
    (pb.Sampling(top_p=0.0), "sampling.top_p", "over 0"),
    (pb.Sampling(top_p=1.5), "sampling.top_p", "is 1.5"),
    (pb.Sampling(tokens_max=0), "sampling.tokens_max", "send 1 to 2048"),
    (pb.Sampling(tokens_max=2049), "sampling.tokens_max", "SOURCIER_GENERATE_COMPLETION_TOKENS_MAX"),
    (pb.Sampling(stop=["a"] * 9), "sampling.stop", "9 texts"),
    (pb.Sampling(stop=["a", ""]), "sampling.stop[1]", "has 0 characters"),
    (pb.Sampling(stop=["a" * 201]), "sampling.stop[0]", "send 1 to 200"),
])
def test_sampling_out_of_range_is_refused(sampling: pb.Sampling, field: str, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says) as raised:
        checked_sampling(sampling, limits=LIMITS)
    assert raised.value.field == field


def test_a_schema_is_kept_as_it_was_sent() -> None:
    assert checked_schema('{"type": "object"}', enforced=True) == '{"type": "object"}'
    assert checked_schema("", enforced=False) == ""


@pytest.mark.parametrize(("text", "enforced", "says"), [
    ("{", True, "is not JSON"),
    ("[" * 60_000, True, "is not JSON"),
    ("[1]", True, "is not a JSON object"),
    ("{}" + " " * 65_536, True, "65536 at most"),
    ("{}", False, "does not enforce"),
])
def test_a_schema_that_cannot_be_enforced_is_refused(text: str, enforced: bool, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        checked_schema(text, enforced=enforced)
