"""The parser pool survives documents that hang, swell or crash, and tells what happened."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DocumentEmpty, DocumentMalformed, DocumentTooCostly, Unavailable
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.limits import MEBIBYTE, ParsingLimits
from sourcier.services.ingest.stages import sandbox
from sourcier.services.ingest.stages.sandbox import ParserPool
from sourcier.services.ingest.stages.slots import Places
from tests.unit.ingest.fix_pdf_pages import PageMaker, write_pdf
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("keeping_priority")
LAST_ATTEMPT = sandbox.GIVE_WAY[-1]
Reading = asyncio.Task[ParsedDocument]


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParserPool]:
    """One for all tests that can: its start takes seconds. A test may change its limits, or kill its zygote."""
    async with ParserPool(concurrency=2) as opened:
        yield opened


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.txt"
    path.write_text("Un petit texte.")
    return path


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A table that takes seconds to read."""
    path = tmp_path / "slow.csv"
    path.write_text("a,b\n" + "un mot,un autre\n" * 400_000)
    return path


@pytest.fixture
async def reading(pool: ParserPool) -> AsyncIterator[Callable[[Path], Reading]]:
    """Return what begins to read a document; it ends with the test, so that the next one meets no child of it."""
    begun: list[Reading] = []

    def begin(path: Path) -> Reading:
        begun.append(asyncio.create_task(pool.parse(path, filename=path.name)))
        return begun[-1]

    yield begin
    for each in begun:
        each.cancel()
    await asyncio.gather(*begun, return_exceptions=True)


async def test_a_document_is_read_and_its_working_files_removed(pool: ParserPool, small: Path) -> None:
    document = await pool.parse(small, filename="note.txt", title="Ma note")
    assert (document.title, document.text) == ("Ma note", "Un petit texte.")
    assert pool._directory is not None
    assert list(pool._directory.iterdir()) == []


async def test_many_at_once_give_what_one_gives(pool: ParserPool, small: Path) -> None:
    artefacts = await asyncio.gather(*(pool.parse_artefact(small, filename="note.txt") for _ in range(20)))
    assert len({artefact.content for artefact in artefacts}) == 1


async def test_a_rejection_keeps_its_class_and_words(pool: ParserPool, tmp_path: Path) -> None:
    path = tmp_path / "vide.pdf"
    path.touch()
    with pytest.raises(DocumentEmpty, match=r"“vide.pdf” is empty: it has zero bytes"):
        await pool.parse(path, filename="vide.pdf")


async def test_a_document_that_takes_too_long_is_stopped(
    pool: ParserPool, slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "limits", ParsingLimits(wall_seconds=0.3))
    assert pool._zygote is not None
    # A busy machine keeps it waiting indeed, which is another story.
    monkeypatch.setattr(pool._zygote, "waited", lambda identifier: 0.0)
    with pytest.raises(DocumentTooCostly, match=r"more than the 0\.3 s allowed"):
        await pool.parse(slow, filename="slow.csv")


async def test_a_document_that_takes_long_gives_way_to_its_neighbours(
    pool: ParserPool, reading: Callable[[Path], Reading], slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "GIVE_WAY", (((0.1, 7), (0.2, 19)),))
    parsing = reading(slow)
    child = await held_child(pool)
    seen = set()
    async with asyncio.timeout(20):
        while 19 not in seen:
            assert not parsing.done()
            seen.add(os.getpriority(os.PRIO_PROCESS, child))
            await asyncio.sleep(0.01)
    assert seen <= {os.getpriority(os.PRIO_PROCESS, 0), 7, 19}


