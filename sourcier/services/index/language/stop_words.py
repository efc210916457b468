"""Function words of French and English, which say which language a text is in and nothing about its subject; and of
languages that share words with these, so that they are not taken for them."""

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


class _InPlace(dict[int, str]):
    """What stands for each character, by its number, found out once."""

    def __missing__(self, number: int) -> str:
        letter = chr(number)
        plain = " " if letter == "\u00a0" else fold(letter.casefold())
        self[number] = plain if len(plain) == 1 else letter
        return self[number]


_IN_PLACE = _InPlace()


def fold_in_place(text: str) -> str:
    """Return the text without accents and capitals, each character at its place; what would take two stays."""
    return text.translate(_IN_PLACE)


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
FUNCTION_WORDS = STOP_WORDS["fr"] | STOP_WORDS["en"]
"""Of either language, with accents and without."""

_SPANISH = """
    el la los las lo un una unos unas de del a al y e o u que quien quienes cual cuales cuanto cuanta cuantos cuantas
    como donde cuando por porque para con sin sobre entre desde hasta hacia segun ante bajo contra durante tras en
    no ni si mas menos muy tan tambien ya aun solo siempre nunca
    es son era eran fue fueron ser siendo sido esta estan estaba estaban hay ha han habia haber he hemos tiene tienen
    qué quién quiénes él también después además según
    puede pueden puedo debe deben se su sus mi mis tu tus le les nos me te este estos esta estas ese esos esa esas
    aquel aquella esto eso otro otra otros otras todo toda todos todas cada algun alguna pero sino hacer hace
"""
_PORTUGUESE = """
    o a os as um uma uns umas de do da dos das em no na nos nas ao aos pelo pela pelos pelas e ou que quem qual quais
    quanto quanta quantos quantas como onde quando por porque para com sem sobre entre desde ate contra durante
    nao nem se mais menos muito tambem ja so sempre nunca é são não até você também já só está há
    eram foi foram ser sendo sido esta estao estava ha tem tinha pode podem deve devem seu sua seus suas meu minha
    este esta estes estas esse essa isso isto outro outra todo toda todos todas cada mas
"""
_ITALIAN = """
    il lo la i gli le un uno una di del dello della dei degli delle a al allo alla ai agli alle da dal dalla dai dalle
    in nel nella nei nelle su sul sulla sui sulle con per tra fra e ed o che chi cui quale quali quanto quanta quanti
    quante come dove quando perche non ne si piu meno molto anche solo sempre mai
    era erano fu furono essere sono stato stata ha hanno aveva puo possono deve devono suo sua suoi sue mio mia
    è più perché né può già così cioè
    questo questa questi queste quello quella quelli quelle altro altra altri altre ogni ma cosa
"""
_GERMAN = """
    der die das den dem des ein eine einen einem einer eines und oder aber dass ob wer was wie wo wann warum welche
    welcher welches welchen wieviel in im an am auf aus bei beim mit nach von vom zu zum zur fur uber unter vor
    zwischen durch gegen ohne um bis seit wahrend nicht kein keine keinen nur auch noch schon sehr mehr als
    ist sind war waren wird werden wurde wurden sein hat haben hatte hatten kann konnen muss mussen darf soll sich
    für über während können müssen würde würden dürfen natürlich
    er sie es wir ihr ihre ihren seine seinen man dieser diese dieses diesem jeder jede jedes wenn
"""
_DUTCH = """
    de het een en of maar dat die wie wat waar wanneer waarom hoe welke hoeveel in op aan van voor met naar uit bij
    over onder tussen door tegen zonder om tot sinds tijdens niet geen ook nog al zeer meer dan als
    is zijn was waren wordt worden werd werden heeft hebben had kan kunnen moet moeten zich hij zij ze we hun haar
    deze dit elke er te
"""

OTHER_WORDS = {
    language: _with_unaccented(words)
    for language, words in {
        "es": _SPANISH, "pt": _PORTUGUESE, "it": _ITALIAN, "de": _GERMAN, "nl": _DUTCH,
    }.items()
}
"""Function words of languages that are recognised and not analysed."""
