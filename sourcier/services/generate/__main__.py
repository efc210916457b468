"""Compose the generate service and run it: `python -m sourcier.services.generate`."""

from __future__ import annotations

import asyncio
import logging
import os

from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc
from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.lifecycle import Stopping
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.generate.engine import Engine
from sourcier.services.generate.gathering import Gathering
from sourcier.services.generate.scheduling.supervisor import Supervisor
from sourcier.services.generate.server import GenerateServer, TokenLimits
from sourcier.services.generate.settings import GenerateSettings, engine_environment

logger = logging.getLogger(__name__)

SERVICE_NAME = generate_pb2.DESCRIPTOR.services_by_name["GenerateService"].full_name


def open_engine(settings: GenerateSettings) -> Engine:
    """Return the engine that the settings name; its libraries are imported only then."""
    if settings.engine_name == "openai":
        from sourcier.services.generate.openai.engine import Endpoint, OpenAIEngine

        return OpenAIEngine(Endpoint(
            url=settings.openai_url, key=settings.openai_key, model=settings.openai_model,
            timeout_seconds=settings.openai_timeout_seconds, structured_output=settings.openai_structured_output,
            provider=settings.provider, tools=settings.openai_tools, headers=settings.headers,
            omitted=settings.omitted_fields, logprobs=settings.openai_logprobs,
        ), connections_max=settings.sequences_max + settings.queue_max)
    if settings.engine_name == "scripted":
        from sourcier.services.generate.scripted.engine import ScriptedEngine
        from sourcier.services.generate.scripted.script import read_script

        assert settings.script_file is not None
        return ScriptedEngine(read_script(settings.script_file), sequences_max=settings.sequences_max)
    from sourcier.services.generate.vllm.engine import VllmEngine, VllmOptions
    from sourcier.services.generate.vllm.weights import locate

    weights = locate(settings.model, store=ModelStore(settings.models_root))
    os.environ.update(engine_environment(settings, from_hub=weights.from_hub))
    return VllmEngine(weights, VllmOptions(
        dtype=settings.dtype, compile=settings.compile, context_tokens_max=settings.context_tokens_max,
        sequences_max=settings.sequences_max, kv_cache_gib=settings.kv_cache_gib,
        speculative_tokens=settings.speculative_tokens,
    ))


async def main(settings: GenerateSettings, stopping: Stopping) -> None:
    """Open what the service needs, in order, and serve until told to stop."""
    for notice in settings.old_name_notices:
        logger.warning(notice)
    async with (
        open_engine(settings) as engine,
        lifecycle.inner_server(settings) as server,
    ):
        supervisor = Supervisor(engine, sequences_max=settings.sequences_max, queue_max=settings.queue_max,
                                stall_seconds=settings.stall_seconds,
                                bulk_wait_seconds_max=settings.bulk_wait_seconds_max,
                                bulk_yields_max=settings.bulk_yields_max)
        await supervisor.warm_up(seconds_max=settings.warm_up_seconds_max)
        limits = TokenLimits(default=settings.completion_tokens_default, maximum=settings.completion_tokens_max)
        server.add(generate_pb2_grpc.add_GenerateServiceServicer_to_server,
                   GenerateServer(supervisor, completion_tokens=limits, gathering=Gathering(
                       messages_per_second_max=settings.messages_per_second_max, clock=asyncio.get_running_loop().time,
                   )), SERVICE_NAME)
        await lifecycle.serve(server, [supervisor], stopping)


if __name__ == "__main__":
    lifecycle.run("generate", GenerateSettings, main)
