"""Units in PostgreSQL: planned, released, settled, searched, and kept from other tenants."""

from __future__ import annotations

import pytest

from sourcier.services.chassis.errors import NotFound
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.chassis.postgres.types import half_vector
from sourcier.services.index.curation.agents import create_agent, delete_agent
from sourcier.services.index.curation.deployments import create_deployment
from sourcier.services.index.search import units as unit_search
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.spaces import hnsw
from sourcier.services.index.units import builds as unit_builds
from sourcier.services.index.units import indexes as unit_indexes
from sourcier.services.index.units import units
from sourcier.services.index.units import vectors as unit_points
from sourcier.services.index.units import work as unit_work
from sourcier.services.index.units.vectors import PointVector
from sourcier.services.index.units.work import Settlement
from tests.integration.index.writer import SPACE, Writer, text_vector

TEXTS = ["Le télétravail est possible deux jours par semaine.", "Les congés se posent un mois avant."]
QUESTION = "Combien de jours de télétravail ?"
SETTLED = Settlement(
    state="enriched", category="Travail", summary="Le télétravail.", keywords=("télétravail",), usefulness=0.75,
    pairs=((QUESTION, "Deux jours."),), model="model", prompt_tokens=100, completion_tokens=20,
)


async def planned(database: Database, writer: Writer) -> list[unit_work.ReleasedUnit]:
    """Index two chunks for an agent; return their units, sent on their way."""
    await writer.index("guide.md", TEXTS, title="Guide")
    async with database.transaction(tenant=writer.tenant) as connection:
        await create_agent(connection, tenant=writer.tenant, name="support", collection="default")
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        wanted = [each for each in await unit_builds.wanting(connection) if each.tenant == writer.tenant]
    assert [each.methods for each in wanted] == [["qa_atomic"]]
    async with database.transaction(tenant=writer.tenant) as connection:
        build = await unit_builds.begin(
            connection, tenant=writer.tenant, collection_id=wanted[0].collection_id, methods=wanted[0].methods
        )
        assert build.state == "live"
        assert await unit_builds.plan(connection, build, limit=10) == 1
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await unit_builds.wanting(connection) == []
        return await unit_work.release(connection, in_flight_max=8, limit=8, stalled_seconds=60)


async def settled(database: Database, writer: Writer) -> str:
    """Make the first chunk's unit, with its vectors; return its id."""
    released = await planned(database, writer)
    async with database.transaction(tenant=writer.tenant) as connection:
        tasks = [await unit_work.load(connection, tenant=writer.tenant, unit_id=each.unit_id) for each in released]
        task = next(each for each in tasks if each is not None and each.text == TEXTS[0])
        given = {"tenant": writer.tenant, "document_id": task.document_id, "unit_id": task.unit_id}
        assert not await unit_work.settle(connection, **given, fingerprint=b"other", settlement=SETTLED)
        assert await unit_work.settle(connection, **given, fingerprint=task.fingerprint, settlement=SETTLED)
        assert not await unit_work.settle(connection, **given, fingerprint=task.fingerprint, settlement=SETTLED)
    await embedded(database, writer)
    return task.unit_id


async def embedded(database: Database, writer: Writer) -> list[str]:
    """Make the vectors that are missing, by what they are made of; return that."""
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        gaps = await unit_points.gaps(connection, space_ids=[SPACE.space_id], limit=10)
    unit_ids = [gap.unit_id for gap in gaps]
    async with database.transaction(tenant=writer.tenant) as connection:
        missing = await unit_points.missing(
            connection, tenant=writer.tenant, space_id=SPACE.space_id, unit_ids=unit_ids
        )
        points = [
            PointVector(point.unit_id, point.revision, point.kind, point.subject_id, text_vector(point.lead))
            for point in missing
        ]
        await unit_points.write(
            connection, tenant=writer.tenant, space_id=SPACE.space_id, unit_ids=unit_ids, points=points
        )
    assert await writer.count("unit_gaps") == 0
    return sorted(point.lead for point in missing)


