"""What models say of a sentence whose wording a passage supports: an entailment model, the language model as judge.

They can only take support away. A small judge says yes to much that is wrong, and no to some that is right: what no
wording supports stays withheld, and what they do not confirm is marked (docs/adr/0014). A model that reads windows also
tells what is contradicted, which is withheld (docs/adr/0033).
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DeadlineExceeded, FailedPrecondition, ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.events import Degradation
from sourcier.services.gateway.evidence.checking import Evidence, Verdict, statement_of
from sourcier.services.gateway.evidence.entailment import Entailment, ReadPassages, Seen
from sourcier.services.gateway.evidence.judge import Judge, log_odds
from sourcier.services.gateway.evidence.reading.verdicts import Told, together
from sourcier.services.gateway.evidence.reading.windows import Window, Windows
from sourcier.services.gateway.evidence.wording import Span
from sourcier.services.gateway.findings import Basis, Finding
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)

SIGNS_WEIGHT = 1.0
"""What a margin of the search's signs counts beside the judge's. `python -m eval answerable` has what that is worth: a
judge of 1.5 billion parameters adds nothing to the signs, and loses 1 % of the answerable questions with them, 7 %
alone."""

_BEFORE_STOP = re.compile(r"(?<!\s)\s++(?=[.,](?:\s|$))")
"""What a marker leaves behind: `deux jours [1].`"""

UNENTAILED = "sentences were checked without the entailment model"

opinions_total = Counter(
    "sourcier_second_opinions_total", "Sentences and questions that a model was asked about, by what and answer.",
    ["basis", "answer"],
)


@dataclass(frozen=True)
class _Opinion:
    basis: Basis
    probability: float
    confirmed: bool

    def on(self, verdict: Verdict) -> Verdict:
        finding = Finding.SUPPORTED if self.confirmed else Finding.NOT_CONFIRMED
        return replace(verdict, finding=finding, score=self.probability, basis=self.basis)


class Opinions:
    """The models that this process can ask; opens what follows one answer."""

    def __init__(self, judge: Judge, entailment: Entailment) -> None:
        self._judge = judge
        self._entailment = entailment

    def judges_questions(self, asked: bool | None) -> bool:
        """Return whether the judge is asked about a question itself; `asked` is the request's word, None for none."""
        return self._judge.judges_questions(asked)

    def open(
        self, prompt: Prompt, passages: Sequence[Passage], *, language: str, tenant: str, judge: bool | None,
        judge_question: bool | None, question: str = "",
    ) -> SecondOpinion:
        """Return the opinions on an answer to this prompt; the request's own words are None where it has none.

        `question` is what the answer is to, for a model that reads it; empty where there is none.
        """
        return SecondOpinion(
            self._judge, self._entailment, prompt, passages, language=language, tenant=tenant, judged=judge,
            question_judged=judge_question, question=question,
        )


