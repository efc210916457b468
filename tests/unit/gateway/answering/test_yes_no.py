"""Yes/no questions and a model that says the false yes: what is shown is the clause's word, or the clause alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest

from sourcier.services.gateway.events import Citation, Conflict, Event, Outcome, Quoted, Token, Withheld
from sourcier.services.gateway.evidence.citing import Strictness
from sourcier.services.gateway.findings import Finding
from sourcier.services.index.search.search import SearchResult
from tests.unit.gateway.answering.test_answering import answer, finished, text
from tests.unit.gateway.fix_gateway_domain import FakePeers, FakeRetriever, passage, query

TODAY = date(2026, 11, 28)
CANTEEN = ("Cantine de Sablé",
           "La cantine ne sert pas le mercredi. Elle accepte les titres-restaurant, mais n'accepte plus les chèques.")
GUARANTEE = ("Conditions de garantie",
             "La garantie couvre le moteur, à l'exception des joints. Elle est nulle si l'appareil a été ouvert. "
             "L'usure des courroies est exclue.")
VISIT = ("Visite du barrage",
         "La visite est gratuite pour les moins de douze ans, sauf pendant les vacances scolaires. Les poussettes ne "
         "passent pas. Le port du casque est facultatif en salle et obligatoire dans la galerie.")
DEPOT = ("Règles du dépôt",
         "Le dépôt n'est pas ouvert le samedi. Les palettes ne sont pas reprises. Seuls les conteneurs verts sont "
         "acceptés ; les conteneurs gris sont refusés.")
COOLING = ("Programme de travaux 2027",
           "La climatisation de la salle des délibérations est prévue au second semestre 2027, sous réserve du vote du "
           "budget. La salle des mariages est climatisée depuis 2021.")
TELEWORK = ("Compte rendu du bureau du 4 juin 2026",
            "La proposition de porter le télétravail à trois jours par semaine est rejetée par 9 voix contre 4. Le "
            "régime de deux jours est reconduit.")
TICKETS = (("Compte rendu du CSE du 8 février 2026",
            "La direction indique que le montant des tickets restaurant pourrait passer à 10 € si les comptes le "
            "permettent. Aucune décision n’est prise."),
           ("Note de service du 3 janvier 2024",
            "Le montant des tickets restaurant est fixé à 8,50 € par jour travaillé, dont 60 % à la charge de la "
            "société."),
           ("Note de service du 12 mars 2026",
            "À compter du 1er avril 2026, le montant des tickets restaurant est porté à 9,80 € par jour travaillé, "
            "dont 55 % à la charge de la société."))
CAVES = ("Règlement des caves", "Il est interdit dans les caves de :\n- stocker de l'essence ;\n- fumer la nuit.")


async def ask(question: str, says: str, *documents: tuple[str, str], **fields: object) -> tuple[list[Event], FakePeers]:
    """Return the events of an answer over documents, by a model that says what it is told."""
    peers = FakePeers(deltas=(says,))
    retriever = FakeRetriever(results=[
        SearchResult(passage=passage(number, body, title=title), score=0.03, similarity=0.9)
        for number, (title, body) in enumerate(documents, start=1)
    ])
    return await answer(retriever=retriever, peers=peers, asked=query(question), today=TODAY, **fields), peers


def shown(events: Sequence[Event]) -> str:
    return text(events) + "".join(event.text for event in events if isinstance(event, Quoted))


@pytest.mark.parametrize(("question", "says", "documents", "begins", "clause"), [
    ("La cantine sert-elle le mercredi ?", "Oui, la cantine sert le mercredi [1].", (CANTEEN,),
     "Non : ", "La cantine ne sert pas le mercredi."),
    ("La cantine accepte-t-elle les chèques ?", "Oui, elle accepte les chèques [1].", (CANTEEN,),
     "Non : ", "n'accepte plus les chèques."),
    ("L'usure des courroies est-elle couverte par la garantie ?",
     "Oui, l'usure des courroies est couverte par la garantie. [1]", (GUARANTEE,),
     "Non : ", "L'usure des courroies est exclue."),
    ("La visite du barrage est-elle gratuite pour un enfant pendant les vacances scolaires ?",
     "Oui, la visite est gratuite pour les moins de douze ans pendant les vacances scolaires. [1]", (VISIT,),
     "Non : ", "sauf pendant les vacances scolaires."),
    ("Le dépôt est-il ouvert le samedi ?", "Oui, le dépôt est ouvert le samedi. [1]", (DEPOT,),
     "Non : ", "Le dépôt n'est pas ouvert le samedi."),
    ("Les conteneurs gris sont-ils acceptés ?", "Oui, les conteneurs gris sont refusés. [1]", (DEPOT,),
     "Non : ", "les conteneurs gris sont refusés."),
    ("La salle des délibérations est-elle climatisée ?", "Oui, elle est climatisée. [1]", (COOLING,),
     "Pas encore, seulement prévu : ", "sous réserve du vote du budget."),
    ("Le télétravail passe-t-il à trois jours par semaine ?",
     "Oui, le télétravail passe à trois jours par semaine. [1]", (TELEWORK,),
     "Non, cela a été rejeté : ", "est rejetée par 9 voix contre 4."),
    ("Peut-on stocker de l'essence dans les caves ?", "Oui, on peut stocker de l'essence dans les caves [1].", (CAVES,),
     "Non : ", "Il est interdit dans les caves de : - stocker de l'essence"),
])
async def test_a_false_yes_is_never_shown(
    question: str, says: str, documents: tuple[tuple[str, str], ...], begins: str, clause: str
) -> None:
    events, peers = await ask(question, says, *documents)
    assert shown(events).startswith(begins)
    assert clause in shown(events)
    assert shown(events).endswith("[1]")
    # The clause answers by itself: the model is spared.
    assert peers.prompts == []
    assert finished(events).outcome is Outcome.ANSWERED
    [citation] = [event for event in events if isinstance(event, Citation)]
    assert citation.marker == 1
    assert clause.split(" : ")[0] in citation.passage.text[slice(*citation.passage_span)]
    assert text(events)[slice(*citation.sentence_span)] == text(events)


async def test_what_holds_is_quoted_over_what_was_considered() -> None:
    events, _ = await ask("Le ticket restaurant est-il à 10 € ?", "Oui, le ticket est à 10 €. [1]", *TICKETS)
    assert shown(events).startswith("Les documents trouvés ne le disent pas en ces termes. Le plus proche : « À "
                                    "compter du 1er avril 2026, le montant des tickets restaurant est porté à 9,80 €")
    told = {event.reason: event.other.quote for event in events if isinstance(event, Conflict)}
    assert set(told) == {"not_decided", "later"}
    assert "pourrait passer à 10 €" in told["not_decided"]


async def test_where_documents_disagree_and_nothing_settles_it_both_are_quoted_without_a_word() -> None:
    events, _ = await ask(
        "La température de la salle serveur est-elle de 19 degrés ?", "Oui, elle est de 19 degrés [1].",
        ("Guide", "La température de la salle serveur est de 19 degrés."),
        ("Fiche", "La température de la salle serveur est de 22 degrés."),
    )
    assert shown(events).startswith("Voici ce que disent les documents : « La température de la salle serveur est de ")
    assert "19 degrés. » [1]" in shown(events)
    assert "22 degrés. » [2]" in shown(events)
    assert [event.reason for event in events if isinstance(event, Conflict)] == [""]


async def test_a_true_yes_is_the_clauses_too() -> None:
    events, _ = await ask("La salle des mariages est-elle climatisée ?", "Non [1].", COOLING)
    assert text(events) == "Oui : « La salle des mariages est climatisée depuis 2021. » [1]"
    events, _ = await ask("Is smoking forbidden?", "No [1].", ("Rules", "Smoking is forbidden."))
    assert text(events) == "Yes: “Smoking is forbidden.” [1]"


UNSURE = "Les passages ne permettent pas de répondre par oui ou par non avec certitude."
NO_SUCH_DAY = "Les passages ne contiennent pas « jeudi »."


@pytest.mark.parametrize(("says", "finding", "reason"), [
    ("Oui, la cantine sert le jeudi [1].", Finding.FIGURE_ABSENT, NO_SUCH_DAY),
    ("Non, la cantine ne sert pas le jeudi [1].", Finding.FIGURE_ABSENT, NO_SUCH_DAY),
    ("**Oui**, la cantine sert [1].", Finding.UNDECIDED, UNSURE),
])
async def test_a_yes_that_no_clause_bears_out_gives_way_to_the_closest_clause(
    says: str, finding: Finding, reason: str
) -> None:
    events, peers = await ask("La cantine sert-elle le jeudi ?", says, CANTEEN)
    assert shown(events).startswith("Les documents trouvés ne le disent pas en ces termes. Le plus proche : « La "
                                    "cantine ne sert pas le mercredi. » [1]")
    assert len(peers.prompts) == 1
    assert finished(events).outcome is Outcome.QUOTED
    [withheld] = [event for event in events if isinstance(event, Withheld)]
    assert (withheld.finding, withheld.reason) == (finding, reason)


async def test_clauses_that_disagree_are_both_quoted_and_cited() -> None:
    documents = (("Affiche", "Le guichet est ouvert le vendredi."), ("Note", "Le guichet est fermé le vendredi."))
    events, _ = await ask("Le guichet est-il ouvert le vendredi ?", "Oui, il est ouvert le vendredi [1].", *documents)
    assert shown(events) == (
        "Voici ce que disent les documents : « Le guichet est ouvert le vendredi. » [1] « Le guichet est fermé le "
        "vendredi. » [2]"
    )
    assert [event.marker for event in events if isinstance(event, Citation)] == [2]


async def test_a_sentence_that_turns_its_clause_round_is_withheld_and_the_clause_quoted_in_its_place() -> None:
    events, _ = await ask("Comment fonctionne la cantine ?",
                          "La cantine sert le mercredi [1]. Elle accepte les titres-restaurant [1].", CANTEEN)
    assert text(events) == "« La cantine ne sert pas le mercredi. » [1] Elle accepte les titres-restaurant [1]."
    [withheld] = [event for event in events if isinstance(event, Withheld)]
    assert (withheld.sentence, withheld.finding, withheld.reason) == (
        "La cantine sert le mercredi .", Finding.CONTRADICTED, "Le passage dit le contraire.",
    )
    quoted, told = [event for event in events if isinstance(event, Citation)]
    assert quoted.passage.text[slice(*quoted.passage_span)] == "La cantine ne sert pas le mercredi."
    assert text(events)[slice(*quoted.sentence_span)] == "« La cantine ne sert pas le mercredi. » [1]"
    assert (quoted.finding, quoted.attached, told.finding) == (Finding.SUPPORTED, True, Finding.SUPPORTED)
    assert finished(events).outcome is Outcome.ANSWERED


async def test_a_clause_is_quoted_once_for_several_sentences() -> None:
    events, _ = await ask("Comment fonctionne la cantine ?",
                          "La cantine sert le mercredi [1]. Le mercredi, la cantine sert [1].", CANTEEN)
    assert text(events) == "« La cantine ne sert pas le mercredi. » [1]"


async def test_where_sentences_are_marked_the_reason_is_the_clauses() -> None:
    events, _ = await ask("Comment fonctionne la cantine ?", "La cantine sert le mercredi [1].", CANTEEN,
                          strictness=Strictness.MARK)
    assert text(events) == "La cantine sert le mercredi [1]."
    [citation] = [event for event in events if isinstance(event, Citation)]
    assert (citation.finding, citation.reason) == (Finding.CONTRADICTED, "Le passage dit le contraire.")


async def test_a_model_that_refuses_what_a_clause_leaves_open_has_refused() -> None:
    refusal = "Je ne trouve pas cette information dans le corpus."
    events, _ = await ask("La cantine sert-elle le jeudi ?", refusal, CANTEEN)
    assert finished(events).outcome is Outcome.REFUSED
    assert not any(isinstance(event, Token | Quoted) for event in events)


async def test_a_clause_that_has_all_that_is_asked_answers_what_the_signs_would_refuse() -> None:
    retriever = FakeRetriever(
        results=[SearchResult(passage=passage(1, CANTEEN[1]), score=0.01, similarity=0.1)], scores={"chunk-1": -0.9}
    )
    for question, outcome in (
        ("La cantine sert-elle le mercredi ?", Outcome.ANSWERED), ("La piscine est-elle chauffée ?", Outcome.REFUSED),
    ):
        events = await answer(asked=query(question), retriever=retriever)
        assert finished(events).outcome is outcome
