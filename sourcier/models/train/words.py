"""French words by which a sentence is denied, planned, turned into its opposite, or said otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_IRREGULAR = """
est sera serait était|sont seront seraient étaient|êtes serez seriez étiez|a aura aurait avait
ont auront auraient avaient|avez aurez auriez aviez|peut pourra pourrait pouvait
peuvent pourront pourraient pouvaient|pouvez pourrez pourriez pouviez|doit devra devrait devait
doivent devront devraient devaient|devez devrez devriez deviez|faut faudra faudrait fallait
perçoit percevra percevrait percevait|perçoivent percevront percevraient percevaient
reçoit recevra recevrait recevait|reçoivent recevront recevraient recevaient
prévoit prévoira prévoirait prévoyait|prévoient prévoiront prévoiraient prévoyaient
comprend comprendra comprendrait comprenait|comprennent comprendront comprendraient comprenaient
prend prendra prendrait prenait|prennent prendront prendraient prenaient|permet permettra permettrait permettait
permettent permettront permettraient permettaient|ouvre ouvrira ouvrirait ouvrait
ouvrent ouvriront ouvriraient ouvraient|vaut vaudra vaudrait valait|fait fera ferait faisait
font feront feraient faisaient|obtient obtiendra obtiendrait obtenait|devient deviendra deviendrait devenait
deviennent deviendront deviendraient devenaient|intervient interviendra interviendrait intervenait
tient tiendra tiendrait tenait|tiennent tiendront tiendraient tenaient|suit suivra suivrait suivait
dépend dépendra dépendrait dépendait|dépendent dépendront dépendraient dépendaient|sert servira servirait servait
servent serviront serviraient servaient|finit finira finirait finissait|établit établira établirait établissait
fournit fournira fournirait fournissait|remplit remplira remplirait remplissait|part partira partirait partait
perd perdra perdrait perdait|perdent perdront perdraient perdaient|vit vivra vivrait vivait
vivent vivront vivraient vivaient|met mettra mettrait mettait|mettent mettront mettraient mettaient
connaît connaîtra connaîtrait connaissait|paraît paraîtra paraîtrait paraissait|va ira irait allait
vont iront iraient allaient|court courra courrait courait|revient reviendra reviendrait revenait
contient contiendra contiendrait contenait|contiennent contiendront contiendraient contenaient
"""
_REGULAR = """
bénéfici vers donn fix dur travaill concern dispos continu constitu entraîn exist rest compt représent utilis habit
jou appliqu accord autoris assur organis gér propos détermin occup form cré trouv port cess indiqu résult calcul
ferm cherch arriv pass montr aid demand gagn ajout attribu augment diminu désign sign déclar invers prouv mesur
contrôl renouvel exig nécessit affect cumul cotis justifi présent complét conserv remplac résid rembours financ
évalu situ accueill command devanc dirig
"""


@dataclass(frozen=True)
class Tenses:
    """A verb in the third person, or the second of courtesy, in four tenses."""

    present: str
    future: str
    conditional: str
    imperfect: str


def _tenses() -> Mapping[str, Tenses]:
    rows = [entry.split() for line in _IRREGULAR.strip().splitlines() for entry in line.split("|")]
    rows += [[f"{stem}e", f"{stem}era", f"{stem}erait", f"{stem}ait"] for stem in _REGULAR.split()]
    rows += [[f"{stem}ent", f"{stem}eront", f"{stem}eraient", f"{stem}aient"] for stem in _REGULAR.split()]
    return {row[0]: Tenses(*row) for row in rows}


TENSES: Mapping[str, Tenses] = _tenses()
"""By the present form."""

DETERMINERS = frozenset({
    "le", "la", "les", "l'", "un", "une", "des", "du", "de", "d'", "ce", "cet", "cette", "ces", "son", "sa", "ses",
    "leur", "leurs", "notre", "votre", "nos", "vos", "mon", "ma", "mes", "chaque", "par", "en", "à", "au", "aux",
    "pour", "sans", "sur", "sous", "avec", "dans", "deux", "trois", "quatre", "cinq", "plusieurs", "aucun", "aucune",
    "toute", "tout", "tous", "toutes",
})
"""Before a word that looks like a verb, they say that it is a noun."""

OPPOSITES: Sequence[tuple[str, str]] = (
    ("au moins", "au plus"), ("au minimum", "au maximum"), ("minimum", "maximum"), ("minimale", "maximale"),
    ("minimal", "maximal"), ("plus de", "moins de"), ("avant", "après"), ("supérieur", "inférieur"),
    ("supérieure", "inférieure"), ("supérieurs", "inférieurs"), ("obligatoire", "facultatif"),
    ("obligatoirement", "éventuellement"), ("gratuit", "payant"), ("gratuite", "payante"),
    ("gratuitement", "contre paiement"), ("avec", "sans"), ("ouvert", "fermé"), ("ouverte", "fermée"),
    ("ouverts", "fermés"), ("autorisé", "interdit"), ("autorisée", "interdite"), ("autorisés", "interdits"),
    ("permis", "défendu"), ("inclus", "exclu"), ("y compris", "à l'exclusion de"), ("augmente", "diminue"),
    ("augmentation", "diminution"), ("hausse", "baisse"), ("accepte", "refuse"), ("acceptée", "refusée"),
    ("accepté", "refusé"), ("accorde", "refuse"), ("début", "fin"), ("premier", "dernier"), ("première", "dernière"),
    ("employeur", "salarié"), ("locataire", "propriétaire"), ("bailleur", "locataire"), ("majeur", "mineur"),
    ("majeurs", "mineurs"), ("public", "privé"), ("publique", "privée"), ("père", "mère"), ("toujours", "jamais"),
    ("souvent", "rarement"), ("brut", "net"), ("bruts", "nets"), ("temps plein", "temps partiel"),
    ("indéterminée", "déterminée"), ("matin", "soir"), ("jour", "nuit"), ("nord", "sud"), ("petit", "grand"),
    ("petite", "grande"), ("grands", "petits"), ("grandes", "petites"), ("ancien", "nouveau"),
    ("ancienne", "nouvelle"), ("riche", "pauvre"), ("fort", "faible"), ("forte", "faible"), ("victoire", "défaite"),
    ("gagne", "perd"), ("naissance", "mort"), ("positif", "négatif"), ("rapide", "lent"), ("rapidement", "lentement"),
    ("homme", "femme"), ("hommes", "femmes"), ("majorité", "minorité"), ("facile", "difficile"), ("meilleur", "pire"),
    ("haut", "bas"), ("haute", "basse"), ("jeune", "vieux"), ("paix", "guerre"), ("droite", "gauche"),
    ("possible", "impossible"), ("suffisant", "insuffisant"), ("valable", "nul"), ("favorable", "défavorable"),
    ("volontaire", "involontaire"), ("régulier", "irrégulier"), ("écrit", "oral"), ("écrite", "orale"),
    ("individuel", "collectif"), ("individuelle", "collective"), ("national", "local"), ("nationale", "locale"),
    ("intérieur", "extérieur"), ("direct", "indirect"), ("tous", "certains"), ("toutes", "certaines"),
    ("entièrement", "partiellement"), ("totalité", "moitié"), ("immédiatement", "plus tard"), ("avance", "retard"),
    ("entrée", "sortie"), ("achat", "vente"), ("acheteur", "vendeur"), ("embauche", "départ"), ("conserve", "perd"),
    ("garde", "perd"), ("commence", "finit"), ("débute", "se termine"), ("présence", "absence"),
    ("présent", "absent"), ("chaud", "froid"), ("long", "court"), ("longue", "courte"), ("vrai", "faux"),
    ("même", "autre"), ("seul", "dernier"), ("jusqu'au", "à partir du"), ("jusqu'à", "à partir de"), ("dès", "avant"),
    ("mensuel", "annuel"), ("mensuelle", "annuelle"), ("quotidien", "hebdomadaire"),
    ("jours ouvrés", "jours calendaires"), ("jours ouvrables", "jours calendaires"), ("doit", "peut"),
    ("doivent", "peuvent"), ("devez", "pouvez"), ("a le droit de", "a l'obligation de"),
    ("est tenu de", "est libre de"), ("il est interdit de", "il est permis de"),
    ("Il est interdit de", "Il est permis de"), ("il est interdit d'", "il est permis d'"),
    ("Il est possible de", "Il est impossible de"), ("il est possible de", "il est impossible de"),
    ("à la charge de", "aux frais de la partie adverse de"),
)
"""Pairs that exclude one another in one place; either may stand for the other."""

CYCLES: Sequence[Sequence[str]] = (
    ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    (
        "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
        "décembre",
    ),
    (
        "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "douze", "quinze", "vingt", "trente",
        "quarante", "cinquante", "soixante", "cent",
    ),
    ("jours", "semaines", "mois", "ans", "heures"), ("jour", "semaine", "mois", "an", "heure"),
    ("premier", "deuxième", "troisième", "quatrième"), ("cadres", "ouvriers", "employés", "agents de maîtrise"),
    ("la mairie", "la préfecture", "le tribunal", "la caisse d'allocations familiales"),
    ("moitié", "tiers", "quart", "double", "triple"), ("hebdomadaire", "mensuel", "trimestriel", "annuel"),
    ("enfant", "conjoint", "parent", "frère"), ("millions", "milliards", "milliers"),
    ("rouge", "bleu", "vert", "noir", "blanc"), ("français", "anglais", "allemand", "italien", "espagnol"),
    ("France", "Allemagne", "Italie", "Espagne", "Angleterre"),
)
"""Words of one kind: another of them makes the sentence false."""

SAME: Sequence[tuple[str, str]] = (
    ("doit", "est tenu de"), ("doit", "a l'obligation de"), ("peut", "a le droit de"),
    ("peut", "a la possibilité de"), ("vous devez", "il faut"), ("vous devez", "vous êtes obligé de"),
    ("vous pouvez", "on peut"), ("vous pouvez", "il est possible de"), ("vous pouvez", "vous avez la possibilité de"),
    ("ne pouvez pas", "n'avez pas le droit de"), ("ne peut pas", "n'a pas le droit de"), ("ne peut", "ne peut pas"),
    ("il est interdit de", "on n'a pas le droit de"), ("il est possible de", "on peut"), ("il faut", "on doit"),
    ("il faut", "il est nécessaire de"), ("durée", "période"), ("employeur", "patron"), ("salarié", "employé"),
    ("salariés", "employés"), ("logement", "habitation"), ("montant", "somme"), ("perçoit", "touche"),
    ("percevoir", "toucher"), ("bénéficie de", "a droit à"), ("bénéficier de", "avoir droit à"), ("verse", "paie"),
    ("versée", "payée"), ("versé", "payé"), ("rémunération", "paie"), ("salaire", "rémunération"),
    ("demande", "requête"), ("formulaire", "imprimé"), ("document", "papier"), ("enfant", "petit"),
    ("mais", "toutefois"), ("pendant", "durant"), ("afin de", "pour"), ("ainsi que", "et aussi"),
    ("grâce à", "au moyen de"), ("environ", "à peu près"), ("notamment", "en particulier"), ("également", "aussi"),
    ("à cause de", "en raison de"), ("car", "parce que"), ("lorsque", "quand"), ("la plupart", "la majorité"),
    ("création", "fondation"), ("créé", "fondé"), ("créée", "fondée"), ("commence", "débute"), ("utilise", "emploie"),
    ("important", "majeur"), ("obtient", "reçoit"), ("meurt", "décède"), ("compte", "comprend"), ("situé", "placé"),
    ("ville", "cité"), ("augmente", "croît"), ("diminue", "baisse"), ("montre", "indique"), ("année", "an"),
    ("nommé", "appelé"), ("façon", "manière"), ("rôle", "fonction"), ("selon", "d'après"),
    ("à compter du", "à partir du"), ("à compter de", "à partir de"), ("dans un délai de", "sous"),
    ("dès", "à partir de"), ("en cas de", "s'il y a"), ("l'intéressé", "la personne"), ("rupture", "fin"),
    ("licenciement", "renvoi"), ("congés payés", "vacances"), ("entreprise", "société"),
    ("ancienneté", "temps de présence"), ("indemnité", "compensation"), ("est égale à", "vaut"),
    ("s'élève à", "est de"), ("est fixé à", "est de"), ("est fixée à", "est de"), ("supérieur à", "de plus de"),
    ("inférieur à", "de moins de"), ("au moins", "au minimum"), ("au maximum", "au plus"),
    ("tous les mois", "chaque mois"), ("par an", "chaque année"), ("par mois", "mensuellement"),
    ("gratuit", "sans frais"), ("obligatoire", "imposé"), ("facultatif", "non obligatoire"), ("autorisé", "permis"),
    ("interdit", "non autorisé"), ("n'est pas obligatoire", "est facultatif"), ("sans", "en l'absence de"),
    ("se déroule", "a lieu"), ("prend fin", "se termine"), ("se termine", "finit"), ("transmettre", "envoyer"),
    ("adresser", "envoyer"), ("effectuer", "faire"), ("effectue", "fait"), ("débuter", "commencer"),
    ("solliciter", "demander"),
)
"""The second says about the same as the first."""

PREFACES: Sequence[str] = (
    "Selon le document, ", "D'après le texte, ", "Le document précise que ", "Il est indiqué que ", "Oui, ",
    "En résumé, ",
)

PLANS: Sequence[str] = (
    "Il est prévu qu'à l'avenir ", "Selon un projet à l'étude, ", "D'ici 2028, ", "À partir de l'an prochain, ",
    "À terme, ", "Sous réserve de l'accord du conseil, ", "Si le budget est voté, ", "Prochainement, ",
)
"""Before a sentence in the future or the conditional."""

PASTS: Sequence[str] = ("Jusqu'en 2015, ", "Autrefois, ", "Avant la réforme, ", "Jusqu'à l'an dernier, ")
"""Before a sentence in the imperfect."""

LIMITS: Sequence[str] = (
    ", sauf le dimanche", ", sauf en cas de faute grave", ", uniquement pour les cadres",
    ", à condition d'avoir un an d'ancienneté", ", dans la limite de 500 €", ", sur présentation d'un justificatif",
    ", seulement pour les enfants de moins de 6 ans", ", sous réserve de l'accord de la direction",
    ", hors jours fériés", ", si le contrat le prévoit", ", depuis 2018", ", pour une durée de trois mois",
    ", à Paris", ", avec l'aide de l'État", ", pour la première fois", ", en dehors des vacances",
    ", et cela coûte 30 €", ", après avis du médecin", ", une fois par an", ", pour des raisons de sécurité",
)
"""What a sentence may add, or a passage may hold, that the other does not say."""