async def test_a_document_is_read_that_gives_way_to_nobody(
    pool: ParserPool, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LAST_ATTEMPT[-1][1] == 0
    # At once, so that nothing depends on how fast it is read.
    monkeypatch.setattr(sandbox, "GIVE_WAY", (((0.0, 0),),))
    assert (await pool.parse(small, filename="note.txt")).text == "Un petit texte."


async def test_a_document_that_takes_long_leaves_its_slot_to_the_next_and_a_second_one_does_not(
    pool: ParserPool, reading: Callable[[Path], Reading], slow: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "GIVE_WAY", (((0.05, 19),), ((0.05, 19),)))
    monkeypatch.setattr(pool, "_places", Places(1))
    first = reading(slow)
    child = await held_child(pool)
    async with asyncio.timeout(20):
        assert (await pool.parse(small, filename="small.txt")).text == "Un petit texte."
    assert not first.done()
    second = reading(slow)
    await held_child(pool, beside=child)
    third = reading(small)
    await asyncio.wait((first, second, third), timeout=0.2)
    assert not third.done()  # the second has the only slot, and the only place for long ones is taken
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    async with asyncio.timeout(20):
        assert (await third).text == "Un petit texte."


async def test_what_a_document_was_kept_waiting_is_added_to_its_time(
    pool: ParserPool, slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "GIVE_WAY", (((0.05, 19),), ((0.05, 19),)))
    monkeypatch.setattr(pool, "limits", ParsingLimits(wall_seconds=0.3))
    assert pool._zygote is not None
    monkeypatch.setattr(pool._zygote, "waited", lambda identifier: 0.2)
    began = time.monotonic()
    with pytest.raises(DocumentTooCostly, match=r"more than the 0\.3 s allowed"):
        await pool.parse(slow, filename="slow.csv")
    assert time.monotonic() - began >= 0.5


async def test_a_document_that_never_had_a_processor_is_tried_again(
    pool: ParserPool, slow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "GIVE_WAY", (((0.05, 19),), ((0.05, 19),)))
    monkeypatch.setattr(pool, "limits", ParsingLimits(wall_seconds=0.2))
    assert pool._zygote is not None
    monkeypatch.setattr(pool._zygote, "waited", lambda identifier: 60.0)
    for attempt, (error, said) in enumerate(
        ((Unavailable, r"stopped after 0\.4 s, 60 s of which it was kept waiting"),
         (DocumentTooCostly, r"more than the 0\.2 s allowed")), start=1
    ):
        began = time.monotonic()
        with pytest.raises(error, match=said):
            await pool.parse_artefact(slow, filename="slow.csv", attempt=attempt)
        assert time.monotonic() - began >= 0.4


async def test_a_document_that_takes_too_much_memory_or_room_is_refused(
    slow: Path, small: Path, tmp_path: Path
) -> None:
    varied = tmp_path / "varied.txt"
    varied.write_text(" ".join(f"{number:x}" for number in range(20_000)))
    async with ParserPool(limits=ParsingLimits(memory_bytes=200 * MEBIBYTE, output_bytes=10_000)) as pool:
        with pytest.raises(DocumentTooCostly, match="200 MiB allowed"):
            await pool.parse(slow, filename="slow.csv")
        with pytest.raises(DocumentTooCostly, match="10,000 bytes allowed"):
            await pool.parse(varied, filename="varied.txt")
        assert (await pool.parse(small, filename="small.txt")).text == "Un petit texte."


@pytest.mark.parametrize(
    ("number", "error", "said"),
    [
        (signal.SIGSEGV, DocumentMalformed, "crashed the parser .SIGSEGV"),
        (signal.SIGABRT, DocumentMalformed, "give up .SIGABRT"),
        (signal.SIGXCPU, DocumentTooCostly, "processor time"),
        (signal.SIGKILL, Unavailable, "stopped from outside"),
    ],
)
async def test_a_crash_is_told_apart(
    number: signal.Signals, error: type[Exception], said: str, pool: ParserPool,
    reading: Callable[[Path], Reading], slow: Path, small: Path,
) -> None:
    parsing = reading(slow)
    child = await held_child(pool)
    for sent in (number, signal.SIGCONT):
        os.kill(child, sent)
    with pytest.raises(error, match=said):
        await parsing
    assert (await pool.parse(small, filename="small.txt")).text == "Un petit texte."


async def test_when_the_zygote_dies_its_documents_can_be_tried_again(pool: ParserPool, slow: Path, small: Path) -> None:
    parsing = asyncio.create_task(pool.parse(slow, filename="slow.csv"))
    child = await child_of_zygote(pool)
    os.kill(zygote_pid(pool), signal.SIGKILL)
    with pytest.raises(Unavailable, match="tried again"):
        await parsing
    await gone(child)
    assert (await pool.parse(small, filename="small.txt")).text == "Un petit texte."


async def test_a_zygote_that_does_not_answer_is_ended_and_the_next_document_is_read(
    pool: ParserPool, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "KILLED_SECONDS", 0.5)
    silent = telemetry.degradations_total.labels("parse", "PROCESS_SILENT")
    before = silent._value.get()
    monkeypatch.setattr(pool, "limits", ParsingLimits(wall_seconds=5))
    os.kill(zygote_pid(pool), signal.SIGSTOP)
    async with asyncio.timeout(15):
        with pytest.raises(Unavailable, match="tried again"):
            await pool.parse(small, filename="small.txt")
    assert silent._value.get() - before == 1
    assert (await pool.parse(small, filename="small.txt")).text == "Un petit texte."


async def test_cancelling_does_not_wait_for_a_zygote_that_does_not_answer(
    pool: ParserPool, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "KILLED_SECONDS", 0.5)
    os.kill(zygote_pid(pool), signal.SIGSTOP)
    parsing = asyncio.create_task(pool.parse(small, filename="small.txt"))
    await until(lambda: pool._zygote and pool._zygote._waiting)
    parsing.cancel()
    async with asyncio.timeout(10):
        with pytest.raises(asyncio.CancelledError):
            await parsing
    assert (await pool.parse(small, filename="small.txt")).text == "Un petit texte."


async def test_cancelling_kills_the_process(pool: ParserPool, slow: Path) -> None:
    parsing = asyncio.create_task(pool.parse(slow, filename="slow.csv"))
    child = await child_of_zygote(pool)
    parsing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await parsing
    await gone(child)


async def test_closing_leaves_no_process_and_no_file(slow: Path) -> None:
    async with ParserPool() as pool:
        directory = pool._directory
        parsing = asyncio.create_task(pool.parse(slow, filename="slow.csv"))
        child = await child_of_zygote(pool)
    with pytest.raises(Unavailable):
        await parsing
    await gone(child)
    assert directory is not None
    assert not directory.exists()


def zygote_pid(pool: ParserPool) -> int:
    assert pool._zygote is not None
    return pool._zygote._process.pid


async def held_child(pool: ParserPool, *, beside: int = 0) -> int:
    """Stop the process of a document, so that no busy machine lets it end before the test has looked at it."""
    child = await child_of_zygote(pool, beside=beside)
    # Only then do other signals and its niceness reach it.
    await until(lambda: os.getpgid(child) == child)
    os.kill(child, signal.SIGSTOP)
    return child


async def child_of_zygote(pool: ParserPool, *, beside: int = 0) -> int:
    """Wait for the process of a document that is not the one `beside` it, and return its number."""
    children = Path(f"/proc/{zygote_pid(pool)}/task/{zygote_pid(pool)}/children")
    async with asyncio.timeout(20):
        while True:
            # The kernel tells of a death, not of a birth: so this looks at each turn of the loop.
            found = await asyncio.to_thread(children.read_text)
            for child in map(int, found.split()):
                if child != beside:
                    return child


async def gone(pid: int) -> None:
    """Wait until a process has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, ended.set)
    try:
        async with asyncio.timeout(20):
            await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def test_pages_are_drawn_while_a_picture_takes_long_and_that_is_stopped(
    pool: ParserPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = write_pdf(tmp_path / "many.pdf", [PageMaker().lines(50, 60, ["Une ligne."] * 50) for _ in range(2_000)])
    page = {"page": 1, "dpi": 36, "text": "", "rectangles": [], "picture": 0}

    async def draw(drawing: dict[str, object]) -> sandbox.DrawnPicture:
        return await pool.draw(many, filename="many.pdf", content_type="", drawing=drawing)

    pictures = [asyncio.create_task(draw(page | {"picture": 1})) for _ in range(3)]
    try:
        assert (await draw(page)).content
        assert not any(picture.done() for picture in pictures)
        monkeypatch.setattr(sandbox, "PICTURE_SECONDS_MAX", 0.01)
        with pytest.raises(DocumentTooCostly, match=r"picture 1 of “many\.pdf” took more than the 0\.01 s"):
            await draw(page | {"picture": 1})
    finally:
        for picture in pictures:
            picture.cancel()
        await asyncio.wait(pictures)
