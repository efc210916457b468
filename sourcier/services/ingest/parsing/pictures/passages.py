"""From what was read of a picture to its passage, or to the warning that there is none."""

from __future__ import annotations

from sourcier.services.ingest.parsing.office.archives import PICTURE_ENDINGS
from sourcier.services.ingest.parsing.pictures.results import PictureResult
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode

_ALTERNATIVE_CHARACTERS_MAX = 1_000
_SUFFIXES = (*PICTURE_ENDINGS, ".svg")


def picture_text(result: PictureResult, *, number: int, page: int = 0, alternative: str = "") -> str:
    """Return the passage of a picture, led by its number and page; nothing where nobody said anything of it.

    `alternative` is the text that its author gave it for people who do not see it.
    """
    alternative = " ".join(alternative.split())[:_ALTERNATIVE_CHARACTERS_MAX]
    told = [alternative] if alternative not in result.text and not _is_made_up(alternative) else []
    if result.description.text:
        told.append(f"Description : {result.description.text}")
    if result.text:
        told.append(f"Texte : {result.text}" if told else result.text)
    if not told:
        return ""
    return f"[Image {number}{f', page {page}' if page else ''}] " + "\n".join(told)


def _is_made_up(alternative: str) -> bool:
    """Tell what programs write where nobody wrote a text: a file's name, `Picture`, `Image 3`."""
    words = alternative.split()
    numbered = len(words) == 2 and words[1].isdigit() and len(words[1]) < 4
    return len(words) < 2 or numbered or alternative.lower().endswith(_SUFFIXES)


def warn(result: PictureResult, warnings: ReadingWarnings, *, text: str, place: str) -> None:
    """Tell what could not be read of a picture, or that it has no passage."""
    places = [place] if place else []
    if result.error:
        warnings.add(WarningCode.PICTURES_NOT_READ, places=places, detail=result.error)
    elif not text and not result.description.decorative:
        warnings.add(WarningCode.PICTURES, places=places)
    if result.description.error:
        warnings.add(WarningCode.DESCRIPTIONS_FAILED, places=places, detail=result.description.error)
