"""Scripts: which rule applies, what fills its places, what stops it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.generate.engine import FinishReason, Sampling
from sourcier.services.generate.scripted.engine import cut
from sourcier.services.generate.scripted.script import Rule, Script, filled, passage, read_script

PROMPT = """Extraits :

[1] Guide > Congés (page 2)
Chaque salarié a 25 jours de congé.
Il en reste.

[2] Guide > Télétravail
Le télétravail est possible
deux jours par semaine. Une charte le règle.

Question : Combien de jours ?"""


def test_the_first_rule_that_matches_applies_without_regard_to_case() -> None:
    script = Script(rules=(Rule(pattern="CONGÉ", text="a"), Rule(pattern="jours", text="b")), tokens_per_second=5)
    assert script.rule_for(PROMPT).text == "a"
    assert script.rule_for("deux jours").text == "b"
    assert script.rule_for("autre").text == "Je ne trouve pas cette information dans le corpus."
    assert script.rule_for("autre").tokens_per_second == 5


def test_passages_are_found_by_their_number() -> None:
    assert passage(PROMPT, 1) == "Chaque salarié a 25 jours de congé.\nIl en reste."
    assert passage(PROMPT, 3) == ""


def test_places_are_filled_with_first_sentences_and_the_question() -> None:
    assert filled("{passage:1} [1]. {passage:2} [2]. {question}", PROMPT) == (
        "Chaque salarié a 25 jours de congé [1]. Le télétravail est possible deux jours par semaine [2]. "
        "Question : Combien de jours ?")


@pytest.mark.parametrize(("sampling", "text", "reason"), [
    (Sampling(tokens_max=9), "un deux trois", FinishReason.STOP),
    (Sampling(tokens_max=2), "un deux", FinishReason.LENGTH),
    (Sampling(tokens_max=9, stop=("trois", "x d")), "un deu", FinishReason.STOP),
    (Sampling(tokens_max=2, stop=("trois",)), "un deux", FinishReason.LENGTH),
])
def test_an_answer_stops_like_a_models(sampling: Sampling, text: str, reason: FinishReason) -> None:
    source = ["un", " deux", " trois"] if "x d" not in sampling.stop else ["un", " deux d", " trois"]
    tokens, why = cut(source, sampling)
    assert ("".join(tokens), why) == (text, reason)


def test_a_script_is_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"rules": [{"pattern": "a", "text": "b", "failure": "hang"}]}))
    assert read_script(path).rules[0].failure == "hang"
    for wrong in ('{"rulez": []}', '{"rules": [{"pattern": "("}]}', '{"rules": [{"pattern": "a", "failure": "x"}]}'):
        path.write_text(wrong)
        with pytest.raises(FailedPrecondition, match="SOURCIER_GENERATE_SCRIPT_FILE"):
            read_script(path)
    with pytest.raises(FailedPrecondition, match="cannot be read"):
        read_script(tmp_path / "absent.json")


def test_a_passage_is_found_between_its_delimiters() -> None:
    prompt = (
        "Sources :\n\n[Source 1] [RH] - Charte\n<<<0a1b2c3d4e\n> Deux jours.\n> Le reste.\n0a1b2c3d4e>>>\n\n"
        "[Source 2] - Frais\n<<<5f6a7b8c9d\n> Trois mois.\n5f6a7b8c9d>>>\n\nQuestion : Combien ?"
    )
    assert filled("{passage:1} [1]. {passage:2} [2]. {question}", prompt) == (
        "Deux jours [1]. Trois mois [2]. Question : Combien ?"
    )
