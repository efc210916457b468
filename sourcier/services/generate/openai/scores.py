"""How likely answers are, as a Chat Completions endpoint tells it: the likeliest tokens of a completion of one."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sourcier.services.chassis.errors import FailedPrecondition, Unavailable
from sourcier.services.generate.engine import ChoiceScore, Message, Scores
from sourcier.services.generate.openai.completion import token_usage

LIKELIEST = 20
"""The most that the protocol lets ask for."""
SCORE_FIELDS = frozenset({"logprobs", "top_logprobs"})
"""The fields of a body without which no probabilities are told."""
LEAST = -9999.0
"""What stands for the logarithm of 0, as vLLM tells it: JSON has no infinity, and none can be reckoned with."""


def score_body(
    messages: Sequence[Message], *, model: str, tokens_field: str, omitted: Collection[str] = ()
) -> dict[str, Any]:
    """Return the JSON body that asks for the likeliest first tokens; the names in `omitted` are left out of it."""
    body = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "temperature": 0.0,
        tokens_field: 1,
        "logprobs": True,
        "top_logprobs": LIKELIEST,
    }
    return {name: value for name, value in body.items() if name not in omitted}


def read_scores(document: Any, choices: Sequence[str]) -> Scores:
    """Return each answer's probability: that of all tokens which begin it, in whatever letters.

    An answer that no token begins is at most as likely as the least likely token told. Raises FailedPrecondition where
    the endpoint tells no probabilities, and Unavailable for what is no completion.
    """
    told = _likeliest(document)
    floor = min(told.values())
    scores = []
    for choice in choices:
        others = [other for other in choices if other != choice]
        found = [value for token, value in told.items()
                 if _begins(token, choice) and not any(_begins(token, other) for other in others)]
        total = _log_of_sum(found) if found else floor
        scores.append(ChoiceScore(choice, min(total, 0.0), at_most=not found))
    usage = document.get("usage")
    return Scores(tuple(scores), token_usage(usage if isinstance(usage, dict) else {}))


def _log_of_sum(logarithms: Sequence[float]) -> float:
    """Return log(sum(exp(…))); of what is next to impossible, which endpoints tell as -9999, the sum alone is 0."""
    greatest = max(logarithms)
    return greatest + math.log(sum(math.exp(value - greatest) for value in logarithms))


def _begins(token: str, choice: str) -> bool:
    token = token.strip().casefold()
    return bool(token) and choice.casefold().startswith(token)


def _finite(logarithm: float) -> float:
    """Return a logarithm of a probability that can be added up: from `LEAST` to 0, `LEAST` for what is no number."""
    return LEAST if math.isnan(logarithm) else min(max(logarithm, LEAST), 0.0)


def _likeliest(document: Any) -> Mapping[str, float]:
    """Return the natural logarithms of the probabilities of first tokens."""
    try:
        content = (document["choices"][0].get("logprobs") or {}).get("content") or [{}]
        told = [(str(each["token"]), _finite(float(each["logprob"]))) for each in content[0].get("top_logprobs") or ()]
    except (TypeError, KeyError, IndexError, AttributeError, ValueError, OverflowError) as error:
        raise Unavailable("the model endpoint sent what is no completion with probabilities; try again, or set "
                          "SOURCIER_GENERATE_OPENAI_LOGPROBS=false") from error
    if not told:
        raise FailedPrecondition("the model endpoint tells no probabilities, although logprobs were asked for; set "
                                 "SOURCIER_GENERATE_OPENAI_LOGPROBS=false")
    # Two tokens may read the same where they are parts of a character: the likelier one stands for both.
    return {token: max(value for each, value in told if each == token) for token, _ in told}
