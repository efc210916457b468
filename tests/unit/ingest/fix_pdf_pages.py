"""Small PDFs written by hand: text anywhere, rules, fills, pictures, form fields and annotations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from PIL import Image

WIDTH, HEIGHT = 595, 842
_FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Times-Roman"}


class PageMaker:
    """Collects a page's content; lengths in points from the upper left corner, `y` the baseline of text."""

    def __init__(self, *, rotate: int = 0) -> None:
        """Begin an empty page, shown turned by `rotate` degrees."""
        self.rotate = rotate
        self._content: list[str] = []
        self.annotations: list[str] = []
        self.fields = 0

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 10,
        bold: bool = False,
        colour: str = "0 0 0",
        mode: int = 0,
        turn: str = "1 0 0 1",
        spacing: float = 0,
    ) -> PageMaker:
        """Write a text; `turn` is the first part of its matrix, `mode` how it is drawn: 3 is not at all."""
        font = "F2" if bold else "F1"
        self._content.append(
            f"BT {colour} rg /{font} {size} Tf {spacing} Tc {mode} Tr {turn} {x} {HEIGHT - y} Tm "
            f"({_escaped(text)}) Tj ET"
        )
        return self

    def lines(self, x: float, y: float, lines: Iterable[str], *, step: float = 13, size: float = 10) -> PageMaker:
        """Write lines one below the other."""
        for number, line in enumerate(lines):
            self.text(x, y + number * step, line, size=size)
        return self

    def rule(self, x0: float, y0: float, x1: float, y1: float) -> PageMaker:
        """Draw a line."""
        self._content.append(f"0.5 w {x0} {HEIGHT - y0} m {x1} {HEIGHT - y1} l S")
        return self

    def broad(self, x0: float, y0: float, x1: float, y1: float, *, width: float, colour: str) -> PageMaker:
        """Draw a broad line."""
        self._content.append(f"{colour} RG {width} w {x0} {HEIGHT - y0} m {x1} {HEIGHT - y1} l S")
        return self

    def fill(self, x0: float, y0: float, x1: float, y1: float, colour: str) -> PageMaker:
        """Fill a box."""
        self._content.append(f"{colour} rg {x0} {HEIGHT - y1} {x1 - x0} {y1 - y0} re f")
        return self

    def frame(self, x0: float, y0: float, x1: float, y1: float, colour: str) -> PageMaker:
        """Fill the stripe between a box and one that is a point smaller on each side."""
        boxes = " ".join(f"{x0 + by} {HEIGHT - y1 + by} {x1 - x0 - 2 * by} {y1 - y0 - 2 * by} re" for by in (0, 1))
        self._content.append(f"{colour} rg {boxes} f*")
        return self

    def picture(self, x0: float, y0: float, x1: float, y1: float) -> PageMaker:
        """Draw a grey picture of one pixel."""
        self._content.append(f"q {x1 - x0} 0 0 {y1 - y0} {x0} {HEIGHT - y1} cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x80 EI Q")
        return self

    def image(self, x0: float, y0: float, x1: float, y1: float, drawn: Image.Image) -> PageMaker:
        """Draw a picture, in grey."""
        grey = drawn.convert("L")
        self._content.append(
            f"q {x1 - x0} 0 0 {y1 - y0} {x0} {HEIGHT - y1} cm BI /W {grey.width} /H {grey.height} /CS /G /BPC 8 "
            f"/F /AHx ID {grey.tobytes().hex()}> EI Q"
        )
        return self

    def grid(self, xs: Sequence[float], ys: Sequence[float]) -> PageMaker:
        """Draw all lines of a table."""
        for x in xs:
            self.rule(x, ys[0], x, ys[-1])
        for y in ys:
            self.rule(xs[0], y, xs[-1], y)
        return self

    def field(self, x0: float, y0: float, x1: float, y1: float, value: str) -> PageMaker:
        """Add a text field with a value."""
        self._widget(x0, y0, x1, y1, f"/FT/Tx/V({_escaped(value)})")
        return self

    def choice(
        self, x0: float, y0: float, x1: float, y1: float, options: Sequence[tuple[str, str]], key: str
    ) -> PageMaker:
        """Add a list to choose from, of keys and what is shown for them."""
        written = "".join(f"[({_escaped(each)})({_escaped(label)})]" for each, label in options)
        self._widget(x0, y0, x1, y1, f"/FT/Ch/Ff 131072/Opt[{written}]/V({_escaped(key)})")
        return self

    def box(self, x: float, y: float, *, ticked: bool) -> PageMaker:
        """Add a box to tick, ten points wide, whose lower edge is `y`."""
        state = "/Yes" if ticked else "/Off"
        appearance = "/AP<</N<</Yes 3 0 R/Off 3 0 R>>>>"
        self._widget(x, y - 10, x + 10, y, f"/FT/Btn/V{state}/AS{state}{appearance}")
        return self

    def annotation(self, kind: str, x0: float, y0: float, x1: float, y1: float, contents: str) -> PageMaker:
        """Add an annotation."""
        box = f"[{x0} {HEIGHT - y1} {x1} {HEIGHT - y0}]"
        self.annotations.append(f"<</Type/Annot/Subtype/{kind}/Rect{box}/F 4/Contents({_escaped(contents)})>>")
        return self

    @property
    def content(self) -> bytes:
        """The page's content stream."""
        return "\n".join(self._content).encode("cp1252", "replace")

    def _widget(self, x0: float, y0: float, x1: float, y1: float, entries: str) -> None:
        self.fields += 1
        box = f"[{x0} {HEIGHT - y1} {x1} {HEIGHT - y0}]"
        self.annotations.append(f"<</Type/Annot/Subtype/Widget/Rect{box}/F 4/T(f{id(self)}{self.fields}){entries}>>")


def write_pdf(path: Path, pages: Sequence[PageMaker]) -> Path:
    """Write the pages as a file."""
    objects: list[bytes] = [b"", b"", b"<</Type/XObject/Subtype/Form/BBox[0 0 10 10]/Length 0>>stream\n\nendstream"]
    fonts = []
    for name, base in _FONTS.items():
        objects.append(f"<</Type/Font/Subtype/Type1/BaseFont/{base}/Encoding/WinAnsiEncoding>>".encode())
        fonts.append(f"/{name} {len(objects)} 0 R")
    kids: list[str] = []
    fields: list[str] = []
    for page in pages:
        annotations = []
        for annotation in page.annotations:
            objects.append(annotation.encode("cp1252", "replace"))
            annotations.append(f"{len(objects)} 0 R")
            fields.extend([annotations[-1]] if "/Widget" in annotation else [])
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(page.content), page.content))
        content = len(objects)
        objects.append(
            (
                f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {WIDTH} {HEIGHT}]/Rotate {page.rotate}/Contents {content} 0 R"
                f"/Resources<</Font<<{''.join(fonts)}>>>>/Annots[{' '.join(annotations)}]>>"
            ).encode()
        )
        kids.append(f"{len(objects)} 0 R")
    objects[0] = f"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[{' '.join(fields)}]>>>>".encode()
    objects[1] = f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>".encode()
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % (number, each) for number, each in enumerate(objects, 1))
    path.write_bytes(
        b"%PDF-1.7\n" + body + b"trailer<</Root 1 0 R/Size " + str(len(objects) + 1).encode() + b">>\n%%EOF"
    )
    return path


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
