"""What a tenant and a person may use in a day: tokens of the language model, and bytes of documents sent in.

Counted in PostgreSQL, so that all gateways know one count, and only where there is a limit: without any, nothing is
read or written. What is used is known when it is over: calls that are under way at once may go over a limit together,
by what they use.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum

from prometheus_client import Counter

from sourcier.services.chassis.access import current_access
from sourcier.services.chassis.errors import DailyLimitReached
from sourcier.services.chassis.postgres.database import Database

KEPT_DAYS = 31
"""Of what was used before, for those who wonder about it."""

limits_reached_total = Counter(
    "sourcier_daily_limits_reached_total", "Calls refused because a limit of the day was reached, by what and whose.",
    ["measure", "limit"],
)


class Measure(StrEnum):
    """What is counted; the names of the columns."""

    TOKENS = "tokens"
    UPLOAD_BYTES = "upload_bytes"


WORDS = {Measure.TOKENS: "tokens of the language model", Measure.UPLOAD_BYTES: "bytes of documents"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyLimits:
    """The most of a day; 0 for no limit."""

    tenant_tokens: int = 0
    person_tokens: int = 0
    tenant_upload_bytes: int = 0
    person_upload_bytes: int = 0

    def of(self, measure: Measure) -> tuple[int, int]:
        """Return the limits of a tenant and of a person."""
        if measure is Measure.TOKENS:
            return self.tenant_tokens, self.person_tokens
        return self.tenant_upload_bytes, self.person_upload_bytes


@dataclass(slots=True)
class Spending:
    """Tokens that the call being served made the language model read and write, so far."""

    tokens: int = 0

    def taken(self) -> int:
        """Return what was spent since it was asked last."""
        tokens, self.tokens = self.tokens, 0
        return tokens


_spending: ContextVar[Spending | None] = ContextVar("spending", default=None)


def spend(tokens: int) -> None:
    """Note that the call being served used the language model; nothing where nobody counts."""
    if (spending := _spending.get()) is not None:
        spending.tokens += tokens


def begin_spending(spending: Spending) -> None:
    """Count what the rest of this task, and those that it begins, spend."""
    _spending.set(spending)


@dataclass(frozen=True)
class DailyUse:
    """Refuses what is over a limit of the day, and counts what is used."""

    database: Database
    limits: DailyLimits
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    async def check(self, measure: Measure, *, tenant: str) -> int | None:
        """Return how much of today is left for the call's caller, None without a limit.

        Raises DailyLimitReached, with the seconds until the day ends, where nothing is.
        """
        of_tenant, of_person = self.limits.of(measure)
        person = _person()
        if not of_tenant and not (of_person and person):
            return None
        now = self.now()
        row = await self.database.look(
            USED, {"tenant": tenant, "person": person, "day": now.date()}, tenant=tenant
        )
        assert row is not None
        tokens_all, tokens_own, bytes_all, bytes_own = map(int, row)
        all_used, own_used = (tokens_all, tokens_own) if measure is Measure.TOKENS else (bytes_all, bytes_own)
        left = []
        for limit, used, whose in ((of_person if person else 0, own_used, "person"), (of_tenant, all_used, "tenant")):
            if limit and used >= limit:
                raise _reached(measure, whose, limit=limit, used=used, now=now)
            if limit:
                left.append(limit - used)
        return min(left)

    async def add(self, measure: Measure, amount: int, *, tenant: str) -> None:
        """Count what the call's caller used, where there is a limit on it."""
        if amount <= 0 or not any(self.limits.of(measure)):
            return
        day = self.now().date()
        async with self.database.transaction(tenant=tenant, flushed=False) as connection:
            # In one order, whoever writes: two calls of one person never wait for each other both ways.
            for person in dict.fromkeys(("", _person())):
                await connection.execute(ADD, {
                    "tenant": tenant, "person": person, "day": day,
                    "tokens": amount if measure is Measure.TOKENS else 0,
                    "upload_bytes": amount if measure is Measure.UPLOAD_BYTES else 0,
                })
            await connection.execute(FORGET, {"tenant": tenant, "before": day - timedelta(days=KEPT_DAYS)})

    async def pieces(
        self, pieces: AsyncIterator[bytes], *, left: int | None, tenant: str
    ) -> AsyncIterator[bytes]:
        """Pass an upload on, and count it; raise DailyLimitReached where it goes over what was left (`check`)."""
        if left is None:
            async for piece in pieces:
                yield piece
            return
        sent = 0
        try:
            async for piece in pieces:
                sent += len(piece)
                if sent > left:
                    whose = "tenant" if not (self.limits.person_upload_bytes and _person()) else "person"
                    limit = self.limits.of(Measure.UPLOAD_BYTES)[whose == "person"]
                    raise _reached(Measure.UPLOAD_BYTES, whose, limit=limit, used=limit - left + sent, now=self.now())
                yield piece
        finally:
            await self.add(Measure.UPLOAD_BYTES, min(sent, left), tenant=tenant)


def _person() -> str:
    access = current_access()
    return access.name if access is not None else ""


def _reached(measure: Measure, whose: str, *, limit: int, used: int, now: datetime) -> DailyLimitReached:
    limits_reached_total.labels(measure.value, whose).inc()
    ends = datetime.combine(now.date() + timedelta(days=1), time(), UTC)
    subject = "you" if whose == "person" else "your organisation"
    return DailyLimitReached(
        f"today's limit of {limit:,} {WORDS[measure]} for {subject} is reached; it begins anew at 00:00 UTC",
        retry_after_seconds=(ends - now).total_seconds(), limit=f"{measure.value}.{whose}", used=used, most=limit,
    )


USED = """
select coalesce(sum(tokens) filter (where person = ''), 0), coalesce(sum(tokens) filter (where person <> ''), 0),
       coalesce(sum(upload_bytes) filter (where person = ''), 0),
       coalesce(sum(upload_bytes) filter (where person <> ''), 0)
from daily_use
where tenant = %(tenant)s and day = %(day)s and person in ('', %(person)s)
"""
ADD = """
insert into daily_use (tenant, person, day, tokens, upload_bytes)
values (%(tenant)s, %(person)s, %(day)s, %(tokens)s, %(upload_bytes)s)
on conflict (tenant, person, day) do update
set tokens = daily_use.tokens + excluded.tokens, upload_bytes = daily_use.upload_bytes + excluded.upload_bytes
"""
FORGET = "delete from daily_use where tenant = %(tenant)s and day < %(before)s"
