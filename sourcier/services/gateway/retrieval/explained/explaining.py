"""Why each passage of a search is where it is, in figures and in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sourcier.services.gateway.events import RankedPassage
from sourcier.services.gateway.history import Language
from sourcier.services.index.acronyms.asking import Expansion, Meaning
from sourcier.services.index.language.analyser import analyse_passage, question_stems
from sourcier.services.index.language.recognition import detect_words
from sourcier.services.index.language.words import split_words
from sourcier.services.index.search.holding import Place
from sourcier.services.index.slips.choosing import Respelling

_SIGNS = re.compile(r"[\W_]")
WORDS_MAX = 40
"""Words of a question that are told of."""
SHARE_TOLD_MIN = 0.0005
"""Of a title or a date: less is nothing at three decimals."""
_IN_LISTS = ("dense", "lexical", "units")
_TEXTS: Mapping[Language, Mapping[str, str]] = {
    "fr": {
        "title": "Porte {names} dans son titre : passe avant tout passage qui ne le porte pas.",
        "text": "Contient {names} : passe avant tout passage qui ne le contient pas.",
        "beginning": "Contient un identifiant plus long qui commence comme {names}, introuvable tel quel.",
        "dense": "Par le sens : {place} (similarité {score}).", "lexical": "Par les mots : {place} (BM25 {score}).",
        "units": "Par les questions et résumés : {place} (similarité {score}).",
        "merged": "Listes réunies : {place}.",
        "not_dense": "Par le sens : pas parmi les passages regardés.",
        "not_lexical": "Par les mots : pas parmi les passages regardés.",
        "reranked": "Reclassement : {place} (score {score}, dont {share} pour les mots{title}{time}).",
        "title_share": " et {share} pour le titre", "time_share": " et {share} pour la date de son document",
        "slip": "Cherché aussi : {words} (pour « {written} ») ; {held}.",
        "held_word": "le passage l'a", "lacked_word": "le passage ne l'a pas",
        "words": "Mots de la question présents : {words}.", "missing": "Absents : {words}.",
        "behind": "Pour gagner une place, il lui manque {score} de score.",
        "acronym": "Sigle : {short} = {long} (dit dans {documents}) ; {held}.",
        "held_long": "le passage a la forme longue", "held_short": "le passage a le sigle",
        "lacked_long": "le passage n'a pas la forme longue", "lacked_short": "le passage n'a pas le sigle",
        "document": "{count} document", "documents": "{count} documents", "in_title": "le titre d'un document",
        "identifier_before": "Le passage devant contient {names}, que celui-ci n'a pas ou a moins en vue.",
    },
    "en": {
        "title": "Has {names} in its title: comes before every passage without it.",
        "text": "Holds {names}: comes before every passage without it.",
        "beginning": "Holds a longer identifier that begins like {names}, which is nowhere as it is.",
        "dense": "By meaning: {place} (similarity {score}).", "lexical": "By words: {place} (BM25 {score}).",
        "units": "By questions and summaries: {place} (similarity {score}).",
        "merged": "Lists merged: {place}.",
        "not_dense": "By meaning: not among the passages looked at.",
        "not_lexical": "By words: not among the passages looked at.",
        "reranked": "Re-ranked: {place} (score {score}, of which {share} for words{title}{time}).",
        "title_share": " and {share} for the title", "time_share": " and {share} for its document's date",
        "slip": "Also searched for: {words} (for “{written}”); {held}.",
        "held_word": "the passage has it", "lacked_word": "the passage lacks it",
        "words": "Words of the question that it holds: {words}.", "missing": "It lacks: {words}.",
        "behind": "To gain a place it would need {score} more of score.",
        "acronym": "Acronym: {short} = {long} (said in {documents}); {held}.",
        "held_long": "the passage has the long form", "held_short": "the passage has the acronym",
        "lacked_long": "the passage lacks the long form", "lacked_short": "the passage lacks the acronym",
        "document": "{count} document", "documents": "{count} documents", "in_title": "the title of a document",
        "identifier_before": "The passage in front holds {names}, which this one lacks or shows less prominently.",
    },
}


@dataclass(frozen=True, slots=True)
class KnownAcronym:
    """An acronym of the question, or a long form that has one, and whether a passage holds its other form."""

    expansion: Expansion
    meaning: Meaning
    held: bool


@dataclass(frozen=True, slots=True)
class OtherSpelling:
    """What was searched for beside a word of the question, and whether a passage holds it."""

    respelling: Respelling
    held: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a passage is where it is."""

    ranked: RankedPassage
    reranked_place: int
    """By its score alone, from 1; 0 where nothing was re-ranked."""
    words: tuple[str, ...]
    """Of the question, that it holds in some form."""
    missing_words: tuple[str, ...]
    score_behind: float
    """How much its score is below the passage in front; 0 where another thing than the score put that there."""
    sentences: tuple[str, ...]
    acronyms: tuple[KnownAcronym, ...] = ()
    """The question's, and its long forms that have one."""
    spellings: tuple[OtherSpelling, ...] = ()
    """What else was searched for because words of the question may be slips of typing."""


