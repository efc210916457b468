"""Conditions in SQL against the same conditions in plain Python, over the same documents: thousands drawn at random."""

from __future__ import annotations

import os
import random
import re
import uuid
from decimal import Decimal
from typing import Any

from psycopg.types.json import Jsonb

from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.index.filtering.compiling import compiled
from sourcier.services.index.filtering.conditions import (
    Condition,
    Every,
    Negated,
    Operator,
    Scalar,
    Some,
    Test,
)
from tests.integration.index.writer import Writer

CONDITIONS = int(os.environ.get("SOURCIER_TEST_CONDITIONS", "1000"))
A_STATEMENT = 50
DOCUMENTS = 40
TEXTS = ["", "rh", "RH", "Rh ", "avenant", "avenant n° 2", "été", "ete", "it", "a%", "a_", "'", '"', "\\", "x\ny", "{}",
         "%(tenant)s", "null", "rh, paie", "paie;it ; rh", ",", "é" * 300, "$1", "--", "[1]"]
NUMBERS = ["0", "-0", "3", "007", "7", "-2.5", "2.50", "1e3", "1,5", "+4", "12345678901234567890", "9" * 70, " 3"]
DATES = ["2023", "2024", "2024-02", "2024-02-29", "2024-03-12T10:00:00Z", "2024-3-1", "12/03/2024", "31/12/2023",
         "2024-13-01", "2024-02-30", "0999", "2024-03-12 10:00", "2024-03-12x", "2024\n", "2024-03-12T\n"]
WORDS = ["true", "false", "TRUE", "oui", "Non", "vrai", "no"]
STRINGS = TEXTS + NUMBERS + DATES + WORDS
SCALARS: list[Scalar] = [*STRINGS, True, False, 3.0, -2.5, 0.0, 2024.0, 2023.0, 7.0, 1e300, 0.1, 2024.5]
OPERATORS: list[Operator] = ["eq", "in", "gt", "gte", "lt", "lte", "exists", "prefix", "contains"]
KEYS = ["k", "l", "m", "signed", "author", "key with 'quotes\" %s", "absent"]
COLUMNS = ["title", "source", "path", "filename", "media_type", "size", "language", "category", "collection",
           "document_id", "created_at", "date", "holds_until"]
PERIODS = [None, ("2023-12-31", "2023-12-31"), ("2024-01-01", "2024-12-31"), ("2024-03-01", "2024-03-31"),
           ("2024-03-12", "2024-03-12")]


# What a condition means, said once more.

def number(text: str) -> Decimal | None:
    return Decimal(text) if len(text) <= 60 and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text) else None


def days(text: str) -> tuple[str, str] | None:
    month, day, year = r"(0[1-9]|1[0-2])", r"(0[1-9]|[12]\d|3[01])", r"[12]\d\d\d"
    if found := re.match(rf"{year}-{month}-{day}", text, re.ASCII):
        return (found[0], found[0]) if text[10:11] in ("", "T", " ") else None
    if re.fullmatch(rf"{year}-{month}", text, re.ASCII):
        return f"{text}-01", f"{text}-31"
    if re.fullmatch(year, text, re.ASCII):
        return f"{text}-01-01", f"{text}-12-31"
    if re.fullmatch(rf"{day}/{month}/{year}", text, re.ASCII):
        iso = "-".join(reversed(text.split("/")))
        return iso, iso
    return None


def written(value: Scalar) -> str:
    return value if isinstance(value, str) else str(int(value)) if value == int(value) else repr(value)


def equal(text: str, value: Scalar) -> bool:
    if isinstance(value, bool):
        return text.lower() in (("true", "yes", "oui", "vrai") if value else ("false", "no", "non", "faux"))
    own, wanted = days(text), days(written(value))
    within = own is not None and wanted is not None and wanted[0] <= own[0] and own[1] <= wanted[1]
    if isinstance(value, str):
        return within or text == value
    return within or number(text) == Decimal(repr(value))


def compared(text: str, operator: Operator, value: Scalar) -> bool:
    own, wanted = number(text), number(value) if isinstance(value, str) else Decimal(repr(value))
    holds = own is not None and wanted is not None and {
        "gt": own > wanted, "gte": own >= wanted, "lt": own < wanted, "lte": own <= wanted,
    }[operator]
    mine, theirs = days(text), days(written(value))
    return holds or (mine is not None and theirs is not None and {
        "gt": mine[0] > theirs[1], "gte": mine[0] >= theirs[0], "lt": mine[1] < theirs[0], "lte": mine[1] <= theirs[1],
    }[operator])


def meets(text: str | tuple[str, str], test: Test) -> bool:
    if isinstance(text, tuple):
        return meets_period(text, test)
    match test.operator:
        case "eq" | "in":
            return any(equal(text, value) for value in test.values)
        case "prefix":
            return text.startswith(str(test.values[0]))
        case "exists":
            return text != ""
        case "contains":
            return equal(text, test.values[0]) or any(
                equal(piece.strip(" "), test.values[0]) for piece in re.split("[,;]", text)
            )
        case _:
            return compared(text, test.operator, test.values[0])


def meets_period(own: tuple[str, str], test: Test) -> bool:
    """Return whether a document's own date is what a test wants: it is compared as a date, and as nothing else."""
    wanted = [days(written(value)) for value in test.values if not isinstance(value, bool)]
    match test.operator:
        case "eq" | "in" | "contains":
            return any(each is not None and each[0] <= own[0] and own[1] <= each[1] for each in wanted)
        case "prefix":
            return own[0].startswith(str(test.values[0]))
        case "exists":
            return True
        case "gt":
            return wanted[0] is not None and own[0] > wanted[0][1]
        case "gte":
            return wanted[0] is not None and own[0] >= wanted[0][0]
        case "lt":
            return wanted[0] is not None and own[1] < wanted[0][0]
        case _:
            return wanted[0] is not None and own[1] <= wanted[0][1]


