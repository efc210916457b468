"""The ingest's neighbours reduced to their promises: a broker that delivers at least once in any order, tables whose
transactions are whole, a bucket. What the statements of `sourcier.services.index` do, the tables do here, rule for
rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

RULES = ("fencing", "staged key", "acknowledge last", "claims", "outbox")


@dataclass(slots=True)
class Message:
    """A message in a queue; `holder` is who has it in hand."""

    sequence: int
    body: tuple[object, ...]
    holder: int | None = None


@dataclass(slots=True)
class Broker:
    """Queues in memory; `epoch` changes when all of it is lost."""

    queues: dict[str, dict[int, Message]] = field(default_factory=lambda: {"told": {}, "received": {}, "embedded": {}})
    epoch: int = 0
    sequence: int = 0

    def publish(self, queue: str, body: tuple[object, ...]) -> None:
        """Add a message."""
        self.sequence += 1
        self.queues[queue][self.sequence] = Message(self.sequence, body)

    def acknowledge(self, queue: str, sequence: int) -> None:
        """Forget a message; one that is gone already stays gone."""
        self.queues[queue].pop(sequence, None)

    def lose_everything(self) -> None:
        """Come back with empty queues."""
        for queue in self.queues.values():
            queue.clear()
        self.epoch += 1


@dataclass(slots=True)
class Version:
    """A document's version; `staged` counts batches, as the service's column does."""

    document: int
    generation: int
    content: int
    batches: int
    state: str = "accepted"
    staged: int = 0
    keys: set[int] = field(default_factory=set)
    rows: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Document:
    """A document and the rows that answer."""

    identity: int
    name: str
    last: int = 0
    current: int = 0
    content: int = 0
    rows: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Entry:
    """A row of the manifest."""

    hints: int = 1
    marked: bool = True
    content: int = 0
    document: int = 0
    claim: int = 0


@dataclass(slots=True)
class Tables:
    """The record. Every method is one transaction."""

    rules: frozenset[str]
    manifest: dict[str, Entry] = field(default_factory=dict)
    documents: dict[int, Document] = field(default_factory=dict)
    versions: dict[tuple[int, int], Version] = field(default_factory=dict)
    outbox: dict[int, tuple[int, int]] = field(default_factory=dict)
    epoch: int = 0
    numbers: int = 0

    def number(self) -> int:
        """Return a new identity."""
        self.numbers += 1
        return self.numbers

    def hint(self, names: Iterable[str]) -> None:
        """Mark objects."""
        for name in names:
            entry = self.manifest.get(name)
            if entry is None:
                self.manifest[name] = Entry()
            else:
                entry.hints += 1
                entry.marked = True

    def claim(self, name: str) -> tuple[int, int, int]:
        """Take a marked row, whoever had it; return claim, hints and content."""
        entry = self.manifest[name]
        entry.claim = self.number()
        return entry.claim, entry.hints, entry.content

    def follow(self, name: str, claim: int, hints: int, content: int, batches: int) -> None:
        """Record what the store holds (0: nothing), under a claim that still stands."""
        entry = self.manifest.get(name)
        if entry is None or ("claims" in self.rules and entry.claim != claim):
            return
        entry.claim = 0
        if content == 0:
            self._remove(entry.document)
            entry.content = entry.document = 0
            entry.marked = entry.hints != hints
            if not entry.marked:
                del self.manifest[name]
            return
        if content != entry.content:
            entry.document = self._accept(entry.document, name, content, batches)
        entry.content = content
        entry.marked = entry.hints != hints

    def release(self, limit: int) -> None:
        """Let versions go, with their messages in the outbox."""
        under_way = sum(version.state == "released" for version in self.versions.values())
        for key, version in list(self.versions.items()):
            if version.state == "accepted" and under_way < limit:
                version.state = "released"
                under_way += 1
                if "outbox" in self.rules:
                    self.outbox[self.number()] = key

    def release_lost(self, epoch: int) -> None:
        """Let everything under way go again, if the broker came back empty."""
        if epoch != self.epoch:
            self.epoch = epoch
            for key, version in self.versions.items():
                if version.state == "released":
                    self.outbox[self.number()] = key

    def stage(self, key: tuple[int, int], batch: int) -> None:
        """Stage a batch; with the last one, the version takes the place of the one before."""
        version, document = self.versions.get(key), self.documents.get(key[0])
        if version is None or document is None or version.state == "committed":
            return
        if "fencing" in self.rules and (version.state == "superseded" or version.generation <= document.current):
            return
        if "staged key" in self.rules and batch in version.keys:
            return
        version.keys.add(batch)
        version.staged += 1
        version.rows.append(batch)
        if version.staged < version.batches:
            return
        version.state = "committed"
        document.current, document.content, document.rows = version.generation, version.content, version.rows
        for other in self.versions.values():
            if other.document == document.identity and other.generation < version.generation:
                other.state = "superseded"

    def _accept(self, identity: int, name: str, content: int, batches: int) -> int:
        document = self.documents.get(identity)
        if document is None:
            identity = self.number()
            document = self.documents[identity] = Document(identity, name)
        newest = self.versions.get((identity, document.last))
        if newest is not None and newest.content == content and newest.state != "superseded":
            return identity
        if newest is not None and newest.state == "accepted":
            newest.state = "superseded"
        document.last += 1
        self.versions[identity, document.last] = Version(identity, document.last, content, batches)
        return identity

    def _remove(self, identity: int) -> None:
        self.documents.pop(identity, None)
        for key in [key for key in self.versions if key[0] == identity]:
            del self.versions[key]
