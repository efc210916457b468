"""Where a model's answer ends because the model goes on to write another turn: a question of its own, and its answer.

A turn is told by how chats and our prompts begin one: a token of a chat template, or a label such as « Question : »
where a sentence begins, behind a finished text. A line that a passage holds word for word is a quotation and stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sourcier.services.gateway.phrases import ENGLISH, FRENCH
from sourcier.services.gateway.retrieval.shared_runs import words_of
from sourcier.services.index.search.passages import Passage

TOLD_CHARACTERS_MAX = 80
"""Of the turn that is left out: so much tells a person what it was."""
QUESTION_CHARACTERS_MAX = 400
"""Of a question that a model repeats before it answers; a longer text is an answer."""
QUOTED_CHARACTERS_MIN = 4
"""Behind its label, a line has at least so many letters and digits that a passage can hold."""
ORNAMENTS = r"\s>*_#=~•–—-"
"""What models put around a label, and between turns."""

_OWN = (FRENCH, ENGLISH)
_ASKING = (
    *(label.rstrip(" :") for each in _OWN for label in (each.question, each.user)),
    "Nouvelle question", "Autre question", "Question suivante", "Question de l'utilisateur", "Utilisatrice", "Humain",
    "New question", "Next question", "Follow-up question", "User question", "Human", "Q",
)
_ANSWERING = tuple(each.assistant.rstrip(" :") for each in _OWN)
_ANSWERS = (*_ANSWERING, *(each.answer.rstrip(" :") for each in _OWN), "Response", "A", "R")
"""Labels of an answer: an answer may have one of its own, so that only « Assistant : » begins a turn."""


def _any_of(names: Sequence[str]) -> str:
    written = dict.fromkeys(form for name in names for form in (name, name.upper()))
    return "|".join(sorted(map(re.escape, written), key=len, reverse=True))


# « **Question 2** : », « ### Assistant : », « **User:** »; « Q2 : » is a quarter.
_BEHIND = r"(?:(?<!\bQ)[ \u00a0]?\d{1,2})?[*_]{0,3}[ \u00a0\u202f]?"
_COLON = r"[:：][*_]{0,3}"
_CONTROL = (
    r"<\|[^<>|\n]{1,60}\|>|</?(?:s|bos|eos|start_of_turn|end_of_turn)>|\[/?(?:INST|SYSTEM_PROMPT)\]|<</?SYS>>"
)
_SIGN = re.compile(
    rf"(?P<token>{_CONTROL})|(?<!\w)(?:(?P<asking>{_any_of(_ASKING)})|(?P<answering>{_any_of(_ANSWERING)})){_BEHIND}{_COLON}"
)
_ANSWER = re.compile(rf"(?:{_any_of(_ANSWERS)}){_BEHIND}{_COLON}")
_ROLE = re.compile(rf"(?:(?:assistant|model)\b|{_CONTROL}|\s)*")
"""What may stand behind the first token of a text: the header of the model's own turn."""
_OPEN_TOKEN = re.compile(
    r"(?:<(?:\|[^<>|\n]{0,60}\|?|/?[a-z_]{0,14}|</?(?:S(?:Y(?:S>?)?)?)?)|\[/?[A-Z_]{0,14})\Z"
)
_OPEN_LABEL = re.compile(rf"(?:{_any_of((*_ASKING, *_ANSWERS))}){_BEHIND}\Z")
_LABEL_BEGINNINGS = frozenset(
    name[:length] for each in (*_ASKING, *_ANSWERS) for name in (each, each.upper()) for length in range(1, len(name))
)
_LABEL_CHARACTERS_MAX = max(map(len, _LABEL_BEGINNINGS)) + 12
_WORD_CHARACTER = re.compile(r"[^\W_]")
_CAPITAL = re.compile(r"(?<!\w)[A-ZÀ-Ý]")
_ORNAMENT = re.compile(rf"[{ORNAMENTS}]*")
_ORNAMENT_LINE = re.compile(r"\n[ \t]{0,20}[>*_#=~•–—-][\s>*_#=~•–—-]{0,40}\Z")
_SPACE_BEFORE = re.compile(r"\s[*_«“\"(]{0,4}\Z")
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|\n")
_LIST_NUMBER = re.compile(r"(?:\A|\n)[^\S\n]*+(?:\d{1,3}|[a-z])[.)]\Z")
_MARKER = re.compile(r"\[[^\[\]\n]{0,40}(?:\]|\Z)")
_MARKERS_BEHIND = re.compile(r"(?:\s?\[[^\[\]\n]{1,40}\]){1,10}\Z")
_CLOSING = "\"»”)*_ \u00a0\u202f"
_BEFORE_CHARACTERS = 200
"""Of the text before a sign: its last sentence ends there, or it does not."""


