"""Questions about the collection itself, told from others: how many documents, which ones, the latest.

Only a question that is wholly made of known parts is taken: « Combien de notes de service ? » is, and « Combien de
notes de frais par mois ? » is not. What is not taken is searched for, as any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from sourcier.services.gateway.computing.asking import as_typed
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import Dated, dates_in
from sourcier.services.index.times.periods import Period

QUESTION_CHARACTERS_MAX = 200

_EVERYTHING = r"documents?|fichiers?|textes?|files?|docs?"
KINDS = (
    r"notes? de service|notes? d['’ ]information|notes? internes?|notes?|circulaires?|avenants?|accords?|"
    r"comptes?[- ]rendus?|proces[- ]verba(?:l|ux)|pv|procedures?|fiches?|rapports?|deliberations?|arretes?|contrats?|"
    r"conventions?|reglements?|chartes?|guides?|notices?|instructions?|protocoles?|factures?|devis|avis|courriers?|"
    r"lettres?|politiques?|formulaires?|organigrammes?|annexes?|manuels?|memos?|circulars?|reports?|minutes|policies|"
    r"policy|agreements?|amendments?|contracts?|manuals?|forms?|invoices?|letters?"
)
_WHERE = (
    r"(?:dans|de|in|of) (?:la |le |cette |ce |l['’]|votre |ta |mon |ma |the |this |your )?"
    r"(?:collection|corpus|base(?: de connaissances| documentaire| de documents)?|dossier|bibliotheque|index|"
    r"knowledge base|library|folder)"
)
_THERE = (
    r"(?:(?:est-ce qu['’])?(?:il )?y a(?:-t-il|-t'il)?|y en a-t-il|existe(?:nt)?(?:-t-il|-t-elle|-t-elles|-t-ils)?|"
    r"avez-vous|as-tu|a-t-on|avons-nous|"
    r"(?:sont(?:-ils|-elles)? )?(?:disponibles?|indexe[es]*|presente?s?|enregistre[es]*|connue?s?)|"
    r"(?:que )?contien(?:t|nent)(?:-il|-elle)?(?: (?:la |le |cette |ce |l['’])?(?:collection|corpus|base|dossier))?|"
    r"(?:are )?(?:there|available|indexed)|do (?:you|we) have|does (?:the|this) (?:collection|corpus) "
    r"(?:hold|have|contain))"
)
_ORDER = (
    r"(?:est-ce que )?(?:tu peux |pouvez-vous |peux-tu )?(?:me )?(?:liste[rz]?|enumere[rz]?|donne[rz]?|montre[rz]?|"
    r"affiche[rz]?|list|show|give)(?:-moi| moi| me)?(?: la liste| the list)?(?: de| of)?"
)
_ALL = r"(?:tous |toutes |all )?(?:les |des |l['’]ensemble des |la |le |the |of the )?"
_WHEN = r"(?:de (?:l['’]annee )?|en |dates? de |dated |from |in |of |du |du mois de )?<date>"
_KIND = rf"(?P<kind>{KINDS}|{_EVERYTHING})"
_TAIL = rf"(?: {_THERE})?(?: {_WHEN})?(?: {_THERE})?(?: {_WHERE})?"
_COUNT = re.compile(
    rf"(?:combien (?:{_THERE} )?(?:de |d['’])?|quel est le nombre (?:total )?(?:de |d['’])|how many ){_KIND}{_TAIL}"
)
_LIST = re.compile(
    rf"(?:{_ORDER} {_ALL}|(?:quels|quelles) sont {_ALL}|(?:what|which) are {_ALL}){_KIND}{_TAIL}"
)
_WHICH = re.compile(rf"(?:quels|quelles|what|which) {_KIND}(?= {_THERE}){_TAIL}")
_LATEST = re.compile(
    rf"(?:quel|quelle|what|which) (?:est|is) (?:le |la |l['’]|the )"
    rf"(?:(?:dernier |derniere |plus recent |plus recente |latest |newest |most recent )?{_KIND}"
    rf"(?: (?:le |la )plus recente?)?){_TAIL}"
)
_OLDEST = re.compile(
    rf"(?:quel|quelle|what|which) (?:est|is) (?:le |la |l['’]|the )"
    rf"(?:(?:premier |premiere |plus ancien |plus ancienne |oldest |first )?{_KIND}"
    rf"(?: (?:le |la )plus ancien(?:ne)?)?){_TAIL}"
)
_SPEAKS = (
    r"(?:parlent|parle|traitent|traite|mentionnent|mentionne|evoquent|evoque|concernent|concerne|abordent|aborde|citent|"
    r"portent|talk|talks|speak|speaks|mention|mentions|deal|deals|discuss|discusses|concern|concerns|cover|covers)"
)
_OF = r"(?:de la |de l['’]|du |des |de |d['’]|sur |avec |about |of |on |with )?"
_ARTICLE = r"(?:la |le |les |l['’]|un |une |the |a )?"
_ABOUT_ALL = re.compile(
    rf"(?:(?:quels|quelles|what|which|how many) |combien (?:de |d['’])|"
    rf"(?P<listed>(?:liste[rz]?|donne[rz]?(?:-moi)?|list|show) {_ALL})){_KIND}(?(listed) (?:qui|that|which)) "
    rf"{_SPEAKS} {_OF}{_ARTICLE}(?P<subject>\S.*)"
)
_WHAT_IS_THERE = re.compile(
    r"(?:qu['’](?:est-ce qu['’](?:il y a|on a)|y a-t-il|a-t-on|avons-nous|avez-vous|est-ce que vous avez|as-tu)|"
    r"que trouve-t-on|what (?:is there|do (?:you|we) have))(?: (?:dans (?:la |le |les )?(?:base|corpus|collection|"
    rf"documents?)|comme documents?))? (?:sur |concernant |about |on |(?:a propos|au sujet) d(?:e |u |es |['’]))"
    rf"{_ARTICLE}(?P<subject>\S.*)"
)
_IN_WHICH = re.compile(
    rf"(?:dans (?:quels|quelles)|(?P<english>in which)) {_KIND} (?(english)is there anything|"
    rf"(?:parle-t-on|est-il question|est-il fait mention|trouve-t-on|evoque-t-on)) {_OF}{_ARTICLE}(?P<subject>\S.*)"
)
_SUMMARY = re.compile(
    r"(?:(?:peux-tu |pouvez-vous |pourriez-vous |can you |please )?(?:me )?(?:(?:resume[rz]?|synthetise[rz]?)(?:-moi)?|"
    r"(?:fais|faites|donne|donnez)(?:-moi)? (?:un |le )?resume d[eu](?: la| l['’])?|de quoi (?:parle|traite)|"
    r"summari[sz]e|give me a summary of))\s(?:la |l['’]|les )?(?P<subject>\S.*)"
)
SUBJECT_WORDS_MAX = 6
"""Of what documents speak of: a longer one is a question of its own."""
_SUPERLATIVE = re.compile(r"\b(?:derniere?|recente?|latest|newest|recent|premiere?|ancien(?:ne)?|oldest|first)\b")
_ALL_KINDS = re.compile(_EVERYTHING)


class Wanted(Enum):
    """What is asked of a collection."""

    COUNT = "count"
    LIST = "list"
    LATEST = "latest"
    OLDEST = "oldest"
    ABOUT = "about"
    """The documents that speak of something."""
    SUMMARY = "summary"
    """What a document says, section by section."""


_FORMS = (
    (_COUNT, Wanted.COUNT), (_LIST, Wanted.LIST), (_WHICH, Wanted.LIST), (_LATEST, Wanted.LATEST),
    (_OLDEST, Wanted.OLDEST),
)
_ORDERED = (Wanted.LATEST, Wanted.OLDEST)


@dataclass(frozen=True)
class CollectionQuestion:
    """A question about the collection itself."""

    wanted: Wanted
    kind: str
    """As it was asked, in the plural or not; empty for documents of any kind."""
    period: Period | None = None
    """The time that the documents have to be of."""
    subject: str = ""
    """What they have to speak of; empty for anything."""

    def is_of_kind(self, name: str) -> bool:
        """Return whether a document's title or name says that it is of this kind."""
        return not self.kind or f" {self._one} " in f" {_in_singular(name)} "

    @cached_property
    def _one(self) -> str:
        """Its kind in the singular, found once for all names."""
        return _in_singular(self.kind)


