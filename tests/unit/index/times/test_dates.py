"""Dates in texts and names of files, and when documents hold."""

from __future__ import annotations

from datetime import date

import pytest

from sourcier.services.gateway.times.asking import Aim, asked_time
from sourcier.services.index.times.dates import date_of_name, dates_in
from sourcier.services.index.times.document import DateKind, DocumentDate, Origin
from sourcier.services.index.times.encoding import dates_json, period_json, relations_json, times_from
from sourcier.services.index.times.periods import Period
from sourcier.services.index.times.reading import times_of

TODAY = date(2026, 11, 28)


@pytest.mark.parametrize(("text", "found"), [
    ("Note de service du 12 mars 2026", ["12 mars 2026"]),
    ("le 1er avril 2026, puis le 03/05/2027", ["1er avril 2026", "3 mai 2027"]),
    ("March 3rd, 2024; 5 May 2023; 2021-08-14", ["3 mars 2024", "5 mai 2023", "14 août 2021"]),
    ("en mai 2026 et en 2027", ["mai 2026", "2027"]),
    ("AOÛT 2025", ["août 2025"]),
    ("le 31 février 2026", ["février 2026"]),
    ("article L. 2023-4, 2024 €, 2 026 agents, n° 2025/14, A2024", []),
])
def test_dates_are_found_and_figures_are_none(text: str, found: list[str]) -> None:
    assert [each.period.text(language="fr") for each in dates_in(text, years=True)] == found


@pytest.mark.parametrize(("title", "told"), [
    ("Avenant n° 1 du 3 mai 2024 au bail commercial du 12 avril 2021", "3 mai 2024"),
    ("Avenant du 2 mars 2026 au dossier de Mme Renard du 3 février 2025", "2 mars 2026"),
    ("Amendment no. 2 of 9 March 2026 to the maintenance agreement of 5 February 2024", "9 mars 2026"),
    ("Compte rendu du 4 mai 2026, mis à jour le 6 mai 2026", "6 mai 2026"),
])
def test_what_amends_another_document_has_its_own_date(title: str, told: str) -> None:
    period = times_of(title=title, name="", head="").period
    assert period is not None
    assert period.text(language="fr") == told


@pytest.mark.parametrize(("name", "told"), [
    ("note-2024-01.md", "janvier 2024"),
    ("organigramme-2026.md", "2026"),
    ("20260312 CR.pdf", "12 mars 2026"),
    ("cr_12-03-2026.docx", "12 mars 2026"),
    ("Notice du 3 mars 2021.pdf", "3 mars 2021"),
    ("notes/2025/avis 1er juin 2024.txt", "1er juin 2024"),
])
def test_a_name_tells_its_date(name: str, told: str) -> None:
    found = date_of_name(name)
    assert found is not None
    assert found.text(language="fr") == told


@pytest.mark.parametrize("name", ["procedure-acces-v1.2.md", "12034567.pdf", "article-1234-5.md", "99991345.txt"])
def test_a_name_without_a_date_tells_none(name: str) -> None:
    assert date_of_name(name) is None


def test_a_period_is_written_as_a_person_writes_it() -> None:
    day, month = Period(date(2026, 4, 1), date(2026, 4, 1)), Period(date(2026, 4, 1), date(2026, 4, 30))
    assert (day.text(language="fr"), day.text(language="en")) == ("1er avril 2026", "1 April 2026")
    assert (month.text(language="fr"), month.text(language="en")) == ("avril 2026", "April 2026")


