"""Beats: whoever waits for the same moment is woken together, and none of them too soon."""

from __future__ import annotations

import asyncio

from sourcier.services.gateway.ticker import Beats

SECONDS = 0.1


async def test_all_who_wait_for_a_beat_are_woken_by_one_turn_of_the_loop() -> None:
    beats, loop = Beats(seconds=SECONDS), asyncio.get_running_loop()
    await beats.after(0)  # the next one is as far away as it can be
    begun = loop.time()
    waiters = [beats.after(2 * SECONDS) for _ in range(5)]
    woken: list[float] = []
    for waiter in waiters:
        waiter.add_done_callback(lambda _: woken.append(loop.time()))
    await waiters[0]
    assert all(waiter.done() for waiter in waiters)
    await asyncio.sleep(0)
    assert len(woken) == 5
    # A timer of the loop may be early by its clock's resolution.
    assert woken[0] - begun >= 2 * SECONDS - 0.001


async def test_one_who_does_not_wait_any_longer_holds_up_nobody() -> None:
    beats = Beats(seconds=SECONDS)
    hurried, cancelled, patient = (beats.after(SECONDS) for _ in range(3))
    hurried.set_result(None)
    cancelled.cancel()
    async with asyncio.timeout(5):
        await patient
    assert cancelled.cancelled()
