"""What a task waits for is seen to its end when the task is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from sourcier.services.chassis.grpc import unbroken
from sourcier.services.chassis.grpc.unbroken import Unbroken


class _Operation:
    """An operation as a library has them: begun at once, over when somebody says so, its result taken by its waiter."""

    def __init__(self) -> None:
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.taken = ""

    async def run(self) -> str:
        self.taken = await self.ended
        return self.taken


async def _turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_what_comes_is_returned_and_what_fails_is_raised() -> None:
    first, second = _Operation(), _Operation()
    asyncio.get_running_loop().call_soon(first.ended.set_result, "message")
    asyncio.get_running_loop().call_soon(second.ended.set_exception, OSError("broken"))
    assert await Unbroken(first.run()) == "message"
    with pytest.raises(OSError, match="broken"):
        await Unbroken(second.run())


async def test_a_cancelled_task_takes_the_result_before_it_ends() -> None:
    operation = _Operation()

    async def read() -> None:
        await Unbroken(operation.run())

    task = asyncio.create_task(read())
    await _turn()
    task.cancel()
    await _turn()
    assert not task.done()
    assert not operation.ended.cancelled()
    operation.ended.set_result("late")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert operation.taken == "late"


async def test_a_cancellation_makes_the_operation_end() -> None:
    operation = _Operation()

    async def read() -> None:
        await Unbroken(operation.run(), on_cancel=lambda: operation.ended.set_result("end"))

    task = asyncio.create_task(read())
    await _turn()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert operation.taken == "end"


async def test_a_time_limit_stays_one() -> None:
    operation = _Operation()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await Unbroken(operation.run(), on_cancel=lambda: operation.ended.set_result("end"))
    assert operation.taken == "end"


async def test_an_operation_that_is_cancelled_itself_says_so() -> None:
    operation = _Operation()
    asyncio.get_running_loop().call_soon(operation.ended.cancel)
    with pytest.raises(asyncio.CancelledError):
        await Unbroken(operation.run())
    current = asyncio.current_task()
    assert current is not None
    assert not current.cancelling()


async def test_an_operation_that_does_not_end_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unbroken, "LET_GO_SECONDS", 0.01)
    operation = _Operation()

    async def read() -> None:
        await Unbroken(operation.run())

    task = asyncio.create_task(read())
    await _turn()
    task.cancel()
    async with asyncio.timeout(10):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert operation.ended.cancelled()
