"""Questions that ask several things, told from others by rule and cut.

Only what is surely several is cut. « droits et devoirs du salarié » is one thing, and « la différence entre un CDD et
un CDI » names no documents: whether labels do is looked up in the collection's list (`naming`).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sourcier.services.gateway.answering.by_parts.asking import (
    AND,
    DATE,
    DOCUMENT,
    PARTS_MAX,
    Family,
    Form,
    Said,
    Several,
    identified,
    is_identified,
    with_kind,
)
from sourcier.services.gateway.answering.by_parts.things import questions_in_one, several_things
from sourcier.services.gateway.answering.collection_questions import KINDS
from sourcier.services.gateway.computing.asking import BETWEEN, spans_between

QUESTION_CHARACTERS_MAX = 300


def cut(question: str, *, language: str = "fr") -> Several | None:
    """Return a question's parts; None for a question that asks one thing."""
    if len(question) > QUESTION_CHARACTERS_MAX:
        return None
    said = Said.of(question, language=language)
    found = next((found for form in _FORMS if (found := form(said)) is not None), None)
    if found is None or (found.family is None and not 2 <= len(found.labels) <= PARTS_MAX):
        return None
    return found


_DIFFERENCE = re.compile(
    r"(?:(?:quell?e?s?(?: (?:est|sont|etait|etaient))?|what (?:is|are|was|were)|donne[rz]?(?:-moi)?|"
    r"explique[rz]?(?:-moi)?|"
    r"indique[rz]?(?:-moi)?|liste[rz]?|y a-t-il|list|show(?: me)?|explain)\s)?"
    r"(?:la |les |l'|une |des |the |a )?(?:principales? |main )?"
    r"(?:differences?|ecarts?|changements?|evolutions?|changes?)\b"
)
_CHANGES = re.compile(
    r"(?:qu'est-ce qui|ce qui|que|what|what has|quoi de)\s(?:a |has |have )?(?:change[sd]?|differe(?:nt)?|differs?|"
    r"distingue|different|neuf)\b"
)
_COMPARE = re.compile(
    r"(?:(?:peux-tu|pouvez-vous|pourriez-vous|can you|could you|please|merci de)\s)?(?:me )?"
    r"(?:compare[rz]?(?:-moi)?|(?:fais |faites |fais-moi )?(?:une |la )?comparaison|comparison)\s"
)
_APART = re.compile(r"(?:qu'est-ce qui|ce qui|what)\s(?:distingue|differencie|distinguishes)\s")
_FROM = re.compile(r"\s(?:de |du |des |from )(?=\S)")
_HOW = re.compile(r"(?:en quoi|how (?:do|does|did))\s")
_DIFFERS = re.compile(
    r"\s(?:differe(?:nt)?|se distingue(?:nt)?|differ)(?:-t)?(?:-ils?|-elles?)?\s(?:de la |de l'|du |des |de |d'|from )"
)
_WHERE = re.compile(r"\s(?:dans|selon|d'apres|in|according to)\s")
_PAIR = re.compile(r"\s?,\s(?:et\s|and\s)?|\s(?:et|and|avec|with|a|to|versus|vs)\s(?:dans\s|in\s|selon\s)?")
_ABOUT = re.compile(
    r"\s(?:(?:au sujet|a propos|en matiere) (?:de\s|du\s|des\s|d')|(?:sur|concernant|quant aux?|pour|"
    r"en ce qui concerne|about|on|regarding|concerning|as to|for)\s)"
)


def _difference(said: Said) -> Several | None:
    """« la différence de prime entre l'avenant 58 et le 59 », « qu'est-ce qui change entre la note A et la note B »."""
    head = _DIFFERENCE.match(said.plain) or _CHANGES.match(said.plain)
    between = None if head is None else BETWEEN.search(said.plain, head.end())
    if head is None or between is None:
        return _differing(said)
    topic = said.typed[head.end() : between.start()].strip()
    return _compared(said, between.end(), _JOINTS, topic=_OF.sub("", topic))


