"""Questions about the collection itself: told from others, and answered from its list of documents."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.collection_questions import CollectionQuestion, Wanted, collection_question
from sourcier.services.gateway.answering.whole_collection import answer_of_collection
from sourcier.services.gateway.retrieval.query import Query
from sourcier.services.index.documents.texts import TextChunk
from sourcier.services.index.documents.titles import DocumentTitle
from sourcier.services.index.search.filters import Filters
from tests.unit.gateway.fix_gateway_domain import FakeRetriever, query


@pytest.mark.parametrize(("question", "wanted", "kind", "year"), [
    ("Combien de notes de service ?", Wanted.COUNT, "notes de service", None),
    ("Combien y a-t-il de documents dans la collection ?", Wanted.COUNT, "", None),
    ("Combien de documents contient la base ?", Wanted.COUNT, "", None),
    ("Combien d’avenants en 2024 ?", Wanted.COUNT, "avenants", 2024),
    ("How many documents are there?", Wanted.COUNT, "", None),
    ("Liste les avenants", Wanted.LIST, "avenants", None),
    ("Peux-tu lister tous les documents ?", Wanted.LIST, "", None),
    ("Donne-moi la liste des documents", Wanted.LIST, "", None),
    ("Quels documents avez-vous ?", Wanted.LIST, "", None),
    ("Quels sont les comptes rendus de 2026 ?", Wanted.LIST, "comptes rendus", 2026),
    ("Which documents do you have?", Wanted.LIST, "", None),
    ("Quelle est la dernière note de service ?", Wanted.LATEST, "note de service", None),
    ("Quel est le document le plus récent ?", Wanted.LATEST, "", None),
    ("What is the latest memo?", Wanted.LATEST, "memo", None),
    ("Quelle est la plus ancienne circulaire ?", Wanted.OLDEST, "circulaire", None),
])
def test_a_question_about_the_collection_is_told(
    question: str, wanted: Wanted, kind: str, year: int | None
) -> None:
    asked = collection_question(question)
    assert asked is not None
    assert (asked.wanted, asked.kind) == (wanted, kind)
    assert (asked.period.start.year if asked.period else None) == year


@pytest.mark.parametrize("question", [
    "Combien de notes de frais par mois ?", "Combien de documents faut-il fournir ?", "Quels documents faut-il avoir ?",
    "Quels sont les documents à fournir ?", "Combien d'avis sont requis ?", "Quel est le dernier avis du conseil ?",
    "Combien de jours ?", "Liste les documents à joindre au dossier", "Quelle est la procédure ?",
    "Quel est le règlement ?", "Combien de contrats puis-je signer ?", "Combien de courriers recommandés ?",
    "Quelle est la charte graphique ?", "Combien de documents " + "a" * 500,
])
def test_any_other_question_is_left_to_the_search(question: str) -> None:
    assert collection_question(question) is None


@pytest.mark.parametrize(("kind", "name", "is_one"), [
    ("notes de service", "Note de service du 3 mai", True), ("notes de service", "Note d'information", False),
    ("avis", "Avis 2", True), ("comptes rendus", "compte-rendu_2026.md", True), ("procès-verbaux", "PV du 3 mai", True),
    ("pv", "Procès-verbal", True), ("notes", "Annotations", False), ("policies", "Travel policy", True),
])
def test_a_kind_is_what_title_or_name_says(kind: str, name: str, is_one: bool) -> None:
    assert CollectionQuestion(Wanted.COUNT, kind).is_of_kind(name) is is_one


class Listing(FakeRetriever):
    """Knows titles."""

    async def titles(self, query: Query, *, deadline: Deadline) -> list[DocumentTitle]:
        """Return four documents."""
        return [
            DocumentTitle(str(number), title, name, {}, datetime(2026, 5, number, tzinfo=UTC))
            for number, (title, name) in enumerate((
                ("Note de service du 12 mars 2026", "a.md"), ("Note de service du 3 janvier 2024", "b.md"),
                ("Règlement", "reglement.pdf"), ("Note de service", "c.md"),
            ), start=1)
        ]


@pytest.mark.parametrize(("question", "said"), [
    ("Combien de notes de service ?",
     "La collection « default » contient 3 documents dont le titre ou le nom dit « notes de service », sur 4 en tout :"
     "\n- Note de service\n- Note de service du 3 janvier 2024\n- Note de service du 12 mars 2026"),
    ("Combien de notes de service en 2024 ?",
     "La collection « default » contient 1 document dont le titre ou le nom dit « notes de service », de 2024, sur 4 "
     "en tout :\n"
     "- Note de service du 3 janvier 2024\n(1 sans date connue : non comptés)"),
    ("Quelle est la dernière note de service ?",
     "Le plus récent par sa date est : Note de service du 12 mars 2026. Sans date : 1."),
    ("Quel est le règlement le plus récent ?",
     "Aucun ne porte de date ; le dernier ajouté est : Règlement, le 3 mai 2026."),
    ("Combien de circulaires ?", None),
    ("Combien de jours de congé ?", None),
])
async def test_the_list_of_documents_answers(question: str, said: str | None) -> None:
    assert await answer_of_collection(query(question), Listing(), deadline=Deadline.after(5)) == said


@pytest.mark.parametrize(("question", "kind", "subject"), [
    ("Quels documents parlent de télétravail ?", "", "télétravail"),
    ("Quelles notes de service parlent du parking ?", "notes de service", "parking"),
    ("Combien de documents parlent de la cantine ?", "", "cantine"),
    ("Liste les notes qui traitent des absences", "notes", "absences"),
    ("Qu’y a-t-il sur la piscine ?", "", "piscine"),
    ("Qu'est-ce qu'il y a sur les congés ?", "", "congés"),
    ("Dans quels documents est-il question de mots de passe ?", "", "mots de passe"),
    ("Which documents mention sick leave?", "", "sick leave"),
    ("What is there about hotels?", "", "hotels"),
])
def test_a_question_about_a_subject_is_told(question: str, kind: str, subject: str) -> None:
    assert collection_question(question) == CollectionQuestion(Wanted.ABOUT, kind, subject=subject)


@pytest.mark.parametrize(("question", "subject"), [
    ("Résume ce document", "ce document"), ("Peux-tu me résumer le règlement intérieur ?", "le règlement intérieur"),
    ("De quoi parle la note du 3 mai 2024 ?", "note du 3 mai 2024"), ("Summarise this document", "this document"),
    ("Fais-moi un résumé de la charte", "charte"),
])
def test_a_summary_is_told(question: str, subject: str) -> None:
    assert collection_question(question) == CollectionQuestion(Wanted.SUMMARY, "", subject=subject)


@pytest.mark.parametrize("question", [
    "Quels documents parlent de la manière dont le salarié doit demander ses congés payés ?",
    "Quels documents concernent la demande de 2024 ?", "Que contient le dossier de demande d'aide ?",
    "De quoi le maire est-il responsable ?",
])
def test_a_longer_question_is_left_to_the_search(question: str) -> None:
    assert collection_question(question) is None


class Sections(Listing):
    """Knows what its documents say."""

    async def documents_about(self, query: Query, subject: str, *, deadline: Deadline) -> frozenset[str]:
        """Return two documents."""
        return frozenset({"1", "3"})

    async def chunks(self, query: Query, document_id: str, *, deadline: Deadline) -> list[TextChunk]:
        """Return three chunks of two sections."""
        return [
            TextChunk(0, "Les absences sont signalées au secrétariat.", 0, 43, 1, ("Absences",)),
            TextChunk(1, "Un certificat est demandé après trois jours.", 44, 90, 1, ("Absences",)),
            TextChunk(2, "Il est interdit de fumer dans les locaux.", 91, 140, 2, ("Tabac",)),
        ]


@pytest.mark.parametrize(("question", "said"), [
    ("Quels documents parlent des absences ?",
     "La collection « default » contient 2 documents dont un passage a tous les mots de « absences », sur 4 en tout :\n"
     "- Règlement\n- Note de service du 12 mars 2026"),
    ("Quelles notes parlent des absences ?",
     "La collection « default » contient 1 document dont le titre ou le nom dit « notes » dont un passage a tous les "
     "mots de « absences », sur 4 en tout :\n- Note de service du 12 mars 2026"),
    ("Résume le règlement",
     "« Règlement » en extraits (3 passages lus), ce que chaque partie dit d'abord :\n"
     "- Absences : « Les absences sont signalées au secrétariat. » (p. 1)\n"
     "- Tabac : « Il est interdit de fumer dans les locaux. » (p. 2)"),
    ("Résume ce document", None), ("Résume la charte", None),
])
async def test_the_index_answers(question: str, said: str | None) -> None:
    assert await answer_of_collection(query(question), Sections(), deadline=Deadline.after(5)) == said


async def test_this_document_is_the_one_of_the_filter() -> None:
    name = "00000000-0000-0000-0000-000000000003"
    asked = query("Résume ce document", filters=Filters(document_ids=(name,)))

    class One(Sections):
        async def titles(self, query: Query, *, deadline: Deadline) -> list[DocumentTitle]:
            return [replace(each, document_id=name) if each.document_id == "3" else each
                    for each in await super().titles(query, deadline=deadline)]

    said = await answer_of_collection(asked, One(), deadline=Deadline.after(5))
    assert isinstance(said, str)
    assert said.startswith("« Règlement » en extraits")
