"""What the control words of RTF do: groups with their looks, destinations, notes, fields, lists and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.parsing.office.lines import Comment, Line, Look, Note
from sourcier.services.ingest.parsing.office.links import Links, field_reference
from sourcier.services.ingest.parsing.office.shown import flat_text
from sourcier.services.ingest.parsing.office.style_names import HEADING_NAME, TITLE_NAMES
from sourcier.services.ingest.parsing.office.symbols import box
from sourcier.services.ingest.parsing.rich_text.characters import DOCUMENT_SETS, Characters, Font, codec_of_page
from sourcier.services.ingest.parsing.rich_text.picture_data import PICTURE_KINDS, PictureData
from sourcier.services.ingest.parsing.rich_text.story import CellShape, Paragraph, Story
from sourcier.services.ingest.parsing.rich_text.tokens import Kind, Token
from sourcier.services.ingest.parsing.rich_text.vocabulary import (
    CHARACTERS,
    DESTINATIONS,
    RUNNING,
    SIGNS,
    SILENT,
    STARRED,
    STORIES,
    UNREAD,
)
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode

DEPTH_MAX = 5_000
_RAISED_HALF_POINTS = 4
_UNSEEN_HALF_POINTS = 4
_NAME_CHARACTERS_MAX = 1_000
_INSTRUCTION_CHARACTERS_MAX = 4_000
_PICTURES_MAX = 10_000
_CHECKBOX, _CHECKED_BY_DEFAULT = 1, 25


@dataclass(slots=True)
class _Group:
    """What ends with a group: the look of text, and where it goes."""

    destination: bytes = b""
    unread: bool = False
    look: Look = field(default_factory=Look)
    font: int = 0
    hidden: bool = False
    deleted: bool = False
    skip: int = 1
    """How many characters of old readers follow a numbered one."""
    story: Story | None = None
    """Set where this group began a story of its own."""
    link: tuple[Line, int] | None = None
    """Set where this group began the text of a link: its line, and where in it."""
    picture: PictureData | None = None
    """Set where this group is a picture."""
    around: Paragraph | None = None
    """The paragraph that the story stands in."""


@dataclass(slots=True)
class _Style:
    name: str = ""
    heading: int = 0


class Interpreter:
    """Reads tokens into a story; further stories are notes, headers and text boxes."""

    def __init__(self, budget: CellBudget, warnings: ReadingWarnings, *, comments: bool = False) -> None:
        """Comments are read with `comments`, else told."""
        self._comments = comments
        self._author = ""
        self.title = ""
        self.running: list[tuple[str, str]] = []
        self.page: list[str] | None = None
        """The HTML that the file was made of, where it says so."""
        self.main = Story(budget)
        self.pictures: list[tuple[int, bytes]] = []
        """Pictures, each behind as many blocks of the main story."""
        self._budget = budget
        self._warnings = warnings
        self._characters = Characters()
        self._default_font = 0
        self._groups = [_Group()]
        self._stories = [self.main]
        self._paragraph = Paragraph()
        self._styles: dict[int, _Style] = {}
        self._defined = 0
        self._starred = False
        self._to_skip = 0
        self._notes = 0
        self._field: dict[bytes, int] = {}
        self._instruction = ""
        self._links = Links()
        self._shape = CellShape()
        self._shapes: list[CellShape] = []
        self._hidden_told = False
        self._words: dict[bytes, Callable[[int | None], None]] = self._vocabulary()

    def read(self, token: Token) -> None:
        """Take a token."""
        kind = token.kind
        group = self._groups[-1]
        if group.picture is not None:
            if kind in (Kind.TEXT, Kind.BYTE, Kind.BINARY):
                group.picture.add(token)
                return
            if kind is Kind.WORD:
                group.picture.kind = token.text if token.text in PICTURE_KINDS else group.picture.kind
                return
        if kind is Kind.BINARY:
            return
        if kind is Kind.TEXT or kind is Kind.BYTE:
            if not group.unread:
                self._bytes(token.text)
            return
        if kind is Kind.OPEN:
            self._flush()
            self._open(group)
        elif kind is Kind.CLOSE:
            self._flush()
            self._close()
        elif kind is Kind.SIGN:
            self._sign(token.text)
        elif token.text == b"u" and not group.unread:
            self._numbered(token.number or 0)
        elif token.text == b"uc":
            group.skip = max(token.number if token.number is not None else 1, 0)
        else:
            self._flush()
            self._word(token)

    def end(self) -> None:
        """End what is open."""
        self._flush()
        while len(self._groups) > 1:
            self._close()
        self.main.end()

    def _bytes(self, content: bytes) -> None:
        if self._to_skip:
            skipped = min(self._to_skip, len(content))
            self._to_skip -= skipped
            content = content[skipped:]
        self._starred = False
        self._characters.add(content)

    def _numbered(self, number: int) -> None:
        self._flush()
        group = self._groups[-1]
        self._text(self._characters.numbered(number, group.font))
        self._to_skip = group.skip

    def _flush(self) -> None:
        self._text(self._characters.flush(self._groups[-1].font))

    def _text(self, text: str) -> None:
        group = self._groups[-1]
        if not text or group.unread:
            return
        destination = group.destination
        if destination == b"fonttbl":
            font = self._characters.fonts.setdefault(self._defined, Font())
            font.name = (font.name + text)[:_NAME_CHARACTERS_MAX].rstrip(";").strip()
        elif destination == b"stylesheet":
            self._name_style(text)
        elif destination == b"title":
            self.title = (self.title + text)[:_NAME_CHARACTERS_MAX]
        elif destination == b"htmltag":
            if self.page is not None:
                self.page.append(text)
        elif destination == b"atnauthor":
            self._author = (self._author + text)[:_NAME_CHARACTERS_MAX]
        elif destination == b"fldinst":
            self._instruction = (self._instruction + text)[:_INSTRUCTION_CHARACTERS_MAX]
        elif destination in (b"listtext", b"pntext"):
            self._stories[-1].label += text
        elif destination not in SILENT:
            self._shown(group, text)

    def _shown(self, group: _Group, text: str) -> None:
        if self.page is not None and len(self._stories) == 1:
            if not group.hidden:
                self.page.append(_escaped(text))
        elif group.hidden and text.strip():
            if not self._hidden_told:
                self._warnings.add(WarningCode.HIDDEN_TEXT)
            self._hidden_told = True
        elif not group.hidden and not group.deleted:
            self._hidden_told = False
            self._stories[-1].add(text, group.look)

    def _open(self, group: _Group) -> None:
        if len(self._groups) >= DEPTH_MAX:
            raise DocumentMalformed(f"The file's groups are nested more than {DEPTH_MAX:,} deep.")
        self._groups.append(replace(group, story=None, link=None, picture=None))
        self._starred = False
        self._to_skip = 0

    def _close(self) -> None:
        self._to_skip = 0
        if len(self._groups) == 1:
            return
        group = self._groups.pop()
        if group.destination == b"formfield" and self._groups[-1].destination != b"formfield":
            self._form_field()
        if group.picture is not None:
            self._end_picture(group.picture)
        if group.link is not None and group.link[0] is self._stories[-1].line:
            self._links.end(*group.link, field_reference(self._instruction))
        if group.story is not None:
            self._stories.pop()
            self._paragraph = group.around or Paragraph()
            self._end_story(group, group.story)

    def _end_story(self, group: _Group, story: Story) -> None:
        shown = story.end()
        text = flat_text(shown)
        if group.destination in RUNNING:
            found = (RUNNING[group.destination], text)
            if any(map(str.isalnum, text)) and found not in self.running:
                self.running.append(found)
        elif group.destination == b"footnote" and text:
            self._notes += 1
            self._stories[-1].line.call(Note(str(self._notes), text))
        elif group.destination == b"annotation":
            author, self._author = self._author.strip(), ""
            if not self._comments:
                self._warnings.add(WarningCode.NOT_READ, detail="comments")
            elif text:
                self._stories[-1].line.call(Comment(author, text))
        elif group.destination == b"shptxt":
            self._stories[-1].follow(shown)

    def _begin_story(self, destination: bytes) -> None:
        group = self._groups[-1]
        group.destination, group.story = destination, Story(self._budget)
        group.look, group.hidden = Look(), False
        group.around, self._paragraph = self._paragraph, Paragraph()
        self._stories.append(group.story)

    def _sign(self, sign: bytes) -> None:
        if sign == b"*":
            self._flush()
            self._starred = True
        elif sign in b"\r\n":
            self._flush()
            self._end_paragraph(None)
        elif sign in SIGNS:
            if self._to_skip:
                self._to_skip -= 1
                return
            self._flush()
            self._text(SIGNS[sign])

    def _word(self, token: Token) -> None:
        word, group = token.text, self._groups[-1]
        starred, self._starred = self._starred, False
        self._to_skip = 0
        if word in UNREAD or (starred and word not in STARRED):
            self._leave(word)
        elif group.unread:
            return
        elif word in STORIES or word in RUNNING:
            self._begin_story(word)
        elif word in DESTINATIONS:
            group.destination = word
            if word == b"fldinst":
                self._instruction = ""
        elif word in CHARACTERS:
            self._text(CHARACTERS[word])
        elif word in DOCUMENT_SETS:
            self._characters.document_set = DOCUMENT_SETS[word]
        elif word in self._words:
            self._words[word](token.number)
        elif group.destination == b"formfield" and token.number is not None:
            self._field[word] = token.number

    def _leave(self, word: bytes) -> None:
        group = self._groups[-1]
        if word == b"pict" and not group.unread:
            group.picture = PictureData()
        if word != b"ud":
            group.unread = True

    def _end_picture(self, picture: PictureData) -> None:
        content = picture.content()
        if content is None or len(self.pictures) >= _PICTURES_MAX:
            self._warnings.add(WarningCode.PICTURES)
        else:
            self.pictures.append((len(self.main.shown), content))

    def _vocabulary(self) -> dict[bytes, Callable[[int | None], None]]:
        return {
            b"par": self._end_paragraph, b"sect": self._end_paragraph, b"page": self._end_paragraph,
            b"cell": self._end_cell, b"row": self._end_row, b"nestcell": lambda _: self._text(" | "),
            b"nestrow": lambda _: self._text(" ; "), b"pard": self._plain_paragraph, b"plain": self._plain,
            b"intbl": self._in_table, b"s": self._style, b"outlinelevel": self._outline, b"ilvl": self._list_level,
            b"f": self._font, b"deff": self._set_default_font, b"fcharset": self._character_set,
            b"ansicpg": self._code_page, b"cpg": lambda _: None, b"fs": self._size, b"fromhtml": self._from_html,
            b"trowd": self._begin_row, b"cellx": self._edge, b"clmrg": self._right, b"clvmrg": self._below,
            b"trhdr": self._header_row, b"v": self._hide, b"deleted": self._delete, b"htmlrtf": self._rtf_only,
            b"super": lambda _: self._look(raised=True), b"sub": lambda _: self._look(lowered=True),
            b"nosupersub": lambda _: self._look(), b"up": self._up, b"dn": self._down, b"strike": self._strike,
            b"striked": self._strike, b"fldrslt": self._begin_result,
        }  # fmt: skip

    def _look(self, *, raised: bool = False, lowered: bool = False) -> None:
        group = self._groups[-1]
        group.look = replace(group.look, raised=raised, lowered=lowered)

    def _up(self, number: int | None) -> None:
        self._look(raised=(6 if number is None else number) >= _RAISED_HALF_POINTS)

    def _down(self, number: int | None) -> None:
        self._look(lowered=(6 if number is None else number) >= _RAISED_HALF_POINTS)

    def _strike(self, number: int | None) -> None:
        group = self._groups[-1]
        group.look = replace(group.look, struck=number != 0)

    def _hide(self, number: int | None) -> None:
        self._groups[-1].hidden = number != 0

    def _rtf_only(self, number: int | None) -> None:
        if self.page is not None:
            self._groups[-1].hidden = number != 0

    def _delete(self, number: int | None) -> None:
        self._groups[-1].deleted = number != 0

    def _size(self, number: int | None) -> None:
        if number is not None and 0 < number <= _UNSEEN_HALF_POINTS:
            self._groups[-1].hidden = True

    def _plain(self, _: int | None) -> None:
        group = self._groups[-1]
        group.look, group.font, group.deleted = Look(), self._default_font, False
        if self.page is None:
            group.hidden = False

    def _font(self, number: int | None) -> None:
        if self._groups[-1].destination == b"fonttbl":
            self._defined = number or 0
            self._characters.fonts[self._defined] = Font()
        else:
            self._groups[-1].font = number or 0

    def _set_default_font(self, number: int | None) -> None:
        self._default_font = self._groups[-1].font = number or 0

    def _character_set(self, number: int | None) -> None:
        self._characters.fonts.setdefault(self._defined, Font()).character_set = number or 0

    def _code_page(self, number: int | None) -> None:
        if number:
            self._characters.document_set = codec_of_page(number)

    def _from_html(self, number: int | None) -> None:
        if number != 0:
            self.page = []

    def _style(self, number: int | None) -> None:
        if self._groups[-1].destination == b"stylesheet":
            self._defined = number or 0
            self._styles[self._defined] = _Style()
        else:
            self._paragraph.heading = self._styles.get(number or 0, _Style()).heading

    def _name_style(self, text: str) -> None:
        style = self._styles.setdefault(self._defined, _Style())
        style.name = (style.name + text)[:_NAME_CHARACTERS_MAX].strip()
        plain = style.name.rstrip(";").partition(",")[0].strip().lower()
        numbered = HEADING_NAME.fullmatch(plain)
        if numbered:
            style.heading = int(numbered.group(1))
        elif plain in TITLE_NAMES:
            style.heading = 0
        if style.name.endswith(";"):
            self._defined = 0

    def _outline(self, number: int | None) -> None:
        level = number if number is not None else 9
        if self._groups[-1].destination == b"stylesheet":
            self._styles.setdefault(self._defined, _Style()).heading = level + 1 if level < 9 else 0
        else:
            self._paragraph.heading = level + 1 if 0 <= level < 9 else 0

    def _list_level(self, number: int | None) -> None:
        self._paragraph.level = min(max(number or 0, 0), 8) + 1

    def _plain_paragraph(self, _: int | None) -> None:
        self._paragraph = Paragraph()

    def _in_table(self, _: int | None) -> None:
        self._paragraph.in_table = True

    def _end_paragraph(self, _: int | None) -> None:
        if self.page is not None and len(self._stories) == 1:
            if not self._groups[-1].hidden:
                self.page.append("\n")
            return
        if not self._groups[-1].deleted:
            self._stories[-1].end_paragraph(self._paragraph)

    def _end_cell(self, _: int | None) -> None:
        self._stories[-1].end_cell()

    def _end_row(self, _: int | None) -> None:
        self._stories[-1].end_row()

    def _begin_row(self, _: int | None) -> None:
        story = self._stories[-1]
        story.shapes, story.is_header = [], False
        self._shape = CellShape()

    def _header_row(self, _: int | None) -> None:
        self._stories[-1].is_header = True

    def _edge(self, number: int | None) -> None:
        self._shape.edge = number or 0
        self._stories[-1].shapes.append(self._shape)
        self._shape = CellShape()

    def _right(self, _: int | None) -> None:
        self._shape.goes_on_right = True

    def _below(self, _: int | None) -> None:
        self._shape.goes_on_below = True

    def _begin_result(self, _: int | None) -> None:
        line = self._stories[-1].line
        self._groups[-1].link = line, line.mark()

    def _form_field(self) -> None:
        if self._field.get(b"fftype") == _CHECKBOX:
            state = self._field.get(b"ffres", _CHECKED_BY_DEFAULT)
            ticked = self._field.get(b"ffdefres", 0) if state == _CHECKED_BY_DEFAULT else state
            self._stories[-1].add(box(ticked == 1))
        self._field = {}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
