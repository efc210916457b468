"""A value is spoken against where its clause gives it of something else, and not where it says what is said."""

from __future__ import annotations

from datetime import date

import pytest

from sourcier.services.gateway.anchoring.anchors import Anchors

pytestmark = pytest.mark.unit

TODAY = date(2026, 11, 28)


@pytest.mark.parametrize(("text", "true", "false"), [
    ("La nuit est remboursée 110 € à Paris et 90 € ailleurs.", "À Paris, la nuit est remboursée 110 €.",
     "Hors de Paris, la nuit est remboursée 110 €."),
    ("Les trajets ne sont indemnisés qu'au-delà de 20 km.", "Les trajets sont indemnisés au-delà de 20 km.",
     "Les trajets sont indemnisés jusqu'à 20 km."),
    ("Le prix du repas passera de 3,90 € à 4,15 € le 4 janvier 2027.",
     "À partir du 4 janvier 2027, le repas coûtera 4,15 €.",
     "À partir du 4 janvier 2027, le repas coûtera 3,90 €."),
    ("Les cotisations augmenteront de 6 % en 2027.", "Les cotisations augmenteront de 6 %.",
     "Les cotisations passeront à 6 %."),
    ("Une prime annuelle de 1 000 € est versée.", "La prime est de 1 000 € par an.",
     "La prime est de 1 000 € par mois."),
    ("La salle reçoit 180 personnes debout ou 120 assises.", "La salle reçoit 180 personnes debout.",
     "La salle reçoit 180 personnes assises."),
    ("Au-delà de 39 heures, la majoration est de 50 % ; jusqu'à ce seuil, elle est de 25 %.",
     "Jusqu'à 39 heures, la majoration est de 25 %.", "Jusqu'à 39 heures, la majoration est de 50 %."),
    ("La circulaire du 3 mars est remplacée. Chacun a six jours par an.", "Chacun a six jours par an.",
     "Chacun a trois jours par an."),
    ("Drivers receive 45p a mile for the first 10,000 miles and 25p thereafter.",
     "After the first 10,000 miles, drivers receive 25p a mile.",
     "After the first 10,000 miles, drivers receive 45p a mile."),
])
def test_a_misread_value_is_spoken_against(text: str, true: str, false: str) -> None:
    anchors = Anchors(text, "", "fr" if "é" in text else "en", today=TODAY)
    assert anchors.objection(true) is None
    assert anchors.objection(false) is not None