class SecondOpinion:
    """Opinions on the sentences of one answer."""

    def __init__(
        self, judge: Judge, entailment: Entailment, prompt: Prompt, passages: Sequence[Passage], *, language: str,
        tenant: str, judged: bool | None, question_judged: bool | None, question: str = "",
    ) -> None:
        self._question = question
        self._windows: dict[int, Windows] = {}
        """By marker, of the passages that were read."""
        self._judge = judge
        self._entailment = entailment
        self._prompt = prompt
        self._passages = passages
        self._language = language
        self._tenant = tenant
        self._judged = judged
        self._question_judged = question_judged
        self._failed: set[str] = set()
        """The stages that failed once: a model that is down would otherwise hold up every sentence."""
        self.degradations: list[Degradation] = []
        """What was done in a lesser way than asked, to be told with the answer."""

    def read(self, prompt: Prompt) -> None:
        """Ask by another prompt: what the language model has read, the engine need not read again."""
        self._prompt = prompt

    async def on(
        self, sentence: str, verdicts: Mapping[int, Verdict], *, repeated: bool = False, deadline: Deadline
    ) -> dict[int, Verdict]:
        """Return the verdicts on a sentence's passages, by marker, as the models leave them.

        They are asked about what nothing speaks against; what is marked already stays so, unless a reader finds it
        contradicted. `repeated` is a sentence that passages hold word for word: no reader is asked about it.
        """
        sentence = _BEFORE_STOP.sub("", sentence)
        read_by_windows = await self._reads_windows(deadline=deadline)
        if read_by_windows and not repeated:
            verdicts = await self._read(sentence, verdicts, deadline=deadline)
        asked = [number for number, verdict in verdicts.items() if verdict.finding <= Finding.UNCHECKED]
        if not asked:
            return dict(verdicts)
        opinion = None if read_by_windows else await self._entailed(sentence, asked, deadline=deadline)
        if opinion is None or opinion.confirmed:
            judged = await self._judged_by_model(sentence, asked, deadline=deadline)
            if judged is not None and (opinion is None or not judged.confirmed):
                opinion = judged
        if opinion is None:
            return dict(verdicts)
        return {number: opinion.on(verdict) if number in asked else verdict for number, verdict in verdicts.items()}

    async def _reads_windows(self, *, deadline: Deadline) -> bool:
        if "entailment" in self._failed:
            return False
        try:
            return await self._entailment.reads_windows(tenant=self._tenant, deadline=deadline)
        except ServiceError as error:
            self._degrade("entailment", error, UNENTAILED)
            return False

    async def _read(
        self, sentence: str, verdicts: Mapping[int, Verdict], *, deadline: Deadline
    ) -> Mapping[int, Verdict]:
        """Return the verdicts as a reader of the passages' closest sentences leaves them."""
        asked = [number for number, verdict in verdicts.items() if verdict.finding.shown]
        if not asked:
            return verdicts
        if new := [number for number in asked if number not in self._windows]:
            # Milliseconds that other streams need not wait for.
            self._windows |= await asyncio.to_thread(self._windows_of, new)
        # Without the marks of a list or of emphasis, which the reader has never seen.
        sentence = statement_of(sentence).replace("**", "")
        try:
            read = await self._entailment.read(
                sentence, {number: self._windows[number] for number in asked}, question=self._question,
                tenant=self._tenant, deadline=deadline,
            )
        except ServiceError as error:
            self._degrade("entailment", error, UNENTAILED)
            return verdicts
        told = {number: _told(seen, read) for number, seen in read.passages.items()}
        said = next((each for each in (Told.SUPPORTED, Told.CONTRADICTED) if each in told.values()), Told.NOT_TOLD)
        opinions_total.labels(Basis.READ.value, said.value).inc()
        found = {number: _as_read(verdicts[number], seen, told[number]) for number, seen in read.passages.items()}
        denying = next((number for number, each in told.items() if each is Told.CONTRADICTED), None)
        if denying is not None:
            # The first one is quoted: the one sentence that contradicts, where there is one.
            found[denying] = replace(found[denying], span=await self._quoted(
                sentence, denying, read.passages[denying].decisive, deadline=deadline))
        return {**verdicts, **found}

    async def _quoted(self, sentence: str, number: int, window: Window, *, deadline: Deadline) -> Span:
        """Return what of a window is quoted against a sentence: the whole, unless one sentence alone is as clear."""
        text = self._passages[number - 1].text
        start, end = window.start, window.end
        if len(window.sentences) > 1:
            try:
                place = await self._entailment.clearest(
                    sentence, [text[first:last] for first, last in window.sentences], question=self._question,
                    tenant=self._tenant, deadline=deadline,
                )
            except ServiceError as error:
                logger.info("the whole window is quoted: %s", error)
                place = None
            if place is not None:
                start, end = window.sentences[place]
        return Span(start, end, text[start:end], 1.0)

    def _windows_of(self, numbers: Sequence[int]) -> dict[int, Windows]:
        return {number: Windows(Evidence([self._passages[number - 1]]).wording) for number in numbers}

    @property
    def asks_about_question(self) -> bool:
        """Whether the judge is asked, before the answer is written, if the passages hold it."""
        return self._judge.judges_questions(self._question_judged)

    async def is_answerable(self, question: str, *, margin: float | None = None, deadline: Deadline) -> bool:
        """Return whether the passages hold the answer, by the judge and by what is known of the search.

        `margin` is how far the log-odds of the search's signs are above their threshold, None where there are none.
        It decides alone where the judge cannot say; without it nothing speaks against an answer then.
        """
        try:
            probability = await self._judge.question(
                question, self._prompt, language=self._language, tenant=self._tenant, deadline=deadline
            )
        except ServiceError as error:
            self._degrade("judge", error, "it was not asked whether the passages hold the answer")
            return margin is None or margin >= 0
        answerable = are_answered(probability, self._judge.settings.question_threshold, margin=margin)
        opinions_total.labels("question", "yes" if answerable else "no").inc()
        return answerable

    async def _entailed(self, sentence: str, asked: Sequence[int], *, deadline: Deadline) -> _Opinion | None:
        if "entailment" in self._failed:
            return None
        passages = [self._passages[number - 1] for number in asked]
        try:
            probability = await self._entailment.probability(
                sentence, [f"{passage.title}\n{passage.text}" for passage in passages], tenant=self._tenant,
                deadline=deadline,
            )
        except ServiceError as error:
            self._degrade("entailment", error, UNENTAILED)
            return None
        if probability is None:
            return None
        return _counted(_Opinion(Basis.ENTAILED, probability, probability >= self._entailment.settings.threshold))

    async def _judged_by_model(self, sentence: str, asked: Sequence[int], *, deadline: Deadline) -> _Opinion | None:
        if "judge" in self._failed or not self._judge.judges_sentences(self._judged):
            return None
        promised = self._judge.is_promised(self._judged)
        try:
            probability = await self._judge.sentence(
                sentence, asked, self._prompt, language=self._language, tenant=self._tenant, deadline=deadline,
                promised=promised,
            )
        except ServiceError as error:
            if isinstance(error, FailedPrecondition | DeadlineExceeded) and not promised:
                # What the engine does not tell, or not soon: `auto` promises a judge only where it is cheap.
                self._failed.add("judge")
                logger.info("no verdict was had, the wording stands: %s", error)
                return None
            self._degrade("judge", error, "sentences were checked without the judge")
            return None
        return _counted(_Opinion(Basis.JUDGED, probability, probability >= self._judge.settings.threshold))

    def _degrade(self, stage: str, error: ServiceError, instead: str) -> None:
        telemetry.degradations_total.labels(stage, error.reason).inc()
        logger.warning("%s: %s", instead, error)
        self._failed.add(stage)
        self.degradations.append(Degradation(stage, f"{error.message}; {instead}"))