async def test_a_unit_is_made_once_and_found(database: Database, writer: Writer) -> None:
    unit_id = await settled(database, writer)
    async with database.transaction(tenant="acme") as connection:
        (pair,) = await unit_search.nearest_pairs(
            connection, tenant="acme", collection="default", space_id=SPACE.space_id, vector=text_vector(QUESTION),
            filters=Filters(), limit=5,
        )
        assert (pair.question, pair.answer, pair.title) == (QUESTION, "Deux jours.", "Guide")
        assert pair.similarity == pytest.approx(1.0, abs=1e-3)
        shown = await units.get_unit(connection, tenant="acme", unit_or_chunk_id=unit_id)
        assert (shown.state, shown.prompt_tokens, [each.question for each in shown.pairs]) == (
            "enriched", 100, [QUESTION],
        )
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        # What was sent a moment ago is not sent again; nor is what was settled, ever.
        assert await unit_work.release(connection, in_flight_max=8, limit=8, stalled_seconds=60) == []
        again = await unit_work.release(connection, in_flight_max=8, limit=8, stalled_seconds=0)
        assert [each.sends for each in again] == [2]


async def test_units_of_tenants_do_not_meet(database: Database, writer: Writer) -> None:
    unit_id = await settled(database, writer)
    for table in ("units", "unit_pairs", "unit_points", "unit_builds"):
        assert await writer.count(table) > 0
        assert await writer.count(table, tenant="globex") == 0
    async with database.transaction(tenant="globex") as connection:
        with pytest.raises(NotFound):
            await units.get_unit(connection, tenant="globex", unit_or_chunk_id=unit_id)
        # Even where a statement names the wrong tenant, row-level security stands before the rows.
        with pytest.raises(NotFound):
            await units.get_unit(connection, tenant="acme", unit_or_chunk_id=unit_id)
        assert (await units.list_units(connection, tenant="acme")).items == ()


async def test_pages_of_units_follow_one_another(database: Database, writer: Writer) -> None:
    await settled(database, writer)
    async with database.transaction(tenant="acme") as connection:
        first = await units.list_units(connection, tenant="acme", page_size=1)
        rest = await units.list_units(connection, tenant="acme", page_size=1, page_token=first.next_page_token)
        assert [unit.text for unit in (*first.items, *rest.items)] == TEXTS
        assert rest.next_page_token == ""
        assert (await units.list_units(connection, tenant="acme", states=["failed"])).items == ()


async def test_an_edit_makes_the_vectors_that_it_changed_anew(database: Database, writer: Writer) -> None:
    unit_id = await settled(database, writer)
    async with database.transaction(tenant="acme") as connection:
        edited = await units.update_unit(
            connection, tenant="acme", unit_id=unit_id, edited_by="Ana", change=units.UnitChange(summary="Autrement.")
        )
        assert (edited.edited_by, edited.summary, edited.category) == ("Ana", "Autrement.", "Travail")
    assert await embedded(database, writer) == ["Autrement."]
    async with database.transaction(tenant="acme") as connection:
        (pair,) = edited.pairs
        await units.update_pair(
            connection, tenant="acme", pair_id=pair.pair_id, question="Combien ?", answer="", edited_by="Bea"
        )
        added = await units.add_pair(
            connection, tenant="acme", unit_id=unit_id, question="Qui accorde ?", answer="Le chef.", edited_by="Bea"
        )
        assert [(each.question, each.answer) for each in added.pairs] == [
            ("Combien ?", "Deux jours."), ("Qui accorde ?", "Le chef."),
        ]
    assert await embedded(database, writer) == ["Autrement.", "Combien ?", "Qui accorde ?"]
    async with database.transaction(tenant="acme") as connection:
        for each in added.pairs:
            left = await units.delete_pair(connection, tenant="acme", pair_id=each.pair_id, edited_by="Bea")
        assert (left.state, left.reason) == ("no_pairs", "BY_HAND")
    await embedded(database, writer)
    assert await writer.count("unit_points") == 1


async def test_a_vector_of_what_a_unit_was_is_not_written(database: Database, writer: Writer) -> None:
    unit_id = await settled(database, writer)
    async with database.transaction(tenant="acme") as connection:
        await connection.execute("delete from unit_points")
        stale = await unit_points.missing(connection, tenant="acme", space_id=SPACE.space_id, unit_ids=[unit_id])
        await units.update_unit(
            connection, tenant="acme", unit_id=unit_id, edited_by="Ana", change=units.UnitChange(summary="Autrement.")
        )
        points = [
            PointVector(point.unit_id, point.revision, point.kind, point.subject_id, text_vector(point.lead))
            for point in stale
        ]
        given = {"tenant": "acme", "space_id": SPACE.space_id, "unit_ids": [unit_id]}
        assert await unit_points.write(connection, **given, points=points) == 0
    assert await writer.count("unit_gaps") == 1
    assert QUESTION in await embedded(database, writer)


