"""The scenarios, as data: who sends what, which processes run, and what happens to them meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.chaos.generator import Habits
from tests.chaos.keeper import Plan
from tests.chaos.senders import Telling

FRONT = ("consume.after-fetch", "relay.after-publish", "collect.after-copy", "collect.after-commit",
         "reconcile.after-page")
BACK = ("consume.before-acknowledge", "parse.after-work", "parse.after-publish", "chunk.after-work",
        "chunk.between-batches", "index.before-commit", "index.after-commit")
OCR = ("ocr.after-page", "ocr.after-description", "ocr.after-work", "ocr.after-publish", "consume.before-acknowledge")
SPEECH = ("speech.after-page", "speech.after-work", "speech.after-publish", "consume.before-acknowledge")
EMBED = ("embed.before-work", "embed.after-work", "embed.after-publish")
SPENT = frozenset({"ATTEMPTS_SPENT"})
"""A document that was in hand at sixteen deaths is given up: in a run that kills all the time, that can be any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One kind of trouble."""

    name: str
    faults: str
    """Which of the catalogue it covers."""
    about: str
    plans: tuple[Plan, ...] = (Plan(), Plan(service="embed"))
    habits: Habits = field(default_factory=Habits)
    telling: Telling = field(default_factory=Telling)
    steps: int = 60
    """At least so many."""
    endless: bool = True
    """Whether the sending goes on until the faults are over."""
    pace_seconds: float = 0.08
    """Between two steps."""
    injected: tuple[str, ...] = ()
    """One after another."""
    pause_seconds: float = 1.0
    """Before each fault."""
    away_seconds: float = 4.0
    """How long what is gone, deaf or frozen stays so."""
    own_servers: bool = False
    """Whether it harms the servers themselves."""
    proxied: bool = False
    letters_allowed: frozenset[str] = frozenset()
    """Reasons for which good documents may be given up; they are then replayed, twice at once, and have to pass."""
    options: Mapping[str, object] = field(default_factory=lambda: {
        "hurried": 3.0, "plain_reader": True, "arithmetic_model": True,
    })


KILLS = Scenario(
    name="kills", faults="F-R1", about="SIGKILL at every failpoint in turn, in five processes",
    plans=(
        Plan(stages="accept,collect", kills=FRONT), Plan(stages="parse,chunk,index", kills=BACK),
        Plan(stages="ocr", kills=OCR), Plan(stages="speech", kills=SPEECH), Plan(service="embed", kills=EMBED),
    ),
    habits=Habits(scan_share=0.25, recorded_share=0.2),
    letters_allowed=SPENT,
)
ORDER = Scenario(
    name="order", faults="F-R9, F-R10",
    about="notifications doubled, reordered, late and lying; acknowledgements lost; one of two embedders slow",
    plans=(
        Plan(failpoints="consume.before-acknowledge=skip:0.25"), Plan(service="embed"),
        Plan(service="embed", failpoints="embed.after-work=delay:4"),
    ),
    habits=Habits(names=10, large_share=0.5), telling=Telling(doubled=0.9, late=0.6, lies=0.3, replays=40),
)
BROKER = Scenario(
    name="broker", faults="F-R2, F-R3, F-R5", own_servers=True,
    about="nats-server killed, its store restored from an older copy, deleted; durables and streams deleted",
    injected=("kill nats", "delete a durable", "delete a stream", "restore nats' older store", "kill nats",
              "delete nats' store", "delete a durable", "kill nats"),
)
NETWORK = Scenario(
    name="network", faults="F-R4", own_servers=True, proxied=True,
    about="nats-server frozen; half a second for each packet; bytes lost both ways, and one way",
    injected=("freeze nats", "slow network", "deaf network", "half-open network"),
)
DATABASE = Scenario(
    name="database", faults="F-R11", own_servers=True,
    about="every session ended, immediate restarts, connections refused, the disk full",
    injected=("end database sessions", "restart postgres at once", "end database sessions", "refuse the database",
              "fill the database's disk", "end database sessions", "restart postgres at once"),
)
POISON = Scenario(
    name="poison", faults="F-R8, F-R19",
    about="documents that crash, hang or exhaust the reader among good ones; services asked to stop meanwhile",
    habits=Habits(poison_share=0.15), injected=("stop a service",) * 4, pause_seconds=1.5,
)
SPENDING = Scenario(
    name="spending", faults="F-R9",
    about="an embedder that dies of whatever it fetches: attempts end by the ack wait alone",
    plans=(Plan(), Plan(service="embed", failpoints="consume.after-fetch=kill:1")),
    # One message dies in each life, so there are few.
    habits=Habits(names=2, large_share=0.0), steps=2, endless=False, injected=("let attempts be spent",),
    letters_allowed=SPENT,
)
SLOW = Scenario(
    name="slow", faults="F-R7", about="every batch takes the embedder three ack waits, held by its heartbeats alone",
    plans=(Plan(), Plan(service="embed", failpoints="embed.after-work=delay:9")), habits=Habits(names=6), steps=12,
    endless=False, injected=("let work be slow",),
)
SILENCE = Scenario(
    name="silence", faults="F-R4", own_servers=True, proxied=True, away_seconds=45.0,
    about="nats-server frozen, then deaf, for longer than two pings of its clients",
    habits=Habits(names=12), pace_seconds=1.0, injected=("freeze nats", "deaf network"),
)
OVERWRITES = Scenario(
    name="overwrites", faults="F-R10", about="one object overwritten fifty times while somebody keeps asking",
    habits=Habits(names=1, large_share=0.5, submit_share=0.0, delete_share=0.0, same_share=0.0), steps=50,
    pace_seconds=0.05,
)
SCENARIOS = {scenario.name: scenario for scenario in (
    KILLS, ORDER, BROKER, NETWORK, DATABASE, POISON, OVERWRITES, SPENDING, SLOW, SILENCE,
)}
