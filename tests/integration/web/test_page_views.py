"""The page's views: documents narrowed and dated, questions narrowed, rights given and taken, service watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from playwright.sync_api import Page, expect

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.gateway.access.principal import Role
from sourcier.services.index.spaces import spaces
from sourcier.services.index.times import relations
from sourcier.services.stack.processes.ports import free_ports
from tests.fix_browser import Window, launched, window
from tests.integration.gateway.access.test_gate import make_key
from tests.integration.gateway.fix_gateway import Scenario, gateway
from tests.integration.index.writer import SPACE, Writer
from tests.integration.web.fix_web import served

WAIT_MS = 60_000
"""A bound on what may take long on a machine that is busy; it decides no test."""
OLD, NEW = "Note de service du 3 mars 2020", "Note de service du 12 mars 2026"
FORMULA = r"L'indemnité vaut $I = \frac{S \times A}{4}$ pour chaque année entière."
CODE = "```sh\nsourcier ask \"Combien ?\"\n```"
QUESTION = "Comment se calcule l'indemnité ?"
DOCUMENTS = (
    ("notes/2020.md", OLD, "Le montant des tickets restaurant est fixé à 8,50 €.", {"type": "note", "author": "RH"}),
    ("notes/2026.md", NEW, "Elle annule et remplace la note de service du 3 mars 2020. Elle entre en vigueur le "
     "1er avril 2026. Le montant des tickets restaurant est porté à 9,80 €.", {"type": "note", "author": "RH"}),
    ("guides/indemnite.md", "Guide de l'indemnité", FORMULA, {"type": "guide", "author": "Paie"}),
    ("guides/teletravail.md", "Charte du télétravail", "Le télétravail est possible deux jours par semaine.",
     {"type": "charte", "author": "RH"}),
)
LETTER = ingest_pb2.DeadLetter(
    dead_letter_id="0192", state=ingest_pb2.DEAD_LETTER_STATE_OPEN, stage="parse", attempts=1,
    reason="DOCUMENT_ENCRYPTED",
    message="Le fichier « plan.pdf » est protégé par un mot de passe : envoyez-en une copie sans protection.",
    failed_at=Timestamp(seconds=1_790_000_000), filename="plan.pdf", source="plan.pdf", collection="default",
)


@asynccontextmanager
async def a_house(url: str) -> AsyncIterator[tuple[str, str, str]]:
    """Serve a page whose gateway asks who is there, over a few documents; yield its address, and the keys of an
    operator and of somebody who may read."""
    (port,) = free_ports(1)
    scenario = Scenario(deltas=(f"{FORMULA} [1]\n\n", CODE), language_model="modele", letters=[LETTER])
    async with Database(DatabaseSettings(url=url, connections_max=8, connection_timeout_seconds=30)) as database:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await spaces.ensure_space(connection, SPACE)
        writer = Writer(database)
        for source, title, text, metadata in DOCUMENTS:
            await writer.index(source, [text], title=title, metadata=metadata, category="travail")
        await writer.index("bail.md", ["Le bail est de neuf ans."], title="Bail commercial", collection="contrats")
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await relations.find_more(connection, limit=100)
        operator = await make_key(database, Role.OPERATOR)
        reader = await make_key(database, Role.READER, collection="default")
        async with (
            gateway(database, scenario, accounts=True) as running,
            served(f"127.0.0.1:{running.server.port}", http_listen=f"127.0.0.1:{port}"),
        ):
            yield f"http://localhost:{port}", operator, reader


def enter(page: Page, origin: str, key: str, *, label: str, button: str) -> None:
    """Sign in with a key."""
    page.goto(origin)
    page.get_by_label(label).fill(key)
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.get_by_role("textbox", name="Question")).to_be_visible()


def narrow_and_date(seen: Window) -> None:
    """In French: documents are looked for, narrowed and sorted; one is dated by hand, and back as it was read."""
    page, rows = seen.page, seen.page.locator(".documents > li")
    page.goto(f"{seen.origin}/#/documents")
    expect(rows).to_have_count(4)
    expect(rows.filter(has_text=OLD).locator(".badge")).to_have_text(f"Remplacé par « {NEW} »")
    expect(rows.filter(has=page.get_by_role("button", name=NEW, exact=True))).to_contain_text(f"Remplace « {OLD} »")
    page.get_by_role("button", name="Filtrer").click()
    facet = page.get_by_role("group", name="Filtrer")
    facet.get_by_label("note").check()
    expect(rows).to_have_count(2)
    # Another value of the same field can still be chosen.
    facet.get_by_label("charte").check()
    expect(rows).to_have_count(3)
    assert seen.barriers() == []
    page.get_by_role("button", name="Retirer le filtre Type : note").click()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Retirer le filtre Type : charte").click()
    page.get_by_role("searchbox", name="Filtrer par nom").fill("TELETRAVAIL")
    expect(rows).to_have_count(1)
    page.get_by_role("searchbox", name="Filtrer par nom").fill("")
    page.get_by_role("combobox", name="Trier par").select_option("Titre")
    expect(rows.first).to_contain_text("Charte du télétravail")

    page.get_by_role("button", name=f"Détails de « {NEW} »").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Entrée en vigueur")
    expect(dialog).to_contain_text("1er avril 2026")
    expect(dialog).to_contain_text(f"Remplace « {OLD} »")
    dialog.get_by_role("button", name="Corriger : Entrée en vigueur").click()
    dialog.get_by_label("Date", exact=False).last.fill("2026-05-01")
    assert seen.barriers() == []
    dialog.get_by_role("button", name="Enregistrer").click()
    expect(dialog).to_contain_text("1er mai 2026")
    dialog.get_by_role("button", name="Revenir à ce qui a été lu").click()
    expect(dialog).to_contain_text("1er avril 2026")
    page.keyboard.press("Escape")


def ask_narrowed(seen: Window) -> None:
    """In French: a question to guides alone; its formula is drawn, and its code can be copied."""
    page = seen.page
    page.get_by_role("link", name="Nouvelle question").click()
    page.get_by_role("button", name="Filtrer").click()
    page.get_by_role("group", name="Filtrer").get_by_label("guide").check()
    expect(page.get_by_role("button", name="Retirer le filtre Type : guide")).to_be_visible()
    assert seen.barriers() == []
    page.get_by_role("button", name="Filtrer").click()
    page.get_by_role("textbox", name="Question").fill(QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".answer math mfrac")).to_be_visible()
    expect(page.locator(".turn-actions")).to_have_count(1)
    expect(page.locator(".sources li")).to_have_count(1)
    expect(page.locator(".sources li")).to_contain_text("Guide de l'indemnité")
    assert seen.barriers() == []


def give_and_take(seen: Window) -> None:
    """In English: a right is given and taken back, a key is made and revoked."""
    page = seen.page
    page.goto(f"{seen.origin}/#/access")
    grants = page.get_by_role("region", name="Rights")
    page.get_by_role("button", name="Give a right").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Who").select_option("A group")
    dialog.get_by_label("The group’s name").fill("rh")
    dialog.get_by_role("radio", name="Read and fill").check()
    assert seen.barriers() == []
    dialog.get_by_role("button", name="Give a right").click()
    row = grants.get_by_role("listitem").filter(has_text="group rh")
    expect(row).to_contain_text("Read and fill")
    row.get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    expect(row).to_have_count(0)

    keys = page.get_by_role("region", name="Access keys")
    page.get_by_role("button", name="New key").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What it is for").fill("scanner")
    dialog.get_by_role("radio", name="Writer").check()
    assert seen.barriers() == []
    dialog.get_by_role("button", name="Create").click()
    assert len(dialog.get_by_label("Key", exact=True).input_value()) > 32
    assert seen.barriers() == []
    dialog.get_by_role("button", name="Done").click()
    row = keys.get_by_role("listitem").filter(has_text="scanner")
    expect(row).to_contain_text("Writer")
    row.get_by_role("button", name="Revoke the key scanner").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(row).not_to_be_visible()
    expect(page.get_by_text("Keys that are of no use any more (1)")).to_be_visible()


def look_after(seen: Window) -> None:
    """In English: what is watched, how the service is; an agent under another name."""
    page = seen.page
    page.goto(f"{seen.origin}/#/operations")
    expect(page.get_by_role("region", name="Watched folders")).to_contain_text("docs/rh/")
    expect(page.get_by_role("region", name="Diagnosis")).to_contain_text("All works.")
    expect(page.get_by_role("region", name="Models of collections")).to_contain_text("test")
    assert seen.barriers() == []
    page.goto(f"{seen.origin}/#/curation")
    page.get_by_role("button", name="New agent").click()
    page.get_by_role("dialog").get_by_label("Name").fill("accueil")
    page.get_by_role("dialog").get_by_role("button", name="Create").click()
    page.get_by_role("button", name="New deployment").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("intranet")
    dialog.get_by_role("combobox").first.select_option("The model searches by itself")
    assert seen.barriers() == []
    dialog.get_by_role("button", name="Save").click()
    row = page.get_by_role("region", name="Deployments of").get_by_role("listitem")
    expect(row).to_contain_text("Search: The model searches by itself")
    assert seen.barriers() == []


def in_french(origin: str, key: str) -> None:
    with launched() as browser, window(browser, origin) as seen:
        enter(seen.page, origin, key, label="Clé d’accès", button="Entrer")
        narrow_and_date(seen)
        ask_narrowed(seen)


def in_english_on_a_dark_phone(origin: str, key: str) -> None:
    phone = {"locale": "en-GB", "viewport": {"width": 390, "height": 780}, "color_scheme": "dark"}
    with launched() as browser, window(browser, origin, **phone) as seen:
        enter(seen.page, origin, key, label="Access key", button="Enter")
        give_and_take(seen)
        look_after(seen)
        for view in ("documents", "access", "curation", "operations"):
            seen.page.goto(f"{origin}/#/{view}")
            expect(seen.page.get_by_text("Loading…")).to_have_count(0)
            assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


def what_a_reader_sees(origin: str, key: str) -> None:
    """Whoever may only read is shown nothing that would be refused."""
    with launched() as browser, window(browser, origin) as seen:
        page = seen.page
        enter(page, origin, key, label="Clé d’accès", button="Entrer")
        expect(page.get_by_role("link", name="Documents")).to_be_visible()
        expect(page.get_by_role("link", name="Accès")).to_have_count(0)
        page.get_by_role("link", name="Documents").click()
        expect(page.locator(".documents > li")).to_have_count(4)
        expect(page.get_by_role("button", name="Supprimer")).to_have_count(0)
        expect(page.locator(".drop")).to_have_count(0)
        page.get_by_role("link", name="Service").click()
        expect(page.get_by_role("region", name="Travaux")).to_be_visible()
        expect(page.get_by_role("region", name="Diagnostic")).to_have_count(0)


@pytest.mark.timeout(300)
async def test_the_views_of_documents_questions_rights_and_service(database_url: str) -> None:
    expect.set_options(timeout=WAIT_MS)
    async with a_house(database_url) as (origin, operator, reader):
        await asyncio.to_thread(in_french, origin, operator)
        await asyncio.to_thread(in_english_on_a_dark_phone, origin, operator)
        await asyncio.to_thread(what_a_reader_sees, origin, reader)