@pytest.mark.parametrize(("reason", "state"), [("UNAVAILABLE", "waiting"), ("BAD_OUTPUT", "failed")])
async def test_what_fails_for_no_fault_of_its_own_is_sent_again(
    database: Database, writer: Writer, reason: str, state: str
) -> None:
    for attempt in range(unit_work.SENDS_MAX):
        if attempt == 0:
            first, *_ = await planned(database, writer)
        async with database.transaction(tenant="acme") as connection:
            await unit_work.give_up(
                connection, tenant="acme", unit_id=first.unit_id, reason=reason, message="weg", again_seconds=0
            )
            cursor = await connection.execute("select state, reason from units where unit_id = %s", (first.unit_id,))
            expected = state if attempt < unit_work.SENDS_MAX - 1 else "failed"
            assert await cursor.fetchone() == (expected, reason)
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await unit_work.release(connection, in_flight_max=8, limit=8, stalled_seconds=60)


async def test_a_large_set_is_searched_by_an_index_of_its_own(database: Database, writer: Writer) -> None:
    await settled(database, writer)

    async def nearest() -> list[str]:
        async with database.transaction(tenant="acme", read_only=True) as connection:
            return [pair.question for pair in await unit_search.nearest_pairs(
                connection, tenant="acme", collection="default", space_id=SPACE.space_id,
                vector=text_vector(QUESTION), filters=Filters(), limit=1,
            )]

    assert await unit_indexes.build_unit_indexes(database) == []  # few enough to be scanned
    (name,) = await unit_indexes.build_unit_indexes(database, rows_min=1)
    assert await unit_indexes.build_unit_indexes(database, rows_min=1) == []
    assert await nearest() == [QUESTION]
    async with database.transaction(tenant="acme") as connection:
        await connection.execute("set local enable_seqscan = off")
        await connection.execute("set local enable_bitmapscan = off")
        cursor = await connection.execute("select build_id from unit_builds")
        row = await cursor.fetchone()
        assert row is not None
        plan = await connection.execute(unit_search.NEAR_INDEXED.format(
            build=f"'{row[0]}'", space=f"'{SPACE.space_id}'", dimension=SPACE.dimension, condition=""
        ).replace("near as materialized", "explain with near as materialized").encode() + b" select * from near", {
            "tenant": "acme", "kinds": ["qa_pair"], "vector": half_vector(text_vector(QUESTION)), "points": 1,
        })
        assert any(name in line for (line,) in await plan.fetchall())
        await connection.execute("update unit_builds set state = 'retired'")
    assert await unit_indexes.build_unit_indexes(database, rows_min=1) == []
    async with database.transaction(tenant="acme") as connection:
        cursor = await connection.execute(unit_indexes.SELECT_INDEXES)
        assert await cursor.fetchall() == []


SHORT_OF_SHARED_MEMORY = """
do $$
begin
    if current_setting('max_parallel_maintenance_workers')::int > 0 then
        raise exception 'could not resize shared memory segment' using errcode = 'disk_full';
    end if;
    create index {index} on unit_points using hnsw ((embedding::halfvec({dimension})) halfvec_cosine_ops)
    where build_id = {build} and space_id = {space};
    execute format('comment on index {index} is %L', current_setting('maintenance_work_mem'));
end
$$
"""