def are_answered(probability: float, threshold: float, *, margin: float | None) -> bool:
    """Return whether passages hold an answer by the judge's probability and the margin of the search's signs."""
    above = log_odds(probability) - log_odds(threshold)
    return above + (margin or 0.0) * SIGNS_WEIGHT >= 0


def _told(seen: Seen, read: ReadPassages) -> Told:
    """Return what a passage is to a sentence beside the others: one that says it outweighs one that does not."""
    told = seen.reading.told
    says = read.jointly or any(other.reading.told is Told.SUPPORTED for other in read.passages.values())
    if told is Told.CONTRADICTED and says:
        return Told.NOT_TOLD
    return Told.SUPPORTED if told is Told.NOT_TOLD and read.jointly else told


def _as_read(verdict: Verdict, seen: Seen, told: Told) -> Verdict:
    finding = together(verdict.finding, told)
    if told is Told.SUPPORTED:
        if finding > Finding.UNCHECKED:
            return verdict
        return replace(verdict, finding=Finding.SUPPORTED, score=seen.reading.probability, basis=Basis.READ)
    if finding is verdict.finding:
        return verdict
    return replace(
        verdict, finding=finding, score=seen.reading.probability, basis=Basis.READ,
        lead=None if told is Told.NOT_TOLD else seen.decisive.above,
    )


def _counted(opinion: _Opinion) -> _Opinion:
    opinions_total.labels(opinion.basis.value, "yes" if opinion.confirmed else "no").inc()
    return opinion
