"""The words that frame a clause, French and English, folded: opposites, denials, conditions, exceptions, plans, claims.

Phrases are written with the tokens of `tokens.py`: elisions stand apart (`s' il`), hyphens are gone (`y a t il`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from sourcier.services.index.language import light_words
from sourcier.services.index.times import dates

Phrase = tuple[str, ...]


class Scale(Enum):
    """What a pair of opposites is about."""

    PERMITTED = "permitted"
    KEPT = "kept"
    REQUIRED = "required"
    OPEN = "open"
    FREE = "free"
    INCLUDED = "included"
    VALID = "valid"
    RAISED = "raised"
    PUBLIC = "public"
    AVAILABLE = "available"


@dataclass(frozen=True)
class Pole:
    """One end of a scale."""

    scale: Scale
    sign: int
    """1 or -1."""


TRANSPARENT = frozenset({Scale.PERMITTED, Scale.KEPT})
"""Scales that a clause may have where the question has none: « il est interdit de fumer » denies « fume-t-on ? »."""
CONTRARY = frozenset({Scale.RAISED, Scale.PUBLIC})
"""Scales with something between their ends: what is not raised need not be lowered."""


def words(text: str) -> frozenset[str]:
    """Return the words of a table."""
    return frozenset(text.split())


class Phrases(dict[str, tuple[Phrase, ...]]):
    """Phrases by their first word, longest first: a text is walked word by word."""

    def __add__(self, other: Phrases) -> Phrases:
        return _by_first_word({phrase for table in (self, other) for each in table.values() for phrase in each})


def _by_first_word(found: Iterable[Phrase]) -> Phrases:
    table: dict[str, list[Phrase]] = {}
    for phrase in sorted(found, key=lambda each: (-len(each), each)):
        # « À compter du » in capitals has no accent.
        for first in ("a", "à") if phrase[0] == "a" else (phrase[0],):
            table.setdefault(first, []).append(phrase)
    return Phrases({first: tuple(each) for first, each in table.items()})


def phrases(text: str) -> Phrases:
    """Return the phrases of a table, one between two bars."""
    return _by_first_word({tuple(phrase.split()) for phrase in text.split("|")})


_POLES: Mapping[Scale, tuple[str, str]] = {
    Scale.PERMITTED: (
        "autorise autorisee autorises autorisees autorisent autoriser autorisation permis permise permises permet "
        "permettent permettre admis admise admises accepte acceptee acceptes acceptees acceptent accepter tolere "
        "toleree toleres tolerees possible possibles peut peuvent peux pourra pourront allowed permitted accepted "
        "accepts accept allows allow can may permits",
        "interdit interdite interdits interdites interdisent interdire interdiction defendu defendue defendus "
        "defendues prohibe prohibee prohibes prohibees proscrit proscrite proscrits proscrites refuse refusee refuses "
        "refusees refusent refuser impossible impossibles forbidden prohibited banned refused refuses rejects",
    ),
    Scale.KEPT: (
        "maintenu maintenue maintenus maintenues conserve conservee conserves conservees reconduit reconduite kept "
        "maintained",
        "supprime supprimee supprimes supprimees supprimer suppression suspendu suspendue suspendus suspendues annule "
        "annulee annules annulees abroge abrogee abroges abrogees aboli abolie cancelled canceled suspended abolished "
        "discontinued removed",
    ),
    Scale.REQUIRED: (
        "obligatoire obligatoires obligatoirement obligation exige exigee exiges exigees requis requise requises "
        "necessaire necessaires doit doivent devra devront faut faudra oblige obligee obliges obligees tenu tenue "
        "tenus tenues imperatif imperative indispensable mandatory compulsory required must obliged requires necessary",
        "facultatif facultative facultatifs facultatives optionnel optionnelle optionnels optionnelles dispense "
        "dispensee dispenses dispensees exempte exemptee exemptes exemptees optional voluntary exempt exempted waived",
    ),
    Scale.OPEN: (
        "ouvert ouverte ouverts ouvertes ouvre ouvrent ouvrir ouverture ouvrira ouvriront open opens opened",
        "ferme fermee fermes fermees ferment fermer fermeture fermera fermeront closed closes shut",
    ),
    Scale.FREE: (
        "gratuit gratuite gratuits gratuites gratuitement free",
        "payant payante payants payantes paid charged chargeable",
    ),
    Scale.INCLUDED: (
        "inclus incluse incluses inclut incluent inclure compris comprise comprises comprend comprennent couvert "
        "couverte couverts couvertes couvre couvrent couvrir rembourse remboursee rembourses remboursees included "
        "includes include covered covers cover reimbursed refunded",
        "exclu exclue exclus exclues exclut excluent exclure excluded excludes exclude",
    ),
    Scale.VALID: (
        "valable valables valide valides valid",
        "nul nulle nuls nulles invalide invalides caduc caduque caducs caduques perime perimee perimes perimees "
        "void invalid expired",
    ),
    Scale.RAISED: (
        "augmente augmentent augmentee augmentes augmenter augmentation hausse releve relevee increase increases "
        "increased raised rises",
        "diminue diminuent diminuee diminues diminuer diminution baisse baissent abaisse abaissee reduit reduite "
        "decrease decreases decreased lowered reduced falls",
    ),
    Scale.PUBLIC: ("public publique publics publiques", "prive privee prives privees private"),
    Scale.AVAILABLE: (
        "disponible disponibles accessible accessibles available",
        "indisponible indisponibles inaccessible inaccessibles unavailable",
    ),
}
POLES: Mapping[str, Pole] = {
    word: Pole(scale, sign)
    for scale, (positive, negative) in _POLES.items() for text, sign in ((positive, 1), (negative, -1))
    for word in text.split()
}
MODALS = words("peut peuvent peux pourra pourront doit doivent devra devront faut faudra can may must")
"""Poles that are auxiliaries: « ne doit pas » forbids."""
DUTIES = words("doit doivent devra devront must")

NO_DUTY = phrases("have to|has to|need to|need not|needs to|be obliged|have any")
"""Denied, these leave free: « visitors do not have to pay » may pay."""
BELONGING = phrases("pris en charge|prise en charge|prises en charge|prennent en charge|prend en charge")
"""What says « included » in several words."""

DENIALS = words("pas jamais aucun aucune aucuns aucunes non not never no none neither nor")
"""Of these the French ones deny with « ne », and some without: « pas de chiens », « aucun chien »."""
NE = words("ne n'")
SECOND_PARTS = words("pas plus jamais aucun aucune aucunement rien ni guere point nul nulle personne")
RESTRICTING = words("seul seule seuls seules seulement uniquement exclusivement only solely exclusively")
SUBORDINATING = words("qui dont où lorsque lorsqu' quand who whom which that whose")
"""A denial behind one of them, with no comma between, may be the subordinate clause's."""

