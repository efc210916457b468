"""The filter of system calls for both architectures, run here as the kernel runs it."""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from sourcier.services.ingest.parsing.confining.seccomp import ALLOW, ARCHITECTURES, KILL, Architecture, filter_program
from sourcier.services.ingest.parsing.confining.system_calls import BY_ARGUMENTS, HOSTILE, LAST_KNOWN, READING

PID = 4321
EPERM, EACCES, ENOSYS = (0x50000 | number for number in (errno.EPERM, errno.EACCES, errno.ENOSYS))
NUMBERS = READING | HOSTILE | BY_ARGUMENTS
BOTH = pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=ARCHITECTURES)
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def answer(architecture: Architecture, number: int, *arguments: int, identity: int | None = None) -> int:
    """Run the filter over a call, and return what it answers the kernel."""
    told = struct.pack("=iIQ6Q", number, identity or architecture.identity, 0, *arguments, *[0] * (6 - len(arguments)))
    program = list(struct.iter_unpack("=HBBI", filter_program(architecture, pid=PID)))
    at, loaded = 0, 0
    while True:
        code, if_true, if_false, value = program[at]
        at += 1
        match code:
            case 0x20:
                [loaded] = struct.unpack_from("=I", told, value)
            case 0x06:
                return int(value)
            case _:
                holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
                at += if_true if holds else if_false


def called(architecture: Architecture, name: str, *arguments: int) -> int:
    number = NUMBERS[name][architecture.column]
    assert number is not None
    return answer(architecture, number, *arguments)


@BOTH
def test_every_call_of_a_table_gets_its_answer(architecture: Architecture) -> None:
    for table, expected in ((READING, ALLOW), (HOSTILE, KILL)):
        numbers = [numbers[architecture.column] for numbers in table.values()]
        assert {answer(architecture, number) for number in numbers if number is not None} == {expected}


@BOTH
def test_what_is_in_no_table_is_refused_or_unknown(architecture: Architecture) -> None:
    known = {numbers[architecture.column] for numbers in NUMBERS.values()}
    others = [number for number in range(LAST_KNOWN + 1) if number not in known]
    assert {answer(architecture, number) for number in others} == {EPERM}
    assert {answer(architecture, number) for number in (LAST_KNOWN + 1, 600, 10_000)} == {ENOSYS}


def test_calls_of_another_abi_end_the_process() -> None:
    intel, arm = ARCHITECTURES["x86_64"], ARCHITECTURES["aarch64"]
    assert answer(intel, 0, identity=0x40000003) == KILL  # 32-bit programs on x86
    assert answer(arm, 63, identity=0x40000028) == KILL  # and on ARM
    assert answer(intel, 0x40000000 | 39) == KILL  # x32
    assert answer(intel, -1) == KILL


@BOTH
def test_threads_start_and_processes_do_not(architecture: Architecture) -> None:
    assert called(architecture, "clone", 0x3D0F00) == ALLOW  # as pthread_create does
    assert called(architecture, "clone", 0x1200011) == KILL  # as fork does
    assert called(architecture, "clone", 0x4111) == KILL  # as posix_spawn does
    assert called(architecture, "clone", 0x10000 << 32) == KILL  # the kernel reads the lower half
    assert called(architecture, "clone3", 0x3D0F00) == ENOSYS


@BOTH
def test_signals_go_to_itself_alone(architecture: Architecture) -> None:
    for name in ("kill", "tgkill"):
        assert called(architecture, name, PID, 6) == ALLOW
        for other in (1, 0, PID + 1, (1 << 32) - 1, (1 << 64) - 1):
            assert called(architecture, name, other, 6) == KILL


@BOTH
def test_no_socket_is_made(architecture: Architecture) -> None:
    for family in range(64):
        assert called(architecture, "socket", family, 1, 0) == EACCES


@BOTH
def test_own_limits_are_asked_and_none_is_set(architecture: Architecture) -> None:
    assert called(architecture, "prlimit64", 0, 7, 0, 1 << 40) == ALLOW
    assert called(architecture, "prlimit64", PID, 7, 0, 1 << 40) == ALLOW
    assert called(architecture, "prlimit64", PID + 1, 7, 0, 1 << 40) == EPERM
    assert called(architecture, "prlimit64", 0, 7, 1 << 40, 0) == EPERM
    assert called(architecture, "prlimit64", 0, 7, 16, 0) == EPERM


@BOTH
def test_what_is_asked_of_files_and_threads_is_told_from_orders(architecture: Architecture) -> None:
    assert called(architecture, "ioctl", 1, 0x5401) == ALLOW  # is it a terminal
    assert called(architecture, "ioctl", 1, 0x5412) == EPERM  # type into it
    assert called(architecture, "prctl", 15) == ALLOW  # name a thread
    assert called(architecture, "prctl", 22) == EPERM
    assert called(architecture, "fcntl", 1, 3) == ALLOW
    assert called(architecture, "fcntl", 1, 8) == EPERM  # send its news to a process


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_numbers_are_the_kernels(name: str) -> None:
    if not HEADERS[name].exists():
        pytest.skip("the kernel's headers are not installed")
    text = HEADERS[name].read_text()
    found = {each: int(number) for each, number in re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)", text)}
    found |= {each: found[other] for each, other in re.findall(r"#define\s+__NR_(\w+)\s+__NR3264_(\w+)", text)
              if other in found}
    column = ARCHITECTURES[name].column
    for call, numbers in NUMBERS.items():
        assert numbers[column] in (found.get(call), None), call
    assert max(found.values()) >= LAST_KNOWN - 1
