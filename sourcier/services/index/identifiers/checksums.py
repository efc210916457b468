"""Check digits: whether a number is well formed for what it claims to be."""

from __future__ import annotations

IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AT": 20, "BE": 16, "BG": 22, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20,
    "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GI": 23, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IS": 26, "IT": 27,
    "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24,
    "SE": 24, "SI": 19, "SK": 24, "SM": 27, "TN": 24, "TR": 26,
}
"""Characters of an account number by country (ISO 13616)."""


def luhn(digits: str) -> bool:
    """Return whether a number has the check digit of SIREN and SIRET."""
    total = 0
    for place, character in enumerate(reversed(digits)):
        value = int(character) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def mod_97(account: str) -> bool:
    """Return whether an account number, in upper case and without spaces, has the check digits of ISO 13616."""
    return int("".join(str(int(character, 36)) for character in account[4:] + account[:4])) % 97 == 1


def gtin(digits: str) -> bool:
    """Return whether a bar code of 8, 12, 13 or 14 digits has its check digit."""
    total = sum(int(character) * (1 + 2 * (place % 2)) for place, character in enumerate(reversed(digits)))
    return total % 10 == 0


def isbn_10(number: str) -> bool:
    """Return whether ten characters, the last a digit or `X`, are an ISBN."""
    values = [10 if character == "X" else int(character) for character in number]
    return sum((10 - place) * value for place, value in enumerate(values)) % 11 == 0


def isbn_13_of(number: str) -> str:
    """Return the ISBN of thirteen digits that stands for one of ten."""
    body = "978" + number[:9]
    total = sum(int(character) * (1 + 2 * (place % 2)) for place, character in enumerate(body))
    return f"{body}{-total % 10}"
