"""Sentences that stand in a passage as they are: checked without vectors, and only those."""

from __future__ import annotations

import pytest

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.evidence.support import SupportScorer
from sourcier.services.gateway.evidence.wording import Wording
from sourcier.services.gateway.findings import Finding
from tests.unit.gateway.fix_gateway_domain import THRESHOLDS, FakePeers, passage

TEXT = ("La charte vaut pour tous. Chaque salarié dispose de deux jours d’absence ; ils ne se reportent pas.\n"
        "Les apprentis n'ont qu'un jour par semaine")


@pytest.mark.parametrize(("sentence", "found"), [
    ("Chaque salarié dispose de deux jours d'absence ; ils ne se reportent pas", True),
    ("Chaque  salarié dispose de deux jours d’absence.", True),
    ("Les apprentis n'ont qu'un jour par semaine.", True),
    ("La charte vaut pour tous. Chaque salarié dispose de deux jours d'absence.", True),
    ("Chaque salarié dispose de deux jours", False),
    ("dispose de deux jours d'absence", False),
    ("Chaque salarié dispose de trois jours d'absence.", False),
    ("Les apprentis ont un jour par semaine.", False),
])
def test_a_run_begins_and_ends_where_a_piece_does(sentence: str, found: bool) -> None:
    wording = Wording(TEXT)
    run = wording.run_of(sentence)
    assert (run is not None) is found
    if run is not None:
        assert wording.text[run.start : run.end] == run.text
        assert run.share == 1.0


@pytest.mark.parametrize(("text", "pieces"), [
    ("Le directeur est M. Martin. Il ouvre l'usine.", ("Le directeur est M. Martin.", "Il ouvre l'usine.")),
    ("Selon l'art. L. 3121-27, oui. Non.", ("Selon l'art. L. 3121-27, oui.", "Non.")),
    ("Il dit : « Deux jours. » Puis rien.", ("Il dit : « Deux jours. »", "Puis rien.")),
    ("La vitamine C. Le jus est bon.", ("La vitamine C.", "Le jus est bon.")),
    ("Le directeur est M.\nMartin ouvre l'usine.", ("Le directeur est M.", "Martin ouvre l'usine.")),
    ("Deux jours ; trois mois\nUn an", ("Deux jours ;", "trois mois", "Un an")),
])
def test_a_piece_ends_where_a_sentence_does(text: str, pieces: tuple[str, ...]) -> None:
    found = Wording(text).pieces
    assert tuple(piece.text for piece in found) == pieces
    assert all(text[piece.start : piece.end] == piece.text for piece in found)


def _scorer(peers: FakePeers) -> SupportScorer:
    return SupportScorer(peers, [passage(1, TEXT), passage(2, "Rien de tel.")], tenant="acme", space_id="space",  # type: ignore[arg-type]
                         thresholds=THRESHOLDS)


@pytest.mark.parametrize("cited", [(1,), ()])
async def test_vectors_are_not_asked_for(cited: tuple[int, ...]) -> None:
    peers = FakePeers()
    check = await _scorer(peers).check("- Les apprentis n’ont qu’un jour par semaine.", cited,
                                       deadline=Deadline.after(5))
    assert peers.tried == 0
    assert check.closest == 1
    assert check.verdicts[1].finding is Finding.SUPPORTED
    assert check.verdicts[1].span.text == "Les apprentis n'ont qu'un jour par semaine"


@pytest.mark.parametrize(("sentence", "cited"), [
    ("Les apprentis n'ont qu'un jour par semaine.", (2,)),
    ("Les apprentis n'ont qu'un jour par semaine.", (1, 2)),
    ("Les apprentis n'ont qu'un seul jour.", (1,)),
    ("Rien de tel.", (2,)),
])
async def test_what_is_cited_otherwise_altered_or_short_is_compared(sentence: str, cited: tuple[int, ...]) -> None:
    peers = FakePeers()
    check = await _scorer(peers).check(sentence, cited, deadline=Deadline.after(5))
    assert peers.tried == 1
    assert set(check.verdicts) == {1, 2}
