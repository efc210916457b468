"""What is said of words that were taken for slips of typing, and what counts as held of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sourcier.services.gateway.answering.answerability import signs_of
from sourcier.services.gateway.contract.answers import passage_messages
from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.history import Language
from sourcier.services.gateway.retrieval.explained.explaining import explain
from sourcier.services.gateway.retrieval.question_notes import also_searched
from sourcier.services.index.language.analyser import question_stems
from sourcier.services.index.search.question_terms import question_words, weigh
from sourcier.services.index.slips.choosing import Respelling
from tests.unit.gateway.answering.test_answerability import ranked

HOLDING, LACKING = "Le licenciement de Dupond est notifié.", "La réunion est notifiée."


def _respelling(written: str, *words: str) -> Respelling:
    groups = tuple(question_stems(word, "fr") for word in words)
    return Respelling(written, words, groups, question_stems(written, "fr"))


MEANT = _respelling("licenciemnet", "licenciement")


def _with(passage: RankedPassage, *respellings: Respelling) -> RankedPassage:
    return replace(passage, found=replace(passage.found, respellings=respellings))


@pytest.mark.parametrize(("language", "note", "sentences"), [
    ("fr", "cherché aussi : licenciement (pour « licenciemnet »)", [
        "Cherché aussi : licenciement (pour « licenciemnet ») ; le passage l'a.",
        "Cherché aussi : licenciement (pour « licenciemnet ») ; le passage ne l'a pas.",
    ]),
    ("en", "also searched for: licenciement (for “licenciemnet”)", [
        "Also searched for: licenciement (for “licenciemnet”); the passage has it.",
        "Also searched for: licenciement (for “licenciemnet”); the passage lacks it.",
    ]),
])
def test_whoever_asks_is_told_what_else_was_searched_for(language: Language, note: str, sentences: list[str]) -> None:
    passages = tuple(_with(each, MEANT) for each in ranked(HOLDING, LACKING))
    explained = explain(passages, looked_at=passages, question="le licenciemnet ?", language=language)
    assert [sentence for each in explained for sentence in each.sentences if "licenciemnet" in sentence.lower()
            and "licenciement" in sentence] == sentences
    assert [(each.written, each.searched, each.held) for message in passage_messages(passages, explained)
            for each in message.explanation.spellings] == [
        ("licenciemnet", "licenciement", True), ("licenciemnet", "licenciement", False)]
    said = also_searched([each.found for each in passages], language=language)
    assert said is not None
    assert (said.stage, said.reason) == ("spelling", note)
    assert also_searched([each.found for each in ranked(HOLDING)], language=language) is None


@pytest.mark.parametrize(("question", "respelling", "is_held"), [
    ("Quand un licenciemnet est-il notifié ?", MEANT, True),
    # A name is nobody else's, however near: only what is written so is about who bears it.
    ("Quand part Dupont ?", _respelling("dupont", "dupond"), False),
])
def test_what_is_meant_counts_as_held_but_a_name(question: str, respelling: Respelling, is_held: bool) -> None:
    terms = weigh(question_words(question), passages=100, frequencies={})
    plain, knowing = (
        signs_of(question, passages, terms, (), given=5, passages=100)
        for passages in (ranked(HOLDING), [_with(each, respelling) for each in ranked(HOLDING)])
    )
    assert (knowing.window > plain.window) is is_held
    assert knowing.names == plain.names
