"""Invented turns: an answer ends where its model goes on with another turn, and what a document says is not lost."""

from __future__ import annotations

import pytest

from sourcier.services.gateway.answering.invented_turns import TurnCutter
from tests.unit.gateway.fix_gateway_domain import passage

SAID = "Deux jours par semaine [1]."
FAQ = passage(1, (
    "Question : Comment poser un congé ?\nRéponse : Sur le portail.\n\nAssistant : M. Paul Martin, poste 4242.\n"
    "La fiche compte deux champs. Question : le libellé. Réponse : le texte."
))


def read(text: str, *, piece: int) -> tuple[str, str]:
    """Return what is shown of a text that comes in pieces, and what is left out."""
    cutter = TurnCutter([FAQ])
    shown = "".join(cutter.feed(text[start : start + piece]) for start in range(0, len(text), piece))
    return shown + cutter.finish(), cutter.left_out


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
@pytest.mark.parametrize("turn", [
    "\n\nQuestion : Et le mercredi ?\nAssistant : Le mercredi est libre.",
    " Question : Et le mercredi ? Assistant : Le mercredi est libre.",
    "\nUtilisateur : Et le mercredi ?",
    "\nUser: What about Wednesday?\nAssistant: It is free.",
    "\nAssistant : Deux jours par semaine.",
    "\n\nHuman: And then?",
    "\n\n**Question :** Et le mercredi ?",
    "\n\n**Question 2** : Et le mercredi ?",
    "\n\n### Utilisateur :\nEt le mercredi ?",
    "\n\n---\n\n> **Assistant:** Oui.",
    "\n- Question\u00a0: Et le mercredi ?",
    "\n\nNouvelle question : Et le mercredi ?",
    "\nQUESTION : Et le mercredi ?",
    "\nQ: And then?\nA: Nothing.",
    "<|im_end|>\n<|im_start|>user\nEt le mercredi ?",
    "\n<|user|>\nEt le mercredi ?<|assistant|>",
    "</s><s>[INST] Et le mercredi ? [/INST]",
    "<end_of_turn>\n<start_of_turn>user",
    "\n[INST] Et le mercredi ?",
    # A question that the documents hold, and an answer that they do not.
    "\nQuestion : Comment poser un congé ?\nAssistant : Par courrier.",
])
def test_an_answer_ends_where_another_turn_begins(turn: str, piece: int) -> None:
    shown, left_out = read(SAID + turn, piece=piece)
    assert shown.rstrip() == SAID
    assert left_out
    assert left_out.split()[0] in turn


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
@pytest.mark.parametrize("text", [
    # Word for word as a document has it.
    f"{SAID}\nQuestion : Comment poser un congé ?\nRéponse : Sur le portail [1].",
    f"{SAID}\n\n**Question :** Comment poser un congé ?\n**Réponse :** Sur le portail [1].",
    f"{SAID}\nAssistant : M. Paul Martin [1], poste 4242.",
    "La fiche compte deux champs [1]. Question : le libellé [1]. Réponse : le texte.",
    # Announced, within a sentence, or no turn of a conversation.
    "La FAQ dit ceci :\nQuestion : Et le mercredi ?",
    "Le formulaire a un champ Question : il est obligatoire [1].",
    "Les étapes sont :\n1. Question : la poser.\n2. Réponse : la lire.",
    f"{SAID}\nquestion : ce mot n'est pas un titre.",
    f"{SAID}\nRéponse : deux jours.",
    f"{SAID}\nUne question : quand ? L'assistant : qui ?",
    f"{SAID}\nQ1 : 12 M€\nQ2 : 13 M€",
    "Le délai est < 5 jours, et le champ [RH] reste [2].",
    "Le nom est <nom>, la balise <strong> et [ANNEXE] aussi.",
    "Question ouverte, et rien d'autre.",
    "Question : à qui s'adresser pour cela, et quand ?",
    "", "…", "Q", "**",
])
def test_what_is_no_other_turn_stays(text: str, piece: int) -> None:
    assert read(text, piece=piece) == (text, "")


@pytest.mark.parametrize("piece", [1, 3, 1000])
@pytest.mark.parametrize("header", [
    "Assistant : ", "**Assistant :** ", "<|assistant|>\n", "<|im_start|>assistant\n", "<start_of_turn>model\n",
    "Question : Combien de jours par semaine ?\nAssistant : ", "Question : Combien ? Réponse : ",
    "Question :\nCombien de jours ?\n\n**Réponse :** ",
])
def test_the_header_of_its_own_turn_is_dropped(header: str, piece: int) -> None:
    shown, left_out = read(header + SAID, piece=piece)
    assert (shown.lstrip(), left_out) == (SAID, "")


def test_a_text_is_not_held_back_for_long() -> None:
    cutter = TurnCutter([FAQ])
    assert cutter.feed("Deux jours par semaine [1]. Le ") == "Deux jours par semaine [1]. Le "
    assert cutter.feed("mercredi.\n\nQues") == "mercredi."
    assert cutter.feed("aco, dit-on.") == "\n\nQuesaco, dit-on."
    # What comes behind a turn is read no more.
    assert cutter.feed("\nUtilisateur : Et ") == ""
    assert cutter.feed("Lyon ? Oui.") == cutter.finish() == ""
    assert cutter.left_out == "Utilisateur : Et"


def test_a_long_text_is_read_in_a_time_that_grows_with_it() -> None:
    """What is looked at with each piece is the end of the text, not all of it."""
    cutter = TurnCutter([FAQ])
    piece = "Le champ Question : rien, Assistant : rien non plus, "
    for _ in range(2_000):
        assert cutter.feed(piece)
    assert not cutter.left_out