@pytest.mark.parametrize(("title", "name", "head", "told", "origin", "start"), [
    ("Note du 3 mai 2023", "n.md", "", "3 mai 2023", Origin.TITLE, date(2023, 5, 3)),
    ("Charte", "charte-2021.md", "", "2021", Origin.NAME, date(2021, 1, 1)),
    ("Procédure", "p.md", "Version 2.0, 2 février 2026. Le badge suffit.", "2 février 2026", Origin.TEXT,
     date(2026, 2, 2)),
    ("Règlement", "r.pdf", "Le présent règlement entre en vigueur le 1er juin 2025.\n\nFait à Lyon, le 3 mai 2025",
     "3 mai 2025", Origin.TEXT, date(2025, 6, 1)),
    ("Avenant n° 58 du 12 mars 2023 à la convention du 3 avril 1990", "a.md", "", "12 mars 2023", Origin.TITLE,
     date(2023, 3, 12)),
    ("Policy", "p.md", "It supersedes the policy dated 3 May 2021. Dated 4 June 2024", "4 juin 2024", Origin.TEXT,
     date(2024, 6, 4)),
    ("Avis", "a.md", "Paris, le 4 mars 2024\n\nLa piscine ferme.", "4 mars 2024", Origin.TEXT, date(2024, 3, 4)),
])
def test_a_document_tells_when_it_is_of(
    title: str, name: str, head: str, told: str, origin: Origin, start: date
) -> None:
    times = times_of(title=title, name=name, head=head)
    assert times.period is not None
    assert (times.period.text(language="fr"), times.origin, times.start) == (told, origin, start)


def test_metadata_comes_before_all_others() -> None:
    times = times_of(title="Note du 3 mai 2023", name="n-2022.md", head="", metadata={"Date": "2024-02-01"})
    assert times.period == Period(date(2024, 2, 1), date(2024, 2, 1))
    assert times.origin is Origin.METADATA


def test_a_date_within_a_sentence_is_not_the_documents() -> None:
    head = "La salle des fêtes a été inaugurée devant une grande foule le 4 mars 1998 par le maire de l'époque."
    assert times_of(title="La salle des fêtes", name="salle.md", head=head).period is None


@pytest.mark.parametrize(("newer", "older"), [
    (("Procédure d'accès", "Version 2.0. Annule et remplace la version 1.2."), ("Procédure d'accès", "Version 1.2")),
    (("Avis du 5 mai 2023", "Le présent avis annule et remplace celui du 3 mars 2020."), ("Avis du 3 mars 2020", "")),
    (("Note du 5 mai 2023", "Elle abroge la note de service du 3 mars 2020."), ("Note de service du 3 mars 2020", "")),
    (("Note", "La note du 3 mars 2020 est annulée et remplacée par la présente note."), ("Note du 3 mars 2020", "")),
    (("Circulaire", "La circulaire du 3 mars 2020 est abrogée."), ("Circulaire du 3 mars 2020", "")),
    (("Règlement des astreintes 2024", "Il remplace le précédent règlement."), ("Règlement des astreintes 2019", "")),
    (("Travel policy 2024", "It supersedes the travel policy of 3 March 2020."), ("Travel policy of 3 March 2020", "")),
])
def test_a_document_replaces_the_one_that_it_names(newer: tuple[str, str], older: tuple[str, str]) -> None:
    first = times_of(title=newer[0], name="", head=newer[1])
    second = times_of(title=older[0], name="", head=older[1])
    assert first.replaces_document(second)
    assert not second.replaces_document(first)


@pytest.mark.parametrize(("head", "other"), [
    ("Elle annule et remplace la note du 4 avril 2019.", "Note du 3 mars 2020"),
    ("M. Dupont remplace Mme Durand.", "Note du 3 mars 2020"),
    ("Le gardien remplace le filtre chaque mois.", "Note du 3 mars 2020"),
    ("Elle annule la version 3.", "Note du 3 mars 2020"),
])
def test_what_it_does_not_name_is_not_replaced(head: str, other: str) -> None:
    newer = times_of(title="Note du 5 mai 2023", name="", head=head)
    assert not newer.replaces_document(times_of(title=other, name="", head=""))


@pytest.mark.parametrize(("question", "aim"), [
    ("Quel est le montant du ticket ?", Aim.NOW),
    ("Quel était le montant du ticket en 2025 ?", Aim.THEN),
    ("Que valait le ticket le 3 mai 2024 ?", Aim.THEN),
    ("Comment le montant a-t-il évolué ?", Aim.CHANGE),
    ("Quelle différence entre 2024 et 2026 ?", Aim.CHANGE),
    ("Que dit la note du 3 janvier 2024 ?", Aim.CHANGE),
    ("Que valait le ticket avant 2024 ?", Aim.CHANGE),
    ("What was the fee in 2023?", Aim.THEN),
    ("Que dit l'article L. 2023-4 ?", Aim.NOW),
])
def test_a_question_asks_of_a_time(question: str, aim: Aim) -> None:
    assert asked_time(question, today=TODAY).aim is aim


