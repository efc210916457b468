"""Several things of which the same is asked, and several questions in one sentence: told from what is one, and cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from sourcier.services.gateway.answering.by_parts.asking import AND, PARTS_MAX, Form, Said, Several, capitalised
from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses import questions as clauses
from sourcier.services.gateway.computing import questions as computing
from sourcier.services.gateway.computing.asking import spans_between
from sourcier.services.index.language.stop_words import fold_in_place

WORDS_MAX = 4
"""Of one of several things: more are rather a clause."""

_JOINING = re.compile(
    r"\b(?:entre|ensemble|total|totale|communs?|communes?|somme|moyenne|fois|relations?|liens?|rapports?|differences?|"
    r"accords?|articulation|fusion|partage|repartition|equilibre|cumul|comparaison|mutuelle?s?|reciproques?|parite|"
    r"between|together|both|relationships?|links?|mutual|merger|split|sum|average|ni|sauf|hors)\b"
)
"""Words that make one thing of two."""
_HEAD = re.compile(
    r"(?:(?:a |de |pour |dans )?quell?e?s? (?:est|sont|etaient|seront|etait) |what (?:is|are|was|were) |"
    r"(?:donne[rz]?|indique[rz]?|liste[rz]?)(?:-moi)? |give me |list |show me )"
)
_CASES = {
    "de la ": ("de", "la "), "de l'": ("de", "l'"), "du ": ("de", "le "), "des ": ("de", "les "),
    "a la ": ("a", "la "), "a l'": ("a", "l'"), "au ": ("a", "le "), "aux ": ("a", "les "),
    "pour la ": ("pour", "la "), "pour le ": ("pour", "le "), "pour les ": ("pour", "les "),
    "pour l'": ("pour", "l'"), "dans la ": ("dans", "la "), "dans le ": ("dans", "le "),
    "dans les ": ("dans", "les "), "dans l'": ("dans", "l'"),
    "of the ": ("of", "the "), "for the ": ("for", "the "), "at the ": ("at", "the "), "in the ": ("in", "the "),
}
"""A preposition with its article: what it is, and the article by itself."""
_CASE = rf"(?:{'|'.join(_CASES)})"
_FIRST = re.compile(rf"(?<=\s){_CASE}")
_NEXT = re.compile(rf"{AND}(?:(?:ceux|celui|celles?|those|that)\s)?(?P<case>{_CASE}|the )")
_BODIES = lexicon.words(
    "commission ministere ministre direction directeur directrice comite conseil service syndicat departement "
    "delegation federation union chambre agence office institut ecole pole maison association societe code loi "
    "ministry department committee council board office school institute association society act"
)
"""What bears a name such as « commission de l'environnement et de l'urbanisme »: that is one."""
_TAIL = re.compile(
    r"\s(?:le|la|les|en|pour|dans|avec|sans|par|sur|qui|que|a|au|aux|pendant|apres|avant|depuis|on|in|at|for|during|who|"
    r"which|with)\s|\s(?:l'|qu')"
)
"""What may be said of all things behind the last one; « de … » is said of that one alone."""
_CLAUSE = re.compile(r"\s(?:qui|que|who|which|that)\s|\squ'")
_VERBS = {
    "coutent": "coûte", "sont": "est", "ouvrent": "ouvre", "ferment": "ferme", "se trouvent": "se trouve",
    "se situent": "se situe", "valent": "vaut", "durent": "dure", "commencent": "commence", "finissent": "finit",
    "mesurent": "mesure",
}
_SUBJECTS = re.compile(
    rf"(?P<ask>(?:combien|ou|quand|a (?:quelle heure|combien)|a quelles heures|jusqu'a quand|depuis quand)\s)"
    rf"(?P<verb>{'|'.join(_VERBS)})\s(?P<rest>.+)"
)
_ENGLISH_SUBJECTS = re.compile(
    r"(?P<ask>(?:how much|how long|when|where|at what time)\s(?:do|are)\s)(?P<rest>the\s.+)"
)
_ARTICLE = re.compile(r"(?:la |le |les |l'|the )")
_ARTICLE_NEXT = re.compile(rf"{AND}(?={_ARTICLE.pattern})")
_ENDS_ROW = re.compile(r"\b(?:et|and)\b")
_ENGLISH_VERB = re.compile(r"\s(?:open|close|cost|start|end|last|begin|located|situated)\b")


def several_things(said: Said) -> Several | None:
    """Return the parts of « les horaires de la mairie et de la piscine »; None for all else.

    Each thing has its article: « bourse d'étude et de recherche » is one, and so are « droits et devoirs ».
    """
    if ":" in said.plain or "?" in said.plain or _JOINING.search(said.plain) is not None:
        return None
    found = _of_things(said) or _subjects(said) or _english_subjects(said)
    if found is None or computing.asked(said.typed, language=said.language) is not None:
        return None
    return found


def _of_things(said: Said) -> Several | None:
    head = _HEAD.match(said.plain)
    joints = [] if head is None else list(_NEXT.finditer(said.plain, head.end()))
    if head is None or not _are_of_row(joints):
        return None
    firsts = list(_FIRST.finditer(said.plain, head.end(), joints[0].start()))
    if not firsts:
        return None
    case, article = _CASES[firsts[-1].group()]
    kinds = [_CASES.get(joint.group("case"), (case, joint.group("case"))) for joint in joints]
    if any(kind != case for kind, _ in kinds):
        return None
    if said.plain[: firsts[-1].start()].split()[-1].rpartition("'")[2] in _BODIES:
        # « les membres de la commission de l'environnement et de l'urbanisme » are those of one commission.
        return None
    before = said.typed[: firsts[-1].start()].rstrip()
    if not said.plain[head.end() : firsts[-1].start()].strip():
        return None
    earlier = [(firsts[-1].end(), joints[0].start())]
    earlier += [(joint.end(), after.start()) for joint, after in pairwise(joints)]
    # « la prime pour travaux dangereux et la prime pour travaux insalubres »: each has its own.
    own_tails = any(_TAIL.search(said.plain, *span) is not None for span in earlier)
    last, tail = (len(said.typed), "") if own_tails else _without_tail(said, joints[-1].end())
    spans = [*earlier, (joints[-1].end(), last)]
    things = [said.typed[start:end].strip() for start, end in spans]
    if tail is None or not _are_things(things):
        return None
    articles = [article, *(each for _, each in kinds)]
    end = " ?" if said.is_french else "?"
    labels = [f"{each}{thing}" for each, thing in zip(articles, things, strict=True)]
    cases = [firsts[-1].group(), *(_whole_case(joint.group("case"), case) for joint in joints)]
    questions = dict(zip(labels, (
        f"{before} {each}{thing}{tail}{end}" for each, thing in zip(cases, things, strict=True)
    ), strict=True))
    if len(questions) < len(labels):
        return None
    return Several(Form.THINGS, tuple(labels), questions.__getitem__)


def _whole_case(case: str, kind: str) -> str:
    return case if case != "the " else f"{kind} the "


def _are_of_row(joints: Sequence[re.Match[str]]) -> bool:
    """Return whether these stand in one row: commas, then « et », between no more things than one answer has parts."""
    if not 0 < len(joints) < PARTS_MAX:
        return False
    *commas, last = (joint.group() for joint in joints)
    return _ENDS_ROW.search(last) is not None and all("," in comma for comma in commas)


def _without_tail(said: Said, start: int) -> tuple[int, str | None]:
    """Return where the last thing ends, and what is said of all of them behind; None where that is a clause."""
    tail = _TAIL.search(said.plain, start)
    if tail is None:
        return len(said.typed), ""
    if _CLAUSE.search(said.plain, tail.start()) is not None:
        return tail.start(), None
    return tail.start(), said.typed[tail.start() :]


def _are_things(things: Sequence[str]) -> bool:
    return all(thing and len(thing.split(" ")) <= WORDS_MAX and "?" not in thing for thing in things)


def _subjects(said: Said) -> Several | None:
    """« Combien coûtent la piscine et la médiathèque ? »."""
    match = _SUBJECTS.fullmatch(said.plain)
    if match is None:
        return None
    things = _row(said, match.start("rest"), len(said.typed))
    if things is None:
        return None
    ask, verb = said.typed[: match.end("ask")], _VERBS[match.group("verb")]
    return Several(Form.THINGS, things, lambda label: f"{ask}{verb} {label} ?")


def _english_subjects(said: Said) -> Several | None:
    """"When do the pool and the library open?"."""
    match = _ENGLISH_SUBJECTS.fullmatch(said.plain)
    verb = None if match is None else _ENGLISH_VERB.search(said.plain, match.start("rest"))
    if match is None:
        return None
    end = len(said.typed) if verb is None else verb.start()
    things = _row(said, match.start("rest"), end)
    if things is None:
        return None
    ask = re.sub(r"\bdo\s$", "does ", re.sub(r"\bare\s$", "is ", said.typed[: match.end("ask")]))
    tail = said.typed[end:]
    return Several(Form.THINGS, things, lambda label: f"{ask}{label}{tail}?")


def _row(said: Said, start: int, end: int) -> tuple[str, ...] | None:
    """Return things with their articles, one after the other."""
    joints = list(_ARTICLE_NEXT.finditer(said.plain, start, end))
    if not _are_of_row(joints):
        return None
    things = tuple(said.typed[first:last].strip() for first, last in spans_between(joints, start, end))
    if _ARTICLE.match(fold_in_place(things[0])) is None or len(set(things)) < len(things):
        return None
    return things if all(len(thing.split(" ")) <= WORDS_MAX + 1 for thing in things) else None


_ASKING = (
    r"(?:(?:a |de |pour |dans |en |avant |jusqu'a |depuis )?(?:quell?e?s?|qui|quand|combien|comment|ou)|what|who|where|"
    r"when|how(?: much| many| long)?|which)"
)
_TURNED = r"(?<!\w)\w++-(?:t-)?(?:ils?|elles?|on|je|tu|nous|vous)\b"
_TURNED_ROUND = re.compile(rf"\b{_TURNED}")
_ENGLISH_TURNED = re.compile(r"\A(?:is|are|was|were|can|may|must|does|do|did|has|have|will|should)\s")
EST_CE_WORDS_MIN = 4
_NEW_QUESTION = re.compile(r"\s?\?\s(?:et |and )?|\s?,?\s(?:et|and)\s")
_ASKS = re.compile(rf"{_ASKING}\b")
_REFERS = re.compile(
    r"\b(?:il|elle|ils|elles|ce|cela|ca|celui|celle|ceux|celles|celui-ci|y|lui|leur|leurs|son|sa|ses|la meme|"
    r"le meme|laquelle|lequel|it|its|they|them|their|this|that|these|those|he|she|his|her|there|one)\b"
    rf"|\ben\s(?:{_TURNED}|(?:a|ai|as|ont|avons|avez|est|sont|faut|reste|restent|beneficie|beneficient)\b)"
    r"|\b(?:comment|ou|quand|combien|de|pour|sans|on|je|il|dois|peut|faut|doit|puis|peux)\s(?:la|le|les)\s\w+(?:er|ir)\b"
    r"|\bl'(?!heure\b)\w+(?:er|ir|re)\b|\b(?:le|la|les)\s(?:faire|prendre|rendre|mettre|remettre|suivre|joindre|lire)\b"
    r"|\bc'est\b"
)
"""What stands for something of the question before: by itself, such a question asks nothing."""
_PRONOUN_TURNED = re.compile(r"-(?:t-)?(?:ils?|elles?)\b")
_SUBJECT = re.compile(r"\b(?:le|la|les|un|une|des|mon|ma|mes|notre|nos|votre|vos|chaque)\s|\bl'")
"""What makes a pronoun behind a verb repeat a subject: « quel préavis le preneur doit-il respecter »."""
_VERB = re.compile(
    r"\b(?:est|sont|etait|sera|coute|coutent|ouvre|ouvrent|ferme|ferment|peut|doit|faut|dure|durent|signe|dirige|gere|"
    r"delivre|trouve|trouvent|recoit|is|are|was|does|do|can|must|costs?|opens?|closes?|runs?|signs?|signed)\b"
    rf"|\b{_TURNED}"
)
_CONTENT = re.compile(r"\w{4,}")
CONTENT_MIN = 2
_DETERMINED = re.compile(
    r"\b(?:le|la|les|du|des|un|une|mon|ma|mes|notre|nos|votre|vos|the|a|an|my|our|your)\s|\b[ld]'\w|"
    r"-(?:je|on|nous|vous|tu)\b|\b(?:do|does|can|may|must)\s(?:i|we|you)\b"
)
"""What makes a question of how many one of its own: something determined, or whoever asks."""
_BEGINS_YES_NO = re.compile(
    rf"(?:{_TURNED}|(?:le|la|les|un|une|des|mon|ma|mes|notre|nos|ce|cette|ces|chaque|is|are|can|may|must|does|do|has|"
    r"have|will)\s|l')"
)
_CIRCUMSTANCE = re.compile(
    r"\A(?:en cas d|en |si |s'il|lors|quand |pour |pendant |dans |apres |avant |a partir |selon |if |when |for |in |"
    r"during |after |before )[^,?]*,"
)
"""What is said of all that follows: « En cas de maladie, dois-je prévenir et combien de jours sont payés ? »."""


def questions_in_one(said: Said) -> Several | None:
    """Return the questions that one text asks, where each says by itself what it asks; None for all else.

    One of them may be a question for yes or no: « La cantine sert-elle le mercredi et combien de jours de congés
    ai-je ? ».
    """
    joints = list(_NEW_QUESTION.finditer(said.plain))
    ends = [*(each.start() for each in joints[1:]), len(said.typed)]
    cuts = [each for each, end in zip(joints, ends, strict=False) if _begins(said, each, end)]
    if not cuts or len(cuts) >= PARTS_MAX:
        return None
    spans = spans_between(cuts, 0, len(said.typed))
    plain = [said.plain[start:end].strip() for start, end in spans]
    kinds = [_kind(said, start, end) for start, end in spans]
    if any(kind is None for kind in kinds):
        return None
    if any(_refers(each) or len(_CONTENT.findall(each)) < CONTENT_MIN for each in plain[1:]):
        return None
    if "yes or no" in kinds and (
        _CIRCUMSTANCE.match(plain[0]) is not None
        or any(kind == "open" and _DETERMINED.search(_ASKS.sub("", each, count=1)) is None
               for kind, each in zip(kinds, plain, strict=True))
    ):
        return None
    end = " ?" if said.is_french else "?"
    questions = tuple(
        f"{capitalised(said.typed[start:stop].strip())}{end}" for start, stop in spans
    )
    return Several(Form.QUESTIONS, questions, str)


def _begins(said: Said, joint: re.Match[str], end: int) -> bool:
    """Return whether a question of its own begins behind a joint, as far as its first words tell.

    Behind a question mark one for yes or no goes on with what was asked: « Le licenciement doit-il … ? ».
    """
    if _ASKS.match(said.plain, joint.end()) is not None:
        return True
    return "?" not in joint.group() and _BEGINS_YES_NO.match(said.plain, joint.end()) is not None and _is_yes_or_no(
        said, joint.end(), end
    )


def _kind(said: Said, start: int, end: int) -> str | None:
    """Return what a part asks for, `open` or `yes or no`; None for what is no question by itself."""
    plain = said.plain[start:end].strip()
    if _ASKS.match(plain) is not None:
        return "open" if _VERB.search(plain) is not None else None
    return "yes or no" if _is_yes_or_no(said, start, end) else None


def _is_yes_or_no(said: Said, start: int, end: int) -> bool:
    plain = said.plain[start:end].strip()
    if not start and plain.startswith("est-ce qu"):
        has_verb = _VERB.search(plain) is not None or len(plain.split()) > EST_CE_WORDS_MIN
    else:
        has_verb = (_TURNED_ROUND if said.is_french else _ENGLISH_TURNED).search(plain) is not None
    return has_verb and clauses.asked(f"{said.typed[start:end].strip(' ?')} ?", today=_ANY_DAY) is not None


_ANY_DAY = date(2000, 1, 1)
"""Which day it is makes no question of what is none."""


def _refers(plain: str) -> bool:
    own = plain
    for turned in _PRONOUN_TURNED.finditer(plain):
        if _SUBJECT.search(plain, 0, turned.start()) is not None:
            own = f"{own[: turned.start()]}{' ' * len(turned.group())}{own[turned.end() :]}"
    return _REFERS.search(own) is not None
