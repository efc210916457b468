"""Whether a message needs a search (SPEC A7), and what is said to one that does not.

Everything is searched for, unless the whole of it is a greeting, thanks, a farewell or the like, in words of a closed
list: a question that is taken for small talk gets no answer, while small talk that is searched for gets a refusal at
worst. A greeting before a question is a question.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from sourcier.services.gateway.dialogue.follow_ups import split_words

KEYWORDS = ("code", "fonction", "function", "api", "donnée", "data", "fichier", "file", "document")
"""Technical words, in the singular, that always mean a search, unless the settings name others."""

COMPLEXITY_MIN = 0.6
"""More complex messages are searched for, whatever their words."""

_WORDS_OF_FULL_COMPLEXITY = 20

_ANALYSES = re.compile(r"analy|compar|évalu|evaluat|synthé|synthes|summar|résum|vérifi|verif|list")
_EXPLANATIONS = re.compile(r"expli|expla|décri|describ|défini|defin|détaill|detail|montr|show|pourquoi$|why$")


class Reason(Enum):
    """Why a message is searched for, or is not."""

    QUESTION = "question"
    ANALYSIS = "analysis"
    EXPLANATION = "explanation"
    COMPLEXITY = "complexity"
    KEYWORD = "keyword"
    DOUBT = "doubt"
    """Nothing tells: a search costs little, and an unanswered question much."""
    GREETING = "greeting"
    WELLBEING = "wellbeing"
    THANKS = "thanks"
    ACKNOWLEDGEMENT = "acknowledgement"
    FAREWELL = "farewell"


@dataclass(frozen=True)
class Decision:
    """Whether to search, and why; a message that needs none has its reply."""

    reason: Reason
    reply: str = ""
    language: str = ""
    """`fr` or `en`: that of the reply."""

    @property
    def search(self) -> bool:
        """Whether to search."""
        return not self.reply


# By language: what people say, as `split_words` gives it.
_PHRASES: dict[str, dict[Reason, str]] = {
    "fr": {
        Reason.GREETING: (
            "bonjour|bonsoir|salut|coucou|bjr|slt|bien le bonjour|re bonjour|rebonjour|enchanté|enchantée"
        ),
        Reason.WELLBEING: (
            "ça va|comment ça va|ça va bien|comment vas-tu|comment allez-vous|comment tu vas|comment vous allez|"
            "tu vas bien|vous allez bien|vas-tu bien|allez-vous bien|quoi de neuf"
        ),
        Reason.THANKS: (
            "merci|merci beaucoup|merci bien|un grand merci|grand merci|mille mercis|mille merci|merci infiniment|"
            "merci d'avance|merci pour tout|merci pour ton aide|merci pour votre aide|merci de ton aide|"
            "merci de votre aide|merci pour la réponse|merci pour ta réponse|merci pour votre réponse|"
            "merci pour ces informations|merci pour l'information|merci pour les informations|je te remercie|"
            "je vous remercie|c'est gentil|super merci|ok merci|parfait merci|très bien merci|d'accord merci"
        ),
        Reason.ACKNOWLEDGEMENT: (
            "d'accord|très bien|parfait|entendu|c'est noté|noté|compris|c'est compris|j'ai compris|bien reçu|génial|"
            "c'est parfait|c'est bon|excellent|ça marche|c'est clair|formidable|ok d'accord|bravo|bien joué|super"
        ),
        Reason.FAREWELL: (
            "au revoir|à bientôt|à plus|à plus tard|à demain|bonne journée|bonne soirée|bonne nuit|bon week-end|"
            "bon weekend|adieu|à la prochaine|à tout à l'heure|bonne fin de journée|bonne continuation|ciao|tchao"
        ),
    },
    "en": {
        Reason.GREETING: (
            "hello|hi|hey|hello there|hi there|hey there|good morning|good afternoon|good evening|greetings|howdy|"
            "nice to meet you|pleased to meet you"
        ),
        Reason.WELLBEING: (
            "how are you|how are you doing|how are you today|how's it going|how is it going|how do you do|what's up|"
            "are you well|are you ok|how have you been"
        ),
        Reason.THANKS: (
            "thanks|thank you|thanks a lot|thank you very much|thank you so much|many thanks|thanks so much|thx|"
            "thanks for your help|thank you for your help|thanks for the help|thanks for the answer|"
            "thank you for the answer|thanks in advance|much appreciated|ok thanks|great thanks|ok thank you|"
            "perfect thanks|cheers"
        ),
        Reason.ACKNOWLEDGEMENT: (
            "alright|all right|great|perfect|got it|understood|i see|sounds good|very good|cool|awesome|"
            "that's great|that's clear|well done|good job|ok great|ok|okay"
        ),
        Reason.FAREWELL: (
            "goodbye|good bye|bye|bye bye|see you|see you soon|see you later|have a nice day|have a good day|"
            "have a great day|good night|take care|see you tomorrow"
        ),
    },
}

# After a phrase: whom it is said to.
_ADDRESSED = {
    "fr": "à tous|à toutes|à tous et à toutes|tout le monde|madame|monsieur|sourcier|l'équipe|toi|à vous|à toi aussi",
    "en": "all|everyone|everybody|there|sourcier|team|sir|madam|again",
}

_REPLIES: dict[str, dict[Reason, str]] = {
    "fr": {
        Reason.GREETING: "Bonjour ! Posez-moi une question sur vos documents.",
        Reason.WELLBEING: "Tout va bien, merci. Quelle question avez-vous sur vos documents ?",
        Reason.THANKS: "Je vous en prie. Avez-vous une autre question sur vos documents ?",
        Reason.ACKNOWLEDGEMENT: "Très bien. Avez-vous une autre question sur vos documents ?",
        Reason.FAREWELL: "Au revoir, et à bientôt.",
    },
    "en": {
        Reason.GREETING: "Hello! Ask me a question about your documents.",
        Reason.WELLBEING: "All is well, thank you. What would you like to know from your documents?",
        Reason.THANKS: "You are welcome. Do you have another question about your documents?",
        Reason.ACKNOWLEDGEMENT: "Very well. Do you have another question about your documents?",
        Reason.FAREWELL: "Goodbye, and see you soon.",
    },
}

# Said in both languages: the conversation tells which one is spoken.
_IN_BOTH = {"ok": Reason.ACKNOWLEDGEMENT, "okay": Reason.ACKNOWLEDGEMENT, "super": Reason.ACKNOWLEDGEMENT,
            "cool": Reason.ACKNOWLEDGEMENT, "excellent": Reason.ACKNOWLEDGEMENT, "hello": Reason.GREETING,
            "ciao": Reason.FAREWELL}

# What parts a message into things said; an apostrophe or a hyphen does not.
_PARTING = re.compile(r"[.,;:!?…\n]+| [-–—] ")


def decide(
    message: str, *, language: str = "fr", keywords: Collection[str] = KEYWORDS,
    complexity_min: float = COMPLEXITY_MIN,
) -> Decision:
    """Return whether a message is searched for; `language` is the conversation's, for words of several languages."""
    words = split_words(message)
    singular = {word.removesuffix("s") for word in words}
    if any(keyword.casefold().removesuffix("s") in singular for keyword in keywords):
        return Decision(Reason.KEYWORD)
    if complexity(words) > complexity_min:
        return Decision(Reason.COMPLEXITY)
    if (said := _small_talk(message, language=language)) is not None:
        reason, spoken = said
        return Decision(reason, _REPLIES[spoken][reason], spoken)
    if any(_ANALYSES.match(word) for word in words):
        return Decision(Reason.ANALYSIS)
    if any(_EXPLANATIONS.match(word) for word in words):
        return Decision(Reason.EXPLANATION)
    return Decision(Reason.QUESTION if "?" in message else Reason.DOUBT)