def collection_question(question: str) -> CollectionQuestion | None:
    """Return what is asked of the collection itself; None for a question to be searched for."""
    text = question.strip()[:QUESTION_CHARACTERS_MAX + 1]
    if len(text) > QUESTION_CHARACTERS_MAX:
        return None
    dates = dates_in(text, years=True)
    if len(dates) > 1:
        return None
    typed = as_typed(f"{text[: dates[0].start]}<date>{text[dates[0].end :]}" if dates else text)
    plain = fold_in_place(typed)
    for form, wanted in _FORMS:
        match = form.fullmatch(plain)
        if match is None or (wanted in _ORDERED and _SUPERLATIVE.search(plain) is None):
            continue
        return CollectionQuestion(wanted, _kind_of(typed, match), dates[0].period if dates else None)
    return _about(typed, plain, dates) or _summary(as_typed(text))


def _about(typed: str, plain: str, dates: Sequence[Dated]) -> CollectionQuestion | None:
    """Return what « quels documents parlent de X » asks for."""
    match = _ABOUT_ALL.fullmatch(plain) or _WHAT_IS_THERE.fullmatch(plain) or _IN_WHICH.fullmatch(plain)
    if match is None or dates:
        return None
    subject = typed[match.start("subject") : match.end("subject")]
    if len(subject.split()) > SUBJECT_WORDS_MAX or "?" in subject:
        return None
    kind = "" if match.re is _WHAT_IS_THERE else _kind_of(typed, match)
    return CollectionQuestion(Wanted.ABOUT, kind, subject=subject)


def _kind_of(typed: str, match: re.Match[str]) -> str:
    """Return the kind of documents that is asked for, as it was typed; empty for any."""
    return "" if _ALL_KINDS.fullmatch(match.group("kind")) else typed[match.start("kind") : match.end("kind")]


def _summary(typed: str) -> CollectionQuestion | None:
    """Return what « résume ce document » asks for: which document it is, is not known yet."""
    match = _SUMMARY.fullmatch(fold_in_place(typed))
    if match is None:
        return None
    return CollectionQuestion(Wanted.SUMMARY, "", subject=typed[match.start("subject") : match.end("subject")])


def _in_singular(text: str) -> str:
    """Return the words of a text in one number: « notes de service » and « note de service » are one."""
    words = (_ONE_NUMBER.get(word, word.rstrip("s")) for word in _WORD_ENDS.split(fold_in_place(text)))
    return " ".join(filter(None, words)).replace("proces verbal", "pv").replace("proce verbal", "pv")


_WORD_ENDS = re.compile(r"[\W_]")
_ONE_NUMBER = {"avis": "avis", "devis": "devis", "verbaux": "verbal", "policies": "policy", "minutes": "minutes"}
