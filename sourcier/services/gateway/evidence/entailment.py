"""Whether a passage says what a sentence says, by the rerank service's entailment model, where it has one.

A model that reads windows, the reader, is shown the closest sentences of each passage (docs/adr/0033); any other one
reads whole passages.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from prometheus_client import Histogram

from sourcier.services.chassis.errors import FailedPrecondition, ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.evidence.reading.verdicts import ReaderThresholds, Reading, Told, read
from sourcier.services.gateway.evidence.reading.windows import Window, Windows
from sourcier.services.gateway.peers.entailing import EntailmentOffer, Relation

logger = logging.getLogger(__name__)

LOOK_SECONDS = 60.0
"""How long what the rerank service said of its model is believed."""
RETRY_SECONDS = 3.0
"""How long it is left alone after it said nothing; not each sentence is to wait for a service that is down."""

QUESTION_CHARACTERS_MAX = 400
"""A longer message is more than a question, and would leave the reader no room for the passage."""

entailment_seconds = Histogram(
    "sourcier_entailment_seconds", "Time of the entailment model over a sentence and the passages it rests on.",
    buckets=(0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5),
)


class EntailmentMode(Enum):
    """When the entailment model is asked."""

    OFF = "off"
    AUTO = "auto"
    """Where there is one."""
    ON = "on"
    """Always: that there is none is told."""


@dataclass(frozen=True, kw_only=True)
class EntailmentSettings:
    """When the model is asked, how long it is waited for, and where its answer is a yes."""

    mode: EntailmentMode
    threshold: float
    """Least probability of entailment that confirms a sentence."""
    seconds_max: float
    """For one sentence, over all passages that it rests on."""
    reader: ReaderThresholds = field(default_factory=ReaderThresholds)
    """For a model that reads windows, in the place of `threshold`."""


class Model(Protocol):
    """The rerank service, as this module needs it."""

    async def entailment_model(self, *, tenant: str, deadline: Deadline) -> EntailmentOffer:
        """Return what the model is."""

    async def entailment(self, premise: str, hypothesis: str, *, tenant: str, deadline: Deadline) -> float:
        """Return the probability of entailment."""

    async def read(
        self, windows: Sequence[str], sentence: str, *, question: str, tenant: str, deadline: Deadline
    ) -> list[Relation]:
        """Return what each window is to the sentence."""


@dataclass(frozen=True)
class Seen:
    """What a passage is to a sentence, and the windows that were read."""

    reading: Reading
    windows: Sequence[Window]

    @property
    def decisive(self) -> Window:
        """The window that decides."""
        return self.windows[self.reading.window]


@dataclass(frozen=True)
class ReadPassages:
    """What all passages that a sentence rests on are to it."""

    passages: Mapping[int, Seen]
    """By marker."""
    jointly: bool
    """Whether their closest windows say it together, where none of the passages does."""


class Entailment:
    """Asks the model; one for the process, for it remembers whether there is one."""

    def __init__(self, model: Model, settings: EntailmentSettings) -> None:
        self.settings = settings
        self._model = model
        self._offer = EntailmentOffer()
        self._look_at = float("-inf")

    async def probability(
        self, sentence: str, passages: Sequence[str], *, tenant: str, deadline: Deadline
    ) -> float | None:
        """Return the probability that the passage which fits best, or all of them together, says the sentence.

        None where the model is not asked. Raises FailedPrecondition where there has to be one and is none.
        """
        if self.settings.mode is EntailmentMode.OFF:
            return None
        started = time.perf_counter()
        deadline = Deadline.after(deadline.remaining(self.settings.seconds_max))
        if not (await self._found(tenant=tenant, deadline=deadline)).name:
            return None
        premises = [*passages, *(["\n\n".join(passages)] if len(passages) > 1 else [])]
        best = 0.0
        for premise in premises:
            best = max(best, await self._model.entailment(premise, sentence, tenant=tenant, deadline=deadline))
            if best >= self.settings.threshold:
                break
        entailment_seconds.observe(time.perf_counter() - started)
        return best

    async def reads_windows(self, *, tenant: str, deadline: Deadline) -> bool:
        """Return whether the model is asked, and reads windows. Raises as `probability`."""
        if self.settings.mode is EntailmentMode.OFF:
            return False
        deadline = Deadline.after(deadline.remaining(self.settings.seconds_max))
        return (await self._found(tenant=tenant, deadline=deadline)).window_tokens > 0

    async def read(
        self, sentence: str, passages: Mapping[int, Windows], *, question: str, tenant: str, deadline: Deadline
    ) -> ReadPassages:
        """Return what passages are to a sentence, by the windows of each that are closest to it; all are read at once.

        A passage without a word is none of them. `question` may be empty.
        """
        started = time.perf_counter()
        deadline = Deadline.after(deadline.remaining(self.settings.seconds_max))
        question = _brief(question)
        chosen = {
            number: windows for number, passage in passages.items()
            if (windows := passage.of(sentence, question, tokens_max=self._offer.window_tokens))
        }
        texts = [window.text for windows in chosen.values() for window in windows]
        if len(chosen) > 1:
            texts.append("\n".join(windows[0].text for windows in chosen.values()))
        relations = await self._model.read(
            texts, sentence, question=question, tenant=tenant, deadline=deadline
        ) if texts else []
        found: dict[int, Seen] = {}
        for number, windows in chosen.items():
            own, relations = relations[: len(windows)], relations[len(windows) :]
            found[number] = Seen(read(own, self.settings.reader), windows)
        entailment_seconds.observe(time.perf_counter() - started)
        jointly = bool(relations) and read(relations, self.settings.reader).told is Told.SUPPORTED
        return ReadPassages(found, jointly and not any(seen.reading.told is Told.SUPPORTED for seen in found.values()))

    async def clearest(
        self, sentence: str, texts: Sequence[str], *, question: str, tenant: str, deadline: Deadline
    ) -> int | None:
        """Return which of the sentences of a window contradicts by itself, the surest of them; None for none."""
        relations = await self._model.read(
            texts, sentence, question=_brief(question), tenant=tenant,
            deadline=Deadline.after(deadline.remaining(self.settings.seconds_max)),
        )
        reading = read(relations, self.settings.reader)
        return reading.window if reading.told is Told.CONTRADICTED else None

    async def _found(self, *, tenant: str, deadline: Deadline) -> EntailmentOffer:
        """Return what model there is, asked anew now and then."""
        if time.monotonic() >= self._look_at:
            try:
                self._offer = await self._model.entailment_model(tenant=tenant, deadline=deadline)
            except ServiceError as error:
                if self.settings.mode is EntailmentMode.ON:
                    raise
                # A model that was there is still asked, so that it is told if it fails. Where none is known of yet,
                # nothing is missed: that the rerank service fails is told where it is.
                logger.info("the rerank service did not say whether it has an entailment model: %s", error)
                self._look_at = time.monotonic() + RETRY_SECONDS
            else:
                self._look_at = time.monotonic() + LOOK_SECONDS
        if not self._offer.name and self.settings.mode is EntailmentMode.ON:
            raise FailedPrecondition(
                "the rerank service has no entailment model; name one with SOURCIER_RERANK_ENTAILMENT_MODEL, or set "
                "SOURCIER_GATEWAY_ENTAILMENT=auto"
            )
        return self._offer


def _brief(question: str) -> str:
    return question if len(question) <= QUESTION_CHARACTERS_MAX else ""
