"""Control words of RTF by what is done with them."""

from __future__ import annotations

from sourcier.services.ingest.parsing.office.shown import FOOTER_LEAD, HEADER_LEAD

UNREAD = frozenset({
    b"colortbl", b"pict", b"objdata", b"bkmkstart", b"bkmkend", b"themedata", b"datastore", b"generator",
    b"listtable", b"listoverridetable", b"rsidtbl", b"xmlnstbl", b"mmathPr", b"nonshppict", b"revtbl", b"filetbl",
    b"latentstyles", b"private", b"comment", b"xe", b"tc", b"template", b"operator", b"datafield", b"objclass", b"do",
    b"atnid", b"atrfstart", b"atrfend", b"atntime", b"atndate", b"atnref", b"panose", b"falt", b"sp",
    b"pgdsctbl", b"ftnsep", b"ftnsepc", b"ftncn", b"aftnsep", b"aftnsepc", b"aftncn", b"userprops", b"wgrffmtfilter",
    b"keywords", b"subject", b"author", b"doccomm", b"company", b"manager", b"category", b"hlinkbase", b"creatim",
    b"revtim", b"printim", b"buptim", b"fontemb", b"background", b"pnseclvl", b"ud",
})  # fmt: skip
STARRED = frozenset({
    b"shpinst", b"shptxt", b"shppict", b"pntext", b"pn", b"formfield", b"htmltag", b"fldinst", b"ud",
    b"atnauthor", b"annotation",
})
DESTINATIONS = frozenset({
    b"fonttbl", b"stylesheet", b"info", b"title", b"listtext", b"pntext", b"pn", b"formfield", b"htmltag", b"shpinst",
    b"fldinst", b"atnauthor",
})  # fmt: skip
SILENT = frozenset({b"info", b"pn", b"formfield", b"shpinst", b"fldinst", b"atnauthor"})
STORIES = frozenset({b"footnote", b"annotation", b"shptxt"})
RUNNING = {
    **dict.fromkeys((b"header", b"headerl", b"headerr", b"headerf"), HEADER_LEAD),
    **dict.fromkeys((b"footer", b"footerl", b"footerr", b"footerf"), FOOTER_LEAD),
}
CHARACTERS = {
    b"emdash": "—", b"endash": "–", b"lquote": "‘", b"rquote": "’", b"ldblquote": "“", b"rdblquote": "”",
    b"bullet": "•", b"tab": " ", b"emspace": " ", b"enspace": " ", b"qmspace": " ", b"line": "\n", b"lbr": "\n",
}  # fmt: skip
SIGNS = {b"~": "\N{NO-BREAK SPACE}", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\", b"-": "", b"|": "", b":": ""}
