"""Pairs of a window and a sentence, with what the window says of it: told from how each was made.

A sentence is changed on either side, in the sentence and in the window, so that neither the words of a change nor the
form of a sentence tell the label: only the two together do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from sourcier.models.train.changes import affirmed, denied, falsified, limited, reworded
from sourcier.models.train.sources import SENTENCE_WORDS, WINDOW_CHARACTERS_MAX, Sources, Text

SUPPORTED, NOT_TOLD, CONTRADICTED, NOT_CONTRADICTED = 0, 1, 2, 3
"""The last is known of some pairs that people wrote: either of the first two."""

LABELS = {
    "supported": SUPPORTED, "entailment": SUPPORTED, "neutral": NOT_TOLD, "contradiction": CONTRADICTED,
    "compatible": NOT_CONTRADICTED,
}
SIBLINGS = {"sibling-figure": CONTRADICTED, "sibling-frame": CONTRADICTED, "sibling-other": NOT_TOLD}


@dataclass(frozen=True)
class Pair:
    """What the reader reads, and what it should say."""

    window: str
    question: str
    sentence: str
    label: int
    kind: str


class Pairs:
    """Makes pairs without end, the same ones for the same sources and seed."""

    def __init__(self, sources: Sources, random: Random) -> None:
        """Weigh the texts by how many sentences they have, up to ten."""
        self._random = random
        self._texts = [text for text in sources.texts if any(_is_whole(each) for each in text.sentences)]
        self._weights = [min(len(text.sentences), 10) for text in self._texts]
        self._asked = [text for text in sources.texts if text.asked]
        self._written = sources.pairs
        self._makers: Sequence[tuple[Callable[[], Pair | None], float]] = (
            *((partial(self._of_a_sentence, maker), weight) for maker, weight in (
                (self._told, 25), (self._false, 23), (self._false_window, 10), (self._both_changed, 9),
                (self._elsewhere, 8), (self._added, 7), (self._yes_or_no, 5),
            )),
            (self._answer, 9), (self._person_wrote, 10),
        )

    def __iter__(self) -> Iterator[Pair]:
        """Give one pair after the other."""
        makers, weights = [maker for maker, _ in self._makers], [weight for _, weight in self._makers]
        while True:
            pair = self._random.choices(makers, weights)[0]()
            if pair is not None:
                yield pair

    def _of_a_sentence(self, make: Callable[[Text, int], Pair | None]) -> Pair | None:
        """Return what is made of a sentence that is drawn."""
        drawn = self._drawn()
        return None if drawn is None else make(*drawn)

    def _drawn(self) -> tuple[Text, int] | None:
        """Return a text and the place of a whole sentence in it."""
        text = self._random.choices(self._texts, self._weights)[0]
        place = self._random.randrange(len(text.sentences))
        return (text, place) if _is_whole(text.sentences[place]) else None

    def _window(self, text: Text, place: int, *, instead: str | None = None) -> str:
        """Return a sentence among up to three neighbours, or another one in its place."""
        sentences = list(text.sentences)
        if instead is not None:
            sentences[place] = instead
        before = self._random.choice((0, 0, 0, 1, 1, 2))
        after = self._random.choice((0, 0, 0, 1, 1, 2))
        start, end = max(0, place - before), place + 1 + after
        while sum(map(len, sentences[start:end])) > WINDOW_CHARACTERS_MAX and end - start > 1:
            if start < place:
                start += 1
            else:
                end -= 1
        title = f"{text.title}\n" if text.title and self._random.random() < 0.25 else ""
        return title + " ".join(sentences[start:end])

    def _question(self, text: Text) -> str:
        """Return a question of the text, any: most often none."""
        if text.asked and self._random.random() < 0.4:
            return self._random.choice(text.asked)[0]
        return f"{text.title} ?" if text.title and self._random.random() < 0.15 else ""

    def _maybe_reworded(self, sentence: str, share: float = 0.7) -> str:
        return reworded(sentence, self._random) if self._random.random() < share else sentence

    def _told(self, text: Text, place: int) -> Pair | None:
        sentence = self._maybe_reworded(text.sentences[place], 0.8)
        if self._random.random() < 0.15 and place + 1 < len(text.sentences) and _is_whole(text.sentences[place + 1]):
            joined = f"{sentence.rstrip('. ')}, et {_lowered(text.sentences[place + 1])}"
            window = f"{text.sentences[place]} {text.sentences[place + 1]}"
            return Pair(window, self._question(text), joined, SUPPORTED, "joined")
        return Pair(self._window(text, place), self._question(text), sentence, SUPPORTED, "told")

    def _false(self, text: Text, place: int) -> Pair | None:
        window = self._window(text, place)
        changed = falsified(self._maybe_reworded(text.sentences[place], 0.5), window, self._random)
        if changed is None:
            return None
        return Pair(window, self._question(text), changed[0], CONTRADICTED, changed[1])

    def _false_window(self, text: Text, place: int) -> Pair | None:
        changed = self._window_changed(text, place)
        if changed is None:
            return None
        window, _, rule = changed
        sentence = self._maybe_reworded(text.sentences[place], 0.5)
        return Pair(window, self._question(text), sentence, CONTRADICTED, f"window {rule}")

    def _both_changed(self, text: Text, place: int) -> Pair | None:
        changed = self._window_changed(text, place)
        if changed is None:
            return None
        window, sentence, rule = changed
        return Pair(window, self._question(text), self._maybe_reworded(sentence), SUPPORTED, f"both {rule}")

    def _window_changed(self, text: Text, place: int) -> tuple[str, str, str] | None:
        """Return a window in which a sentence was made false, that sentence as it stands there, and the rule."""
        changed = falsified(text.sentences[place], _around(text, place), self._random)
        return None if changed is None else (self._window(text, place, instead=changed[0]), *changed)

    def _elsewhere(self, text: Text, place: int) -> Pair | None:
        """Make a pair whose sentence stands in another place of the text, or in another text."""
        other = self._drawn()
        if other is None:
            return None
        far = [at for at in range(len(text.sentences)) if abs(at - place) > 2 and len(text.sentences[at]) > 30]
        if far and self._random.random() < 0.7:
            window = self._window(text, self._random.choice(far))
        else:
            window = self._window(*other)
        if text.sentences[place] in window:
            return None
        return Pair(window, self._question(text), self._maybe_reworded(text.sentences[place]), NOT_TOLD, "elsewhere")

    def _added(self, text: Text, place: int) -> Pair | None:
        """Make a pair that differs in an exception, a condition, a place: on either side, or on both."""
        sentence = text.sentences[place]
        with_limit = limited(sentence, self._random)
        side = self._random.random()
        if side < 0.45:
            said = self._maybe_reworded(with_limit)
            return Pair(self._window(text, place), self._question(text), said, NOT_TOLD, "added")
        window = self._window(text, place, instead=with_limit)
        if side < 0.7:
            return Pair(window, self._question(text), self._maybe_reworded(sentence), NOT_TOLD, "condition left out")
        return Pair(window, self._question(text), self._maybe_reworded(with_limit), SUPPORTED, "condition kept")

    def _answer(self) -> Pair | None:
        """Make a pair from a question that people asked of a text: the answer, another of it, or none there."""
        text = self._random.choice(self._asked)
        question, answer = self._random.choice(text.asked)
        place = next((at for at, sentence in enumerate(text.sentences) if answer in sentence), None)
        if place is None:
            return None
        wrong = [each for _, each in text.asked if each not in answer and answer not in each]
        alone = self._random.random() < 0.5
        asked = question if alone or self._random.random() < 0.5 else ""

        def form(said: str) -> str:
            return said if alone else f"{question.rstrip(' ?')} : {said}."

        kind = self._random.random()
        if kind < 0.4:
            return Pair(self._window(text, place), asked, form(answer), SUPPORTED, "answer")
        if kind < 0.65 and wrong:
            said = self._random.choice(wrong)
            window = self._window(text, place)
            return Pair(window, asked, form(said), CONTRADICTED if said in window else NOT_TOLD, "other answer")
        if kind < 0.8 and wrong:
            other = self._random.choice(wrong)
            changed = text.sentences[place].replace(answer, other)
            return Pair(self._window(text, place, instead=changed), asked, form(answer), CONTRADICTED, "answer changed")
        far = [at for at in range(len(text.sentences)) if abs(at - place) > 2]
        if not far:
            return None
        window = self._window(text, self._random.choice(far))
        return Pair(window, asked, form(answer), NOT_TOLD, "answer elsewhere") if answer not in window else None

    def _person_wrote(self) -> Pair | None:
        row = self._random.choice(self._written)
        label = SIBLINGS.get(row.get("kind", ""), LABELS.get(row["label"], NOT_TOLD))
        question = row.get("question", "") if self._random.random() < 0.5 else ""
        window = row["premise"][:WINDOW_CHARACTERS_MAX]
        return Pair(window, question, row["hypothesis"], label, row.get("kind", "written"))

    def _yes_or_no(self, text: Text, place: int) -> Pair | None:
        """Make a pair whose sentence is yes or no to a question made of a sentence that the window tells or denies."""
        sentence = text.sentences[place]
        opposite = denied(sentence, "", self._random) or affirmed(sentence, "", self._random)
        if opposite is None or len(sentence) > 180:
            return None
        window_says, question_says = self._random.random() < 0.5, self._random.random() < 0.5
        window = self._window(text, place, instead=None if window_says else opposite)
        asked = f"Est-ce {_that(sentence if question_says else opposite)} ?"
        says_yes = self._random.random() < 0.5
        right = says_yes == (window_says == question_says)
        said = "Oui." if says_yes else "Non."
        if self._random.random() < 0.4:
            told = (sentence if question_says else opposite) if says_yes else (opposite if question_says else sentence)
            said = f"{said[:-1]}, {_lowered(told)}"
        return Pair(window, asked, said, SUPPORTED if right else CONTRADICTED, "yes or no")


def _is_whole(sentence: str) -> bool:
    return len(sentence.split()) in SENTENCE_WORDS and sentence[0].isupper() and sentence[-1] in ".!?;"


def _around(text: Text, place: int) -> str:
    """Return a sentence with two before and two after it."""
    return " ".join(text.sentences[max(0, place - 2) : place + 3])


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _that(sentence: str) -> str:
    text = _lowered(sentence).rstrip(" .;!?")
    return f"qu'{text}" if text[0] in "aeiouéèêàh" else f"que {text}"
