"""Which agent a question is for, and what its deployment changes: the overlay wins where it is understood."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.gateway.events import Degradation
from sourcier.services.gateway.modes import AnswerMode
from sourcier.services.index.curation.agents import INDEXING_METHODS, Agent, get_agent
from sourcier.services.index.curation.deployments import Deployment, get_deployment

logger = logging.getLogger(__name__)

INDEXING_METHOD_KEY = "indexing_method"
DIRECT_SIMILARITY_KEY = "direct_similarity"
MODE_KEY = "mode"
ANALYSE_KEY = "analyse"
_MODES = {mode.value: mode for mode in AnswerMode}
_SWITCH = {"true": True, "on": True, "false": False, "off": False}


@dataclass(frozen=True)
class Overlaid:
    """What an agent's settings come to under an overlay."""

    indexing_method: str
    direct_similarity: float | None
    """The similarity that a direct answer needs; None leaves it to the service's setting."""
    notices: tuple[str, ...]
    """What of the overlay was not understood, and what is done instead."""
    mode: AnswerMode | None = None
    """Who searches; None leaves it to the service's setting."""
    analyse: bool | None = None
    """Whether questions are analysed; None leaves it to the service's setting."""


@dataclass(frozen=True)
class AskedAgent:
    """The agent that a question is for."""

    agent_id: str
    name: str
    collection: str
    """The collection's name."""
    space_id: str
    """The space that the collection answers from."""
    settings: Overlaid
    deployment: str = ""

    @property
    def degradations(self) -> tuple[Degradation, ...]:
        """What a person who asks should know of the overlay."""
        return tuple(Degradation("deployment", notice) for notice in self.settings.notices)


def overlaid(agent: Agent, overlay: Mapping[str, str]) -> Overlaid:
    """Apply an overlay to an agent's settings: it wins, and what is not understood falls back to the agent's (Q1)."""
    method, similarity, notices = agent.indexing_method, None, list[str]()
    # What the gateway of a later version has written is left to the service.
    mode, analyse = _MODES.get(agent.mode or ""), None
    for key, value in sorted(overlay.items()):
        if key == INDEXING_METHOD_KEY and value in INDEXING_METHODS:
            method = value
        elif key == INDEXING_METHOD_KEY:
            notices.append(
                f"the overlay's {key} {value[:80]!r} is not known; the agent's, {agent.indexing_method}, is used"
            )
        elif key == DIRECT_SIMILARITY_KEY and (read := _similarity(value)) is not None:
            similarity = read
        elif key == DIRECT_SIMILARITY_KEY:
            notices.append(f"the overlay's {key} {value[:80]!r} is no number from 0 to 1; the service's is used")
        elif key == MODE_KEY and value in _MODES:
            mode = _MODES[value]
        elif key == MODE_KEY:
            kept = "the service's" if agent.mode is None else f"the agent's, {agent.mode},"
            notices.append(f"the overlay's {key} {value[:80]!r} is not known; {kept} is used")
        elif key == ANALYSE_KEY and value.lower() in _SWITCH:
            analyse = _SWITCH[value.lower()]
        elif key == ANALYSE_KEY:
            notices.append(f"the overlay's {key} {value[:80]!r} is neither true nor false; the service's is used")
        else:
            notices.append(f"the overlay's {key[:80]!r} is not known and changes nothing")
    return Overlaid(method, similarity, tuple(notices), mode, analyse)


class Agents:
    """Finds the agent that a request names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def asked(self, *, tenant: str, agent: str, deployment: str, collection: str) -> AskedAgent | None:
        """Return the agent named, itself or through a deployment, or None where neither is.

        Raises `NotFound`, or `InvalidArgument` where the names contradict one another.
        """
        if not agent and not deployment:
            return None
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            found, deployed = await _found(connection, tenant=tenant, agent=agent, deployment=deployment)
        if collection not in ("", found.collection):
            raise InvalidArgument(
                f"The agent {found.name!r} answers from the collection {found.collection!r}, not {collection!r}; name "
                "one or the other.", field="filter.collection",
            )
        settings = overlaid(found, deployed.overlay if deployed is not None else {})
        for notice in settings.notices:
            telemetry.degradations_total.labels("deployment", "OVERLAY_NOT_KNOWN").inc()
            logger.warning("deployment %s: %s", deployment, notice)
        return AskedAgent(
            agent_id=found.agent_id, name=found.name, collection=found.collection, space_id=found.space_id,
            settings=settings, deployment=deployment,
        )


async def _found(
    connection: Connection, *, tenant: str, agent: str, deployment: str
) -> tuple[Agent, Deployment | None]:
    if not deployment:
        return await get_agent(connection, tenant=tenant, name=agent, counted=False), None
    deployed = await get_deployment(connection, tenant=tenant, name=deployment)
    if agent not in ("", deployed.agent):
        raise InvalidArgument(
            f"{deployment!r} is a deployment of the agent {deployed.agent!r}, not of {agent!r}; name the deployment "
            "alone.", field="agent",
        )
    return await get_agent(connection, tenant=tenant, name=deployed.agent, counted=False), deployed


def _similarity(value: str) -> float | None:
    try:
        read = float(value)
    except ValueError:
        return None
    return read if 0 <= read <= 1 else None
