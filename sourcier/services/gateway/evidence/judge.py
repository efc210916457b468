"""The language model as a judge: whether given passages confirm a sentence, or hold the answer to a question.

Its prompt begins as that of the answer does, with instructions and passages, so that the engine finds them in its
prefix cache and reads the sentence alone. It answers with one word, of which only the probability is asked for: nothing
is generated. After Kadavath et al. (2022, arXiv 2207.05221), who ask a model for P(True).
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from prometheus_client import Counter, Gauge, Histogram

from sourcier.services.chassis.errors import FailedPrecondition, ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.events import Usage
from sourcier.services.gateway.evidence.pace import Pace
from sourcier.services.gateway.prompting.marking import defused

logger = logging.getLogger(__name__)

judge_seconds = Histogram(
    "sourcier_judge_seconds", "Time of a verdict of the language model, by what it is on: sentence or question.",
    ["on"], buckets=(0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30),
)
unfit = Gauge("sourcier_judge_unfit", "1 once the judge denied most of what the wording supports, else 0.")
judge_tokens_total = Counter("sourcier_judge_tokens_total", "Tokens that verdicts took: prompt, cached.", ["kind"])


UNPROMISED_WAIT = 2.0
"""Times what a verdict may cost, `auto` waits for one: finding out that they are dear must not cost the answer much."""
VERDICTS, VERDICTS_MIN = 15, 10
CONFIRMED_MIN = 0.5
"""Of the last verdicts, the least share that confirms: the wording supports all that is judged, and most of it is
right. A judge that says no more often has another threshold, or does not understand what it is asked."""


class JudgeMode(Enum):
    """When sentences are judged."""

    OFF = "off"
    AUTO = "auto"
    """While a verdict costs little, and most of them confirm."""
    ON = "on"


@dataclass(frozen=True, kw_only=True)
class JudgeSettings:
    """When the model is asked, how long it is waited for, and where its answer is a yes."""

    mode: JudgeMode
    threshold: float
    """Least probability of yes that confirms a sentence."""
    seconds_max: float
    """For one sentence."""
    cheap_seconds: float
    """Most that a verdict may take at the median, in the mode `auto`."""
    questions: bool
    question_threshold: float
    """Least probability of yes for a question to be answered."""
    question_seconds_max: float


@dataclass(frozen=True)
class _Texts:
    sentence: str
    question: str
    one: str
    several: str
    conjunction: str
    yes: str
    no: str


_FRENCH = _Texts(
    sentence=(
        "Affirmation : « {sentence} »\n\n{sources} entièrement cette affirmation ? Réponds par un seul mot, Oui ou "
        "Non."
    ),
    question=(
        "Question : {question}\n\nCes sources contiennent-elles la réponse à cette question ? Réponds par un seul "
        "mot, Oui ou Non."
    ),
    one="La source {numbers} confirme-t-elle", several="Ensemble, les sources {numbers} confirment-elles",
    conjunction=" et ", yes="Oui", no="Non",
)
_ENGLISH = _Texts(
    sentence="Statement: “{sentence}”\n\n{sources} this statement entirely? Answer with one word, Yes or No.",
    question=(
        "Question: {question}\n\nDo these sources contain the answer to this question? Answer with one word, Yes or No."
    ),
    one="Does source {numbers} confirm", several="Do the sources {numbers} together confirm", conjunction=" and ",
    yes="Yes", no="No",
)
_TEXTS: Mapping[str, _Texts] = {"fr": _FRENCH, "en": _ENGLISH}


class Model(Protocol):
    """The language model, as this module needs it."""

    async def score(
        self, prompt: Prompt, choices: Sequence[str], *, tenant: str, deadline: Deadline
    ) -> tuple[dict[str, float], Usage]:
        """Return the logarithm of the probability that the model's answer begins with each choice."""