@dataclass(frozen=True)
class _Sign:
    """What was made of a place where a turn may begin."""

    cut: bool = False
    """Whether the answer ends before it."""
    dropped_to: int = 0
    """Up to where the text is the header of the answer itself."""
    kept_to: int = 0
    """Up to where it is the answer's own text."""


class TurnCutter:
    """Reads a model's text in pieces; gives what belongs to its answer, and nothing more once another turn begins."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Take the passages that the model was given."""
        self._passages = passages
        self._text = ""
        self._passed = 0
        self._scanned = 0
        self.left_out = ""
        """How the other turn begins; empty while there is none."""

    def feed(self, delta: str) -> str:
        """Take more text; return what is certain by now."""
        self._text += delta
        return self._certain(final=False)

    def finish(self) -> str:
        """Return what is left at the end of the text."""
        return self._certain(final=True)

    def _certain(self, *, final: bool) -> str:
        if self.left_out:
            return ""
        end = len(self._text) if final else self._open_at()
        while (found := _SIGN.search(self._text, self._scanned)) is not None:
            lead = self._lead(found.start())
            sign = self._read(found, lead, final=final)
            if sign is None:
                end = min(end, lead)
                break
            if sign.cut:
                self.left_out = " ".join(self._text[lead : lead + TOLD_CHARACTERS_MAX].split())
                end = lead
                break
            if sign.dropped_to:
                self._text, self._scanned = self._text[sign.dropped_to :].lstrip(), 0
                end = len(self._text) if final else self._open_at()
            else:
                self._scanned = sign.kept_to
        end = max(end, self._passed)
        text, self._passed = self._text[self._passed : end], end
        self._scanned = max(self._scanned, end)
        return text

    def _open_at(self) -> int:
        """Return from where on the text may still become a sign."""
        text, end = self._text, len(self._text)
        if _WORD_CHARACTER.search(text) is None:
            return 0
        tail = max(end - _LABEL_CHARACTERS_MAX, self._passed)
        token = _OPEN_TOKEN.search(text, max(end - 64, self._passed))
        starts = [token.start()] if token is not None else []
        starts += [
            found.start() for found in _CAPITAL.finditer(text, tail)
            if text[found.start() :] in _LABEL_BEGINNINGS or _OPEN_LABEL.match(text, found.start())
        ][:1]
        ornaments = _ORNAMENT_LINE.search(text, max(end - _LABEL_CHARACTERS_MAX, 0))
        return min([self._lead(start) for start in starts] + ([ornaments.start()] if ornaments else []) + [end])

    def _lead(self, start: int) -> int:
        """Return where what belongs to a sign begins: its line's ornaments, and lines above that hold nothing else."""
        text = self._text
        line = text.rfind("\n", 0, start) + 1
        if not _ORNAMENT.fullmatch(text, line, start):
            space = _SPACE_BEFORE.search(text, max(start - 5, 0), start)
            return start if space is None else space.start()
        while line > 0:
            above = text.rfind("\n", 0, line - 1) + 1
            if not _ORNAMENT.fullmatch(text, above, line - 1):
                return line - 1
            line = above
        return 0

    def _read(self, found: re.Match[str], lead: int, *, final: bool) -> _Sign | None:
        """Return what a sign is; None where that shows with more text."""
        if _WORD_CHARACTER.search(self._text, 0, lead) is None:
            return self._own_header(found, final=final)
        if found["token"]:
            return _Sign(cut=True)
        before = self._text[max(lead - _BEFORE_CHARACTERS, 0) : lead].rstrip()
        begins_line = "\n" in self._text[lead : found.start()]
        if before.endswith((":", ",", ";")) or not (begins_line or _is_finished(before)):
            return _Sign(kept_to=found.end())
        return self._unless_quoted(found, final=final)

    def _own_header(self, found: re.Match[str], *, final: bool) -> _Sign | None:
        """Read a sign at the beginning: the header of the model's own turn, or the question that it repeats."""
        if found["token"]:
            header = _ROLE.match(self._text, found.end())
            assert header is not None
            rest = self._text[header.end() :]
            decided = final or not any(role.startswith(rest) for role in ("assistant", "model"))
            return _Sign(dropped_to=header.end()) if decided else None
        if found["answering"]:
            return _Sign(dropped_to=found.end()) if final or found.end() < len(self._text) else None
        end = self._sentence_end(found)
        if end is None:
            too_long = len(self._text) - found.end() > QUESTION_CHARACTERS_MAX
            return _Sign(kept_to=found.end()) if final or too_long else None
        if not final and self._may_be_label(end):
            return None
        answer = _ANSWER.match(self._text, self._behind_ornaments(end))
        if answer is None:
            return _Sign(kept_to=end)
        return _Sign(dropped_to=answer.end()) if final or answer.end() < len(self._text) else None

    def _unless_quoted(self, found: re.Match[str], *, final: bool) -> _Sign | None:
        """Cut before a sign, unless a passage has its sentence word for word."""
        quoted = self._is_quoted(found, final=final)
        if not quoted:
            return None if quoted is None else _Sign(cut=True)
        end = self._sentence_end(found) or len(self._text)
        if found["asking"]:
            if not final and self._may_be_label(end):
                return None
            following = _SIGN.match(self._text, self._behind_ornaments(end))
            if following is not None and following["answering"]:
                # A question of the documents that is answered by the model: an invented turn, too.
                quoted = self._is_quoted(following, final=final)
                if not quoted:
                    return None if quoted is None else _Sign(cut=True)
        return _Sign(kept_to=end)

    def _is_quoted(self, found: re.Match[str], *, final: bool) -> bool | None:
        """Return whether a passage has a label's sentence word for word; None where that shows with more text."""
        end = self._sentence_end(found)
        said = _letters(self._text[found.start() : end])
        if said not in self._held:
            return False
        if end is None and not final:
            return None
        return len(said) >= len(_letters(found.group())) + QUOTED_CHARACTERS_MIN

    def _sentence_end(self, found: re.Match[str]) -> int | None:
        """Return where the sentence behind a label ends; None where it is not over. « M. » alone is no sentence."""
        for end in _SENTENCE_END.finditer(self._text, found.end()):
            letters = len(_letters(self._text[found.end() : end.end()]))
            if letters >= QUOTED_CHARACTERS_MIN or (letters and end.group() == "\n"):
                return end.end()
        return None

    def _may_be_label(self, place: int) -> bool:
        """Return whether what stands behind a place, if anything does, may become a label."""
        begins = self._behind_ornaments(place)
        rest = self._text[begins : begins + _LABEL_CHARACTERS_MAX]
        return not rest or rest in _LABEL_BEGINNINGS or _OPEN_LABEL.match(rest) is not None

    def _behind_ornaments(self, place: int) -> int:
        behind = _ORNAMENT.match(self._text, place)
        return place if behind is None else behind.end()

    @cached_property
    def _held(self) -> str:
        held = (text for each in self._passages for text in (each.text, each.title, *each.heading_path))
        return "\n".join(map(_letters, held))


def _is_finished(before: str) -> bool:
    """Return whether a text ends with the end of a sentence, markers and quotation marks behind it apart."""
    if _LIST_NUMBER.search(before):
        return False
    return any(
        text.rstrip(_CLOSING).endswith((".", "!", "?", "…")) for text in (before, _MARKERS_BEHIND.sub("", before))
    )


def _letters(text: str) -> str:
    """Return a text's letters and digits alone, without citation markers."""
    return "".join(words_of(_MARKER.sub(" ", text)))