_OF = re.compile(r"^(?:d'|des |du |de l'|de la |de |in |of |for |pour |dans |sur )", re.IGNORECASE)


def _differing(said: Said) -> Several | None:
    apart = _APART.match(said.plain)
    if apart is not None:
        found = list(DOCUMENT.finditer(said.plain, apart.end()))
        return None if len(found) != 2 else _compared(said, apart.end(), _FROM, topic="")
    head = _HOW.match(said.plain)
    differs = None if head is None else _DIFFERS.search(said.plain, head.end())
    if head is None or differs is None:
        return None
    first, rest = said.typed[head.end() : differs.start()], said.typed[differs.end() :]
    about = _ABOUT.search(said.plain, differs.end())
    topic = "" if about is None else said.typed[about.end() :]
    second = rest if about is None else said.typed[differs.end() : about.start()]
    return _of_documents(said, Form.DIFFERENCE, (first, second), topic)


def _compare(said: Said) -> Several | None:
    """« compare le télétravail dans la note A et la charte B », « compare A et B sur Z »."""
    head = _COMPARE.match(said.plain)
    if head is None:
        return None
    between = BETWEEN.match(said.plain, head.end())
    start = head.end() if between is None else between.end()
    where = _WHERE.search(said.plain, start)
    if where is not None:
        return _compared(said, where.end(), _PAIR, topic=said.typed[start : where.start()])
    return _compared(said, start, _PAIR, topic="")


def _compared(said: Said, start: int, joints: re.Pattern[str], *, topic: str) -> Several | None:
    about = _ABOUT.search(said.plain, start) if not topic else None
    end = len(said.typed)
    if about is not None:
        end, topic = about.start(), said.typed[about.end() :]
    return _of_documents(said, Form.DIFFERENCE, _at(said, start, end, joints), topic)


def _at(said: Said, start: int, end: int, joints: re.Pattern[str]) -> tuple[str, ...]:
    """Return what stands between joints of a part of a question."""
    spans = spans_between(list(joints.finditer(said.plain, start, end)), start, end)
    texts = [said.typed[first:last].strip(" ,") for first, last in spans]
    return tuple(texts) if all(0 < len(text) <= 80 for text in texts) else ()


def _of_documents(said: Said, form: Form, labels: tuple[str, ...], topic: str) -> Several | None:
    labels = with_kind(tuple(label.strip() for label in labels))
    if not all(is_identified(label) for label in labels):
        labels, topic = _with_topic_apart(labels, topic)
    if not 2 <= len(labels) <= PARTS_MAX or len(set(labels)) < len(labels):
        return None
    topic = topic.strip()
    return Several(
        form, labels, _says(topic, french=said.is_french), topic,
        are_identified=all(is_identified(label) for label in labels),
    )


_REFERS = re.compile(r"(?:celui|celle|ceux|celles|that|those|the one)?", re.IGNORECASE)
_OF_IT = re.compile(r"\s(?:de|du|des|dans|in|of|selon|pour|par|d)$", re.IGNORECASE)


def _with_topic_apart(labels: tuple[str, ...], topic: str) -> tuple[tuple[str, ...], str]:
    """Return « le montant de l'avenant 58 » and « celui de l'avenant 59 » as two documents and what is asked of them.

    Labels of which one names no document, or something else than the first one, stay as they are.
    """
    found = [(label, DOCUMENT.search(Said.of(label, language="fr").plain)) for label in labels]
    if topic or any(match is None or match.end() < len(label) for label, match in found):
        return labels, topic
    matches = [match for _, match in found if match is not None]
    before = [_OF_IT.sub("", label[: match.start()].rstrip(" '")) for label, match in zip(labels, matches, strict=True)]
    if not before[0] or any(each not in ("", before[0]) and _REFERS.fullmatch(each) is None for each in before[1:]):
        return labels, topic
    return with_kind(tuple(
        label[match.start() :] for label, match in zip(labels, matches, strict=True)
    )), before[0]