def test_each_date_tells_what_it_is_and_where_it_was_read() -> None:
    times = times_of(
        title="Accord sur le télétravail", name="accord-2024.pdf", metadata={"date_publication": "2025-02-01"},
        head="Le présent accord entre en vigueur le 1er mars 2025. Il est valable jusqu'au 28 février 2028.",
        tail="Ces mesures vaudront aussi le 1er juin 2026.\n\nFait à Lyon, le 12 janvier 2025",
    )
    told = {each.kind.value: (each.period.text(language="fr"), each.origin.value) for each in times.dates}
    assert told == {
        "effect": ("1er mars 2025", "text"), "end": ("28 février 2028", "text"),
        "signature": ("12 janvier 2025", "text"), "publication": ("1er février 2025", "metadata"),
        "document": ("2024", "name"),
    }
    assert times.date_of(DateKind.SIGNATURE) == DocumentDate(
        DateKind.SIGNATURE, Period(date(2025, 1, 12), date(2025, 1, 12)), Origin.TEXT, "Fait à Lyon, le 12 janvier 2025"
    )


@pytest.mark.parametrize(("title", "head", "kind", "part", "other"), [
    ("Note", "Elle modifie l'article 4 de l'accord du 4 avril 2022.", "amends", "article 4", "Accord du 4 avril 2022"),
    ("Avenant n° 3 à l'accord du 4 avril 2022", "", "rider", "", "Accord du 4 avril 2022"),
    ("Avenant", "Avenant n°12 du 3 mai 2023 à la convention collective des bureaux", "rider", "",
     "Convention collective des bureaux"),
    ("Décision", "Elle annule et remplace l'annexe 2 du règlement intérieur.", "amends", "annexe 2",
     "Règlement intérieur"),
    ("Arrêté modifiant l'arrêté du 3 mars 2021", "", "amends", "", "Arrêté du 3 mars 2021"),
    ("Délibération portant modification du règlement intérieur", "", "amends", "", "Règlement intérieur"),
    ("Règlement", "Les dispositions des articles 3 et 4 de la note du 3 mai 2020 sont abrogées.", "amends",
     "articles 3 et 4", "Note du 3 mai 2020"),
    ("Décision", "L’article 4 de l’accord du 5 juin 2019 est remplacé par les dispositions suivantes :", "amends",
     "article 4", "Accord du 5 juin 2019"),
    ("Note", "Elle complète la note de service du 3 mars 2020.", "amends", "", "Note de service du 3 mars 2020"),
    ("Memo", "It amends section 3 of the travel policy of 3 March 2020.", "amends", "section 3",
     "Travel policy of 3 March 2020"),
])
def test_what_changes_a_part_of_another_document_does_not_replace_it(
    title: str, head: str, kind: str, part: str, other: str
) -> None:
    times = times_of(title=title, name="", head=head)
    older = times_of(title=other, name="", head="")
    [relation] = [each for each in times.relations if times.names(each, older)]
    assert (relation.kind.value, relation.part) == (kind, part)
    assert not times.replaces_document(older)


@pytest.mark.parametrize("head", [
    "Elle n'annule pas la note du 3 mars 2020.", "La note du 3 mars 2020 n'est pas remplacée.",
    "La note du 3 mars 2020 est remplacée par la note du 5 mai 2023.", "L'avenant fait le point.",
    "Le préfet modifie le tracé.", "Il complète son dossier.", "Avenant n° 3",
])
def test_what_names_no_document_is_no_relation(head: str) -> None:
    assert times_of(title="Note", name="", head=head).relations == ()


def test_dates_that_somebody_set_take_the_place_of_those_read() -> None:
    read = times_of(title="Note du 3 mai 2023", name="", head="Elle entre en vigueur le 1er juin 2023.")
    month = Period(date(2024, 2, 1), date(2024, 2, 29))
    times = read.with_dates_set({DateKind.EFFECT: month})
    assert (times.start, times.period) == (date(2024, 2, 1), read.period)
    assert read.with_dates_set({DateKind.PUBLICATION: month}).period == month
    stored = times_from(
        dates=dates_json(read.dates), relations=relations_json(read.relations), family=sorted(read.family),
        edition=read.version, set_dates={"effect": period_json(month)},
    )
    assert stored == times
