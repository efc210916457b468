"""`sourcier buckets list | show`: what is watched, and what became of the objects; `sourcier reconcile` compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import counted, json_line, moment, one_line, printable, size, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import operations_pb2

UNWATCHED_HINT = ("start the ingest service with SOURCIER_INGEST_SOURCE_BUCKET, or SOURCIER_INGEST_BUCKET_RULES for "
                  "several")


@click.group()
def buckets() -> None:
    """List the watched buckets and show what was not taken from them; rules are settings of the ingest service."""


@buckets.command("list")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_buckets(as_json: bool, connection: Connection) -> None:
    """List the rules in the order in which they are asked, and how the objects of each stand."""
    found = connection.run(_watched)
    if as_json:
        for source in found:
            click.echo(json_line(source))
        return
    write_table(("BUCKET", "COLLECTION", "CURRENT", "WAITING", "REFUSED", "COMPARED"), [
        (name_of(each), each.collection, f"{each.current_count:,}", f"{each.waiting_count:,}",
         f"{each.refused_count:,}", compared(each))
        for each in found
    ])


@buckets.command()
@click.argument("bucket")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a rule.")
@connects
def show(bucket: str, as_json: bool, connection: Connection) -> None:
    """Show what is taken from a bucket, rule by rule, and the objects that could not be."""
    found = connection.run(_watched)
    name, _, prefix = bucket.removeprefix("s3://").partition("/")
    rules = [each for each in found if each.bucket == name and each.prefix.startswith(prefix)]
    if not rules:
        names = ", ".join(dict.fromkeys(name_of(each) for each in found))
        raise Failure(f"no rule watches {bucket}", hint=f"watched are {names}" if names else UNWATCHED_HINT)
    for number, rule in enumerate(rules):
        if as_json:
            click.echo(json_line(rule))
            continue
        if number:
            click.echo()
        _show(rule)


def _show(rule: operations_pb2.BucketSource) -> None:
    for label, value in (
        ("bucket", name_of(rule)), ("collection", rule.collection), ("category", rule.category),
        ("takes", ", ".join(rule.include) or "all"), ("leaves", ", ".join(rule.exclude)),
        ("up to", size(rule.size_bytes_max) if rule.size_bytes_max else "the service's limit"),
        ("objects", f"{rule.current_count:,} current, {rule.waiting_count:,} waiting, {rule.refused_count:,} refused"),
        ("compared", compared(rule)), ("changed", moment(rule.changed_at) if rule.HasField("changed_at") else "never"),
    ):
        if value:
            click.echo(f"{label:<12} {printable(value)}")
    for each in rule.errors:
        click.echo(f"  {printable(each.key)}: {one_line(each.error)}")
    more = rule.refused_count - len(rule.errors)
    if more > 0:
        click.echo(f"  and {counted(more, 'object')} more")


def name_of(rule: operations_pb2.BucketSource) -> str:
    """Return a rule's bucket and prefix, as addresses of S3 have them."""
    return f"{rule.bucket}/{rule.prefix}"


def compared(rule: operations_pb2.BucketSource) -> str:
    """Return when a rule's bucket was last compared whole."""
    if rule.comparing:
        return "now"
    return moment(rule.compared_at) if rule.HasField("compared_at") else "never"


async def _watched(client: Client) -> list[operations_pb2.BucketSource]:
    return await client.buckets()
