"""Formulas of OpenDocument files, written as a line of text."""

from __future__ import annotations

import pytest
from lxml import etree

from sourcier.services.ingest.parsing.opendocument.objects import formula_text

MATH = "http://www.w3.org/1998/Math/MathML"


@pytest.mark.parametrize(("written", "read"), [
    ("<msup><mi>x</mi><mn>2</mn></msup>", "x²"),
    ("<msub><mi>x</mi><mn>1</mn></msub>", "x₁"),
    ("<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x₁²"),
    ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac>", "(a+b)/c"),
    ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", "√(x+1)"),
    ("<mroot><mi>x</mi><mn>3</mn></mroot>", "³√(x)"),
    ("<mrow><mi>a</mi><mo>=</mo><mn>3</mn></mrow>", "a=3"),
    # What lacks a part is read on as what it holds.
    ("<msup><mi>x</mi></msup>", "x"), ("<mfrac><mi>x</mi></mfrac>", "x"), ("<mroot><mi>x</mi></mroot>", "x"),
    ("<msubsup><mi>x</mi><mn>1</mn></msubsup>", "x1"),
])
def test_a_formula_reads_as_a_line(written: str, read: str) -> None:
    element = etree.fromstring(f'<math xmlns="{MATH}">{written}</math>')
    assert formula_text(element) == read
