"""Texts of the project's own: real French, as many as are asked for, all different, the same each time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from eval import own_texts
from eval.own_texts import SHEET_CHARACTERS
from sourcier.services.index.language.recognition import recognise


def test_passages_begin_with_the_handbook_and_go_on_without_end() -> None:
    passages = own_texts.passages(1_000)
    sections = own_texts.sections()
    assert len(sections) > 40
    assert passages[: len(sections)] == [section.text for section in sections]
    assert len(set(passages)) == len(passages)
    assert own_texts.passages(100) == passages[:100], "more of them are the same and others"
    assert sum(recognise(text) == "fr" for text in passages) >= 0.98 * len(passages)


def test_recombined_passages_bring_new_words_as_real_text_does() -> None:
    seen, grown = set[str](), []
    passages = own_texts.passages(1_000)[200:]
    for start in range(0, len(passages), 200):
        words = {word for text in passages[start : start + 200] for word in text.split()}
        grown.append(len(words - seen))
        seen |= words
    assert min(grown[1:]) > 100


def test_no_mark_of_the_source_is_left() -> None:
    text = "\n".join([*own_texts.passages(100), *(text for _, text in own_texts.sheets(3))])
    assert not {"**", "<!--", "# ", "|", "\n- "} & {mark for mark in ("**", "<!--", "# ", "|", "\n- ") if mark in text}


def test_questions_are_all_different_and_first_as_people_ask_them() -> None:
    asked = own_texts.questions(500)
    assert len(set(asked)) == 500
    assert not any(text.endswith(")") for text in asked[:80])


def test_sheets_are_text_files_of_very_different_lengths(tmp_path: Path) -> None:
    written = own_texts.write_sheets(tmp_path)
    texts = [path.read_text("utf-8") for path in written]
    assert written == sorted(written)
    assert len(set(texts)) == len(texts) == own_texts.SHEETS
    assert texts == [text for _, text in own_texts.sheets()], "the same each time"
    lengths = sorted(map(len, texts))
    assert lengths[0] >= SHEET_CHARACTERS[0]
    assert lengths[-1] > 4 * lengths[len(lengths) // 2]


def test_the_documentation_is_prose_in_english() -> None:
    languages = Counter(map(recognise, own_texts.english()))
    assert languages["en"] > 50
    assert languages["en"] >= 0.95 * languages.total()
