"""Does at start what the first question would wait for: embeds the background texts, has the model read its orders."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sourcier.services.chassis.errors import ServiceError, Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.gateway.answering.baseline import Backgrounds
from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.peers.services import Peers, SamplingOptions
from sourcier.services.gateway.phrases import Messages

logger = logging.getLogger(__name__)

TENANT = "default"
"""Whose questions come first where there is one tenant; the engine's prefix cache is each tenant's own."""
AGAIN_SECONDS = 5.0
WAIT_SECONDS_MAX = 900.0
"""A language model may take minutes to load; what is not there by then is left to the first question."""
CALL_SECONDS_MAX = 120.0


@dataclass(frozen=True)
class Reading:
    """What every prompt begins with."""

    messages: Messages
    refusal: str


class Warming:
    """A worker of the gateway; what fails is tried again, and nothing waits for it."""

    name = "warming"

    def __init__(self, peers: Peers, backgrounds: Backgrounds, *, reading: Reading | None) -> None:
        """Without `reading` the model is asked nothing: an endpoint would charge for it."""
        self._peers = peers
        self._backgrounds = backgrounds
        self._reading = reading

    async def run(self, stopping: asyncio.Event) -> None:
        """Warm up what can be, then wait to be told to stop."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_until_done(self._embed, stopping), name="embed the background")]
            if self._reading is not None:
                tasks.append(group.create_task(_until_done(self._read, stopping), name="read the instructions"))
            await stopping.wait()
            for task in tasks:
                task.cancel()

    async def _embed(self) -> None:
        """Embed the background texts, against which questions are assessed, in each space that is served."""
        deadline = Deadline.after(CALL_SECONDS_MAX)
        served = await self._peers.embed.served(tenant=TENANT, deadline=deadline)
        if not served:
            raise Unavailable("no embed service answers yet")
        for space in served:
            await self._backgrounds.of(space.space_id, tenant=TENANT, deadline=deadline)

    async def _read(self) -> None:
        """Have the engine read the fixed part of prompts, which it then finds in its prefix cache."""
        assert self._reading is not None
        await self._peers.language_model_reached()
        messages = self._reading.messages
        prompt = Prompt(
            system=messages.instructions.format(refusal=self._reading.refusal), user=messages.extracts,
        )
        async with self._peers.generate(
            prompt, SamplingOptions(tokens_max=1, temperature=0.0, seed=None), tenant=TENANT, generation_id=new_id(),
            deadline=Deadline.after(CALL_SECONDS_MAX),
        ) as parts:
            async for _ in parts:
                pass


async def _until_done(task: Callable[[], Awaitable[None]], stopping: asyncio.Event) -> None:
    until = asyncio.get_running_loop().time() + WAIT_SECONDS_MAX
    while not stopping.is_set() and asyncio.get_running_loop().time() < until:
        try:
            await task()
        except ServiceError as error:
            logger.debug("not warm yet, once more: %s", error)
            await first_of(stopping, seconds=AGAIN_SECONDS)
        else:
            return