def complexity(words: Collection[str]) -> float:
    """Return how much a message asks, 0 to 1, told by its length: greetings have a few words, questions many."""
    return min(1.0, len(words) / _WORDS_OF_FULL_COMPLEXITY)


def _small_talk(message: str, *, language: str) -> tuple[Reason, str] | None:
    """Return what the message says last (« Merci, au revoir » is a farewell) and its language; None unless all of it
    is small talk."""
    said: tuple[Reason, str] | None = None
    for part in _PARTING.split(message):
        phrase = " ".join(split_words(part))
        if not phrase:
            continue
        # A language that one part told is that of the words that both have.
        spoken = language if said is None else said[1]
        said = _recognise(phrase, "en" if spoken == "en" else "fr")
        if said is None:
            return None
    if said is not None and said[0] is Reason.ACKNOWLEDGEMENT and "?" in message:
        # « Ça marche ? » may ask after anything.
        return None
    return said


def _recognise(phrase: str, language: str) -> tuple[Reason, str] | None:
    if phrase in _IN_BOTH:
        return _IN_BOTH[phrase], language
    return next(
        ((reason, spoken) for spoken, pattern, reason in _PATTERNS if pattern.fullmatch(phrase)), None
    )


_PATTERNS = [
    (language, re.compile(rf"(?:{phrases})(?: (?:{_ADDRESSED[language]}))?"), reason)
    for language, by_reason in _PHRASES.items() for reason, phrases in by_reason.items()
]
