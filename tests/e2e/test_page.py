"""The page in a real browser: files dropped and followed, a question, its source, a reload in mid-answer, a rating."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.fix_browser import Window, window
from tests.fix_stack import RunningStack

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]
DOCUMENTS = ROOT / "demo" / "documents"
WAIT_MS = 60_000
"""A bound on what may take long on a machine that is busy; it decides no test."""
QUESTION = "Combien de jours de télétravail par semaine ?"
HOSTILE = "<img src=x onerror=window.taken=1>"
HOSTILE_TEXT = f"""# {HOSTILE} <script>window.taken = 1</script>

Le mot de passe du coffre est « {HOSTILE} ». [Cliquez](javascript:window.taken=1) ou ![image](https://example.org/x.png).
"""


@pytest.fixture(scope="module", autouse=True)
def _patience() -> None:
    expect.set_options(timeout=WAIT_MS)


def make_collection(page: Page, name: str) -> None:
    """Make a collection of one's own on the page of documents, by hand."""
    page.get_by_role("button", name="Nouvelle collection").click()
    page.get_by_label("Nom de la collection").fill(name)
    page.get_by_role("button", name="Créer").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("combobox", name="Collection")).to_have_value(name)


def drop(page: Page, *files: Path | FilePayload) -> None:
    """Drop files on the page as a person does, and wait until each is indexed or failed."""
    payloads = [file if isinstance(file, dict) else FilePayload(
        name=file.name, mimeType="application/octet-stream", buffer=file.read_bytes()) for file in files]
    transfer = page.evaluate_handle(
        """files => {
            const transfer = new DataTransfer();
            for (const { name, bytes } of files) transfer.items.add(new File([new Uint8Array(bytes)], name));
            return transfer;
        }""",
        [{"name": file["name"], "bytes": list(file["buffer"])} for file in payloads],
    )
    for event in ("dragenter", "dragover", "drop"):
        page.locator(".drop").dispatch_event(event, {"dataTransfer": transfer})
    expect(page.locator(".upload")).to_have_count(len(files))
    expect(page.locator(":is(.upload.done, .upload.failed)")).to_have_count(len(files))


def ask(page: Page, question: str) -> None:
    """Write a question and send it."""
    page.get_by_role("textbox", name="Question").fill(question)
    page.keyboard.press("Enter")


def test_from_files_to_a_rated_answer(scripted_stack: RunningStack, browser: Browser) -> None:
    with window(browser, scripted_stack.page) as seen:
        page = seen.page
        page.goto(f"{seen.origin}/#/documents")
        make_collection(page, "page")
        drop(page, DOCUMENTS / "teletravail.pdf", DOCUMENTS / "mobilite.md",
             FilePayload(name="abîmé.pdf", mimeType="application/pdf", buffer=b"%PDF-1.4 broken"))
        expect(page.locator(".upload.done")).to_have_count(2)
        expect(page.locator(".upload.failed .name")).to_have_text("abîmé.pdf")
        expect(page.locator(".upload.failed .reason")).to_contain_text("abîmé ou incomplet")
        expect(page.get_by_role("region", name="À reprendre").locator("li")).to_have_count(1)
        expect(page.get_by_role("button", name="Charte du télétravail", exact=True)).to_be_visible()
        assert seen.barriers() == []

        page.get_by_role("link", name="Nouvelle question").click()
        ask(page, QUESTION)
        expect(page.locator(".turn-actions")).to_have_count(1)
        chip = page.locator(".answer .chip").first
        chip.hover()
        expect(page.get_by_role("tooltip")).to_contain_text("Charte du télétravail")
        chip.click()
        source = page.get_by_role("complementary", name="Source")
        expect(source.get_by_role("heading", name="Charte du télétravail").first).to_be_focused()
        picture = source.get_by_role("img", name="Page 1 de « Charte du télétravail »")
        expect(picture).to_be_visible()
        # It says so where nothing is marked.
        expect(source.locator(".hint")).to_have_count(0)
        source.get_by_role("tab", name="Texte").click()
        expect(source.locator("mark").first).to_be_visible()
        answer = page.locator(".answer").inner_text()
        marked = "".join(source.locator("mark").all_inner_texts())
        assert folded(marked)
        assert folded(marked) in folded(answer)
        assert seen.barriers() == []
        page.keyboard.press("Escape")
        expect(source).to_have_count(0)
        reload_and_stop(seen)
        rate(page, "Très clair")
        assert seen.barriers() == []
        page.reload()
        expect(page.get_by_role("button", name="Bonne réponse").first).to_have_attribute("aria-pressed", "true")
        # What the answer rested on was kept with it.
        page.locator(".answer .chip").first.click()
        source.get_by_role("tab", name="Texte").click()
        expect(source.locator("mark").first).to_be_visible()
    kept = scripted_stack.run("conversations", "list", "--json").stdout
    assert QUESTION in kept