def explain(
    passages: Sequence[RankedPassage], *, looked_at: Sequence[RankedPassage], question: str, language: Language
) -> tuple[Explanation, ...]:
    """Return an explanation for each passage; half a millisecond each, for an executor. `looked_at`: all candidates."""
    by_score = sorted((each for each in looked_at if each.rerank_score is not None), key=lambda each: -each.score)
    places = {each.passage.chunk_id: place for place, each in enumerate(by_score, start=1)}
    words = _question_words(question)
    searched = frozenset(
        name for name in _IN_LISTS if any(getattr(each.found.places, name) for each in (*looked_at, *passages))
    )
    before: Sequence[RankedPassage | None] = (None, *passages)
    return tuple(
        _explained(ranked, ahead, places.get(ranked.passage.chunk_id, 0), words, searched, language)
        for ranked, ahead in zip(passages, before, strict=False)
    )


def _explained(
    ranked: RankedPassage, ahead: RankedPassage | None, place: int, words: Mapping[str, frozenset[str]],
    searched: frozenset[str], language: Language,
) -> Explanation:
    passage = ranked.passage
    stems = analyse_passage(
        passage.title, *passage.heading_path, passage.text, language=passage.language
    ).frequencies.keys()
    acronyms = tuple(
        KnownAcronym(expansion, meaning, bool(group) and stems >= frozenset(group))
        for expansion in ranked.found.expansions for meaning, group in expansion.pairs
    )
    spellings = tuple(OtherSpelling(each, each.is_held_by(stems)) for each in ranked.found.respellings)
    held = tuple(word for word, forms in words.items() if forms & stems)
    missing = tuple(word for word in words if word not in held)
    by_identifier = ahead is not None and ahead.found.standing.order != ranked.found.standing.order
    behind = 0.0 if ahead is None or by_identifier else max(ahead.score - ranked.score, 0.0)
    front = ahead.found.standing.held if ahead is not None and by_identifier else ()
    bare = Explanation(ranked, place, held, missing, behind, (), acronyms, spellings)
    return replace(bare, sentences=tuple(_sentences(bare, front, searched, language)))


def _question_words(question: str) -> dict[str, frozenset[str]]:
    """Return the words of a question that mean something, with the stems that a passage holds them by."""
    words = split_words(question)
    language = detect_words(words)
    # `L. 1121-1` gives `l`, `1121-1`, `1121` and `1`, of which a person wants to read one.
    parts = {part for word in words if not word.isalnum() for part in _SIGNS.split(word)}
    told = [word for word in words if word not in parts and (len(word) > 1 or word.isdigit())]
    stems = {word: frozenset(question_stems(word, language)) for word in told}
    return dict([(word, forms) for word, forms in stems.items() if forms][:WORDS_MAX])


def _sentences(
    explained: Explanation, front: Sequence[str], searched: frozenset[str], language: Language
) -> list[str]:
    texts, found, ranked = _TEXTS[language], explained.ranked.found, explained.ranked
    said: list[str] = []
    if found.standing.held:
        kind = {Place.TITLE: "title", Place.TEXT: "text"}.get(found.standing.place, "beginning")
        said.append(texts[kind].format(names=", ".join(found.standing.held)))
    places, unit = found.places, found.unit
    scores = (found.similarity, found.lexical_score, None if unit is None else unit.similarity)
    for name, place, score in zip(_IN_LISTS, (places.dense, places.lexical, places.units), scores, strict=True):
        if place and score is not None:
            said.append(texts[name].format(place=nth(place, language), score=number(score, language)))
        elif f"not_{name}" in texts and name in searched and places.merged:
            said.append(texts[f"not_{name}"])
    if places.merged:
        said.append(texts["merged"].format(place=nth(places.merged, language)))
    if ranked.rerank_score is not None:
        said.append(texts["reranked"].format(
            place=nth(explained.reranked_place, language), score=number(ranked.score, language),
            share=number(ranked.lexical_share, language),
            title=_share_told("title_share", ranked.title_share, language),
            time=_share_told("time_share", ranked.time_share, language),
        ))
    said.extend(_of_acronym(each, language) for each in explained.acronyms)
    said.extend(
        texts["slip"].format(words=each.respelling.shown, written=each.respelling.written,
                             held=texts["held_word" if each.held else "lacked_word"])
        for each in explained.spellings
    )
    for name, words in (("words", explained.words), ("missing", explained.missing_words)):
        if words:
            said.append(texts[name].format(words=", ".join(words)))
    if front:
        said.append(texts["identifier_before"].format(names=", ".join(front)))
    elif explained.score_behind:
        said.append(texts["behind"].format(score=number(explained.score_behind, language)))
    return said


def _share_told(name: str, share: float, language: Language) -> str:
    return "" if abs(share) < SHARE_TOLD_MIN else _TEXTS[language][name].format(share=number(share, language))


def _of_acronym(known: KnownAcronym, language: Language) -> str:
    texts, meaning = _TEXTS[language], known.meaning
    other = "long" if known.expansion.is_short else "short"
    documents = texts["document" if meaning.documents == 1 else "documents"] if meaning.spelled else texts["in_title"]
    return texts["acronym"].format(
        short=meaning.short, long=" ".join(meaning.long.split()), documents=documents.format(count=meaning.documents),
        held=texts[f"{'held' if known.held else 'lacked'}_{other}"],
    )


def nth(place: int, language: Language) -> str:
    """Return a place as it is said: 1er, 2e; 1st, 2nd."""
    if language == "fr":
        return "1er" if place == 1 else f"{place}e"
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"


def number(value: float, language: Language) -> str:
    """Return a figure with three decimals as it is written."""
    text = f"{value:.3f}"
    return text.replace(".", ",") if language == "fr" else text
