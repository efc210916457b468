"""Links in an answer and in what is shown of passages: those that a passage holds stay, all others go, and images and
HTML always.

A client that shows Markdown fetches an image by itself: its address could carry what the answer says to anybody (A11).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from prometheus_client import Counter

from sourcier.services.gateway.prompting.marking import defused

links_removed_total = Counter("sourcier_links_removed_total", "Links and images taken out of answers.")

_ADDRESS = r"(?:(?:https?|ftps?|file|wss?)://|(?:javascript|data|vbscript|mailto):|www\.)[^\s<>\"'«»“”\[\]`]+"
_URL = re.compile(_ADDRESS, re.IGNORECASE)
# What a document makes the model write must not keep a gateway busy: nothing is tried twice, and no link begins in one.
# So patterns take what no parenthesis closes as well, up to where another could begin: its end is looked for once.
_IMAGE = re.compile(r"!\[((?:\\.|\[[^\[\]]*+\]|[^\[\]\\])*+)\]\s*+(?:(?P<opening>\()|\[[^\]\n]*+\])")
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]*+)\]\s*+\((?:\s*+<?([^)\s>]*+)>?[^)\n]*+(?P<end>\)+)|[^)\n]*(?=\[)|)")
_IN_PARENTHESES = re.compile(rf"(?<!\s)\s*+\(\s*+(?:({_ADDRESS})\s*+\)|{_ADDRESS})", re.IGNORECASE)
_TAG = re.compile(r"<(?P<inner>/?(?P<name>[a-zA-Z][^\s/<>]*)(?P<rest>[^<>]*))(?P<end>>?)")
_OPENING = re.compile(r"<(?=[/!?]?[a-zA-Z])|(?<=!)(?=\[)")
_DEFINITION = re.compile(r"^[^\S\n]*+\[[^\]\n]++\]:[^\S\n]*+(?:\n[^\S\n]*+)?\S++[^\S\n]*+$", re.MULTILINE)
_ACTIVE = ("javascript:", "data:", "vbscript:", "file:")
_PASSES_MAX = 4
_SLASHES = "/ \t\r\n\f"

# What browsers know; of SVG and MathML the roots alone. Outside them, and they go, `<path>` is no element but a
# placeholder, as `<command>` is.
_ELEMENT = re.compile(
    "a|abbr|acronym|address|applet|area|article|aside|audio|b|base|basefont|bdi|bdo|bgsound|big|"
    "blink|blockquote|body|br|button|canvas|caption|center|cite|code|col|colgroup|data|datalist|dd|"
    "del|details|dfn|dialog|dir|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|frame|"
    "frameset|h1|h2|h3|h4|h5|h6|head|header|hgroup|hr|html|i|iframe|image|img|input|ins|kbd|label|"
    "legend|li|link|listing|main|map|mark|marquee|math|menu|meta|meter|nav|nobr|noembed|noframes|"
    "noscript|object|ol|optgroup|option|output|p|param|picture|plaintext|pre|progress|q|rb|rp|rt|rtc|"
    "ruby|s|samp|script|search|section|select|selectedcontent|slot|small|source|span|strike|strong|"
    "style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track|"
    "tt|u|ul|var|video|wbr|xmp",
    re.IGNORECASE,
)


def addresses(texts: Iterable[str]) -> frozenset[str]:
    """Return the addresses that passages hold, and that an answer may therefore name."""
    return frozenset(
        address for text in texts for match in _URL.finditer(text)
        if not (address := _trimmed(match.group())).lower().startswith(_ACTIVE)
    )


def without_foreign_links(text: str, known: frozenset[str]) -> str:
    """Return the text without images, HTML elements and addresses but the `known` ones; what links said stays.

    A placeholder stays as it is: `git push origin <branch>`, `List<String>`.
    """
    cleaned = text
    for _ in range(_PASSES_MAX):
        before, cleaned = cleaned, _once_cleaned(cleaned, known)
        if cleaned == before:
            break
    else:
        # What was taken out held apart what makes a tag or an image: `<im<b>g src=…>`. No answer is written like that.
        cleaned = _OPENING.sub(lambda match: f"{match.group()} ", cleaned)
    if cleaned != text:
        links_removed_total.inc()
    return cleaned


def _once_cleaned(text: str, known: frozenset[str]) -> str:
    cleaned = _DEFINITION.sub("", _TAG.sub(_inert, _without_images(text)))
    cleaned = _LINK.sub(
        lambda match: match.group() if match["end"] is None or match.group(2) in known else match.group(1), cleaned
    )
    cleaned = _IN_PARENTHESES.sub(
        lambda match: match.group() if match.group(1) is None or _trimmed(match.group(1)) in known else "", cleaned
    )
    return _URL.sub(lambda match: _kept(match.group(), known), cleaned)


def _without_images(text: str) -> str:
    """Return the text with what stands in an image's brackets in the place of each."""
    kept: list[str] = []
    place = searched = 0
    last_closing = text.rfind(")")
    while found := _IMAGE.search(text, searched):
        end = found.end()
        if found["opening"]:
            if end > last_closing:
                # No image, but there may be one in its brackets.
                searched = found.start() + 1
                continue
            end = text.index(")", end)
            while text.startswith(")", end):
                end += 1
        kept += (text[place : found.start()], found.group(1))
        place = searched = end
    return "".join((*kept, text[place:]))


def extract(said: str, text: str, *, characters_max: int | None = None) -> str:
    """Return words of a passage's text as they are shown: in one line, and nothing in it reads as a marker.

    What is beyond `characters_max` is left out at a word's end.
    """
    line = " ".join(said.split())
    if characters_max is not None and len(line) > characters_max:
        line = f"{line[: line.rfind(' ', 0, characters_max)]} …"
    return defused(without_foreign_links(line, addresses([text])))


def _inert(tag: re.Match[str]) -> str:
    """Return what is left of what a client may take for a tag: nothing of an element, and all of a placeholder."""
    name, rest = tag["name"], tag["rest"].strip(_SLASHES)
    if _URL.fullmatch(tag["inner"]):
        return tag["inner"]
    if tag["end"] and (_ELEMENT.fullmatch(name) or "=" in name + rest):
        return ""
    # An unknown element without attributes does nothing. Words in it, a page's own element, and what another sentence
    # may close are none with a space before them: `< name of the branch>`.
    harmless = tag["end"] and not rest and "-" not in name
    return tag.group() if harmless else f"< {tag['inner']}{tag['end']}"


def _kept(match: str, known: frozenset[str]) -> str:
    # What is trimmed off an address is the sentence's own: `… https://intranet.example/rh.`
    address = _trimmed(match)
    return match if address in known else match[len(address) :]


def _trimmed(address: str) -> str:
    address = address.rstrip(".,;:!?…*_")
    return address[:-1] if address.endswith(")") and "(" not in address else address
