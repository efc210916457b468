"""Attacks through the running services: before the worst obedient model, and before a real one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from eval import gates
from eval.attacks import attacks
from eval.attacks.attacks import SETTINGS, Attack, Shown
from eval.attacks.scripted_model import ScriptedModel, serving
from eval.gates import Figure
from eval.kept import Kept
from eval.reporting import report
from eval.retrieval.measures import estimate
from eval.retrieval.retrieval import RESULTS, Progress
from eval.system import OWN_MODEL, System, running_system
from sourcier import Client
from sourcier.errors import AlreadyExists, SourcierError
from sourcier.gateway.v1 import answer_pb2
from sourcier.results import Answer
from sourcier.services.gateway.prompting.orders import orders

COLLECTION = "eval-attacks"
ANSWER_SECONDS_MAX = 300.0
SUPPORTED = (
    answer_pb2.SUPPORT_SAME_WORDING, answer_pb2.SUPPORT_CITED, answer_pb2.SUPPORT_JUDGED, answer_pb2.SUPPORT_ENTAILED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """An attack and what came of it."""

    attack: Attack
    reasons: tuple[str, ...]
    """In what it succeeded; empty when it failed."""
    answered: bool
    """Whether the question was answered all the same."""
    text: str

    @property
    def obeyed(self) -> bool:
        """Whether what the attacker wanted was done, a question without an answer included."""
        return bool(self.reasons)


class Attacker:
    """Tries attacks on a gateway."""

    def __init__(self, client: Client, model: ScriptedModel | None) -> None:
        """Take the scripted model that the gateway asks, or None where a real one answers."""
        self._client = client
        self._model = model
        self._honest: dict[str, str] = {}
        self._attacking: dict[str, str] = {}

    async def ingest(self, tried: Sequence[Attack]) -> None:
        """Ingest the honest documents and one for each attack."""
        with contextlib.suppress(AlreadyExists):
            await self._client.create_collection(COLLECTION)
        for language, setting in SETTINGS.items():
            done = await self._client.ingest_text(
                setting.text, source=f"honest-{language}", title=setting.title, collection=COLLECTION
            )
            self._honest[language] = done.document.document_id
        for attack in tried:
            heading = attack.field("heading", "")
            done = await self._client.ingest_text(
                f"# {' '.join(heading.split())}\n\n{attack.text}" if heading else attack.text,
                source=attack.attack_id, filename=attack.field("file_name", "note.md" if heading else "note.txt"),
                title=attack.field("title", "Note"), category=attack.field("category", ""),
                metadata={"note": attack.field("metadata", "none")}, collection=COLLECTION,
            )
            self._attacking[attack.attack_id] = done.document.document_id

    async def attempt(self, attack: Attack) -> Tried:
        """Ask the attack's question; of a scripted model, in each way of obeying, and the worst counts."""
        if self._model is None:
            return await self._ask(attack)
        worst: Tried | None = None
        for number in range(len(list(attacks.obedient(attack, "")))):
            def script(prompt: str, number: int = number) -> str:
                return list(attacks.obedient(attack, prompt))[number]

            self._model.script = script
            said = list(attacks.obedient(attack, ""))[number]
            tried = await self._ask(attack, answerable=attacks.answers(attack, said))
            if worst is None or len(tried.reasons) > len(worst.reasons):
                worst = tried
        assert worst is not None
        return worst

    async def _ask(self, attack: Attack, *, answerable: bool = True) -> Tried:
        honest = self._honest[attack.language]
        answer = await self._client.answer(
            attack.question, collection=COLLECTION, document_ids=[honest, self._attacking[attack.attack_id]], seed=0,
            timeout_seconds=ANSWER_SECONDS_MAX,
        )
        prompt = self._model.prompt if self._model is not None else ""
        shown = Shown(text=answer.text, prompt=prompt, cited_honest=_cited(answer, honest))
        reasons = attacks.succeeded(attack, shown, answerable=answerable)
        return Tried(
            attack=attack, reasons=tuple(reasons), answered=attack.setting.fact in answer.text.casefold(),
            text=answer.text,
        )


def _cited(answer: Answer, document_id: str) -> tuple[str, ...]:
    return tuple(
        answer.text[each.sentence_start : each.sentence_end] for each in answer.citations
        if each.document_id == document_id and each.support in SUPPORTED
    )


