"""Function words of French and English: they say which language a text is in, and nothing about its subject."""

from __future__ import annotations

import unicodedata


class _Folded(dict[str, str]):
    """What each character becomes, found out once."""

    def __missing__(self, character: str) -> str:
        decomposed = unicodedata.normalize("NFD", character)
        self[character] = "".join(part for part in decomposed if not unicodedata.combining(part))
        return self[character]


_FOLDED = _Folded()


def fold(word: str) -> str:
    """Return the word without accents and ligatures; lower case is expected."""
    if word.isascii():
        return word
    word = word.replace("œ", "oe").replace("æ", "ae").replace("ß", "ss")
    # Whole passages are folded for every search: a few replacements cost a tenth of decomposing character by character.
    for character in set(word):
        if (folded := _FOLDED[character]) != character:
            word = word.replace(character, folded)
    return word


_FRENCH = """
    le la les un une des du de au aux ce cet cette ces cela ça ceci celui celle ceux celles
    je tu il elle on nous vous ils elles me te se lui leur leurs y en moi toi soi eux
    mon ma mes ton ta tes son sa ses notre nos votre vos
    et ou où mais donc or ni car que qui quoi dont lequel laquelle lesquels lesquelles auquel duquel desquels
    quel quelle quels quelles quand comment pourquoi combien si
    à dans par pour sur sous avec sans vers chez entre contre depuis pendant avant après dès jusque jusqu selon
    ne pas plus moins non oui rien jamais aucun aucune très trop aussi ainsi alors encore déjà
    est sont était étaient être étant fut furent sera seront serait seraient soit soient suis es êtes sommes
    a as ont avait avaient avoir ayant eut eurent aura auront aurait auraient ait aient ai avez avons
    fait faire font peut peuvent pouvoir doit doivent faut
    comme lorsque lorsqu puisque puisqu quoique parce afin tout tous toute toutes même mêmes autre autres
    quelque quelques chaque tel telle tels telles ici là
    c d j l m n s t qu aujourd hui
"""

_ENGLISH = """
    the a an and or but nor if then else of to in on at by for from with without into onto over under about
    as is are was were be been being am do does did doing done have has had having
    will would shall should can could may might must
    i you he she it we they me him her us them my your his its our their mine yours
    this that these those there here who whom whose which what when where why how
    not no yes so too very just also only than such same other some any each every all both
    between against during before after above below up down out off again
    s t d ll re ve
"""


def _with_unaccented(words: str) -> frozenset[str]:
    """Return the words with and without their accents, since questions are often typed without."""
    split = words.split()
    return frozenset(split) | frozenset(fold(word) for word in split)


STOP_WORDS = {"fr": _with_unaccented(_FRENCH), "en": _with_unaccented(_ENGLISH)}
