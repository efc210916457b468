"""Second opinions: who is asked about what, what they change, and what becomes of one that fails."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DeadlineExceeded, FailedPrecondition, ServiceError, Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.events import Usage
from sourcier.services.gateway.evidence import entailment
from sourcier.services.gateway.evidence.checking import Verdict
from sourcier.services.gateway.evidence.entailment import Entailment, EntailmentMode, EntailmentSettings
from sourcier.services.gateway.evidence.judge import UNPROMISED_WAIT, VERDICTS_MIN, Judge, JudgeMode, JudgeSettings
from sourcier.services.gateway.evidence.pace import FIRST
from sourcier.services.gateway.evidence.second_opinion import Opinions, SecondOpinion
from sourcier.services.gateway.evidence.wording import Span
from sourcier.services.gateway.findings import Basis, Finding
from sourcier.services.gateway.peers.entailing import EntailmentOffer, Relation
from tests.unit.gateway.fix_gateway_domain import passage

PROMPT = Prompt("Consignes.", "Sources :\n\nx\n\nQuestion : y", "Sources :\n\nx\n\n")
PASSAGES = [passage(1, "Deux jours."), passage(2, "Trois repas."), passage(3, "Quatre lampes.")]


@dataclass
class Models:
    """The judge and the entailment model, as a test wants them."""

    yes: float = 0.9
    entailed: Mapping[str, float] = field(default_factory=dict)
    """By part of the premise; 0.9 where it is not told."""
    relations: Mapping[str, Relation] = field(default_factory=dict)
    """By part of the window, in the order in which they are looked for; with any the model is a reader."""
    read_of: list[tuple[list[str], str, str]] = field(default_factory=list)
    name: str = ""
    error: ServiceError | None = None
    look_error: ServiceError | None = None
    judged: list[str] = field(default_factory=list)
    premises: list[str] = field(default_factory=list)
    looks: int = 0
    waited: float = 0.0
    """Most seconds that a verdict was waited for."""

    async def score(
        self, prompt: Prompt, choices: Sequence[str], *, tenant: str, deadline: Deadline
    ) -> tuple[dict[str, float], Usage]:
        """Tell the probabilities of yes and no."""
        self.judged.append(prompt.user.removeprefix(PROMPT.sources))
        assert deadline.remaining() <= 3.0
        self.waited = max(self.waited, deadline.remaining())
        if self.error is not None:
            raise self.error
        yes, no = choices
        return {yes: math.log(self.yes), no: math.log(1 - self.yes)}, Usage(100, 80, 1)

    async def entailment_model(self, *, tenant: str, deadline: Deadline) -> EntailmentOffer:
        """Name the model."""
        self.looks += 1
        if self.look_error is not None:
            raise self.look_error
        return EntailmentOffer(self.name, 128 if self.relations else 0)

    async def read(
        self, windows: Sequence[str], sentence: str, *, question: str, tenant: str, deadline: Deadline
    ) -> list[Relation]:
        """Tell the relation of each window."""
        self.read_of.append((list(windows), sentence, question))
        if self.error is not None:
            raise self.error
        return [next(told for part, told in self.relations.items() if part in window) for window in windows]

    async def entailment(self, premise: str, hypothesis: str, *, tenant: str, deadline: Deadline) -> float:
        """Tell the probability."""
        self.premises.append(premise)
        if self.error is not None:
            raise self.error
        return next((value for part, value in self.entailed.items() if part in premise), 0.9)


def opinion_of(
    models: Models, *, judge: JudgeMode = JudgeMode.ON, entailment: EntailmentMode = EntailmentMode.AUTO,
    asked: bool | None = None, question: bool | None = None,
) -> SecondOpinion:
    return opinions_of(models, judge=judge, entailment=entailment).open(
        PROMPT, PASSAGES, language="fr", tenant="acme", judge=asked, judge_question=question
    )


def opinions_of(
    models: Models, *, judge: JudgeMode = JudgeMode.ON, entailment: EntailmentMode = EntailmentMode.AUTO
) -> Opinions:
    return Opinions(
        Judge(models, JudgeSettings(
            mode=judge, threshold=0.5, seconds_max=3.0, cheap_seconds=0.3, questions=False, question_threshold=0.4,
            question_seconds_max=3.0,
        )),
        Entailment(models, EntailmentSettings(mode=entailment, threshold=0.5, seconds_max=3.0)),
    )


def verdict(finding: Finding = Finding.SUPPORTED, score: float | None = 0.6) -> Verdict:
    return Verdict(finding, score, Span(0, 4, "Deux", 1.0))


async def ask(opinion: SecondOpinion, **verdicts: Verdict) -> dict[int, Verdict]:
    """Return the verdicts on a sentence; `p2=…` is that of passage 2."""
    numbered = {int(name[1:]): each for name, each in verdicts.items()}
    return await opinion.on("Deux jours.", numbered, deadline=Deadline.after(30))


async def test_a_sentence_that_the_judge_confirms_is_judged() -> None:
    models = Models(yes=0.8)
    found = await ask(opinion_of(models), p2=verdict())
    assert (found[2].finding, found[2].basis) == (Finding.SUPPORTED, Basis.JUDGED)
    assert found[2].score == pytest.approx(0.8)
    assert "La source 2 confirme-t-elle" in models.judged[0]


async def test_a_sentence_that_the_judge_does_not_confirm_is_marked_not_withheld() -> None:
    found = await ask(opinion_of(Models(yes=0.3)), p1=verdict())
    assert (found[1].finding, found[1].basis) == (Finding.NOT_CONFIRMED, Basis.JUDGED)
    assert found[1].finding.shown
    assert found[1].score == pytest.approx(0.3)


async def test_several_sources_are_one_question_and_each_gets_the_answer() -> None:
    models = Models()
    found = await ask(opinion_of(models), p1=verdict(), p3=verdict())
    assert len(models.judged) == 1
    assert "les sources 1 et 3 confirment-elles" in models.judged[0]
    assert {each.basis for each in found.values()} == {Basis.JUDGED}


async def test_a_wording_that_could_not_be_compared_is_supported_once_it_is_confirmed() -> None:
    found = await ask(opinion_of(Models()), p1=verdict(Finding.UNCHECKED, None))
    assert (found[1].finding, found[1].basis) == (Finding.SUPPORTED, Basis.JUDGED)


@pytest.mark.parametrize("finding", [
    Finding.NEGATION_ADDED, Finding.NAME_ABSENT, Finding.FIGURE_ABSENT, Finding.OFF_TOPIC,
])
async def test_what_speaks_against_a_sentence_is_not_talked_away(finding: Finding) -> None:
    models = Models(name="nli")
    found = await ask(opinion_of(models), p1=verdict(finding))
    assert found == {1: verdict(finding)}
    assert (models.judged, models.premises) == ([], [])


@pytest.mark.parametrize(("mode", "asked", "judged"), [
    (JudgeMode.OFF, None, False), (JudgeMode.OFF, True, True), (JudgeMode.ON, False, False), (JudgeMode.ON, None, True),
    (JudgeMode.AUTO, None, True), (JudgeMode.AUTO, False, False),
])
async def test_the_requests_word_goes_before_the_services(mode: JudgeMode, asked: bool | None, judged: bool) -> None:
    models = Models()
    found = await ask(opinion_of(models, judge=mode, asked=asked), p1=verdict())
    assert (found[1].basis is Basis.JUDGED) is judged
    assert bool(models.judged) is judged


async def test_where_nobody_is_asked_nothing_changes() -> None:
    models = Models()
    assert await ask(opinion_of(models, judge=JudgeMode.OFF), p1=verdict()) == {1: verdict()}
    assert models.judged == []


async def test_a_judge_that_is_dear_is_left_alone_unless_it_is_asked_for() -> None:
    models = Models()
    opinions = opinions_of(models, judge=JudgeMode.AUTO)
    for _ in range(FIRST):
        opinions._judge.pace.observe(1.0)
    for asked in (None, True):
        opinion = opinions.open(PROMPT, PASSAGES, language="fr", tenant="acme", judge=asked, judge_question=None)
        found = await ask(opinion, p1=verdict())
        assert (found[1].basis is Basis.JUDGED) is bool(asked)
        # It promised nothing, so there is nothing to tell.
        assert opinion.degradations == []


@pytest.mark.parametrize(("mode", "error"), [
    (JudgeMode.ON, Unavailable("the generate service cannot be reached")),
    (JudgeMode.ON, DeadlineExceeded("the generate service did not answer in time")),
    (JudgeMode.AUTO, Unavailable("the generate service cannot be reached")),
])
async def test_a_judge_that_fails_is_told_once_and_the_wording_stands(mode: JudgeMode, error: ServiceError) -> None:
    models = Models(error=error)
    counter = telemetry.degradations_total.labels("judge", error.reason)
    before = counter._value.get()
    opinion = opinion_of(models, judge=mode)
    for _ in range(3):
        assert await ask(opinion, p1=verdict()) == {1: verdict()}
    assert len(models.judged) == 1
    (degradation,) = opinion.degradations
    assert degradation.stage == "judge"
    assert error.message in degradation.reason
    assert "without the judge" in degradation.reason
    assert counter._value.get() == before + 1


async def test_finding_out_that_verdicts_are_dear_is_no_failure_and_costs_little() -> None:
    models = Models(error=DeadlineExceeded("the generate service did not answer in time"))
    opinion = opinion_of(models, judge=JudgeMode.AUTO)
    for _ in range(2):
        assert await ask(opinion, p1=verdict()) == {1: verdict()}
    assert len(models.judged) == 1
    assert opinion.degradations == []
    assert models.waited <= UNPROMISED_WAIT * 0.3


@pytest.mark.parametrize(("mode", "told"), [(JudgeMode.ON, True), (JudgeMode.AUTO, False)])
async def test_an_engine_that_tells_no_probabilities_breaks_a_promise_only_where_one_was_made(
    mode: JudgeMode, told: bool
) -> None:
    models = Models(error=FailedPrecondition("the engine does not tell"))
    opinions = opinions_of(models, judge=mode)
    opened = {"language": "fr", "tenant": "acme", "judge": None, "judge_question": None}
    opinion = opinions.open(PROMPT, PASSAGES, **opened)  # type: ignore[arg-type]
    assert await ask(opinion, p1=verdict()) == {1: verdict()}
    assert bool(opinion.degradations) is told
    # In the next answer the mode `auto` does not even ask.
    await ask(opinions.open(PROMPT, PASSAGES, **opened), p1=verdict())  # type: ignore[arg-type]
    assert len(models.judged) == (2 if told else 1)


async def test_failures_are_what_makes_a_judge_dear() -> None:
    models = Models(error=Unavailable("gone"))
    opinions = opinions_of(models, judge=JudgeMode.AUTO)
    for _ in range(FIRST + 3):
        opinion = opinions.open(PROMPT, PASSAGES, language="fr", tenant="acme", judge=None, judge_question=None)
        await ask(opinion, p1=verdict())
    assert len(models.judged) == FIRST


@pytest.mark.parametrize(("mode", "asked"), [(JudgeMode.AUTO, VERDICTS_MIN), (JudgeMode.ON, VERDICTS_MIN + 5)])
async def test_a_model_that_denies_almost_everything_is_no_judge(
    mode: JudgeMode, asked: int, caplog: pytest.LogCaptureFixture
) -> None:
    models = Models(yes=0.1)
    opinion = opinion_of(models, judge=mode)
    for _ in range(VERDICTS_MIN + 5):
        found = await ask(opinion, p1=verdict())
    # Whoever wants it in any case gets its word; `auto` lets the wording stand instead of marking every sentence.
    assert len(models.judged) == asked
    assert (found[1].finding is Finding.SUPPORTED) is (mode is JudgeMode.AUTO)
    assert [record.levelname for record in caplog.records].count("WARNING") == 1
    assert "SOURCIER_GATEWAY_JUDGE_THRESHOLD" in caplog.text


async def test_a_model_that_confirms_most_of_it_goes_on_being_asked() -> None:
    models = Models()
    opinion = opinion_of(models, judge=JudgeMode.AUTO)
    for number in range(4 * VERDICTS_MIN):
        models.yes = 0.9 if number % 3 else 0.1
        await ask(opinion, p1=verdict())
    assert len(models.judged) == 4 * VERDICTS_MIN


async def test_a_reader_who_leaves_cancels_the_verdict() -> None:
    class Silent(Models):
        async def score(
            self, prompt: Prompt, choices: Sequence[str], *, tenant: str, deadline: Deadline
        ) -> tuple[dict[str, float], Usage]:
            self.judged.append(prompt.user)
            await asyncio.Event().wait()
            raise AssertionError

    models = Silent()
    asking = asyncio.create_task(ask(opinion_of(models), p1=verdict()))
    async with asyncio.timeout(10):
        while not models.judged:
            await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_an_entailment_model_is_asked_where_there_is_one() -> None:
    models = Models(name="nli")
    opinion = opinion_of(models, judge=JudgeMode.OFF)
    found = await ask(opinion, p1=verdict())
    assert (found[1].finding, found[1].basis, found[1].score) == (Finding.SUPPORTED, Basis.ENTAILED, 0.9)
    assert models.premises == ["Guide 1\nDeux jours."]
    await ask(opinion, p1=verdict())
    # That there is one is not asked for each sentence.
    assert models.looks == 1


async def test_the_passage_that_fits_best_entails_or_all_of_them_together() -> None:
    models = Models(
        name="nli", entailed={"Guide 1\nDeux jours.\n\nGuide 2": 0.8, "Deux jours.": 0.2, "Trois repas.": 0.3}
    )
    found = await ask(opinion_of(models, judge=JudgeMode.OFF), p1=verdict(), p2=verdict())
    assert {each.score for each in found.values()} == {0.8}
    assert len(models.premises) == 3


@pytest.mark.parametrize(("entailed", "yes", "finding", "basis"), [
    (0.9, 0.9, Finding.SUPPORTED, Basis.ENTAILED), (0.9, 0.1, Finding.NOT_CONFIRMED, Basis.JUDGED),
    (0.1, 0.9, Finding.NOT_CONFIRMED, Basis.ENTAILED),
])
async def test_of_two_models_either_may_doubt(entailed: float, yes: float, finding: Finding, basis: Basis) -> None:
    models = Models(name="nli", yes=yes, entailed={"Deux": entailed})
    found = await ask(opinion_of(models), p1=verdict())
    assert (found[1].finding, found[1].basis) == (finding, basis)
    # What the one has refused, the other is not asked.
    assert bool(models.judged) is (entailed > 0.5)


async def test_without_an_entailment_model_the_wording_stands_and_nothing_is_told() -> None:
    opinion = opinion_of(Models(), judge=JudgeMode.OFF)
    assert await ask(opinion, p1=verdict()) == {1: verdict()}
    assert opinion.degradations == []


@pytest.mark.parametrize(("mode", "told"), [(EntailmentMode.ON, True), (EntailmentMode.AUTO, False)])
@pytest.mark.parametrize("look_error", [None, Unavailable("the rerank service cannot be reached")])
async def test_an_entailment_model_that_has_to_be_there_is_missed(
    mode: EntailmentMode, told: bool, look_error: ServiceError | None
) -> None:
    opinion = opinion_of(Models(look_error=look_error), judge=JudgeMode.OFF, entailment=mode)
    assert await ask(opinion, p1=verdict()) == {1: verdict()}
    assert [each.stage for each in opinion.degradations] == (["entailment"] if told else [])


async def test_an_entailment_model_that_is_off_is_not_asked_though_it_is_there() -> None:
    models = Models(name="a model", entailed={"Deux jours.": 0.1})
    opinion = opinion_of(models, judge=JudgeMode.OFF, entailment=EntailmentMode.OFF)
    assert await ask(opinion, p1=verdict()) == {1: verdict()}
    assert (models.looks, models.premises, opinion.degradations) == (0, [], [])


async def test_an_entailment_model_that_fails_is_told_and_the_judge_still_asked() -> None:
    models = Models(name="nli", error=Unavailable("gone"))
    opinion = opinion_of(models)
    assert await ask(opinion, p1=verdict()) == {1: verdict()}
    assert [each.stage for each in opinion.degradations] == ["entailment", "judge"]


async def test_a_known_entailment_model_that_fails_once_is_told_and_asked_again_at_once(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entailment, "LOOK_SECONDS", 0.0)
    gone = Unavailable("the rerank service is restarting")
    models = Models(name="nli")
    opinions = opinions_of(models, judge=JudgeMode.OFF)
    found: list[tuple[Basis, list[str]]] = []
    for error in (None, gone, None):
        models.error = models.look_error = error
        opinion = opinions.open(PROMPT, PASSAGES, language="fr", tenant="acme", judge=None, judge_question=None)
        verdicts = await ask(opinion, p1=verdict())
        found.append((verdicts[1].basis, [each.stage for each in opinion.degradations]))
    assert found == [(Basis.ENTAILED, []), (Basis.WORDING, ["entailment"]), (Basis.ENTAILED, [])]


async def test_whether_there_is_an_entailment_model_is_soon_asked_again_but_not_for_each_sentence(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    # The module's own clock: the event loop's goes on.
    monkeypatch.setattr(entailment, "time", SimpleNamespace(monotonic=lambda: now, perf_counter=lambda: now))
    models = Models(name="nli", look_error=Unavailable("gone"))
    asked = Entailment(models, EntailmentSettings(mode=EntailmentMode.AUTO, threshold=0.5, seconds_max=3.0))

    async def probability() -> float | None:
        return await asked.probability("Deux jours.", ["Deux jours."], tenant="acme", deadline=Deadline.after(30))

    assert [await probability(), await probability()] == [None, None]
    assert models.looks == 1
    models.look_error = None
    now += entailment.RETRY_SECONDS
    assert await probability() == 0.9


@pytest.mark.parametrize(("yes", "answerable"), [(0.39, False), (0.41, True)])
async def test_a_question_is_answerable_from_its_threshold_on(yes: float, answerable: bool) -> None:
    models = Models(yes=yes)
    opinion = opinion_of(models, question=True)
    assert opinion.asks_about_question
    assert await opinion.is_answerable("Combien ?", deadline=Deadline.after(30)) is answerable
    assert "Question : Combien ?" in models.judged[0]
    assert not opinion_of(models).asks_about_question


async def test_a_question_that_could_not_be_judged_is_answered_and_that_is_told() -> None:
    opinion = opinion_of(Models(error=Unavailable("gone")), question=True)
    assert await opinion.is_answerable("Combien ?", deadline=Deadline.after(30))
    assert [each.stage for each in opinion.degradations] == ["judge"]


@pytest.mark.parametrize(("yes", "margin", "answerable"), [
    (0.6, -0.2, True), (0.6, -3.0, False), (0.3, 0.2, False), (0.3, 3.0, True), (0.6, None, True), (0.3, None, False),
])
async def test_the_judge_and_the_signs_of_the_search_decide_together(
    yes: float, margin: float | None, answerable: bool
) -> None:
    opinion = opinion_of(Models(yes=yes), question=True)
    assert await opinion.is_answerable("Combien ?", margin=margin, deadline=Deadline.after(30)) is answerable


@pytest.mark.parametrize(("margin", "answerable"), [(None, True), (0.1, True), (-0.1, False)])
async def test_where_the_judge_cannot_say_the_signs_decide(margin: float | None, answerable: bool) -> None:
    opinion = opinion_of(Models(error=Unavailable("gone")), question=True)
    assert await opinion.is_answerable("Combien ?", margin=margin, deadline=Deadline.after(30)) is answerable


SAYS, DENIES, OPEN = Relation(0.9, 0.02), Relation(0.03, 0.95), Relation(0.1, 0.1)


def reader(**relations: Relation) -> Models:
    """Return a reader by the words of windows; what holds none of them is open."""
    return Models(name="reader", relations={**relations, "": OPEN})


async def test_a_reader_is_shown_windows_with_the_question_and_not_asked_for_entailment() -> None:
    models = reader(Deux=SAYS)
    opinion = opinions_of(models, judge=JudgeMode.OFF).open(
        PROMPT, PASSAGES, language="fr", tenant="acme", judge=None, judge_question=None, question="Combien de jours ?"
    )
    found = await ask(opinion, p1=verdict())
    assert (found[1].finding, found[1].basis, found[1].score) == (Finding.SUPPORTED, Basis.READ, 0.9)
    assert models.read_of == [(["Deux jours."], "Deux jours.", "Combien de jours ?")]
    assert models.premises == []


async def test_a_reader_sees_no_marks_of_lists_and_emphasis() -> None:
    models = reader(Deux=SAYS)
    await opinion_of(models).on("- **Deux** jours .", {1: verdict()}, deadline=Deadline.after(30))
    assert [sentence for _, sentence, _ in models.read_of] == ["Deux jours."]


@pytest.mark.parametrize(("relation", "finding", "score"), [
    (DENIES, Finding.CONTRADICTED, 0.95), (OPEN, Finding.NOT_TOLD, 0.1),
])
async def test_what_a_reader_does_not_find_is_marked_and_what_it_finds_otherwise_withheld(
    relation: Relation, finding: Finding, score: float
) -> None:
    models = reader(Deux=relation)
    found = await ask(opinion_of(models), p1=verdict())
    assert (found[1].finding, found[1].basis, found[1].score) == (finding, Basis.READ, score)
    # What the one has refused, the other is not asked.
    assert models.judged == []
    if finding is Finding.CONTRADICTED:
        assert PASSAGES[0].text[found[1].span.start : found[1].span.end] == "Deux jours."


async def test_one_of_several_passages_is_enough_and_the_others_are_told_apart() -> None:
    models = reader(**{"Deux jours.\nTrois": OPEN, "Deux": SAYS, "Trois": DENIES})
    found = await ask(opinion_of(models, judge=JudgeMode.OFF), p1=verdict(), p2=verdict())
    assert {number: each.finding for number, each in found.items()} == {1: Finding.SUPPORTED, 2: Finding.NOT_TOLD}
    assert len(models.read_of) == 1


async def test_passages_may_say_it_together() -> None:
    models = reader(**{"Deux jours.\nTrois": SAYS})
    found = await ask(opinion_of(models, judge=JudgeMode.OFF), p1=verdict(), p2=verdict())
    assert {each.finding for each in found.values()} == {Finding.SUPPORTED}


async def test_a_contradiction_is_heard_where_no_passage_says_it() -> None:
    models = reader(**{"Deux jours.\nTrois": OPEN, "Trois": DENIES})
    found = await ask(opinion_of(models, judge=JudgeMode.OFF), p1=verdict(), p2=verdict())
    assert {number: each.finding for number, each in found.items()} == {
        1: Finding.NOT_TOLD, 2: Finding.CONTRADICTED
    }


@pytest.mark.parametrize("finding", [Finding.NEGATION_ADDED, Finding.NAME_ABSENT])
@pytest.mark.parametrize(("relation", "left"), [(SAYS, None), (OPEN, None), (DENIES, Finding.CONTRADICTED)])
async def test_what_is_marked_is_never_talked_away_by_a_reader(
    finding: Finding, relation: Relation, left: Finding | None
) -> None:
    found = await ask(opinion_of(reader(Deux=relation)), p1=verdict(finding))
    assert found[1].finding is (left or finding)


@pytest.mark.parametrize(("alone", "quoted"), [
    (DENIES, "Elle ne sert pas le mercredi."), (OPEN, "La cantine sert le mardi. Elle ne sert pas le mercredi."),
])
async def test_the_one_sentence_that_contradicts_is_quoted_where_it_is_clear_by_itself(
    alone: Relation, quoted: str
) -> None:
    text = "La cantine sert le mardi. Elle ne sert pas le mercredi."
    models = reader(**{text: DENIES, "Elle ne": alone, "La cantine": OPEN})
    opinion = opinions_of(models, judge=JudgeMode.OFF).open(
        PROMPT, [passage(1, text)], language="fr", tenant="acme", judge=None, judge_question=None
    )
    found = await opinion.on("La cantine sert le mercredi.", {1: verdict()}, deadline=Deadline.after(30))
    assert found[1].finding is Finding.CONTRADICTED
    assert found[1].span.text == quoted == text[found[1].span.start : found[1].span.end]


@pytest.mark.parametrize("finding", [Finding.FIGURE_ABSENT, Finding.OFF_TOPIC])
async def test_a_reader_is_not_asked_about_what_is_withheld(finding: Finding) -> None:
    models = reader(Deux=SAYS)
    assert await ask(opinion_of(models), p1=verdict(finding)) == {1: verdict(finding)}
    assert models.read_of == []


async def test_a_sentence_that_stands_in_a_passage_word_for_word_is_not_read() -> None:
    models = reader(Deux=DENIES)
    opinion = opinion_of(models, judge=JudgeMode.OFF)
    found = await opinion.on("Deux jours.", {1: verdict()}, repeated=True, deadline=Deadline.after(30))
    assert (found, models.read_of) == ({1: verdict()}, [])


async def test_the_judge_is_asked_about_what_a_reader_finds() -> None:
    models = reader(Deux=SAYS)
    models.yes = 0.1
    found = await ask(opinion_of(models), p1=verdict())
    assert (found[1].finding, found[1].basis) == (Finding.NOT_CONFIRMED, Basis.JUDGED)


async def test_a_reader_that_fails_is_told_once_and_the_wording_stands() -> None:
    models = reader(Deux=DENIES)
    models.error = Unavailable("gone")
    opinion = opinion_of(models, judge=JudgeMode.OFF)
    for _ in range(2):
        assert await ask(opinion, p1=verdict()) == {1: verdict()}
    assert [each.stage for each in opinion.degradations] == ["entailment"]
    assert len(models.read_of) == 1