EXCEPTIONS = phrases(
    "sauf|hormis|excepte|exceptes|exceptee|exceptees|a l' exception de|a l' exception des|a l' exception du|"
    "a l' exclusion de|a l' exclusion des|a l' exclusion du|hors|en dehors de|en dehors des|en dehors du|"
    "except|except for|excepted|excluding|apart from|other than|with the exception of|save for|a part"
)
CONTRASTS = phrases(
    "contrairement a|contrairement au|contrairement aux|a la difference de|a la difference des|unlike|"
    "mais pas|mais non|mais jamais|et non|et pas|, non|, pas|, jamais|but not|and not|, not|, never"
)
"""What is denied beside what is said: « mais pas les chiens »."""
NO_EXCEPTION = phrases(
    "hors service|hors d' usage|hors tension|hors ligne|hors delai|hors sol|hors taxes|hors taxe|hors tout|"
    "a part entiere"
)
STRONG_CONDITIONS = phrases(
    "a condition que|a condition de|a condition d'|a condition qu'|a la condition|sous reserve|sous condition|"
    "sous conditions|pourvu que|pourvu qu'|uniquement si|uniquement en cas|seulement si|seulement en cas|"
    "uniquement sur|seulement sur|uniquement lorsque|uniquement pour|seulement pour|uniquement avec|seulement avec|"
    "uniquement apres|seulement apres|only if|only when|only with|only for|provided that|on condition|"
    "subject to|as long as|moyennant"
)
CONDITIONS = STRONG_CONDITIONS + phrases(
    "si|s' il|s' ils|en cas de|en cas d'|dans le cas|lorsque|lorsqu'|quand|des lors que|des lors qu'|tant que|"
    "sur presentation|sur rendez vous|sur demande|sur autorisation|sur justificatif|sur inscription|sur reservation|"
    "apres accord|apres autorisation|apres validation|avec l' accord|avec l' autorisation|sans l' accord|"
    "dans la limite|if|when|unless|in case of|in the event|upon request|on request|by appointment|with the approval"
)

REASONS = phrases(
    "car|parce que|parce qu'|puisque|puisqu'|en raison|a cause|afin de|afin d'|afin que|grace a|pour que|pour eviter|"
    "pour permettre|du fait|etant donne|because|since|due to|owing to|in order to|so that|as a result"
)
"""What a sentence that answers « pourquoi » holds."""

