"""Turns go round by tenant: one that asks much waits for itself, and never keeps another from its turn."""

from __future__ import annotations

import asyncio

import pytest

from sourcier.services.chassis.errors import DeadlineExceeded, ResourceExhausted
from sourcier.services.chassis.fair_turns import FairPlaces, FairQueue, FairSlots

FAR = 1e12
FULL = "{in_hand} are in hand"


def taken(queue: FairQueue[str], count: int) -> list[str | None]:
    return [queue.take() for _ in range(count)]


def test_a_newcomer_is_next_whatever_waits_before_it() -> None:
    queue = FairQueue[str]()
    for number in range(2_000):
        queue.put(f"much{number}", tenant="much", cost=500)
    assert taken(queue, 2) == ["much0", "much1"]
    queue.put("little", tenant="little", cost=10)
    assert taken(queue, 2) == ["little", "much2"]


def test_turns_are_shared_by_cost_and_not_by_number() -> None:
    queue = FairQueue[str]()
    for _ in range(100):
        queue.put("long", tenant="a", cost=90)
        queue.put("short", tenant="b", cost=10)
    served = taken(queue, 50)
    assert served.count("short") == pytest.approx(9 * served.count("long"), abs=9)


def test_who_asked_nothing_for_long_has_saved_up_nothing() -> None:
    queue = FairQueue[str]()
    for _ in range(100):
        queue.put("early", tenant="a", cost=1)
    taken(queue, 50)
    for _ in range(100):
        queue.put("late", tenant="b", cost=1)
    assert taken(queue, 20).count("late") == 10


def test_what_did_not_wait_counts_too() -> None:
    queue = FairQueue[str]()
    queue.charge(tenant="a", cost=100)
    queue.put("a", tenant="a", cost=1)
    queue.put("b", tenant="b", cost=1)
    assert taken(queue, 2) == ["b", "a"]


async def test_one_tenants_crowd_refuses_itself_and_nobody_else() -> None:
    places = FairPlaces(places=2, waiting_max=4, full=FULL)
    crowd = [asyncio.ensure_future(places.take(tenant="crowd", cost=1, deadline=FAR)) for _ in range(6)]
    await asyncio.sleep(0)
    with pytest.raises(ResourceExhausted, match="6 are in hand"):
        await places.take(tenant="crowd", cost=1, deadline=FAR)
    single = asyncio.ensure_future(places.take(tenant="single", cost=1, deadline=FAR))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert isinstance(crowd[5].exception(), ResourceExhausted), "the newest of who waits most makes room"
    # A second burst takes nobody's place to wait.
    for _ in range(50):
        with pytest.raises(ResourceExhausted):
            await places.take(tenant="crowd", cost=1, deadline=FAR)
    places.give_back()
    await asyncio.sleep(0)
    assert single.done()
    for _ in range(4):
        places.give_back()
        await asyncio.sleep(0)
    assert [each.done() for each in crowd] == [True] * 6
    places.give_back()
    assert (places.free, places.in_hand) == (2, 0)


async def test_who_leaves_or_waits_too_long_holds_no_place() -> None:
    places = FairPlaces(places=1, waiting_max=4, full=FULL)
    await places.take(tenant="a", cost=1, deadline=FAR)
    leaving = asyncio.ensure_future(places.take(tenant="a", cost=1, deadline=FAR))
    await asyncio.sleep(0)
    with pytest.raises(DeadlineExceeded, match="too late"):
        await places.take(tenant="b", cost=1, deadline=0, late="too late")
    leaving.cancel()
    await asyncio.wait([leaving])
    assert places.in_hand == 1
    both = [asyncio.ensure_future(places.take(tenant="c", cost=1, deadline=FAR)) for _ in range(2)]
    await asyncio.sleep(0)
    places.give_back()
    both[0].cancel()  # its turn came in the same moment
    await asyncio.gather(*both, return_exceptions=True)
    assert both[0].cancelled()
    places.give_back()
    assert (places.free, places.in_hand) == (1, 0)


def test_a_tenant_alone_takes_all_of_its_slots_and_leaves_one_for_who_comes() -> None:
    slots = FairSlots(each_max=4)
    slots.may_want("crowd")
    taken = 0
    while slots.next_tenant() is not None:
        slots.take("crowd", cost=1)
        taken += 1
    assert taken == 4
    slots.may_want("single")
    assert slots.next_tenant() == "single"


@pytest.mark.parametrize("each_max", [1, 2, 3, 4, 16, 64])
def test_slots_are_bounded_and_come_back(each_max: int) -> None:
    slots = FairSlots(each_max=each_max)
    for number in range(200):
        slots.may_want(f"tenant-{number}")
    held = []
    while (tenant := slots.next_tenant()) is not None:
        slots.take(tenant, cost=1)
        held.append(tenant)
    assert len(held) == each_max + max(1, each_max // 3)
    for tenant in held:
        slots.give_back(tenant)
    alone = FairSlots(each_max=each_max)
    assert slots._free == alone._free


def test_slots_go_to_who_has_had_least() -> None:
    slots = FairSlots(each_max=8)
    for tenant, cost in (("dear", 10.0), ("cheap", 1.0)):
        slots.may_want(tenant)
        slots.take(tenant, cost=cost)
        slots.give_back(tenant)
    assert slots.next_tenant() == "cheap"
    slots.refund("dear", cost=10.0)
    slots.take("cheap", cost=5.0)
    assert slots.next_tenant() == "dear"


def test_who_wants_nothing_is_not_asked() -> None:
    slots = FairSlots(each_max=2)
    slots.may_want("a")
    slots.wants_nothing("a")
    assert slots.next_tenant() is None
