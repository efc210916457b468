"""Words that carry no meaning by themselves, though no list of function words has them."""

from __future__ import annotations

from sourcier.services.index.language.stop_words import FUNCTION_WORDS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


QUANTITIES = _words(
    "tous toutes tout toute chaque toujours certains certaines quelques plusieurs meme avant apres depuis "
    "autre autres avec sans maximum minimum maximal minimal premier premiere dernier derniere seul seule seuls seules "
    "jusqu' jusque uniquement seulement exclusivement moins hors all every always some several before after since "
    "until between other without more less than only first last each both parfois rarement souvent generalement "
    "normalement habituellement principe sometimes rarely often usually normally generally"
)
"""Function words that change what is said: a question's must stand in the clause."""
LIGHT = _words(
    "passer passe passent passera porter porte portee fixer fixe fixee exister existe existent trouver trouve trouvent "
    "etre avoir faire reste restent rester demeure demeurent actuellement aujourd'hui desormais toutefois cependant "
    "egalement notamment bien cas effectivement encore deja ici possible y fois prevoit concerne documents document "
    "not no never does did currently still also longer"
)
"""Words that a question may have and its clause not, and the reverse."""
_CONTENT = _words("an fin plan temps")
"""Function words of one language that mean something in the other."""
CARRYING_NOTHING = (FUNCTION_WORDS | LIGHT | QUANTITIES) - _CONTENT
