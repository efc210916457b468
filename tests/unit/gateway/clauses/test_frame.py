"""Frames of clauses: denials, conditions, exceptions, restrictions, plans, claims; and texts of any kind."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcier.services.gateway.clauses.cutting import clauses_of
from sourcier.services.gateway.clauses.frame import Frame, Status, frame_of
from sourcier.services.gateway.clauses.lexicon import Scale
from sourcier.services.gateway.clauses.tokens import tokens_of

TODAY = date(2026, 11, 28)


def frame(text: str) -> Frame:
    """Return the frame of a text taken as one clause."""
    return frame_of(tokens_of(text), today=TODAY)


@pytest.mark.parametrize(("text", "denied"), [
    ("La cantine ne sert pas le mercredi", True), ("La cantine sert le mercredi", False),
    ("Elle n'accepte plus les chèques", True), ("Elle n’accepte plus les chèques", True),
    ("Aucun chien n'est admis", True), ("Il n'est jamais fermé", True), ("Elle n'accepte ni pneus ni amiante", True),
    ("Nul ne peut entrer", True), ("L'accès ne peut être refusé", True), ("Pas de chiens dans le parc", True),
    ("Les chiens sont non admis", True), ("Dogs are not allowed", True), ("Dogs aren't allowed", True),
    ("No dogs in the park", True), ("You cannot smoke here", True),
    # A restriction is no denial.
    ("La cantine ne sert que le midi", False), ("Elle n'est versée qu'aux cadres", False),
    # What cannot be told.
    ("L'agent qui ne signe pas perd son badge", None), ("Il n'est pas rare de ne pas le trouver", None),
    ("Il est possible de ne pas venir", None), ("Le vin est peu consommé", None),
])
def test_a_denial_is_told_from_a_restriction_and_from_what_is_unclear(text: str, denied: bool | None) -> None:
    assert frame(text).denied is denied


@pytest.mark.parametrize(("text", "scale", "end"), [
    ("Il est interdit de fumer", Scale.PERMITTED, -1), ("Les conteneurs gris sont refusés", Scale.PERMITTED, -1),
    ("Le dépôt est ouvert", Scale.OPEN, 1), ("Le dépôt est fermé", Scale.OPEN, -1),
    ("Le port du casque est facultatif", Scale.REQUIRED, -1), ("L'usure est exclue", Scale.INCLUDED, -1),
    ("Les soins sont pris en charge", Scale.INCLUDED, 1), ("The deposit is waived", Scale.REQUIRED, -1),
    # Who must not is not allowed to; who need not may.
    ("Le locataire ne doit pas afficher", Scale.PERMITTED, 1), ("Le locataire doit afficher", Scale.REQUIRED, 1),
])
def test_opposites_are_ends_of_one_scale(text: str, scale: Scale, end: int) -> None:
    assert frame(text).poles[scale] == end


@pytest.mark.parametrize(("text", "status"), [
    ("La salle est climatisée", Status.FACT), ("La salle est climatisée depuis 2021", Status.FACT),
    ("La climatisation est prévue au second semestre 2027", Status.PLANNED),
    ("La piscine sera ouverte à compter du 1er mars 2027", Status.PLANNED),
    ("La prime est versée à compter du 1er mars 2027", Status.PLANNED),
    ("La prime est versée à compter du 1er mars 2024", Status.FACT),
    ("Le montant pourrait passer à 10 €", Status.HYPOTHESIS), ("Une rénovation est envisagée", Status.HYPOTHESIS),
    ("La navette est à l'étude", Status.HYPOTHESIS), ("Le restaurant propose un menu", Status.FACT),
    ("La proposition de fermer le site est rejetée", Status.REJECTED),
    ("La proposition n'est pas adoptée", Status.REJECTED),
    ("Selon le syndicat, la prime est versée", Status.CLAIMED), ("Le syndicat demande une prime", Status.CLAIMED),
    ("Selon l'article 5, la prime est versée", Status.FACT),
    ("Le musée était gratuit", Status.PAST), ("L'offre est valable jusqu'au 3 mai 2025", Status.PAST),
    # A norm, or not yet so: it has no date.
    ("L'indemnité sera versée", Status.UNSURE), ("Une indemnité est prévue en cas de retard", Status.UNSURE),
    ("The canteen is planned for 2028", Status.PLANNED), ("The fee could be waived", Status.HYPOTHESIS),
])
def test_a_fact_is_told_from_a_plan_a_claim_and_the_past(text: str, status: Status) -> None:
    assert frame(text).status is status


def test_conditions_and_exceptions_are_apart_from_the_rest() -> None:
    found = frame("La caution est remboursée sous réserve du vote, sauf le lundi")
    assert [token.text for token in found.main if token.tells] == ["caution", "remboursee"]
    assert [[token.text for token in each.tokens if token.tells] for each in found.conditions] == [["vote"]]
    assert found.conditions[0].strong
    assert [[token.text for token in each if token.tells] for each in found.exceptions] == [["lundi"]]
    assert not frame("L'ascenseur est hors service").exceptions
    opening = frame("En cas d'absence, le salarié prévient le service")
    assert [token.text for token in opening.main if token.tells] == ["salarie", "previent", "service"]
    assert not opening.conditions[0].strong


def test_items_carry_the_line_that_leads_in_to_them() -> None:
    text = "Il est interdit de :\n- fumer ;\n- courir dans les couloirs.\n\nLe hall est ouvert."
    found = clauses_of(text)
    assert [each.text for each in found] == [
        "Il est interdit de fumer ;", "Il est interdit de courir dans les couloirs.", "Le hall est ouvert.",
    ]
    lead = found[1].lead
    assert lead is not None
    assert text[slice(*lead)] == "Il est interdit de :"
    assert text[found[1].start : found[1].end] == "- courir dans les couloirs."
    assert found[2].lead is None


def test_halves_of_a_sentence_are_clauses_and_take_over_their_subject() -> None:
    found = clauses_of("La cantine ouvre à midi. Elle accepte les cartes, mais n'accepte plus les chèques.")
    assert [each.text for each in found] == [
        "La cantine ouvre à midi.", "Elle accepte les cartes", "n'accepte plus les chèques.",
    ]
    assert [[token.text for token in each.subject if token.tells] for each in found] == [[], ["cantine"], ["cantine"]]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([
    "la", "cantine", "ne", "n'", "pas", "sert", "sauf", "si", "hors", "à", "compter", "du", "1er", "avril", "2027",
    "32", ",", ";", ".", ":", "\n- ", "(", ")", "interdit", "ouvert", "et", "mais", "est", "prévu", "selon", "syndicat",
    "que", "jusqu'au", "moins", "de", "douze", "ans", "lundi", "au", "vendredi", "not", "only", "unless", "é", "’",
]), max_size=40))
def test_any_text_has_clauses_in_its_own_places(words: list[str]) -> None:
    text = " ".join(words)
    for clause in clauses_of(text):
        assert 0 <= clause.start < clause.end <= len(text)
        assert text[clause.start : clause.end].strip()
        found = frame_of(clause.tokens, today=TODAY)
        assert found.sign in (-1, 0, 1)
        assert len(found.main) <= len(clause.tokens)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_any_characters_are_read(text: str) -> None:
    for clause in clauses_of(text, text):
        frame_of(clause.tokens, today=TODAY)