def as_text(value: Any) -> Any:
    if isinstance(value, tuple):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def holds(document: dict[str, Any], condition: Condition) -> bool:
    match condition:
        case Every(parts):
            return all(holds(document, part) for part in parts)
        case Some(parts):
            return any(holds(document, part) for part in parts)
        case Negated(part):
            return not holds(document, part)
        case Test(name, "exists", (False,)):
            return not holds(document, Test(name, "exists", (True,)))
    value = document[condition.field] if condition.field in document else document["metadata"].get(
        condition.field.removeprefix("metadata."))
    if value is None or isinstance(value, dict):
        return False
    values = value if isinstance(value, list) else [value]
    return any(meets(as_text(each), condition) for each in values if each is not None)


def drawn_value(chance: random.Random, *, lists: bool = True) -> Any:
    kind = chance.randrange(10)
    if kind == 0:
        return None
    if kind == 1 and lists:
        return [drawn_value(chance, lists=False) for _ in range(chance.randrange(4))]
    if kind == 2:
        return chance.choice([{"a": 1}, True, False, 3, 2024, -2.5, 0.1])
    return chance.choice(STRINGS)


def drawn(chance: random.Random, depth: int = 3) -> Condition:
    kind = chance.randrange(8) if depth else 7
    if kind < 2:
        return Every(tuple(drawn(chance, depth - 1) for _ in range(chance.randrange(4))))
    if kind < 4:
        return Some(tuple(drawn(chance, depth - 1) for _ in range(chance.randrange(4))))
    if kind == 4:
        return Negated(drawn(chance, depth - 1))
    operator = chance.choice(OPERATORS)
    values: tuple[Scalar, ...] = (chance.choice(SCALARS),)
    if operator == "in":
        values = tuple(chance.choices(SCALARS, k=chance.randrange(1, 5)))
    elif operator == "exists":
        values = (chance.random() < 0.5,)
    elif operator == "prefix":
        values = (chance.choice(STRINGS)[:2],)
    elif operator in {"gt", "gte", "lt", "lte"}:
        values = (chance.choice([value for value in SCALARS if not isinstance(value, bool)]),)
    name = chance.choice(KEYS + COLUMNS)
    return Test(f"metadata.{name}" if name in KEYS and chance.random() < 0.3 else name, operator, values)


async def written_documents(connection: Connection, collection_id: str, chance: random.Random) -> list[dict[str, Any]]:
    """Put documents there row by row, as no pipeline would: with whatever may ever stand in a row."""
    documents: list[dict[str, Any]] = []
    for place in range(DOCUMENTS):
        document: dict[str, Any] = {
            "document_id": str(uuid.UUID(int=chance.getrandbits(128), version=4)),
            "source": f"{place}/{chance.choice(TEXTS)}", "title": chance.choice(STRINGS),
            "filename": chance.choice(STRINGS), "media_type": "text/plain",
            "size": chance.choice([0, 3, 7, 2024, 10**12]), "category": chance.choice(TEXTS[:6]),
            "language": chance.choice(["fr", "en", ""]), "created_at": chance.choice(["2023-12-31", "2024-03-12"]),
            "date": chance.choice(PERIODS), "holds_until": chance.choice(PERIODS[:2]),
            "metadata": {key: drawn_value(chance) for key in KEYS[:-1] if chance.random() < 0.8},
        }
        await connection.execute(
            "insert into documents (document_id, tenant, collection_id, source, current_version, title, filename, "
            "content_type, size_bytes, content_sha256, metadata, category, language, created_at, times_rules, "
            "dated_from, dated_to, holds_until) values (%s, 'acme', %s, %s, %s, %s, %s, %s, %s, '', %s, %s, %s, %s, 1, "
            "%s, %s, %s)",
            (document["document_id"], collection_id, document["source"], document["document_id"], document["title"],
             document["filename"], document["media_type"], document["size"], Jsonb(document["metadata"]),
             document["category"], document["language"], f"{document['created_at']}T23:59:59Z",
             *(document["date"] or (None, None)), (document["holds_until"] or (None,))[0]),
        )
        documents.append(document | {"collection": "rh", "path": document["source"]})
    return documents


async def test_a_condition_means_the_same_in_sql_and_in_python(database: Database) -> None:
    seed = int(os.environ.get("SOURCIER_TEST_SEED", "1"))
    chance = random.Random(seed)
    collection = await Writer(database).collection("rh")
    met = 0
    async with database.transaction(tenant="acme") as connection:
        documents = await written_documents(connection, str(collection.collection_id), chance)
        for begun in range(0, CONDITIONS, A_STATEMENT):
            drawn_here = [drawn(chance) for _ in range(min(A_STATEMENT, CONDITIONS - begun))]
            asked = [compiled(condition, name=f"w{place}") for place, condition in enumerate(drawn_here)]
            statement = f"select document_id::text, array[{', '.join(each.sql for each in asked)}] from documents"
            values: dict[str, Any] = {"tenant": "acme"}
            for each in asked:
                values |= each.values
            found = dict(await (await connection.execute(statement.encode(), values)).fetchall())
            for document in documents:
                for condition, told in zip(drawn_here, found[document["document_id"]], strict=True):
                    assert told is holds(document, condition), (seed, condition, document)
                    met += told
    assert 0.1 < met / (CONDITIONS * DOCUMENTS) < 0.9, "conditions that nothing, or everything, meets tell nothing"
