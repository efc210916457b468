"""Variants: what is asked for is what is measured, and the rule by which one may become the default."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from eval.retrieval.kept_vectors import KeptText, KeptVectors
from eval.sets.datasets import Dataset, Passage, Question
from eval.variants import gate, rules, tables
from eval.variants.measuring import Measured, Results
from eval.variants.searching import Terms
from eval.variants.variants import NAMED, Settings, VariantInvalid, modes, parse
from sourcier.services.index.identifiers.terms import passage_terms
from sourcier.services.index.search.holding import Place, asked_identifiers, holding_among


def _measured(values: Sequence[float], forms: Sequence[str] = ()) -> Measured:
    kept = {name: tuple(values) for name in ("ndcg@10", "recall@1", "recall@5")}
    return Measured(kept, tuple(forms or [""] * len(values)), 100.0)


def _results(**by_variant: dict[str, Sequence[float]]) -> Results:
    """Return results by variant, then by set."""
    sets: dict[str, dict[str, Measured]] = {}
    for variant, found in by_variant.items():
        for name, values in found.items():
            sets.setdefault(name, {})[variant.replace("_", " ").replace("re ranked", "re-ranked")] = _measured(values)
    return Results(sets)


def test_a_variant_is_named_or_written() -> None:
    assert parse("50 candidates") == ("50 candidates", NAMED["50 candidates"])
    assert parse("mine=candidates:50, share:0.1,slips:false,mode:fused") == (
        "mine", Settings(candidates=50, share=0.1, slips=False, mode="fused")
    )
    assert modes()["re-ranked"] == Settings()


@pytest.mark.parametrize(("written", "said"), [
    ("unheard of", "50 candidates"), ("fused=share:1", "a name of its own"), ("=share:1", "a name of its own"),
    ("mine=depht:3", "candidates"), ("mine=slips:perhaps", "true or false"), ("mine=mode:sparse", "full text"),
    ("mine=candidates:many", "a number such as 20"),
])
def test_what_is_no_variant_is_told_with_what_there_is(written: str, said: str) -> None:
    with pytest.raises(VariantInvalid, match=said):
        parse(written)


def test_a_loss_beyond_noise_on_one_set_forbids_a_default() -> None:
    up, same, down = [0.6] * 30, [0.5] * 30, [0.4] * 30
    found = _results(
        re_ranked={"one": same, "two": same}, better={"one": up, "two": same}, mixed={"one": up, "two": down}
    )
    assert rules.refusals(found)["better"] == []
    [reason] = rules.refusals(found)["mixed"]
    assert reason.startswith("two: it loses by 0.100 nDCG@10")
    assert "« better » may become the default" in rules.told(found)


def test_differences_within_noise_forbid_nothing() -> None:
    noisy = [0.0, 1.0] * 15
    found = _results(re_ranked={"one": noisy}, other={"one": [*noisy[1:], 0.0]})
    assert rules.refusals(found) == {"other": []}


def test_re_ranking_below_fusion_and_fusion_below_a_list_are_told() -> None:
    high, low = [0.6] * 30, [0.5] * 30
    found = Results({"identifiants": {
        "dense": _measured(low), "full text": _measured(high), "fused": _measured(low),
        "re-ranked": _measured([0.4] * 30),
    }})
    assert [each.split(" by ")[0] for each in rules.violations(found)] == [
        "identifiants: re-ranking is below fusion", "identifiants: fusion is below full text alone",
    ]
    assert "R@1" in rules.violations(found)[0]


def test_the_table_has_the_mean_the_worst_loss_and_no_mean_where_a_set_lacks() -> None:
    found = _results(re_ranked={"one": [0.5, 0.5], "two": [1.0, 1.0]}, cut_off={"one": [0.25, 0.25]})
    rows = {line.split("|")[1].strip(): line for line in tables.main_table(found).splitlines()}
    assert "| 0.750 |" in rows["**re-ranked**"]
    assert "0.250" in rows["cut off"]
    assert "one -0.250 (-0.250 to -0.250)" in rows["cut off"]
    assert "|  |  |" in rows["cut off"], "neither the other set nor a mean"


def test_forms_have_a_table_of_their_own() -> None:
    found = Results({"identifiants": {"re-ranked": _measured([1.0, 0.0, 1.0], ["phone", "phone", "IBAN"])}})
    assert "| phone | 2 | 0.500 |" in tables.forms_table(found)
    assert tables.forms_table(_results(re_ranked={"one": [1.0]})) == ""


def test_identifiers_are_held_in_this_process_as_in_the_index() -> None:
    texts = [("", "Selon l'article L. 1121-1 du code, nul ne peut."), ("Article L1121-2", "Le lieu."), ("", "Rien.")]
    terms = Terms([passage_terms(title, (), text) for title, text in texts])
    found = {}
    for question in ("article L1121-1", "article L1121-2", "article L1121-9"):
        weighed = terms.weighed(np.zeros(len(texts), np.float32))
        found[question] = asyncio.run(holding_among(weighed, asked_identifiers(question), limit=20))
    assert {chunk: each.place for chunk, each in found["article L1121-1"].standings.items()} == {"0": Place.TEXT}
    assert {chunk: each.place for chunk, each in found["article L1121-2"].standings.items()} == {"1": Place.TITLE}
    assert found["article L1121-9"].standings == {}
    assert set(found["article L1121-9"].missing[0].nearest) == {"L1121-1", "L1121-2"}


def test_a_sample_keeps_what_answers_and_others_at_even_distances() -> None:
    passages = tuple(Passage(str(number), "", "text") for number in range(100))
    questions = tuple(Question(str(number), "?", {str(number): 1}) for number in range(0, 100, 10))
    found = Dataset("set", passages, questions).sampled(5, passages=25)
    kept = {each.passage_id for each in found.passages}
    assert len(kept) == 25
    assert len(found.questions) == 5
    assert all(kept.issuperset(each.relevant) for each in found.questions)
    assert Dataset("set", passages, questions).sampled(2, passages=None).passages == passages


def test_the_gate_pairs_questions_and_knows_its_sample() -> None:
    recorded = {"one": {"content": "a", "modes": dict.fromkeys(gate.MODES, [0.5] * 20)}}
    worse = {"content": "a", "modes": dict.fromkeys(gate.MODES, [0.45] * 20)}
    assert all(each.fell for each in gate.compared("one", worse, recorded))
    assert not any(each.fell for each in gate.compared("one", recorded["one"], recorded))
    for name, content in (("one", "b"), ("two", "a")):
        with pytest.raises(gate.SampleChanged, match="--record"):
            list(gate.compared(name, {**worse, "content": content}, recorded))


def test_vectors_are_kept_text_by_text(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    texts = {
        str(number): KeptText(
            generator.random(16, np.float32), generator.integers(0, 255, (number, 2), np.uint8),
            generator.random((number, 16), np.float32), generator.random(number, np.float32),
        ) for number in range(3)
    }
    KeptVectors(tmp_path / "kept.sqlite", full_type=np.float32).add(texts)
    again = KeptVectors(tmp_path / "kept.sqlite", full_type=np.float32)
    assert again.held(["0", "2", "7"]) == {"0", "2"}
    for digest, each in again.of(list(texts)).items():
        for name in ("vector", "codes", "full", "weights"):
            np.testing.assert_array_equal(getattr(each, name), getattr(texts[digest], name))
