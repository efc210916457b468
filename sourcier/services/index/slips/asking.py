"""The slips of a question: what the collections hold for the words of it that they lack.

A question whose words are all known costs nothing here: they are counted with its stems.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.lexical.entries import SHOW_CANDIDATES, candidates_query
from sourcier.services.index.slips.choosing import (
    Respelling,
    candidates,
    confirmed,
    one_of,
    two_slips_away,
    words_by_stem,
)
from sourcier.services.index.slips.forms import SLIPS_MAX
from sourcier.services.index.slips.reading import Form, Typed, Typing, forms_of, joined_ones, unknown

PASSAGES_READ_MAX = 5
"""Of each candidate, for how its word is written."""
STEMS_READ_MAX = 20_000
"""Of one first letter, of all collections together."""
PROBES_MAX = 30_000
"""Forms looked up for one question in all its collections; in more collections, words are looked up by their first
letter alone."""


class Collections:
    """The words of the collections that a question is asked of, as far as its caller may read them."""

    def __init__(
        self, connection: Connection, *, tenant: str, ids: Sequence[str], numbers: Sequence[int]
    ) -> None:
        self._connection = connection
        self._tenant = tenant
        self._ids = list(ids)
        self._numbers = list(numbers)

    async def respellings(
        self, typing: Typing, frequencies: Mapping[str, int]
    ) -> tuple[tuple[Respelling, ...], Mapping[str, int]]:
        """Return what else is searched for, and how many passages hold each stem of it."""
        joined = joined_ones(typing, frequencies)
        typed = unknown(typing, frequencies, joined=joined)
        ones = tuple(one_of(each, frequencies) for each in joined)
        if not typed:
            return ones, {}
        known, chosen = await self._mended(typed)
        return (*ones, *chosen), known

    async def _mended(self, typed: Sequence[Typed]) -> tuple[Mapping[str, int], list[Respelling]]:
        forms = await asyncio.to_thread(lambda: {each: forms_of(each) for each in typed})
        known = await self._counts({stem for each in forms.values() for form in each for stem in form.stems})
        near = {each: candidates(forms[each], known) for each in typed}
        chosen = await self._confirmed(near, slips_max=1)
        missed = [each for each in typed if each not in chosen]
        letters = dict.fromkeys(each.folded[0] for each in missed)
        beginning = {letter: await self._beginning(letter) for letter in letters}
        far = {each: await asyncio.to_thread(two_slips_away, each, beginning[each.folded[0]]) for each in missed}
        for counted in beginning.values():
            known = {**counted, **known}
        chosen |= await self._confirmed(far, slips_max=SLIPS_MAX)
        found = [each for one in typed for each in chosen.get(one, ())]
        uncounted = {stem for each in found for stem in each.stems} - known.keys()
        return {**await self._counts(uncounted), **known}, found

    async def _confirmed(
        self, found: Mapping[Typed, Sequence[Form]], *, slips_max: int
    ) -> dict[Typed, tuple[Respelling, ...]]:
        stems = {stem for forms in found.values() for form in forms for stem in form.stems}
        texts = await self._texts(sorted(stems)) if stems else []
        words = await asyncio.to_thread(words_by_stem, texts, stems)
        chosen = {each: confirmed(each, forms, words, slips_max=slips_max) for each, forms in found.items()}
        return {each: respellings for each, respellings in chosen.items() if respellings}

    async def _counts(self, stems: set[str]) -> dict[str, int]:
        """Return how many passages hold each of the stems, those that are in none left out."""
        if not stems or len(stems) * len(self._ids) > PROBES_MAX:
            return {}
        cursor = await self._connection.execute(SELECT_COUNTS, {
            "ids": self._ids, "numbers": self._numbers, "stems": sorted(stems),
        })
        return {stem: int(passages) for stem, passages in await cursor.fetchall()}

    async def _beginning(self, letter: str) -> dict[str, int]:
        """Return how many passages hold each stem that begins with a letter."""
        prefixes = [f"{number}:{letter}" for number in self._numbers]
        cursor = await self._connection.execute(SELECT_BEGINNING, {
            "ids": self._ids, "prefixes": prefixes, "limit": STEMS_READ_MAX,
            "ends": [prefix[:-1] + chr(ord(letter) + 1) for prefix in prefixes],
        })
        counts: dict[str, int] = {}
        for lexeme, passages in await cursor.fetchall():
            stem = lexeme.partition(":")[2]
            counts[stem] = counts.get(stem, 0) + passages
        return counts

    async def _texts(self, stems: Sequence[str]) -> list[tuple[str, str]]:
        """Return passages that hold a stem, a few of each, with their titles and languages."""
        cursors = []
        async with self._connection.pipeline():
            for stem in stems:
                query = candidates_query([(stem,)], collection_numbers=self._numbers)
                await self._connection.execute(SHOW_CANDIDATES, (query,))
                cursors.append(await self._connection.execute(
                    SELECT_HOLDING, {"tenant": self._tenant, "limit": PASSAGES_READ_MAX}
                ))
        chunk_ids = {row[0] for cursor in cursors for row in await cursor.fetchall()}
        cursor = await self._connection.execute(
            SELECT_TEXTS, {"tenant": self._tenant, "chunk_ids": list(chunk_ids)}
        )
        return [(str(text), str(language)) for text, language in await cursor.fetchall()]


# As `find_scope` counts: behind row-level security an index serves plain columns.
SELECT_COUNTS = """
with probe as materialized (
    select collection_id, stem, number || ':' || stem as lexeme
    from unnest(%(ids)s::uuid[], %(numbers)s::int[]) as wanted (collection_id, number)
    cross join unnest(%(stems)s::text[]) as stem
)
select stem, sum(frequency.passages)::int
from probe
join lexeme_frequencies as frequency using (collection_id, lexeme)
where frequency.passages > 0
group by stem
"""

SELECT_BEGINNING = """
select frequency.lexeme, frequency.passages::int
from unnest(%(ids)s::uuid[], %(prefixes)s::text[], %(ends)s::text[]) as wanted (collection_id, prefix, ending)
join lexeme_frequencies as frequency
  on frequency.collection_id = wanted.collection_id
 and frequency.lexeme >= wanted.prefix and frequency.lexeme < wanted.ending
where frequency.passages > 0
limit %(limit)s
"""

SELECT_HOLDING = "select chunk_id from lexical_entries where tenant = %(tenant)s limit %(limit)s"

SELECT_TEXTS = """
select concat_ws(E'\\n', document.title, headings.text, chunk.text), chunk.language
from chunks as chunk
join documents as document using (document_id)
cross join lateral (
    select string_agg(heading, E'\\n') as text from jsonb_array_elements_text(chunk.heading_path) as heading
) as headings
where chunk.tenant = %(tenant)s and chunk.chunk_id = any(%(chunk_ids)s::uuid[])
"""
