"""Tests that what a model said is said again without it, whatever the secret of the installation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from eval.answers.kept_model import KeptModel
from eval.kept import Kept
from sourcier.generate.v1 import generate_pb2

STOP = generate_pb2.FINISH_REASON_STOP


class Model:
    """Says one text in two parts, and counts how often it is asked."""

    asked = 0

    async def Generate(
        self, request: generate_pb2.GenerateRequest, **_: object
    ) -> AsyncIterator[generate_pb2.GenerateResponse]:
        self.asked += 1
        for text in ("Deux ", "jours."):
            yield generate_pb2.GenerateResponse(text=text)
        yield generate_pb2.GenerateResponse(finish=generate_pb2.Finish(reason=STOP, model="small"))


class Context:
    """Raises what a call is aborted with."""

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise RuntimeError(f"{code.name}: {details}")


async def said(model: KeptModel, content: str) -> str:
    request = generate_pb2.GenerateRequest(
        generation_id=content[-3:], messages=[generate_pb2.Message(role=generate_pb2.ROLE_USER, content=content)]
    )
    context: Any = Context()
    answered = [each async for each in model.Generate(request, context)]
    assert answered[-1].finish.model == "small"
    return "".join(each.text for each in answered)


async def test_a_prompt_is_asked_once(tmp_path: Path) -> None:
    path, model = tmp_path / "said.jsonl", Model()
    stub: Any = model
    first = KeptModel(Kept(path, run_of="x"), stub)
    assert await said(first, "<<<0a1b2c3d4e\n> Deux.\n0a1b2c3d4e>>>") == "Deux jours."
    again = KeptModel(Kept(path, run_of="x"), None)
    assert await said(again, "<<<ffffffffff\n> Deux.\nffffffffff>>>") == "Deux jours."
    assert model.asked == 1


async def test_without_a_model_a_new_prompt_is_refused_with_the_way_out(tmp_path: Path) -> None:
    alone = KeptModel(Kept(tmp_path / "said.jsonl", run_of="x"), None)
    with pytest.raises(RuntimeError, match=r"UNAVAILABLE: .*--generate host:port"):
        await said(alone, "Combien ?")
