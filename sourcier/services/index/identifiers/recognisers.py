"""The table of recognisers: what each looks like, and what is one and what is none.

They are tried in this order, on text in NFKC with plain dashes and single spaces; what one has read, the next ones do
not see. Those that are `question_only` read what documents do not write so. The tests go through the examples: all
ways of writing in one line have one normal form, which nothing in the other lines has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sourcier.services.index.identifiers import readers
from sourcier.services.index.identifiers.readers import Reader


@dataclass(frozen=True, slots=True)
class Recogniser:
    """One kind of identifier."""

    kind: str
    pattern: re.Pattern[str]
    """What may be one; linear in time, as a test sees to."""
    read: Reader
    examples: tuple[tuple[str, ...], ...]
    """Identifiers, each in several ways of writing."""
    counter_examples: tuple[str, ...] = ()
    """What looks alike and is read as nothing by any recogniser."""
    question_only: bool = False
    """Whether documents do not write so, and much else in them looks so."""


_MONTH = (
    "janvier|février|fevrier|mars|avril|mai|juin|juillet|août|aout|septembre|octobre|novembre|décembre|decembre|"
    "january|february|march|april|may|june|july|august|september|october|november|december"
)

RECOGNISERS = (
    Recogniser(
        "email", re.compile(r"(?<![\w.%+-])[\w.%+-]++@[\w-]++(?:\.[\w-]++)++"), readers.email,
        (("h.moreau12@fournisseur22.example", "H.Moreau12@Fournisseur22.example"), ("accueil@mairie.example",)),
        ("@mairie", "4 @ 2"),
    ),
    Recogniser(
        "file", re.compile(r"(?<![\w./-])[\w-]++(?:\.[\w-]++)++"), readers.file_name,
        (("contrat_2024.pdf", "Contrat-2024.PDF"), ("règlement_intérieur.docx", "reglement-interieur.docx")),
        ("fin.Le", "etc.pdfs"),
    ),
    Recogniser(
        "iban", re.compile(r"(?<![^\W_])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z\d]){11,30}"), readers.iban,
        (("FR76 3000 6000 0112 3456 7890 189", "FR7630006000011234567890189", "fr76 3000 6000 0112 3456 7890 189",
          "FR76-3000-6000-0112-3456-7890-189"),
         ("DE89 3704 0044 0532 0130 00", "DE89370400440532013000"), ("GB29 NWBK 6016 1331 9268 19",)),
    ),
    Recogniser(
        "article", re.compile(
            r"(?<![^\W_'])(?P<letter>LO|[LRDlrd])(?P<between>\.? ?)(?P<number>\d{3,4} \d{1,3})(?![^\W_])"
        ), readers.code_article, (("L 1121 1", "l1121 1", "L. 1121-1"),), question_only=True,
    ),
    Recogniser(
        "article", re.compile(
            r"(?<![^\W_])(?P<letter>LO|Lo|lo|[LRDAlrda])(?P<between>\.? ?\*? ?)(?P<number>\d{1,4}(?:[-.]\d{1,4}){0,4})"
            r"(?![^\W_])(?![-.][^\W_])(?!,\d)"
        ), readers.code_article,
        (("L. 1121-1", "L1121-1", "L.1121-1", "l1121-1", "l. 1121-1", "L 1121-1", "art. L 1121-1", "article L.1121-1",
          "l'article L1121-1", "L.* 1121-1", "L. 1121\u20111", "L.1121.1"),
         ("L. 1121-2",), ("R. 1121-1",), ("L. 1121-1-1",), ("L. 112-11",),
         ("LO 135-1", "L.O. 135-1", "LO. 135-1"), ("article D. 12-3",), ("art. L. 311",)),
        ("il y a 10-12 ans", "L 12"),
    ),
    Recogniser(
        "article", re.compile(r"(?<![^\W_])L\.O\. ?(?P<number>\d{1,4}(?:-\d{1,4}){0,4})(?![^\W_])(?!-[^\W_])"),
        readers.organic_article, (("L.O. 141-1", "LO 141-1"),),
    ),
    Recogniser(
        "phone", re.compile(r"(?<![\w+])(?:\+|00) ?33\)?[ .-]?(?:\(0\) ?)?[1-9](?:[ ./-]?\d\d){4}(?!\d)"),
        readers.french_phone,
        (("+33 2 41 56 78 90", "+33241567890", "0033 2 41 56 78 90", "+33 (0)2 41 56 78 90", "+33.2.41.56.78.90",
          "(+33) 2 41 56 78 90", "33241567890",
          "02 41 56 78 90", "0241567890", "02.41.56.78.90", "02-41-56-78-90", "02/41/56/78/90"),),
    ),
    Recogniser(
        "phone", re.compile(r"(?<![\w+])(?<!\d[.,/-])0[1-9](?:[ ./-]?\d\d){4}(?![ ./-]?\d\d\d)(?!\d)"),
        readers.french_phone, (("06 24 39 33 28", "0624393328"),), ("0,1",),
    ),
    Recogniser(
        "phone", re.compile(r"(?<![\w+])(?<!\d[.,/-])0 ?[1-9]\d\d(?: \d{3} \d{3}| \d\d \d\d \d\d)(?!\d)"),
        readers.french_phone, (("0 800 123 456", "0800 123 456", "0 800 12 34 56", "0800123456"),),
    ),
    Recogniser(
        "phone", re.compile(r"(?<![\w+])\+ ?[1-9]\d?(?:[ .-]?\(?\d\)?){6,13}(?!\d)"), readers.foreign_phone,
        (("+32 2 555 12 12", "+3225551212", "+32-2-555-12-12"),), ("+3 points",),
    ),
    Recogniser(
        "siret",
        re.compile(r"(?<!\d)(?<!\d[.,])\d{3}[ .]?\d{3}[ .]?\d{3}[ .]?(?:\d{5}|\d{3} \d\d|\d\d \d{3})(?!\d)"),
        readers.establishment,
        (("732 829 320 00074", "73282932000074", "732829320 00074", "732.829.320.00074"),),
        ("732 829 320 000 €",),
    ),
    Recogniser(
        "vat", re.compile(r"(?<![^\W_])[A-Za-z]{2} ?\d\d ?\d{3} ?\d{3} ?\d{3}(?!\d)"), readers.vat,
        (("FR 83 404 833 048", "FR83404833048"),),
    ),
    Recogniser(
        "isbn", re.compile(r"(?<!\d)(?<!\d-)(?:97[89][ -]?)?(?:\d[ -]?){9}[\dXx](?![^\W_])(?!-)"), readers.book,
        (("978-2-07-036822-8", "9782070368228", "2-07-036822-X", "207036822X", "978 2 07 036822 8"),),
    ),
    Recogniser(
        "barcode", re.compile(r"(?<!\d)(?<!\d )(?:\d \d{6} \d{6}|\d{4} \d{4})(?! ?\d)"), readers.bar_code,
        (("3 017620 422003", "3017620422003"), ("9638 5074", "96385074")),
    ),
    Recogniser(
        "siren", re.compile(r"(?<!\d)(?<!\d[ .,])\d{3}(?: \d{3} |\.\d{3}\.)\d{3}(?![ .,]?\d)"), readers.company,
        (("SIREN 732 829 320", "SIREN 732829320", "RCS Paris 732 829 320"),), ("732 829 320 €",),
    ),
    Recogniser(
        "date", re.compile(r"(?<![\w/.-])\d\d?(?:/\d\d?/(?:\d{4}|\d\d)|\.\d\d?\.\d{4}|-\d\d?-\d{4})(?![\w/])(?!-\w)"),
        readers.digital_date,
        (("12/03/2024", "12/03/24", "12.03.2024", "12-3-2024", "2024-03-12", "12 mars 2024", "20240312"),
         ("03/12/2024", "2024/12/03", "3 décembre 2024")),
        ("12/3",),
    ),
    Recogniser(
        "date", re.compile(r"(?<![\w/.-])\d{4}(?:-\d\d-|/\d\d/|\.\d\d\.)\d\d(?![\w/])(?!-\w)"), readers.digital_date,
        (("1998-07-12", "12/07/1998"),),
    ),
    Recogniser(
        "date", re.compile(
            rf"(?<![\w/.-])(?P<day>\d\d?)(?:er)? (?P<month>{_MONTH}) (?P<year>\d{{4}})(?!\w)", re.IGNORECASE
        ), readers.worded_date,
        (("1er mars 2024", "1 mars 2024", "01/03/2024"),), ("en mars 2024", "32 mars 2024"),
    ),
    Recogniser(
        "part", re.compile(
            r"(?<![^\W_])(?P<label>articles?|art\.?|annexe|titre|chapitre) (?P<number>[IVXLC]{1,8})(?![^\W_'])",
            re.IGNORECASE,
        ), readers.roman,
        (("article IV", "Article 4", "art. IV", "art. 4"), ("annexe XII", "annexe 12"), ("titre II", "titre 2")),
    ),
    Recogniser(
        "labelled", re.compile(
            r"(?<![\w./-])(?P<value>[A-Za-z]{0,5}[-/]?\d(?:[-/._]?[^\W_])*+)"
        ), readers.labelled,
        (("loi n° 2016-1088", "loi 2016-1088", "Loi no 2016-1088", "n° 2016-1088"), ("décret n° 2016-1089",),
         ("loi n° 78-17", "loi 1978-17"), ("lot n° 2022-58645", "2022-58645", "Lot 2022-58645"),
         ("compte 411000", "compte n° 411000", "411000"), ("code postal 49000", "CP 49000"),
         ("facture n° 4512", "facture 4512", "Factures 4512"), ("règlement (UE) 2016/679", "règlement 2016/679"),
         ("version 2.3.1", "v2.3.1", "Version 2.3.1"), ("article 1240", "art. 1240", "l'article 1240")),
        ("article", "lot de 12", "version finale"),
    ),
    Recogniser(
        "code", re.compile(
            r"(?<![\w./-])(?:(?:[A-Z]{1,5} )?[A-Z]{1,5} \d{2,6}(?:[/-]\d{1,6}){0,2}(?:[ /-][A-Z]{1,3})?"
            r"|\d{2,4} [A-Z]{2,3} \d\d)(?![\w/-])"
        ), readers.spaced_code,
        (("PX 1200 B", "PX-1200/B", "px1200b", "PX1200B", "PX 1200/B", "PX 1200-B", "LA PX 1200 B"),
         ("NF EN 13501-1", "NF-EN-13501-1"), ("FA 2024/0012", "FA-2024-0012"), ("AB 123 CD", "AB-123-CD", "ab123cd"),
         ("1234 AB 49", "1234-AB-49"), ("ISO 9001", "ISO-9001")), ("EN 2024", "LE 12"),
    ),
    Recogniser(
        "code",
        re.compile(
            r"(?<![\w./'-])[A-Za-z]{1,4} \d{2,6}(?:[ /-]\d{3,6}){0,2}(?:[ /-][A-Za-z]{1,2})?(?![\w/-])"
        ), readers.spaced_code,
        (("rt 1970 b", "RT-1970/B", "rt 1970/b"), ("fa 2024 0012", "FA-2024-0012"), ("Ab 123 cd", "AB-123-CD")),
        ("en 2024",), question_only=True,
    ),
    Recogniser(
        "number", re.compile(r"(?<![\w.,/-])\d{5,34}(?![\w%])(?!,\d)(?!\.\d)(?![/-]\w)"), readers.long_number,
        (("8401916146100",), ("0755972979262",), ("012345678905", "0012345678905")), ("15000 €", "120000 habitants"),
    ),
    Recogniser(
        "number", re.compile(r"(?<![\w.,/-])\d{1,8}(?:[/-]\d{1,8}){1,5}(?!\w)(?![/,-]\d)(?!-\w)"),
        readers.dashed_number,
        (("1121-1",), ("222-33-2",), ("2026-38462",)), ("2016-2017", "03/2024", "35-40 ans", "24/7", "1/2"),
    ),
    Recogniser(
        "number", re.compile(r"(?<![\w.,/-])\d{1,5}(?:\.\d{1,5}){2,5}(?![\w/-])(?!\.\d)"), readers.dotted_number,
        (("192.168.1.10",),), ("2.3",),
    ),
    Recogniser(
        "code", re.compile(r"(?<![\w./-])(?=[^\W_])[\w./-]*?\d[\w./-]*+"), readers.code,
        (("RT-1970/B", "rt1970b", "RT 1970 B"), ("VM-1740/A",), ("VM-1740/B",), ("FOR-RH-012", "for_rh_012"),
         ("95/46/CE",), ("Covid-19", "COVID-19")),
        ("2e", "14h30", "100km", "mi-2024", "B2"),
    ),
)
