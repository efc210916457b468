"""The table of examples: what is read of a text, and what is not. The tests go through it.

Each text stands beside what is read of it: acronym and long form. Add what is read wrongly here first.
"""

from __future__ import annotations

EXAMPLES: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    # The long form first.
    ("Le règlement professionnel du notariat (RPN) s'applique.", (("RPN", "règlement professionnel du notariat"),)),
    ("Règlement Professionnel du Notariat (R.P.N.)", (("RPN", "Règlement Professionnel du Notariat"),)),
    ("avis du comité social et économique (CSE)", (("CSE", "comité social et économique"),)),
    ("la commission santé, sécurité et conditions de travail (C.S.S.C.T.)",
     (("CSSCT", "commission santé, sécurité et conditions de travail"),)),
    ("les contrats à durée déterminée (CDD)", (("CDD", "contrats à durée déterminée"),)),
    ("les institutions représentatives du personnel (IRPs)", (("IRP", "institutions représentatives du personnel"),)),
    ("le règlement général sur la protection des données, dit RGPD,",
     (("RGPD", "règlement général sur la protection des données"),)),
    ("l'Agence des titres anciens, ci-après dénommée « l'ATA »", (("ATA", "Agence des titres anciens"),)),
    ("un entretien annuel d'évaluation (ci-après « EAE »)", (("EAE", "entretien annuel d'évaluation"),)),
    ("Le compte épargne-temps ou CET", (("CET", "compte épargne-temps"),)),
    ("Groupement d'intérêt public « GIP »", (("GIP", "Groupement d'intérêt public"),)),
    ("REGLEMENT INTERIEUR DU PERSONNEL (RIP)", (("RIP", "REGLEMENT INTERIEUR DU PERSONNEL"),)),
    ("la direction\ndes ressources\nhumaines (DRH)", (("DRH", "direction\ndes ressources\nhumaines"),)),
    ("la Direction générale (DG)", (("DG", "Direction générale"),)),
    ("le service des ressources humaines (RH)", (("RH", "ressources humaines"),)),
    ("le règlement européen sur les machines [REM]", (("REM", "règlement européen sur les machines"),)),
    # The acronym first.
    ("RTT : réduction du temps de travail", (("RTT", "réduction du temps de travail"),)),
    ("R.T.T. : réduction du temps de travail", (("RTT", "réduction du temps de travail"),)),
    ("CSE – Comité social et économique", (("CSE", "Comité social et économique"),)),
    ("Le SMIC, soit le salaire minimum interprofessionnel de croissance,",
     (("SMIC", "salaire minimum interprofessionnel de croissance"),)),
    ("un DUERP est un document unique d'évaluation des risques professionnels",
     (("DUERP", "document unique d'évaluation des risques professionnels"),)),
    ("Que signifie BDES ? BDES signifie base de données économiques et sociales.",
     (("BDES", "base de données économiques et sociales"),)),
    ("| CPF | Compte personnel de formation |", (("CPF", "Compte personnel de formation"),)),
    ("L'IRP (institution représentative du personnel)", (("IRP", "institution représentative du personnel"),)),
    ("un contrat de travail à durée déterminée (CDD)", (("CDD", "contrat de travail à durée déterminée"),)),
    # Letters that are no initials, and initials that are no letters.
    ("la taxe sur la valeur ajoutée (TVA)", (("TVA", "taxe sur la valeur ajoutée"),)),
    ("l'opérateur de compétences (OPCO)", (("OPCO", "opérateur de compétences"),)),
    ("le pacte civil de solidarité (Pacs)", (("Pacs", "pacte civil de solidarité"),)),
    ("la complémentaire santé solidaire (C2S)", (("C2S", "complémentaire santé solidaire"),)),
    ("une école de la deuxième chance (E2C)", (("E2C", "école de la deuxième chance"),)),
    ("la recherche et développement (R&D)", (("R&D", "recherche et développement"),)),
    ("Unions de recouvrement des cotisations de sécurité sociale et d'allocations familiales (Urssaf)",
     (("Urssaf", "Unions de recouvrement des cotisations de sécurité sociale et d'allocations familiales"),)),
    ("l'accord national interprofessionnel (ANI) du 11 janvier", (("ANI", "accord national interprofessionnel"),)),
    # English.
    ("Software as a Service (SaaS)", (("SaaS", "Software as a Service"),)),
    ("a Service Level Agreement (\"SLA\")", (("SLA", "Service Level Agreement"),)),
    ("KPI stands for key performance indicator.", (("KPI", "key performance indicator"),)),
    ("the Data Protection Officer, hereinafter DPO,", (("DPO", "Data Protection Officer"),)),
    # Several at once, and one acronym of two long forms.
    ("le comité social et économique (CSE) et sa Commission de la formation (CF)",
     (("CSE", "comité social et économique"), ("CF", "Commission de la formation"))),
    ("la carte de paiement interne (CPI) ; le congé parental indemnisé (CPI)",
     (("CPI", "carte de paiement interne"), ("CPI", "congé parental indemnisé"))),
)

COUNTER_EXAMPLES = (
    "dans la ville (Paris)", "le plan d'action (PDF)", "Le Conseil (CE)", "La Direction. Générale (DG)",
    "Contactez le service RH.", "un total de 12 (TTC)", "Le CSE se réunit chaque mois.", "M. Dupont, J. R. R. Martin",
    "la société anonyme. (SA)", "le comité social (CSE)", "Voir ANNEXE I : dispositions générales",
    "CSE, CSSCT et RTT", "comité\n\nsocial et économique (CSE)", "LE PRÉSIDENT DE LA SOCIÉTÉ", "à l'heure (UTC)",
    "un nouveau (NEW)", "P : prix", "le contrat (CDD)",
    "le plan de formation (PDF)", "zone industrielle protégée (ZIP)", "joindre des originaux certifiés (DOC)",
    "Pierre Martin (PM)", "du lundi au vendredi (LV)", "Lundi au vendredi (LV)",
)