def _says(topic: str, *, french: bool) -> Callable[[str], str]:
    """Return what asks a document about a topic, or for what it says."""
    def ask(label: str) -> str:
        if french:
            return f"Que dit {label} sur {topic} ?" if topic else f"Que prévoit {label} ?"
        return f"What does {label} say about {topic}?" if topic else f"What does {label} provide?"

    return ask


_SAY = re.compile(
    r"(?:que |qu'est-ce que |qu'|what (?:do|does|did) )(?P<verb>(?:dis(?:en)?t|dit|prevoi(?:en)?t|indique(?:nt)?|"
    r"stipule(?:nt)?|precise(?:nt)?|impose(?:nt)?|propose(?:nt)?|fixe(?:nt)?)\s)?"
)
_SAYING = re.compile(
    r"\s(?:dis(?:en)?t|dit|prevoi(?:en)?t|indique(?:nt)?|stipule(?:nt)?|precise(?:nt)?|say|provide|state|specify)\b"
)
_JOINTS = re.compile(AND)


def _saying(said: Said) -> Several | None:
    """« que disent la note A et la charte B sur le télétravail », "what do A and B say about it"."""
    head = _SAY.match(said.plain)
    if head is None:
        return None
    start, verb = head.end(), None
    if head.group("verb") is None:
        verb = _SAYING.search(said.plain, start)
        if verb is None:
            return None
    about = _ABOUT.search(said.plain, start if verb is None else verb.end())
    end = verb.start() if verb is not None else len(said.typed) if about is None else about.start()
    topic = "" if about is None else said.typed[about.end() :]
    every = _EACH.fullmatch(said.plain, start, end)
    if every is not None:
        return Several(Form.FAMILY, (), _says(topic, french=said.is_french), topic, family=_family_of(said, every))
    labels = tuple(_AGAIN.sub("", label) for label in _at(said, start, end, _JOINTS))
    return _of_documents(said, Form.DOCUMENTS, labels, topic)


_AGAIN = re.compile(r"^(?:que |qu'en )(?:disent|dit|prévoit|prévoient|indique|précise)\s", re.IGNORECASE)


_EACH = re.compile(
    rf"(?:(?P<in>dans|selon|d'apres|pour|in|according to|for)\s)?(?:(?P<each>chaque |chacune? des |tous les |"
    rf"toutes les |"
    rf"each of the |each |every |all the |all )|(?P<the>les |des |the ))(?P<kind>{KINDS})\b"
    rf"(?: (?:de l'annee |de |d'|en |dates? de |signes? en |of |from |in |dated )(?P<date>{DATE}+))?"
)
_WORD_ASKS = re.compile(
    r"(?:(?:a |de |en |pour |dans )?(?:quell?e?s?|qui|quoi|combien|quand|ou|comment)\b|que |qu'|what|who|where|when|"
    r"how|which|donne|indique|liste|resume|list|give|tell|"
    r"(?:selon|d'apres|dans|pour|according to|in)\s)"
)
_CHANGED = re.compile(
    rf"(?:(?:quell?e?s?(?: (?:sont|ont ete))?|what (?:are|were)|donne[rz]?(?:-moi)?|liste[rz]?|list|"
    rf"resume[rz]?|show me)\s)?(?:toutes les |tous les |les |all the |all |the )?"
    rf"(?:modifications?|changements?|revisions?|nouveautes|evolutions|changes|amendments made)\s"
    rf"(?:(?:apportee?s|intervenue?s|faite?s|made|decidee?s) )?(?:en |de |d'|du |in |of |for )"
    rf"(?:l'annee )?(?P<date>{DATE}+)"
)
_SIGNS = re.compile(
    rf"(?:qui (?:a |ont )?signe(?:nt)?|who (?:has |have )?sign(?:s|ed)?)"
    rf"(?: (?:les |des |the )(?P<kind>{KINDS}|documents?))?"
)


