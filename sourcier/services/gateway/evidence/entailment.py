"""Whether a passage says what a sentence says, by the rerank service's entailment model, where it has one."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from prometheus_client import Histogram

from sourcier.services.chassis.errors import FailedPrecondition, ServiceError
from sourcier.services.chassis.grpc.channels import Deadline

logger = logging.getLogger(__name__)

LOOK_SECONDS = 60.0
"""How long what the rerank service said of its model is believed."""
RETRY_SECONDS = 3.0
"""How long it is left alone after it said nothing; not each sentence is to wait for a service that is down."""

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


class Model(Protocol):
    """The rerank service, as this module needs it."""

    async def entailment_model(self, *, tenant: str, deadline: Deadline) -> str:
        """Return the name of the model; empty where there is none."""

    async def entailment(self, premise: str, hypothesis: str, *, tenant: str, deadline: Deadline) -> float:
        """Return the probability of entailment."""


class Entailment:
    """Asks the model; one for the process, for it remembers whether there is one."""

    def __init__(self, model: Model, settings: EntailmentSettings) -> None:
        self.settings = settings
        self._model = model
        self._name = ""
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
        if not await self._found(tenant=tenant, deadline=deadline):
            return None
        premises = [*passages, *(["\n\n".join(passages)] if len(passages) > 1 else [])]
        best = 0.0
        for premise in premises:
            best = max(best, await self._model.entailment(premise, sentence, tenant=tenant, deadline=deadline))
            if best >= self.settings.threshold:
                break
        entailment_seconds.observe(time.perf_counter() - started)
        return best

    async def _found(self, *, tenant: str, deadline: Deadline) -> bool:
        """Return whether there is a model, asked anew now and then."""
        if time.monotonic() >= self._look_at:
            try:
                self._name = await self._model.entailment_model(tenant=tenant, deadline=deadline)
            except ServiceError as error:
                if self.settings.mode is EntailmentMode.ON:
                    raise
                # A model that was there is still asked, so that it is told if it fails. Where none is known of yet,
                # nothing is missed: that the rerank service fails is told where it is.
                logger.info("the rerank service did not say whether it has an entailment model: %s", error)
                self._look_at = time.monotonic() + RETRY_SECONDS
            else:
                self._look_at = time.monotonic() + LOOK_SECONDS
        if not self._name and self.settings.mode is EntailmentMode.ON:
            raise FailedPrecondition(
                "the rerank service has no entailment model; name one with SOURCIER_RERANK_ENTAILMENT_MODEL, or set "
                "SOURCIER_GATEWAY_ENTAILMENT=auto"
            )
        return bool(self._name)
