"""Scans of drawn pages: grey pictures at a resolution, clean, or with blur, noise and a slight turn."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pypdfium2
from PIL import Image, ImageFilter

from eval.reading.truth import Document

RESOLUTIONS = (150, 200, 300)
_NOISE = 10.0
_SKEW_DEGREES = 0.7
_BLUR_INCHES = 0.003


def scan(folder: Path, document: Document, *, resolution: int, noisy: bool) -> Document:
    """Write a document's pages as pictures without text; return what stands in them."""
    source = pypdfium2.PdfDocument(folder / document.name)
    try:
        pictures = [page.render(scale=resolution / 72).to_pil().convert("L") for page in source]
    finally:
        source.close()
    if noisy:
        pictures = [_worn(picture, f"{document.name} {resolution}", resolution) for picture in pictures]
    name = f"scan-{resolution}-{'noisy' if noisy else 'clean'}-{document.name}"
    pictures[0].save(
        folder / name, "PDF", resolution=resolution, save_all=True, append_images=pictures[1:], quality=80
    )
    return replace(document, name=name, resolution=resolution, noisy=noisy)


def _worn(picture: Image.Image, seed: str, resolution: int) -> Image.Image:
    chance = random.Random(seed)
    skew = chance.uniform(-_SKEW_DEGREES, _SKEW_DEGREES)
    picture = picture.rotate(skew, resample=Image.Resampling.BICUBIC, fillcolor=255)
    grey = np.asarray(picture.filter(ImageFilter.GaussianBlur(_BLUR_INCHES * resolution)), dtype=float)
    grey = grey + np.random.default_rng(chance.randrange(1 << 30)).normal(0, _NOISE, grey.shape)
    return Image.fromarray(grey.clip(0, 255).astype(np.uint8))
