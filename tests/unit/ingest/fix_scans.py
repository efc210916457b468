"""Scans: pages with text drawn by PDFium, as pictures, with noise and askew where a test says so."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pypdfium2
from PIL import Image, ImageFilter

from tests.unit.ingest.fix_pdf_pages import PageMaker, write_pdf

NOTICE = (
    "Le règlement intérieur fixe les mesures d'application en matière de santé.",
    "Chaque salarié reçoit, dès son arrivée, un badge personnel ; la perte de",
    "celui-ci est déclarée sous 48 heures à l'accueil. Le budget 2025 s'élève à",
    "12 450,75 €, soit 1,2 % de la masse salariale. Où déposer une demande ?",
    "À l'agence de Nîmes, 14 bis rue de l'Écluse, avant le 1er février. Noël et",
    "Pâques ne sont pas récupérés. La manœuvre d'évacuation a lieu deux fois.",
)


def notice(lines: Sequence[str] = NOTICE, *, title: str = "Règlement intérieur", size: float = 11) -> PageMaker:
    """Return a page with a title and lines of text."""
    return PageMaker().text(60, 70, title, size=18, bold=True).lines(60, 110, lines, step=size * 1.4, size=size)


def scanned(
    page: PageMaker, folder: Path, *, resolution: int = 200, noise: float = 0.0, turns: int = 0, skew: float = 0.0,
    height: float = 1.0,
) -> Image.Image:
    """Return a page as a scanner does: grey, turned by quarters clockwise, askew by degrees, the upper part alone."""
    document = pypdfium2.PdfDocument(write_pdf(folder / "drawn.pdf", [page]))
    try:
        picture = document[0].render(scale=resolution / 72).to_pil().convert("L")
    finally:
        document.close()
    picture = picture.crop((0, 0, picture.width, round(picture.height * height)))
    if skew:
        picture = picture.rotate(skew, resample=Image.Resampling.BICUBIC, fillcolor=255)
    if noise:
        grey = np.asarray(picture.filter(ImageFilter.GaussianBlur(0.6)), dtype=float)
        grey = grey + np.random.default_rng(1).normal(0, noise, grey.shape)
        picture = Image.fromarray(grey.clip(0, 255).astype(np.uint8))
    turned: Image.Image = picture.rotate(-90 * turns, expand=True)
    return turned


def picture_file(path: Path, picture: Image.Image, *, resolution: int = 200, **options: object) -> Path:
    """Save a picture; its name tells the format."""
    picture.save(path, dpi=(resolution, resolution), **options)  # type: ignore[arg-type]
    return path


def scan_pdf(path: Path, pictures: Sequence[Image.Image], *, resolution: int = 200) -> Path:
    """Save pictures as a PDF without text, a page for each."""
    pictures[0].save(path, "PDF", resolution=resolution, save_all=True, append_images=list(pictures[1:]))
    return path


def as_bytes(picture: Image.Image, kind: str = "PNG") -> bytes:
    """Return a picture as a file's content."""
    buffer = io.BytesIO()
    picture.save(buffer, kind, dpi=(200, 200))
    return buffer.getvalue()
