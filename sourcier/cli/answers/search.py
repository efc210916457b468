"""`sourcier search`: the passages closest to a question."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.answers.ask import ask_options
from sourcier.cli.answers.filtering import where_to_search
from sourcier.cli.answers.retrieval import how_to_search
from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import counted, one_line, place, printable, word

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import answer_pb2, place_pb2

DUPLICATES_SHOWN = 5


@click.command()
@click.argument("question", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 100),
              help="Most passages; the collection's own number, or 5, by default.")
@click.option("-m", "--mode", type=click.Choice(["dense", "lexical", "fused", "reranked"]),
              help="How passages are ranked; the collection's own way, or reranked, by default.")
@click.option("--candidates", type=click.IntRange(1, 100), help="Candidates that are re-ranked.")
@click.option("--exact/--no-exact", default=None, help="Compare with every vector instead of asking the index.")
@where_to_search
@click.option("--kind", "kinds", multiple=True, type=click.Choice(["text", "qa_pair", "source_material", "classic"]),
              help="By what passages are found: `text` by default; may be repeated.")
@how_to_search
@click.option("--explain", is_flag=True, help="Say of each passage why it is where it is.")
@click.option("--why-not", metavar="DOCUMENT", default="",
              help="Say where a document that you expected fell out: by its id, source, file name or title.")
@click.option("--full", is_flag=True, help="Show whole passages.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def search(question: tuple[str, ...], full: bool, as_json: bool, connection: Connection, **options: Any) -> None:
    """Find the passages closest to a QUESTION."""
    text = " ".join(question).strip()
    if not text:
        raise Failure("the question is empty", hint='sourcier search "jours de congé"', exit_code=2)
    wanted = ask_options(options)

    async def use(client: Client) -> answer_pb2.SearchResponse:
        return await client.search(text, **wanted)

    found = connection.run(use)
    for degradation in found.degradations:
        click.secho(f"warning: {degradation.stage}: {printable(degradation.reason)}", fg="yellow", err=True)
    if found.narrowed.message and not as_json:
        click.secho(printable(found.narrowed.message), fg="yellow" if found.narrowed.widened else None,
                    dim=not found.narrowed.widened, err=True)
    for passage in found.passages:
        if as_json:
            click.echo(json.dumps(record(passage), ensure_ascii=False))
        else:
            write(passage, full=full)
    if not found.passages and not as_json:
        click.echo("nothing found", err=True)
    if found.HasField("why_not"):
        _write_why_not(found.why_not, as_json=as_json)


def _write_why_not(fallen: answer_pb2.WhyNot, *, as_json: bool) -> None:
    """Write where a document fell out: for a person, or as the last line."""
    from sourcier.gateway.v1.answer_pb2 import Fate

    if as_json:
        click.echo(json.dumps({"why_not": {
            "document_id": fallen.document_id, "title": fallen.title, "collection": fallen.collection,
            "fate": word(Fate, fallen.fate), "place": fallen.place, "sentences": list(fallen.sentences),
            "passage": record(fallen.passage) if fallen.HasField("passage") else None,
        }}, ensure_ascii=False))
        return
    headline, *rest = fallen.sentences
    click.secho(printable(headline), bold=True)
    for sentence in rest:
        click.secho("   · " + printable(sentence), fg="cyan")


def record(passage: answer_pb2.Passage) -> dict[str, Any]:
    """Return what a program gets of a passage; page is 0 where the format has none."""
    from sourcier.gateway.v1.answer_pb2 import PassageKind

    explained = {"explanation": _explanation(passage.explanation)} if passage.HasField("explanation") else {}
    return explained | {
        "rank": passage.rank, "score": passage.score, "document_id": passage.document_id, "title": passage.title,
        "source": passage.source, "collection": passage.collection, "page": passage.page, "chunk_id": passage.chunk_id,
        "chunk_index": passage.chunk_index, "text": passage.text, "category": passage.category,
        "places": [record_of_place(place) for place in passage.places],
        "kind": word(PassageKind, passage.kind),
        "chunk_type": passage.chunk_type,
        "duplicates": list(passage.duplicates),
        "duplicate_documents": [{"document_id": each.document_id, "title": each.title, "source": each.source}
                                for each in passage.duplicate_documents],
        "neighbours": [{"chunk_id": each.chunk_id, "chunk_index": each.chunk_index, "page": each.page,
                        "text": each.text} for each in passage.neighbours],
        "pictures": [{"picture": each.number, "page": each.page, "text": each.text, "chunk_id": each.chunk_id}
                     for each in passage.pictures],
    }


def record_of_place(place: place_pb2.Place) -> dict[str, Any]:
    """Return what a program gets of a place: what it counts in, and where."""
    told = _where(place)
    return told | {"picture": place.picture} if place.picture else told


def _where(place: place_pb2.Place) -> dict[str, Any]:
    kind = place.WhichOneof("where")
    if kind is None:
        return {}
    if kind == "page":
        page = place.page
        return {
            "page": page.number, "label": page.label, "width": round(page.width, 1), "height": round(page.height, 1),
            "rectangles": [[round(edge, 1) for edge in (each.left, each.top, each.width, each.height)]
                           for each in page.rectangles],
        }
    if kind == "time":
        return {"start_seconds": place.time.start.ToMilliseconds() / 1000,
                "end_seconds": place.time.end.ToMilliseconds() / 1000}
    if kind == "cells":
        return {"sheet": place.cells.sheet, "cells": place.cells.range}
    if kind == "slide":
        return {"slide": place.slide.number}
    range_ = place.paragraphs if kind == "paragraphs" else place.lines
    return {kind: [range_.first, range_.last]}


def _explanation(explanation: answer_pb2.Explanation) -> dict[str, Any]:
    from sourcier.gateway.v1.answer_pb2 import IdentifierPlace

    place = word(IdentifierPlace, explanation.identifier_place)
    return {
        "dense_place": explanation.dense_place, "lexical_place": explanation.lexical_place,
        "unit_place": explanation.unit_place, "merged_place": explanation.merged_place,
        "reranked_place": explanation.reranked_place, "lexical_share": explanation.lexical_share,
        "title_share": explanation.title_share, "time_share": explanation.time_share,
        "words": list(explanation.words), "missing_words": list(explanation.missing_words),
        "identifiers": list(explanation.identifiers), "identifier_place": place.replace("unspecified", ""),
        "acronyms": [{"acronym": each.acronym, "long_form": each.long_form, "documents": each.documents,
                      "held": each.held} for each in explanation.acronyms],
        "spellings": [{"written": each.written, "searched": each.searched, "held": each.held}
                      for each in explanation.spellings],
        "score_behind": explanation.score_behind, "sentences": list(explanation.sentences),
    }


def repeated_in(passage: answer_pb2.Passage) -> str:
    """Name the first documents that say the same; a gateway of an older version tells their ids alone."""
    names = [place(each.title, each.source, 0) for each in passage.duplicate_documents] or list(passage.duplicates)
    more = len(names) - DUPLICATES_SHOWN
    return ", ".join(names[:DUPLICATES_SHOWN]) + (f" and {counted(more, 'other')}" if more > 0 else "")


def write(passage: answer_pb2.Passage, *, full: bool) -> None:
    """Write a passage for a person."""
    where = place(passage.title, passage.source, passage.page, passage.places)
    click.secho(f"{passage.rank}. {where}  score {passage.score:.3f}", bold=True)
    if passage.heading_path:
        click.secho("   " + one_line(" > ".join(passage.heading_path)), dim=True)
    click.echo("   " + (printable(passage.text).replace("\n", "\n   ") if full else one_line(passage.text)))
    for sentence in passage.explanation.sentences:
        click.secho("   · " + printable(sentence), fg="cyan")
    for near in passage.neighbours:
        side = "after" if near.chunk_index > passage.chunk_index else "before"
        click.secho(f"   {side}: " + (printable(near.text) if full else one_line(near.text)), dim=True)
    for picture in passage.pictures:
        if picture.chunk_id != passage.chunk_id:
            click.secho(f"   beside it: {one_line(picture.text)}", dim=True)
    if passage.duplicates:
        click.secho("   the same is said in " + repeated_in(passage), dim=True)
    click.echo()
