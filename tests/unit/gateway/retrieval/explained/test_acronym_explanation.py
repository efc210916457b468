"""What an explanation says of a question's acronyms, and what counts as held of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sourcier.services.gateway.answering.answerability import signs_of
from sourcier.services.gateway.contract.answers import passage_messages
from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.history import Language
from sourcier.services.gateway.retrieval.explained.explaining import explain
from sourcier.services.index.acronyms.asking import Expansion, Meaning
from sourcier.services.index.search.question_terms import question_words, weigh
from tests.unit.gateway.answering.test_answerability import ranked

LONG = "Le règlement professionnel du notariat vaut pour tous. Il fixe les devoirs."
OTHER = "Le règlement des factures vaut pour tous."
CASES = (
    ("Que fixe le RPN ?", Expansion("RPN", True, (Meaning("RPN", "règlement professionnel du notariat", 3, True),))),
    ("Que fixe le règlement professionnel du notariat ?",
     Expansion("règlement professionnel du notariat", False, (Meaning("RPN", "règlement professionnel du notariat", 1,
                                                                      True),))),
)


def _with(passage: RankedPassage, expansion: Expansion) -> RankedPassage:
    return replace(passage, found=replace(passage.found, expansions=(expansion,)))


@pytest.mark.parametrize(("language", "held", "lacked"), [
    ("fr", "Sigle : RPN = règlement professionnel du notariat (dit dans 3 documents) ; le passage a la forme longue.",
     "Sigle : RPN = règlement professionnel du notariat (dit dans 3 documents) ; le passage n'a pas la forme longue."),
    ("en", "Acronym: RPN = règlement professionnel du notariat (said in 3 documents); the passage has the long form.",
     "Acronym: RPN = règlement professionnel du notariat (said in 3 documents); the passage lacks the long form."),
])
def test_an_explanation_says_what_an_acronym_was_taken_for(language: Language, held: str, lacked: str) -> None:
    question, expansion = CASES[0]
    passages = tuple(_with(each, expansion) for each in ranked(LONG, OTHER))
    explained = explain(passages, looked_at=passages, question=question, language=language)
    assert [sentence for each in explained for sentence in each.sentences if "RPN =" in sentence] == [held, lacked]
    messages = passage_messages(passages, explained)
    assert [(each.acronym, each.documents, each.held) for message in messages
            for each in message.explanation.acronyms] == [("RPN", 3, True), ("RPN", 3, False)]


@pytest.mark.parametrize(("question", "expansion", "text"), [(*CASES[0], LONG), (*CASES[1], "Le RPN fixe tout.")])
def test_what_has_one_form_counts_as_having_the_other(question: str, expansion: Expansion, text: str) -> None:
    terms = weigh(question_words(question), passages=100, frequencies={})
    found = ranked(text)
    plain, knowing = (
        signs_of(question, passages, terms, (), given=5, passages=100)
        for passages in (found, [_with(each, expansion) for each in found])
    )
    assert knowing.window > plain.window + 0.3
    assert knowing.names >= plain.names
