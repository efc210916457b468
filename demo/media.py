"""What of the handbook is no text: a printed page as a scanner gives it, a diagram, a voice memo."""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from datetime import datetime
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SCAN_DPI = 200
SCAN_TILT_DEGREES = 0.7
SCAN_NOISE = 5.0
"""Standard deviation of a grey value, of 255."""
CHART_PIXELS = (1120, 560)
SPEECH_RATE = 16_000
SPEECH_BITS_PER_SECOND = 16_000
PAUSE_SECONDS = 3.0


def scanned(printed: bytes, *, at: datetime) -> bytes:
    """Return a PDF of pictures of the pages of `printed`: in grey, laid a little askew, with a scanner's grain."""
    import numpy as np
    import pypdfium2
    from PIL import Image

    grain = np.random.default_rng(14)
    pages = []
    with pypdfium2.PdfDocument(printed) as document:
        for page in document:
            paper = page.render(scale=SCAN_DPI / 72, grayscale=True).to_pil().convert("L")
            laid = paper.rotate(SCAN_TILT_DEGREES, Image.Resampling.BICUBIC, fillcolor=255)
            grey = np.asarray(laid, np.float32) * 0.93 + 8
            # The grain of whole patches, not of pixels: as paper has it, and JPEG can hold it in few bytes.
            coarse = grain.normal(0, SCAN_NOISE, (grey.shape[0] // 8 + 1, grey.shape[1] // 8 + 1))
            grey += np.kron(coarse, np.ones((8, 8)))[: grey.shape[0], : grey.shape[1]]
            pages.append(Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8)))
    output = io.BytesIO()
    pages[0].save(
        output, "PDF", save_all=True, append_images=pages[1:], resolution=SCAN_DPI, quality=40, producer="",
        creationDate=at.timetuple(), modDate=at.timetuple(),
    )
    return output.getvalue()


def chart(title: str, bars: tuple[tuple[str, ...], ...]) -> bytes:
    """Draw a diagram of lying bars as PNG; each bar is a name and a figure with its unit, written at its ends."""
    import pypdfium2
    from reportlab.lib import colors  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-not-found, import-untyped, unused-ignore]

    width, height = (pixels / 2 for pixels in CHART_PIXELS)
    drawn = io.BytesIO()
    canvas = Canvas(drawn, pagesize=(width, height), invariant=1)
    canvas.setFont("Helvetica-Bold", 16)
    canvas.drawString(16, height - 30, title)
    figures = [float(figure.replace("\u00a0", " ").split()[0].replace(",", ".")) for _, figure in bars]
    step = (height - 60) / len(bars)
    canvas.setFont("Helvetica", 14)
    for number, ((name, figure), value) in enumerate(zip(bars, figures, strict=True)):
        low = height - 52 - step * (number + 0.75)
        long = (width - 220) * value / max(figures)
        canvas.setFillColor(colors.HexColor("#274b63"))
        canvas.rect(92, low, long, step / 2, stroke=0, fill=1)
        canvas.setFillColor(colors.black)
        canvas.drawString(16, low + step / 4 - 5, name)
        canvas.drawString(100 + long, low + step / 4 - 5, figure)
    canvas.save()
    output = io.BytesIO()
    with pypdfium2.PdfDocument(drawn.getvalue()) as document:
        document[0].render(scale=2).to_pil().convert("P", colors=32).save(output, "PNG", optimize=True)
    return output.getvalue()


def can_speak() -> bool:
    """Tell whether a voice and an encoder are installed."""
    return shutil.which("pico2wave") is not None and find_spec("av") is not None


def spoken(text: str) -> bytes:
    """Return the text said in French, a pause between its paragraphs, as Opus in OGG."""
    import av
    import numpy as np

    silence = np.zeros(int(PAUSE_SECONDS * SPEECH_RATE), np.int16)
    said = [part for paragraph in text.strip().split("\n\n") for part in (_said(paragraph), silence)]
    output = io.BytesIO()
    with av.open(output, "w", format="ogg") as container:
        stream = container.add_stream("libopus", rate=SPEECH_RATE, layout="mono")
        stream.bit_rate = SPEECH_BITS_PER_SECOND
        frame = av.AudioFrame.from_ndarray(np.concatenate(said)[np.newaxis], format="s16", layout="mono")
        frame.sample_rate, frame.time_base, frame.pts = SPEECH_RATE, Fraction(1, SPEECH_RATE), 0
        for each in (frame, None):
            container.mux(stream.encode(each))
    return output.getvalue()


def _said(paragraph: str) -> np.ndarray:
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "said.wav"
        subprocess.run(("pico2wave", "-l", "fr-FR", "-w", str(file), " ".join(paragraph.split())), check=True)
        # pico2wave's header has 44 bytes, and it speaks at 16 kHz in one channel.
        return np.frombuffer(file.read_bytes()[44:], "<i2")
