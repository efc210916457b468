"""Documents with notes at the feet of pages, and forms with typed values and boxes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from eval.reading.prose import Writer
from eval.reading.sheet import HEIGHT, WIDTH, Sheet, Style, styles
from eval.reading.truth import Block, Document, Field, Note

_CALLED = (
    "La prime annuelle est fixée à {} euros", "Le délai de recours est de {} jours", "Le seuil retenu est de {} agents",
    "L'indemnité kilométrique vaut {} centimes", "Le forfait comprend {} jours par an",
)
_NOTES = (
    "Montant révisé chaque année par décision du comité.", "Hors contrats conclus avant l'accord du 12 mai.",
    "Sauf disposition plus favorable de la convention.", "Ce nombre est arrondi à l'unité supérieure.",
    "Voir la circulaire du service des ressources humaines.",
)
_TYPED = {
    "Nom": ("Barbelet", "Courjeau", "Falquin"), "Prénom": ("Amélie", "Benoît", "Zoé"),
    "Date de naissance": ("14/05/1984", "02/11/1990"), "Adresse": ("14 bis rue de l'Écluse", "3 place du Marché"),
    "Ville": ("Nîmes", "Lyon", "Brest"), "Téléphone": ("02 41 22 17 08", "04 66 10 20 30"),
    "Numéro d'agent": ("PX-1207", "RX-88"), "Service": ("Paie", "Achats"),
}
_TICKED = ("Télétravail régulier", "Temps partiel", "Prise en charge du transport", "Restauration collective",
           "Mutuelle familiale", "Compte épargne-temps", "Parking", "Formation à la sécurité")


def notes(folder: Path, name: str, chance: Writer) -> Document:
    """Draw a page with figures that call notes behind numbers and words, the notes at its foot."""
    document = Document(name, "notes")
    sheet = Sheet(folder, document)
    text, large = styles(chance)
    text = replace(text, justified=False)
    small = replace(text, size=8)
    y = sheet.block("heading", chance.heading(), 60, 60, WIDTH - 120, large) + 6
    said = chance.sample(_NOTES, chance.randint(2, 4))
    for number, note in enumerate(said, 1):
        y = sheet.block("paragraph", chance.paragraph(sentences=(1, 3)), 60, y, WIDTH - 120, text) + 6
        amount = str(chance.randint(11, 480))
        sentence = _CALLED[number - 1].format(amount)
        y = _called(sheet, sentence, amount, number, y, text) + 8
        document.notes.append(Note(amount, number, note))
        document.blocks.append(Block("paragraph", sentence.partition(amount)[0].strip(), 1))
    y = sheet.block("paragraph", chance.paragraph(), 60, y, WIDTH - 120, text)
    y = HEIGHT - 60 - 13 * len(said)
    sheet.rule(60, y - 12, 190, y - 12)
    for number, note in enumerate(said, 1):
        raised = chance.random() < 0.5
        sheet.write(60, y - (2.5 if raised else 0), str(number), replace(small, size=5.5) if raised else small)
        sheet.write(60 + 8, y, note, small)
        y += 13
    return sheet.save()


def _called(sheet: Sheet, sentence: str, word: str, number: int, y: float, style: Style) -> float:
    """Write a sentence with a raised figure behind one of its words; return the lower edge."""
    y += style.size * style.leading
    before, _, after = sentence.partition(word)
    sheet.write(60, y, before + word, style)
    x = 60 + style.width(before + word)
    raised = replace(style, size=style.size * 0.6)
    sheet.write(x, y - style.size * 0.38, str(number), raised)
    sheet.write(x + raised.width(str(number)), y, after + " pour tous.", style)
    return y


def form(folder: Path, name: str, chance: Writer) -> Document:
    """Draw a form: typed values beside or below their labels, and boxes before or behind theirs."""
    document = Document(name, "form")
    sheet = Sheet(folder, document)
    text, large = styles(chance)
    y = sheet.block("heading", f"Demande : {chance.heading()}", 60, 60, WIDTH - 120, large) + 16
    for number, label in enumerate(chance.sample(list(_TYPED), chance.randint(4, 7))):
        value = chance.choice(_TYPED[label])
        sheet.write(60, y + 12, f"{label} :", text)
        sheet.canvas.acroForm.textfield(
            name=f"champ{number}", x=200, y=HEIGHT - y - 17, width=240, height=18, value=value, borderWidth=0.5,
            fontSize=10, fontName="Helvetica",
        )
        document.fields.append(Field(label, value))
        y += 28
    asked = "Cocher les cases qui conviennent, puis dater et signer."
    y = sheet.block("paragraph", asked, 60, y, WIDTH - 120, text) + 8
    behind, pairs = chance.random() < 0.3, chance.random() < 0.4
    for number, label in enumerate(chance.sample(_TICKED, 6)):
        ticked = chance.random() < 0.5
        x = 60 + (240 if pairs and number % 2 else 0)
        box = x + text.width(label) + 8 if behind else x
        sheet.canvas.acroForm.checkbox(
            name=f"case{number}", x=box, y=HEIGHT - y - 13, size=12, checked=ticked, buttonStyle="check",
            borderWidth=0.5,
        )
        sheet.write(x if behind else x + 18, y + 11, label, text)
        document.fields.append(Field(label, ticked=ticked))
        if not pairs or number % 2:
            y += 22
    return sheet.save()