def folded(text: str) -> str:
    """Return the letters of a text."""
    return re.sub(r"\W", "", text).lower()


def reload_and_stop(seen: Window) -> None:
    """Ask for a long answer, reload the page in the middle of it, read on, and stop it."""
    page = seen.page
    ask(page, "Dites lentement : combien de jours de télétravail par semaine ?")
    writing = page.locator(".answer.writing")
    expect(writing.locator(".chip").first).to_be_visible()
    before = len(writing.inner_text())
    page.reload()
    expect(writing).to_be_visible()
    # The answer went on while nobody read it, and is told from its beginning.
    expect(writing.locator(".chip").nth(2)).to_be_visible()
    assert len(writing.inner_text()) >= before
    page.get_by_role("button", name="Arrêter").click()
    expect(page.locator(".notes").last).to_contain_text("Arrêtée")
    expect(page.locator(".turn-actions")).to_have_count(2)


def rate(page: Page, comment: str) -> None:
    """Rate the first answer, with a comment."""
    page.get_by_role("button", name="Bonne réponse").first.click()
    page.get_by_label("Commentaire").fill(comment)
    page.get_by_role("button", name="Envoyer l’avis").click()
    expect(page.get_by_text("votre avis est noté")).to_be_visible()


def test_what_documents_say_is_never_run(scripted_stack: RunningStack, browser: Browser) -> None:
    with window(browser, scripted_stack.page) as seen:
        page = seen.page
        page.goto(f"{seen.origin}/#/documents")
        make_collection(page, f"page {HOSTILE}")
        drop(page, FilePayload(name=f"{HOSTILE}.md", mimeType="text/markdown", buffer=HOSTILE_TEXT.encode()))
        expect(page.locator(".documents .name")).to_contain_text("<img")
        page.locator(".documents .name").click()
        expect(page.locator(".source-panel .prose")).to_contain_text("Le mot de passe du coffre")
        page.keyboard.press("Escape")
        page.get_by_role("link", name="Nouvelle question").click()
        ask(page, f"Quel est le mot de passe du coffre {HOSTILE} ?")
        expect(page.locator(".turn-actions")).to_have_count(1)
        assert_harmless(page)
        # What people wrote comes to the page as it is.
        page.goto(f"{seen.origin}/#/curation")
        page.get_by_role("button", name="Nouvel agent").click()
        page.locator("dialog input").first.fill(f"page {HOSTILE}")
        page.get_by_role("button", name="Créer").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.get_by_role("button", name="Ajouter une réponse").click()
        page.locator("dialog textarea").first.fill(HOSTILE)
        page.locator("dialog textarea").last.fill(HOSTILE_TEXT)
        page.locator("dialog input").fill(HOSTILE)
        page.get_by_role("button", name="Enregistrer").click()
        expect(page.locator(".faq .prose")).to_contain_text("Le mot de passe du coffre")
        assert_harmless(page)


def assert_harmless(page: Page) -> None:
    """Check that nothing of what others wrote became more than text."""
    assert page.evaluate("window.taken") is None
    assert page.locator("main :is(img, script, iframe), main a[href^='javascript']").count() == 0


def test_english_on_a_phone_by_keyboard(scripted_stack: RunningStack, browser: Browser) -> None:
    phone = {"locale": "en-GB", "viewport": {"width": 390, "height": 780}, "color_scheme": "dark"}
    with window(browser, scripted_stack.page, **phone) as seen:
        page = seen.page
        page.goto(seen.origin)
        expect(page.get_by_role("heading", name="Ask your documents a question")).to_be_visible()
        assert page.locator("html").get_attribute("lang") == "en"
        for view, heading in (("", "Ask"), ("documents", "Documents"), ("curation", "Validated answers"),
                              ("operations", "Service")):
            page.goto(f"{seen.origin}/#/{view}")
            expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
            expect(page.get_by_text("Loading…")).to_have_count(0)
            assert seen.barriers() == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("button", name="Menu").press("Enter")
        page.get_by_label("Language").select_option("fr")
        expect(page.get_by_role("navigation", name="Rubriques")).to_be_visible()
