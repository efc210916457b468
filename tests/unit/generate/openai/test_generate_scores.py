"""How likely answers are: what is asked, which tokens count, what an endpoint tells."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, Unavailable
from sourcier.services.generate.engine import Message
from sourcier.services.generate.openai.scores import LEAST, LIKELIEST, read_scores, score_body
from sourcier.services.generate.scripted.script import Rule, probability
from sourcier.services.generate.server import CHOICE_CHARACTERS_MAX, CHOICES_MAX, checked_choices
from sourcier.services.generate.vllm.prompt import PromptEncoder


class Pieces:
    """A tokenizer of a few pieces, the longest first, then characters."""

    chat_template = "{{ messages }}"
    all_special_tokens: tuple[str, ...] = ()
    known = ("Oui", "oui", " Oui", "No", "no", "Ou", " ")

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        raise AssertionError("no prompt is made here")

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        tokens = []
        while text:
            piece = next((each for each in sorted(self.known, key=len, reverse=True) if text.startswith(each)), text[0])
            tokens.append(self.known.index(piece) if piece in self.known else 1000 + ord(piece))
            text = text[len(piece) :]
        return tokens


def encoder() -> PromptEncoder:
    return PromptEncoder(Pieces(), model="pieces", context_tokens_max=100)


def test_an_answer_may_begin_in_other_letters_and_after_a_space() -> None:
    yes, no = encoder().first_tokens(["Oui", "Non"])
    assert {Pieces.known[token] for token in yes} == {"Oui", "oui", " Oui"}
    # A lone space begins both, and tells nothing.
    assert {Pieces.known[token] for token in no} == {"No", "no"}


def test_answers_that_begin_with_one_token_cannot_be_told_apart() -> None:
    with pytest.raises(InvalidArgument, match="'Non' and 'Nous'") as refused:
        encoder().first_tokens(["Non", "Nous"])
    assert refused.value.field == "choices"


@pytest.mark.parametrize(("choices", "field"), [
    ([], "choices"), (["Oui"], "choices"), ([str(n) for n in range(CHOICES_MAX + 1)], "choices"),
    (["Oui", "  "], "choices[1]"), (["x" * (CHOICE_CHARACTERS_MAX + 1), "Non"], "choices[0]"),
    (["Oui", " oui"], "choices"),
])
def test_answers_that_cannot_be_compared_are_refused_by_field(choices: list[str], field: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        checked_choices(choices)
    assert refused.value.field == field


def completion(*likeliest: tuple[str, float], **fields: Any) -> dict[str, Any]:
    """Return a completion of one token with the probabilities told."""
    told = [{"token": token, "logprob": math.log(value)} for token, value in likeliest]
    return {"choices": [{"logprobs": {"content": [{"token": "x", "top_logprobs": told}]}}], **fields}


def test_an_endpoints_tokens_add_up_to_answers() -> None:
    scores = read_scores(
        completion(("Oui", 0.5), (" oui", 0.2), ("O", 0.1), ("Non", 0.05), ("Peut", 0.01),
                   usage={"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens": 1}),
        ["Oui", "Non"],
    )
    assert [math.exp(each.log_probability) for each in scores.choices] == pytest.approx([0.8, 0.05])
    assert [each.at_most for each in scores.choices] == [False, False]
    assert (scores.usage.prompt_tokens, scores.usage.cached_tokens, scores.usage.completion_tokens) == (9, 4, 1)


def test_an_answer_that_is_not_told_is_at_most_as_likely_as_the_least_that_is() -> None:
    yes, no = read_scores(completion(("Oui", 0.9), ("La", 0.02)), ["Oui", "Non"]).choices
    assert (yes.at_most, no.at_most) == (False, True)
    assert math.exp(no.log_probability) == pytest.approx(0.02)


def test_what_an_endpoint_tells_as_next_to_impossible_adds_up_too() -> None:
    told = [{"token": token, "logprob": value} for token, value in (("Non", -1e-6), ("Oui", -9999.0), ("oui", -9999.0))]
    document = {"choices": [{"logprobs": {"content": [{"token": "x", "top_logprobs": told}]}}]}
    yes, no = read_scores(document, ["Oui", "Non"]).choices
    assert (yes.at_most, yes.log_probability) == (False, pytest.approx(-9999 + math.log(2)))
    assert no.log_probability == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize(("told", "read"), [
    (-math.inf, LEAST), (math.nan, LEAST), (-1e308, LEAST), (math.inf, 0.0), (1e-9, 0.0),
])
def test_what_is_no_logarithm_of_a_probability_is_brought_to_the_nearest_one(told: float, read: float) -> None:
    likeliest = [{"token": "Oui", "logprob": told}, {"token": "Non", "logprob": -1.0}]
    document = {"choices": [{"logprobs": {"content": [{"token": "x", "top_logprobs": likeliest}]}}]}
    scores = read_scores(document, ["Oui", "Non"]).choices
    assert [each.log_probability for each in scores] == [read, -1.0]


def test_a_token_that_begins_two_answers_counts_for_neither() -> None:
    first, second = read_scores(completion(("No", 0.6), ("Non", 0.3), ("Nos", 0.1)), ["Non", "Nos"]).choices
    assert [math.exp(each.log_probability) for each in (first, second)] == pytest.approx([0.3, 0.1])


@pytest.mark.parametrize("document", [
    {"choices": [{"message": {"content": "Oui"}}]}, {"choices": [{"logprobs": None}]},
    {"choices": [{"logprobs": {"content": []}}]}, {"choices": [{"logprobs": {"content": [{"top_logprobs": []}]}}]},
])
def test_an_endpoint_that_tells_no_probabilities_is_named_with_its_setting(document: dict[str, Any]) -> None:
    with pytest.raises(FailedPrecondition, match="SOURCIER_GENERATE_OPENAI_LOGPROBS=false"):
        read_scores(document, ["Oui", "Non"])


@pytest.mark.parametrize("document", [
    [], {}, {"choices": []}, {"choices": "x"}, None,
    {"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "Oui"}]}]}}]},
    {"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "Oui", "logprob": "high"}]}]}}]},
    {"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "Oui", "logprob": -(10**400)}]}]}}]},
])
def test_what_is_no_completion_is_unavailable(document: Any) -> None:
    with pytest.raises(Unavailable):
        read_scores(document, ["Oui", "Non"])


def test_the_body_asks_for_one_token_and_the_likeliest_beside_it() -> None:
    body = score_body([Message("user", "Confirme ?")], model="m", tokens_field="max_completion_tokens")
    assert body == {
        "model": "m", "messages": [{"role": "user", "content": "Confirme ?"}], "temperature": 0.0,
        "max_completion_tokens": 1, "logprobs": True, "top_logprobs": LIKELIEST,
    }


def test_the_body_leaves_out_what_the_endpoint_does_not_take() -> None:
    body = score_body([Message("user", "Confirme ?")], model="m", tokens_field="max_tokens", omitted={"temperature"})
    assert "temperature" not in body
    assert body["logprobs"] is True


def test_a_script_tells_probabilities_or_what_its_text_begins_with() -> None:
    rule = Rule(pattern=".", text="Oui, deux jours.", scores={"Non": 0.4})
    assert [probability(rule, choice) for choice in ("Oui", "Non", "Peut-être")] == [0.98, 0.4, 0.01]