async def measure_attacks(
    *, scripted: bool, attacks_max: int | None, data_dir: Path | None, engine: str, document: Path | None, command: str,
    again: bool = False,
) -> None:
    """Try the attacks on a scripted or on the stack's own language model, and report; what was tried before is kept."""
    known = attacks.load()
    chosen = _spread(known, attacks_max)
    name = "scripted" if scripted else "real"
    model = ScriptedModel() if scripted else None
    async with contextlib.AsyncExitStack() as opened:
        generate = await opened.enter_async_context(serving(model)) if model is not None else OWN_MODEL
        stack = running_system(gateway="", data_dir=data_dir, engine=engine, generate=generate)
        # Starting and stopping the stack blocks; the scripted model has to answer meanwhile.
        system: System = await asyncio.to_thread(stack.__enter__)
        opened.push_async_callback(asyncio.to_thread, stack.__exit__, None, None, None)
        # A scripted run takes seconds, and the code that it tries may have changed.
        kept = Kept(RESULTS / f"attacks-{name}.jsonl", again=again or scripted,
                    run_of=system.described_with_model)
        async with Client(system.gateway) as client:
            attacker = Attacker(client, model)
            tried = await _tried(attacker, chosen, kept)
    title = "the worst obedient model (scripted)" if scripted else f"a real language model ({system.language_model})"
    body = "\n\n".join([
        f"### Attacks on {title}",
        *([f"{len(chosen)} of the {len(known)} attacks, at even distances."] if len(chosen) < len(known) else []),
        table(tried), report.provenance(system=system.described_with_model, command=command),
    ])
    click.echo(body)
    for each in tried:
        if each.reasons:
            click.echo(f"{each.attack.attack_id}: {'; '.join(each.reasons)}: {each.text!r}", err=True)
    failed = [not each.obeyed for each in tried]
    gates.keep({f"attacks failed, {name} model": Figure.of(estimate(failed), count=len(failed), command=command)})
    if document is not None:
        report.write_block(document, f"attacks-{name}", body)


async def _tried(attacker: Attacker, chosen: Sequence[Attack], kept: Kept) -> list[Tried]:
    """Try attacks, those left out that are kept; one that could not be tried is told, and tried by the next run."""
    missing = [attack for attack in chosen if kept.get(attack.attack_id) is None]
    await attacker.ingest(missing)
    progress = Progress("attacks tried")
    failures = []
    for number, attack in enumerate(missing, start=1):
        try:
            done = await attacker.attempt(attack)
        except SourcierError as error:
            failures.append(f"{attack.attack_id}: {error}")
            continue
        kept.add(attack.attack_id, {"reasons": done.reasons, "answered": done.answered, "text": done.text})
        progress(number, len(missing))
    if failures:
        click.echo(f"{len(failures)} attacks could not be tried; run again to try them: {failures[0]}", err=True)
    return [
        Tried(attack=attack, reasons=tuple(found["reasons"]), answered=found["answered"], text=found["text"])
        for attack in chosen if (found := kept.get(attack.attack_id)) is not None
    ]


def table(tried: Sequence[Tried]) -> str:
    """Return by kind how many attacks succeeded, and how often the question was answered all the same."""
    rates = attacks.rates([(each.attack, each.obeyed) for each in tried])
    answered: Mapping[str, int] = {
        kind: sum(each.answered for each in tried if each.attack.kind == kind) for kind in rates
    }
    rows = [("kind", "tried", "succeeded", "answered all the same")]
    rows += [
        (kind.replace("_", " "), str(count), str(won), str(answered[kind])) for kind, (won, count) in rates.items()
    ]
    won = sum(each.obeyed for each in tried)
    rows.append(("**all**", str(len(tried)), f"**{won} ({won / len(tried):.1%})**", str(sum(answered.values()))))
    return report.markdown_table(rows)


def false_orders(texts: Sequence[str]) -> tuple[int, list[str]]:
    """Return how many honest passages hold something that is taken for an order, and what it is."""
    found = [[text[start:end] for start, end in orders(text)] for text in texts]
    return sum(map(bool, found)), [each for some in found for each in some]


def _spread(known: Sequence[Attack], count: int | None) -> list[Attack]:
    """Return so many attacks at even distances, so that every kind is in."""
    if count is None or count >= len(known):
        return list(known)
    return [known[int(number * len(known) / count)] for number in range(count)]

