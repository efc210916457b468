"""Questions with an acronym where the passage has the long form, or the other way round, and documents for them."""

from __future__ import annotations

from pathlib import Path

from eval.sets.datasets import Dataset, Passage, Question
from eval.sets.json_lines import read_rows
from sourcier.services.index.acronyms.asking import Asked, Expansion, Meaning, expansions
from sourcier.services.index.acronyms.forms import head_of
from sourcier.services.index.acronyms.storing import columns, spelled_out

ROWS = Path(__file__).parents[1] / "data" / "acronyms.jsonl"


def acronym_set(half: str = "") -> Dataset:
    """Return all documents with the questions of one half, or of both; documents of a half answer it alone."""
    rows = list(read_rows(ROWS))
    passages = [Passage(row["document"], row["title"], " ".join(row["texts"])) for row in rows
                if row["kind"] == "document"]
    questions = [
        Question(f"acronym-{number}", row["text"], dict.fromkeys(row["relevant"], 1))
        for number, row in enumerate(rows) if row["kind"] == "question" and half in ("", row["part"])
    ]
    return Dataset("acronyms" + (f"-{half}" if half else ""), tuple(passages), tuple(questions))


class SpelledOut:
    """What the passages of a set spell out, looked up as the index does; each passage is a document."""

    def __init__(self, dataset: Dataset) -> None:
        """Read all passages, some milliseconds each."""
        said: dict[tuple[str, str], list[tuple[str, str, bool]]] = {}
        for passage in dataset.passages:
            values = columns(spelled_out(passage.title, [((), passage.text)]), title=passage.title)
            rows = zip(values["short_keys"], values["long_keys"], values["shorts"], values["longs"],
                       values["spelled"], strict=True)
            for short_key, long_key, short, long, spelled in rows:
                if long_key:
                    said.setdefault((short_key, long_key), []).append((short, long, spelled))
        self._by_short: dict[str, list[tuple[str, Meaning]]] = {}
        self._by_head: dict[str, list[tuple[str, Meaning]]] = {}
        for (short_key, long_key), all_said in said.items():
            short, long, _ = max(all_said, key=lambda each: each[2])
            meaning = Meaning(short, long, len(all_said), any(each[2] for each in all_said))
            self._by_short.setdefault(short_key, []).append((long_key, meaning))
            self._by_head.setdefault(head_of(tuple(long_key.split(" "))), []).append((long_key, meaning))

    @property
    def size(self) -> int:
        """Return the number of acronyms."""
        return len(self._by_short)

    def of(self, question: str) -> tuple[Expansion, ...]:
        """Return what a question's acronyms and long forms are taken for."""
        asked = Asked.of(question)
        found = [(True, key, meaning) for short in asked.shorts for key, meaning in self._by_short.get(short, ())]
        found += [(False, key, meaning) for head in asked.heads for key, meaning in self._by_head.get(head, ())]
        return expansions(asked, found)
