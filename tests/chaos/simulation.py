"""F-R29: the ingest as a state machine under a seeded scheduler that crashes, doubles, reorders and loses.

Every actor is a generator that gives the turn away wherever a process could die; what it did before that stands. A
seed gives the same run every time, so a failure is replayed and cut down by its number alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

from tests.chaos.simulated import RULES, Broker, Message, Tables

Actor = Generator[None, None, None]

NAMES = ("a", "b", "c")
IN_FLIGHT = 3
OPERATIONS = 12
CALM_TURNS_MAX = 3_000


@dataclass(frozen=True, slots=True)
class Failure:
    """A run that broke an invariant."""

    seed: int
    operations: int
    """How many things the senders did."""
    what: str


class Simulation:
    """One run."""

    def __init__(self, seed: int, *, rules: Iterable[str] = RULES, operations: int = OPERATIONS) -> None:
        """Prepare; leaving out a rule breaks the ingest on purpose."""
        self._random = random.Random(seed)
        self._rules = frozenset(rules)
        self._operations = operations
        self._store: dict[str, int] = {}
        self._broker = Broker()
        self._tables = Tables(self._rules)
        self._contents = 0
        self._seen: dict[int, tuple[int, int]] = {}
        self._calm = False
        self._makers: dict[str, Callable[[int], Actor]] = {
            "notifications": self._notified, "collector": self._collect, "other collector": self._collect,
            "relay": self._relay, "parser": self._parse, "other parser": self._parse, "indexer": self._index,
            "other indexer": self._index, "reconciler": self._reconcile,
        }
        self._actors: dict[str, tuple[int, Actor]] = {}
        self._lives = 0

    def run(self) -> str:
        """Return what broke, or nothing."""
        done = 0
        while done < self._operations:
            if self._random.random() < 0.15:
                self._send()
                done += 1
            if broken := self._turn():
                return broken
        self._calm = True
        for _ in range(CALM_TURNS_MAX):
            if broken := self._turn():
                return broken
            if self._settled():
                return self._wrong_in_the_end()
        return "it never came to rest: " + self._left()

    def _turn(self) -> str:
        chance = self._random
        if not self._calm and chance.random() < 0.01:
            self._broker.lose_everything()
        name = chance.choice(list(self._makers))
        if name not in self._actors:
            self._lives += 1
            self._actors[name] = (self._lives, self._makers[name](self._lives))
        life, actor = self._actors[name]
        if not self._calm and chance.random() < 0.06:
            self._die(name, life)
            return ""
        if next(actor, self) is self:  # it has ended
            del self._actors[name]
        if chance.random() < 0.05:
            self._let_go_of_any()
        return self._wrong_at_any_time()

    def _die(self, name: str, life: int) -> None:
        del self._actors[name]
        for queue in self._broker.queues.values():
            for message in queue.values():
                if message.holder == life:
                    message.holder = None

    def _let_go_of_any(self) -> None:
        """The ack wait of any message ends, though its worker lives: two work on it."""
        held = [message for queue in self._broker.queues.values() for message in queue.values() if message.holder]
        if held:
            self._random.choice(held).holder = None

    def _send(self) -> None:
        name = self._random.choice(NAMES)
        if name in self._store and self._random.random() < 0.25:
            del self._store[name]
        elif name not in self._store or self._random.random() < 0.85:
            self._contents += 1
            self._store[name] = self._contents
        for _ in range(self._random.choice((0, 1, 1, 2, 3))):
            self._broker.publish("told", (name,))

    def _fetch(self, queue: str, life: int) -> Message | None:
        free = [message for message in self._broker.queues[queue].values() if message.holder is None]
        if not free:
            return None
        message = self._random.choice(free)
        message.holder = life
        if "acknowledge last" not in self._rules:
            self._broker.acknowledge(queue, message.sequence)
        return message

    def _acknowledge(self, queue: str, message: Message) -> None:
        if self._calm or self._random.random() > 0.1:
            self._broker.acknowledge(queue, message.sequence)
        else:
            message.holder = None  # lost on the way

    def _notified(self, life: int) -> Actor:
        message = self._fetch("told", life)
        if message is None:
            return
        yield
        self._tables.hint([str(message.body[0])])
        yield
        self._acknowledge("told", message)

    def _collect(self, life: int) -> Actor:
        marked = [name for name, entry in self._tables.manifest.items() if entry.marked]
        if not marked:
            return
        name = self._random.choice(marked)
        claim, hints, _ = self._tables.claim(name)
        yield
        content = self._store.get(name, 0)
        yield
        self._tables.follow(name, claim, hints, content, 1 + content % 3)

    def _relay(self, life: int) -> Actor:
        before = {key for key, version in self._tables.versions.items() if version.state == "accepted"}
        self._tables.release(IN_FLIGHT)
        self._tables.release_lost(self._broker.epoch)
        yield
        if "outbox" not in self._rules:
            # Published beside the transaction: what dies in between is never sent.
            for key in before:
                if key in self._tables.versions and self._tables.versions[key].state == "released":
                    self._broker.publish("received", key)
        for number, key in list(self._tables.outbox.items()):
            self._broker.publish("received", key)
            yield
            self._tables.outbox.pop(number, None)

    def _parse(self, life: int) -> Actor:
        message = self._fetch("received", life)
        if message is None:
            return
        document, generation = message.body
        assert isinstance(document, int)
        assert isinstance(generation, int)
        version = self._tables.versions.get((document, generation))
        yield
        for batch in range(version.batches if version else 0):
            self._broker.publish("embedded", (document, generation, batch))
            yield
        self._acknowledge("received", message)

    def _index(self, life: int) -> Actor:
        message = self._fetch("embedded", life)
        if message is None:
            return
        document, generation, batch = message.body
        yield
        assert isinstance(document, int)
        assert isinstance(generation, int)
        assert isinstance(batch, int)
        self._tables.stage((document, generation), batch)
        yield
        self._acknowledge("embedded", message)

    def _reconcile(self, life: int) -> Actor:
        yield
        known = {name: entry.content for name, entry in self._tables.manifest.items() if not entry.marked}
        differing = [name for name, content in self._store.items() if known.get(name, -1) != content]
        gone = [name for name in known if name not in self._store]
        yield
        self._tables.hint([name for name in differing if not self._is_marked(name)] + gone)

    def _is_marked(self, name: str) -> bool:
        entry = self._tables.manifest.get(name)
        return entry is not None and entry.marked

    def _wrong_at_any_time(self) -> str:
        for document in self._tables.documents.values():
            if document.current and sorted(document.rows) != list(range(1 + document.content % 3)):
                return f"{document.name} answers from the rows {document.rows} of content {document.content}"
            generation, content = self._seen.get(document.identity, (0, 0))
            if document.current < generation or document.content < content:
                return f"{document.name} went back from content {content} to {document.content}"
            self._seen[document.identity] = document.current, document.content
        return ""

    def _settled(self) -> bool:
        tables = self._tables
        manifest = {name: entry.content for name, entry in tables.manifest.items()}
        return (
            manifest == self._store and not any(entry.marked for entry in tables.manifest.values())
            and not tables.outbox and not any(self._broker.queues.values())
            and not any(version.state in ("accepted", "released") for version in tables.versions.values())
        )

    def _wrong_in_the_end(self) -> str:
        answers = sorted((document.name, document.content) for document in self._tables.documents.values())
        return "" if answers == sorted(self._store.items()) else f"{answers} answers for {sorted(self._store.items())}"

    def _left(self) -> str:
        states = [f"{version.generation} {version.state}" for version in self._tables.versions.values()]
        return f"versions {states}, queues {[len(queue) for queue in self._broker.queues.values()]}"


def search(seeds: Iterable[int], *, without: str = "") -> Failure | None:
    """Return the first seed that breaks an invariant; `without` a rule, one should."""
    rules = [rule for rule in RULES if rule != without]
    for seed in seeds:
        if what := Simulation(seed, rules=rules).run():
            return _smallest(seed, rules, what)
    return None


def _smallest(seed: int, rules: list[str], what: str) -> Failure:
    """Cut the run down: the fewest operations of the senders with which this seed still breaks something."""
    for operations in range(1, OPERATIONS):
        if found := Simulation(seed, rules=rules, operations=operations).run():
            return Failure(seed, operations, found)
    return Failure(seed, OPERATIONS, what)