class Judge:
    """Asks for verdicts; one for the process, for it knows what they cost."""

    def __init__(self, model: Model, settings: JudgeSettings) -> None:
        self.settings = settings
        self.pace = Pace(seconds_max=settings.cheap_seconds)
        self._model = model
        self._confirmed: deque[bool] = deque(maxlen=VERDICTS)
        self._unfit = False

    def judges_sentences(self, asked: bool | None) -> bool:
        """Return whether a sentence is judged; `asked` is the request's word, None where it has none."""
        if asked is not None:
            return asked
        if self.settings.mode is JudgeMode.AUTO:
            return not self._unfit and self.pace.allows()
        return self.settings.mode is JudgeMode.ON

    def judges_questions(self, asked: bool | None) -> bool:
        """Return the same for the question itself."""
        return self.settings.questions if asked is None else asked

    def is_promised(self, asked: bool | None) -> bool:
        """Return whether verdicts on sentences are asked for whatever they cost: one that cannot be had is told."""
        return bool(asked) or (asked is None and self.settings.mode is JudgeMode.ON)

    async def sentence(
        self, sentence: str, sources: Sequence[int], prompt: Prompt, *, language: str, tenant: str, deadline: Deadline,
        promised: bool = True,
    ) -> float:
        """Return the probability that the model confirms a sentence by the sources of these numbers, 0 to 1."""
        started = time.perf_counter()
        seconds_max = self.settings.seconds_max
        if not promised:
            seconds_max = min(seconds_max, UNPROMISED_WAIT * self.settings.cheap_seconds)
        try:
            probability = await self._ask(
                sentence_prompt(sentence, sources, prompt, language=language), language=language, tenant=tenant,
                deadline=Deadline.after(deadline.remaining(seconds_max)),
            )
        except FailedPrecondition as error:
            self.pace.close(error.message)
            raise
        except ServiceError:
            self.pace.observe(seconds_max)
            raise
        seconds = time.perf_counter() - started
        self.pace.observe(seconds)
        judge_seconds.labels("sentence").observe(seconds)
        self._observe(probability >= self.settings.threshold)
        return probability

    def _observe(self, confirmed: bool) -> None:
        """Take note of a verdict; tell once that the model is no judge, which `auto` then asks no more."""
        self._confirmed.append(confirmed)
        share = sum(self._confirmed) / len(self._confirmed)
        if self._unfit or len(self._confirmed) < VERDICTS_MIN or share >= CONFIRMED_MIN:
            return
        self._unfit = True
        unfit.set(1)
        logger.warning(
            "the judge confirmed %d of the last %d sentences that their passages' wording supports, and is asked no "
            "more by SOURCIER_GATEWAY_JUDGE=auto: set SOURCIER_GATEWAY_JUDGE_THRESHOLD to what `python -m eval "
            "sentences --judge` prints for this model, or SOURCIER_GATEWAY_JUDGE=off",
            sum(self._confirmed), len(self._confirmed),
        )

    async def question(
        self, question: str, prompt: Prompt, *, language: str, tenant: str, deadline: Deadline
    ) -> float:
        """Return the probability that the model finds the answer to a question in the passages, 0 to 1."""
        started = time.perf_counter()
        probability = await self._ask(
            question_prompt(question, prompt, language=language), language=language, tenant=tenant,
            deadline=Deadline.after(deadline.remaining(self.settings.question_seconds_max)),
        )
        judge_seconds.labels("question").observe(time.perf_counter() - started)
        return probability

    async def _ask(self, prompt: Prompt, *, language: str, tenant: str, deadline: Deadline) -> float:
        texts = _TEXTS[language]
        scores, usage = await self._model.score(prompt, (texts.yes, texts.no), tenant=tenant, deadline=deadline)
        judge_tokens_total.labels("prompt").inc(usage.prompt_tokens)
        judge_tokens_total.labels("cached").inc(usage.cached_tokens)
        return yes_probability(scores[texts.yes], scores[texts.no])


def sentence_prompt(sentence: str, sources: Sequence[int], prompt: Prompt, *, language: str) -> Prompt:
    """Return the answer's prompt with the sentence in the question's place."""
    texts = _TEXTS[language]
    numbers = [str(number) for number in sources]
    named = texts.conjunction.join(filter(None, (", ".join(numbers[:-1]), numbers[-1])))
    asked = (texts.one if len(numbers) == 1 else texts.several).format(numbers=named)
    body = texts.sentence.format(sentence=" ".join(defused(sentence).split()), sources=asked)
    return Prompt(prompt.system, prompt.sources + body)


def question_prompt(question: str, prompt: Prompt, *, language: str) -> Prompt:
    """Return the answer's prompt, asking whether the passages hold the answer."""
    body = _TEXTS[language].question.format(question=defused(question))
    return Prompt(prompt.system, prompt.sources + body)


def log_odds(probability: float) -> float:
    """Return the logarithm of the odds of a probability, which is kept off 0 and 1."""
    kept = min(max(probability, 1e-6), 1 - 1e-6)
    return math.log(kept / (1 - kept))


def yes_probability(yes: float, no: float) -> float:
    """Return the probability of yes among yes and no, from their log-probabilities; one half where neither is told."""
    if yes == no:
        return 0.5
    difference = no - yes
    return 1.0 / (1.0 + math.exp(difference)) if difference < 700 else 0.0