REJECTED = words(
    "rejete rejetee rejetes rejetees refuse refusee refuses refusees repousse repoussee repousses repoussees abandonne "
    "abandonnee abandonnes abandonnees ecarte ecartee ecartes ecartees retire retiree retires retirees rejected "
    "dismissed abandoned declined withdrawn"
)
ADOPTED = words(
    "adopte adoptee adoptes adoptees approuve approuvee approuves approuvees retenu retenue retenus retenues valide "
    "validee vote votee accepte acceptee adopted approved"
)
PROPOSALS = words(
    "proposition propositions projet projets demande demandes amendement amendements motion motions idee option "
    "options hypothese hypotheses piste pistes candidature proposal proposals motion request plan plans draft"
)
HYPOTHESES = words(
    "pourrait pourraient serait seraient devrait devraient aurait auraient envisage envisagee envisages envisagees "
    "envisageable evoque evoquee evoques evoquees could might proposed considered "
    "envisaged"
)
HYPOTHESES_AFTER_BE = words("evoque evoquee evoques evoquees considered proposed")
"""These suppose something only behind a form of « être »."""
HYPOTHESIS_PHRASES = phrases(
    "est propose de|est propose que|"
    "a l' etude|en projet|en discussion|il est question de|il est question d'|propose de|propose d'|proposent de|"
    "projet de|projet d'|proposition de|proposition d'|envisage de|envisage d'|envisagent de|under study|"
    "under consideration|under discussion|proposal to|proposal for|plan to|plans to"
)
PLANNED = words(
    "prevu prevue prevus prevues programme programmee programmes programmees planifie planifiee planifies planifiees "
    "planned scheduled due expected slated"
)
FORMS_OF_BE = words(
    "est sont etait etaient sera seront ete fut furent etre soit soient is are was were be been being will"
)
COMING = words("prochain prochaine prochains prochaines semestre trimestre horizon next upcoming")
COMING_PHRASES = phrases("d' ici|a terme|a venir|l' an prochain|a l' avenir|pas encore|not yet|by the end of")
FROM_DATE = phrases("a compter du|a compter de|a partir du|a partir de|des le|as of|starting|from|effective")
SINCE = FROM_DATE + phrases("depuis|depuis le|since|en vigueur depuis|en vigueur depuis le")
UNTIL_DATE = phrases("jusqu' au|jusqu' en|jusqu' a|until|till")
PAST = words(
    "etait etaient fut furent avait avaient autrefois anciennement jadis auparavant was were formerly previously "
    "pouvait pouvaient devait devaient"
)
FUTURE = words("sera seront aura auront pourra pourront devra devront fera feront will shall")

DRAFTS = phrases(
    "brouillon|draft|avant projet|projet de|projet d'|proposition de|proposition d'|document de travail|"
    "working document"
)
"""What a title says of a document that decides nothing."""

SPEAKERS = words(
    "syndicat syndicats delegue delegues elu elus elue elues representant representants cgt cfdt fo cftc unsa "
    "opposants opposition association associations habitants riverains client clients salarie salaries presse "
    "plaignant requerant usager usagers collectif intersyndicale fournisseur prestataire parents union unions "
    "residents supplier contractor tenant landlord employees opponents critics"
)
ACCORDING = phrases("selon|d' apres|pour|according to")
CLAIMING = words(
    "demande demandent reclame reclament revendique revendiquent souhaite souhaitent exige exigent affirme affirment "
    "pretend pretendent estime estiment soutient soutiennent espere esperent asks ask demands demand claims claim "
    "wants want believes hopes suggests suggest suggere suggerent preconise preconisent"
)

MONTHS = dates.MONTHS
WEEKDAYS = ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche")
WEEKDAYS_ENGLISH = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
EVERY_DAY = phrases(
    "tous les jours|chaque jour|7 jours sur 7|sept jours sur sept|toute la semaine|every day|all week|daily"
)

QUANTITIES = light_words.QUANTITIES
"""Function words that change what is said: a question's must stand in the clause."""
BOUNDS = words(
    "moins avant apres depuis sans maximum minimum jusqu' jusque hors parfois rarement certains certaines "
    "quelques souvent generalement normalement habituellement principe before after since until between without less "
    "than some sometimes rarely often usually normally generally"
)
"""Those that, standing in the clause alone, say less than the question asks."""

FAMILIES = tuple(words(line) for line in """
    servir sert servent servi servie servis servies service serve serves served
    payer paie paient paye payent paiement paiements reglement regler regle pay pays payment payments
    apporter apporte apportent amener amene
    reserver reserve reservation reservations reservee book booking bookings
    vendre vend vendent vendu vendue vendus vente sell sells sold sale
    recevoir recoit recoivent recu recue recus recues
    prendre prend prennent pris prise prises
    acceder accede accedent acces access
    stationner stationne stationnement park parking
    fumer fume fument smoke smoking
    verser verse versent versee verses versees versement
    reprendre reprend reprennent repris reprise reprises
    climatisation climatise climatisee climatises climatisees
    enfant enfants child children
    utiliser utilise utilisent utilisation usage use used using
    porter porte portent port wear wearing worn
    entrer entre entrent entree entrees enter entry entrance
    visiter visite visites visit visits visiting
    livrer livre livrent livree livrees livraison livraisons deliver delivers delivered delivery
    stocker stocke stockage entreposer entrepose store stored storage
""".strip().split("\n"))