def _family(said: Said) -> Several | None:
    """« quel est le montant dans chaque avenant », « toutes les modifications de 2024 », « qui signe »."""
    changed = _CHANGED.fullmatch(said.plain)
    if changed is not None:
        family = Family("", said.period_in(changed.start("date"), changed.end("date")), amending=True)
        return Several(Form.FAMILY, (), _modifies(french=said.is_french), family=family)
    signs = _SIGNS.fullmatch(said.plain)
    if signs is not None:
        kind = signs.group("kind") or ""
        family = Family("" if kind.startswith("document") else kind, None)
        topic = "Qui a signé" if said.is_french else "Who signed"
        return Several(Form.FAMILY, (), _signs(french=said.is_french), topic, family=family)
    if _WORD_ASKS.match(said.plain) is None:
        return None
    # « les contrats » by itself are those of everybody, not of the collection.
    match = next((each for each in _EACH.finditer(said.plain) if each.group("each") or each.group("date")), None)
    if match is None:
        return None
    start, end = match.span() if match.group("in") is None else (match.start("in"), match.end())
    before, after = said.typed[:start].rstrip(), said.typed[end:].lstrip(" ,")
    topic = f"{_TRAILING.sub('', before)} {after}".strip()
    preposition = f"{match.group('in')} " if match.group("in") else ""
    return Several(
        Form.FAMILY, (), lambda label: f"{before} {preposition}{label} {after}".strip() + " ?", topic,
        family=_family_of(said, match),
    )


def _family_of(said: Said, match: re.Match[str]) -> Family:
    period = said.period_in(match.start("date"), match.end("date")) if match.group("date") else None
    return Family(said.typed[match.start("kind") : match.end("kind")], period)


def _modifies(*, french: bool) -> Callable[[str], str]:
    return lambda label: f"Que modifie {label} ?" if french else f"What does {label} change?"


def _signs(*, french: bool) -> Callable[[str], str]:
    return lambda label: f"Qui a signé {label} ?" if french else f"Who signed {label}?"


def _named(said: Said) -> Several | None:
    """« Quel est le préavis dans l'avenant 58 et dans le 59 ? », « Qui signe les avenants 58 et 59 ? »."""
    if _WORD_ASKS.match(said.plain) is None:
        return None
    listed = identified(said)
    if listed is None or _TOGETHER.search(said.plain) is not None:
        return None
    if any(form.search(said.plain, 0, listed.start) is not None for form in (_RELATES, DOCUMENT)):
        # Another document is asked for what it says of these.
        return None
    before, after = said.typed[: listed.start].rstrip(), said.typed[listed.end :].lstrip(" ,")
    topic = f"{_TRAILING.sub('', f' {before}').strip()} {after}".strip()
    of = "de " if _OF_WHICH.match(said.plain, listed.start) is not None else ""
    end = " ?" if said.is_french else "?"
    return Several(
        Form.DOCUMENTS, listed.labels, lambda label: f"{before} {of}{label} {after}".strip() + end, topic,
        are_identified=True,
    )


_OF_WHICH = re.compile(r"(?:de la |de l'|des |du |d')")


_TOGETHER = re.compile(
    r"\b(?:entre|between|ensemble|together|total|totale|totaux|somme|sum|moyenne|average|cumule?s?|relations?|"
    r"liens?|both)\b"
)
_RELATES = re.compile(
    r"\b(?:remplace|modifie|abroge|annule|complete|cite|mentionne|succede|precede|suit|replace|amend|cancel|mention|"
    r"follow)\w*"
)
_TRAILING = re.compile(r"\s(?:dans|selon|d'après|pour|par|de|in|of|for|according to)$", re.IGNORECASE)


_FORMS: tuple[Callable[[Said], Several | None], ...] = (
    _difference, _compare, _saying, _family, _named, questions_in_one, several_things,
)
