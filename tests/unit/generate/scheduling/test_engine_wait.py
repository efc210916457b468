"""Waits for an engine: many under one deadline, given up together, and a cancellation from elsewhere that stays one."""

from __future__ import annotations

import asyncio

import pytest

from sourcier.services.generate.scheduling.waiting import EngineWait


def in_seconds(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


async def soon() -> str:
    await asyncio.sleep(0)
    return "a token"


async def never() -> str:
    await asyncio.Event().wait()
    raise AssertionError


async def test_what_comes_in_time_is_returned_and_what_does_not_is_given_up_at_the_deadline() -> None:
    with EngineWait(deadline=in_seconds(0.05)) as wait:
        assert [await wait.wait_for(soon) for _ in range(3)] == ["a token"] * 3
        with pytest.raises(TimeoutError):
            await wait.wait_for(never)
        # Whatever follows the deadline is not begun.
        with pytest.raises(TimeoutError):
            await wait.wait_for(soon)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_a_deadline_between_two_waits_interrupts_nothing_but_the_next() -> None:
    with EngineWait(deadline=in_seconds(0.01)) as wait:
        await wait.wait_for(soon)
        await asyncio.sleep(0.05)
        with pytest.raises(TimeoutError):
            await wait.wait_for(soon)


async def test_who_gives_up_ends_the_wait_at_once() -> None:
    with EngineWait(deadline=in_seconds(60)) as wait:
        asyncio.get_running_loop().call_soon(wait.give_up)
        async with asyncio.timeout(5):
            with pytest.raises(TimeoutError):
                await wait.wait_for(never)


@pytest.mark.parametrize("given_up", [False, True])
async def test_a_task_that_is_cancelled_from_elsewhere_is_cancelled(given_up: bool) -> None:
    async def waiting() -> None:
        with EngineWait(deadline=in_seconds(60)) as wait:
            if given_up:
                asyncio.get_running_loop().call_soon(wait.give_up)
            await wait.wait_for(never)

    task = asyncio.ensure_future(waiting())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