async def test_an_index_of_a_set_gets_the_memory_it_takes_and_one_process_where_shared_memory_is_short(
    database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await settled(database, writer)
    await settled(database, Writer(database, "globex"))
    monkeypatch.setattr(hnsw, "BUILD_MEMORY_BYTES_MIN", 3 * 1024**2)
    monkeypatch.setattr(unit_indexes, "CREATE", SHORT_OF_SHARED_MEMORY)
    made = await unit_indexes.build_unit_indexes(database, rows_min=1)
    assert len(made) == 2
    async with database.autocommit(tenant=ALL_TENANTS) as connection:
        cursor = await connection.execute(
            "select relname, obj_description(oid), current_setting('maintenance_work_mem'), "
            "current_setting('max_parallel_maintenance_workers') from pg_class where relname = any(%s)", (made,)
        )
        assert sorted(await cursor.fetchall()) == [(name, "3MB", "256MB", "2") for name in sorted(made)]
        await connection.execute("update unit_builds set indexed_spaces = '{}'")
    # Not more than a process may take.
    (name, _) = await unit_indexes.build_unit_indexes(database, rows_min=1, memory_bytes_max=2 * 1024**2)
    async with database.autocommit(tenant=ALL_TENANTS) as connection:
        cursor = await connection.execute("select obj_description(%s::regclass)", (name,))
        assert await cursor.fetchone() == ("2MB",)


async def test_an_index_of_a_set_that_cannot_be_built_keeps_no_other_from_being_built(
    database: Database, writer: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    await settled(database, writer)
    await settled(database, Writer(database, "globex"))
    async with database.autocommit(tenant=ALL_TENANTS) as connection:
        cursor = await connection.execute(unit_indexes.SELECT_LARGE, {"rows_min": 1})
        first, second = [unit_indexes.index_name(str(row[0]), str(row[1])) for row in await cursor.fetchall()]
        # What is first in the list cannot be built: something else has its index's name.
        await connection.execute(f"create table {first} ()".encode())
    assert await unit_indexes.build_unit_indexes(database, rows_min=1) == [second]
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == [
        "no HNSW index was built"
    ]
    async with database.autocommit(tenant=ALL_TENANTS) as connection:
        await connection.execute(f"drop table {first}".encode())
    assert await unit_indexes.build_unit_indexes(database, rows_min=1) == [first]


async def test_deployments_ask_for_methods_too_and_what_is_not_known_asks_for_none(
    database: Database, writer: Writer
) -> None:
    await planned(database, writer)
    async with database.transaction(tenant="acme") as connection:
        await create_deployment(
            connection, tenant="acme", name="a", agent="support", overlay={"indexing_method": "legacy"}
        )
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await unit_builds.wanting(connection) == []
    async with database.transaction(tenant="acme") as connection:
        await create_deployment(
            connection, tenant="acme", name="b", agent="support", overlay={"indexing_method": "classic"}
        )
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        (wanted,) = await unit_builds.wanting(connection)
    assert wanted.methods == ["classic", "qa_atomic"]
    async with database.transaction(tenant="acme") as connection:
        build = await unit_builds.begin(
            connection, tenant="acme", collection_id=wanted.collection_id, methods=wanted.methods
        )
        assert (build.state, build.methods) == ("building", ["classic", "qa_atomic"])
        # Until it is whole, an agent of the new method is answered from what there is.
        assert unit_search.kinds_of(["qa_atomic"], method="classic") == ("qa_pair", "source_material")
        assert unit_search.kinds_of(["classic", "qa_atomic"], method="classic") == ("classic",)


async def test_work_is_bounded_per_tenant_and_needs_an_agent(database: Database, writer: Writer) -> None:
    await writer.index("guide.md", TEXTS, title="Guide")
    async with database.transaction(tenant="acme") as connection:
        await create_agent(connection, tenant="acme", name="support", collection="default")
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        (wanted,) = await unit_builds.wanting(connection)
    async with database.transaction(tenant="acme") as connection:
        build = await unit_builds.begin(
            connection, tenant="acme", collection_id=wanted.collection_id, methods=wanted.methods
        )
        while await unit_builds.plan(connection, build, limit=10):
            (build,) = await unit_builds.builds_of(connection, tenant="acme", collection_id=wanted.collection_id)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert len(await unit_work.release(connection, in_flight_max=1, limit=8, stalled_seconds=60)) == 1
        assert await unit_work.release(connection, in_flight_max=1, limit=8, stalled_seconds=60) == []
    async with database.transaction(tenant="acme") as connection:
        await delete_agent(connection, tenant="acme", name="support")
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await unit_work.release(connection, in_flight_max=8, limit=8, stalled_seconds=60) == []
    assert await writer.count("units") == 2
