"""A document that was renamed: it keeps its id and what hangs on it, and is read again where its name counts."""

from __future__ import annotations

from typing import Any

from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import Pipeline

TEXT = "Le télétravail est possible deux jours par semaine."


async def sent(service: Pipeline, filename: str, **fields: Any) -> tuple[str, bool, bool]:
    """Send a document to its end; return its id, whether it was unchanged and whether it was renamed."""
    response = await service.submit(TEXT, filename=filename, **fields)
    await service.finished(response.job.job_id)
    return response.job.document_id, response.unchanged, response.renamed


async def documents(service: Pipeline) -> list[tuple[Any, ...]]:
    return await service.rows("select source, filename, title, last_generation::int from documents order by source")


async def test_it_keeps_its_id_and_takes_its_new_name(serve: Serve) -> None:
    async with serve() as service:
        first, *_ = await sent(service, "bail.md", source="a/bail.md", source_root="here")
        assert await sent(service, "bail-2026.md", source="a/bail-2026.md", renamed_from="a/bail.md",
                          source_root="there") == (first, False, True)
        assert await documents(service) == [("a/bail-2026.md", "bail-2026.md", "bail-2026", 2)]
        assert await service.rows("select source_root from documents") == [("there",)]
        assert await service.texts() == [TEXT]

        # Moved under the same name nothing of it is other than it was.
        assert await sent(service, "bail-2026.md", source="b/bail-2026.md", renamed_from="a/bail-2026.md") == (
            first, True, True)
        assert await documents(service) == [("b/bail-2026.md", "bail-2026.md", "bail-2026", 2)]


async def test_where_a_name_is_taken_or_was_never_it_counts_for_nothing(serve: Serve) -> None:
    async with serve() as service:
        old, *_ = await sent(service, "a.md")
        other, *_ = await sent(service, "b.md")
        assert await sent(service, "b.md", renamed_from="a.md") == (other, True, False)
        new, unchanged, renamed = await sent(service, "c.md", renamed_from="never.md")
        assert (unchanged, renamed, new in {old, other}) == (False, False, False)
        # Of itself, as a sender that knows no better.
        assert await sent(service, "a.md", renamed_from="a.md") == (old, True, False)
        assert [source for source, *_ in await documents(service)] == ["a.md", "b.md", "c.md"]
