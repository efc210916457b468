"""What was not read of a document, as sentences for people, in their language."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.cli.text import in_french, one_line
from sourcier.gateway.v1 import knowledge_pb2

PLACES_SHOWN = 10
_SENTENCES = {
    "pages_unreadable": (("damaged page", "damaged pages"), ("page abîmée", "pages abîmées")),
    "pages_without_text": (
        ("page without text (a scan?)", "pages without text (scans?)"),
        ("page sans texte (un scan ?)", "pages sans texte (des scans ?)"),
    ),
    "pages_not_recognised": (
        ("page that is a picture and could not be read", "pages that are pictures and could not be read"),
        ("page image qui n'a pas pu être lue", "pages images qui n'ont pas pu être lues"),
    ),
    "low_confidence": (
        ("page read from a picture with little certainty", "pages read from pictures with little certainty"),
        ("page lue sur une image, avec peu de certitude", "pages lues sur des images, avec peu de certitude"),
    ),
    "sound_not_recognised": (
        ("part of the recording that could not be read", "parts of the recording that could not be read"),
        ("partie de l'enregistrement qui n'a pas pu être lue",
         "parties de l'enregistrement qui n'ont pas pu être lues"),
    ),
    "sound_damaged": (
        ("piece of the recording damaged or missing", "pieces of the recording damaged or missing"),
        ("morceau de l'enregistrement abîmé ou manquant", "morceaux de l'enregistrement abîmés ou manquants"),
    ),
    "speech_unsure": (
        ("sentence heard with little certainty", "sentences heard with little certainty"),
        ("phrase entendue avec peu de certitude", "phrases entendues avec peu de certitude"),
    ),
    "without_speech": (
        ("long stretch without speech", "long stretches without speech"),
        ("long passage sans parole", "longs passages sans parole"),
    ),
    "recording_too_long": (
        ("the recording is too long: its end was not read",) * 2,
        ("l'enregistrement est trop long : sa fin n'a pas été lue",) * 2,
    ),
    "video_not_read": (
        ("only the sound of the video was read, not its pictures",) * 2,
        ("seul le son de la vidéo a été lu, pas ses images",) * 2,
    ),
    "running_lines": (
        ("running header or footer left out after its first time", "running headers and footers left out after their "
         "first time"),
        ("en-tête ou pied de page répété, laissé de côté", "en-têtes et pieds de page répétés, laissés de côté"),
    ),
    "hidden_text": (
        ("text that nobody sees, left out", "texts that nobody sees, left out"),
        ("texte que personne ne voit, laissé de côté", "textes que personne ne voit, laissés de côté"),
    ),
    "unmapped_characters": (
        ("character whose letter the file does not tell", "characters whose letter the file does not tell"),
        ("caractère dont le fichier ne dit pas la lettre", "caractères dont le fichier ne dit pas la lettre"),
    ),
    "unreadable_text": (
        ("text that nobody can read, left out", "texts that nobody can read, left out"),
        ("texte illisible, laissé de côté", "textes illisibles, laissés de côté"),
    ),
    "pictures": (
        ("picture without text or description", "pictures without text or description"),
        ("image sans texte ni description", "images sans texte ni description"),
    ),
    "pictures_not_read": (
        ("picture that could not be read", "pictures that could not be read"),
        ("image qui n'a pas pu être lue", "images qui n'ont pas pu être lues"),
    ),
    "pictures_left_out": (
        ("picture left out", "pictures left out"), ("image laissée de côté", "images laissées de côté"),
    ),
    "descriptions_failed": (
        ("picture that the vision model did not describe", "pictures that the vision model did not describe"),
        ("image que le modèle de vision n'a pas décrite", "images que le modèle de vision n'a pas décrites"),
    ),
    "formulas_without_value": (
        ("formula without a stored value", "formulas without a stored value"),
        ("formule sans valeur enregistrée", "formules sans valeur enregistrée"),
    ),
    "hidden_cells": (
        ("hidden sheet, row or column left out", "hidden sheets, rows or columns left out"),
        ("feuille, ligne ou colonne masquée, non lue", "feuilles, lignes ou colonnes masquées, non lues"),
    ),
    "encoding_guessed": (
        ("the encoding of the text was guessed: check its accents",) * 2,
        ("l'encodage du texte a été deviné : vérifiez ses accents",) * 2,
    ),
    "invalid_bytes": (
        ("byte that is no character", "bytes that are no characters"),
        ("octet qui n'est aucun caractère", "octets qui ne sont aucun caractère"),
    ),
    "type_differs": (
        ("the content is of another type than the name says",) * 2,
        ("le contenu est d'un autre type que ne le dit le nom",) * 2,
    ),
    "not_read": (("something was not read",) * 2, ("un élément n'a pas été lu",) * 2),
}
_UNCOUNTED = frozenset({"recording_too_long", "video_not_read", "encoding_guessed", "type_differs", "not_read"})


def sentences(warnings: Sequence[knowledge_pb2.ReadingWarning]) -> list[str]:
    """Return a sentence for each kind of thing that was not read."""
    return [_sentence(warning, french=in_french()) for warning in warnings]


def _sentence(warning: knowledge_pb2.ReadingWarning, *, french: bool) -> str:
    forms = _SENTENCES.get(warning.code)
    # A later service may tell what this command does not know yet.
    one, several = forms[french] if forms else (warning.code, warning.code)
    many = warning.count >= 2
    told = several if many else one
    if warning.code not in _UNCOUNTED:
        told = f"{warning.count} {told}"
    if warning.places:
        more = "…" if warning.count > PLACES_SHOWN < len(warning.places) else ""
        told += f" ({', '.join(map(one_line, warning.places[:PLACES_SHOWN]))}{more})"
    if warning.detail:
        told += f"{' :' if french else ':'} {one_line(warning.detail)}"
    return told
