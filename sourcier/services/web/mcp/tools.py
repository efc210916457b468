"""The tools: what each takes, and the calls of the gateway that answer it. None of them changes anything."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format

from sourcier.gateway.v1 import answer_pb2, knowledge_pb2
from sourcier.moments import moment_of
from sourcier.results import gather_answer
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.web.answers import Asking
from sourcier.services.web.callers import Caller
from sourcier.services.web.contract import named
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.narrowing import narrow

SECONDS_MAX = 60.0
TEXT_CHARACTERS_MAX = 100_000
SEARCH, FACETS, LIST_DOCUMENTS, GET_DOCUMENT, GET_DOCUMENT_TEXT, LIST_COLLECTIONS = (
    named("AnswerService", "Search"), named("AnswerService", "GetFacets"), named("KnowledgeService", "ListDocuments"),
    named("KnowledgeService", "GetDocument"), named("KnowledgeService", "GetDocumentText"),
    named("KnowledgeService", "ListCollections"),
)
COLLECTION = {"type": "string", "description": "The collection's name; left out, the default one."}
WHERE: Mapping[str, Mapping[str, Any]] = {
    "collection": COLLECTION,
    "all_collections": {"type": "boolean", "description": "Search all collections instead of one."},
    "filter": {"type": ["string", "object"], "description": (
        "Only documents that meet this condition: `date >= 2024 and (type = avenant or not archived)`, or the same as "
        "JSON. The tool facets tells which fields and values there are."
    )},
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool found: text for a model, and the same for a program."""

    text: str
    found: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool."""

    name: str
    title: str
    about: str
    takes: Mapping[str, Mapping[str, Any]]
    """JSON schemas, by argument."""
    needs: tuple[str, ...] = ()
    run: Callable[[Tools, dict[str, Any]], Awaitable[Outcome]]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return {"type": "object", "properties": dict(self.takes), "required": list(self.needs),
                "additionalProperties": False}


class Tools:
    """The tools on behalf of one caller."""

    def __init__(self, gateway: Gateway, caller: Caller, *, answer_seconds_max: float) -> None:
        """Keep who calls."""
        self._gateway = gateway
        self._caller = caller
        self._answer_seconds_max = answer_seconds_max

    async def run(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Run a tool; raise InvalidArgument for an unknown one, or for arguments that it does not take."""
        tool = TOOLS.get(name)
        if tool is None:
            raise InvalidArgument(f"there is no tool {name[:100]!r}; there are {', '.join(TOOLS)}", field="name")
        for argument in tool.needs:
            if argument not in arguments:
                raise InvalidArgument(f"{name} needs {argument}", field=argument)
        for argument, value in arguments.items():
            _check(tool, argument, value)
        return await tool.run(self, arguments)

    async def search(self, arguments: dict[str, Any]) -> Outcome:
        """Find passages."""
        request = answer_pb2.SearchRequest(question=arguments["question"], limit=arguments.get("limit", 0))
        request.filter.collection = arguments.get("collection", "")
        narrow(request.filter, arguments)
        response: answer_pb2.SearchResponse = await self._gateway.call(
            SEARCH, request, caller=self._caller, seconds=SECONDS_MAX
        )
        passages = [
            {"rank": each.rank, "title": each.title, "source": each.source, "page": each.page, "score": each.score,
             "collection": each.collection, "document_id": each.document_id, "version_id": each.version_id,
             "chunk_id": each.chunk_id, "moment": moment_of(each.places, french=True), "text": each.text}
            for each in response.passages
        ]
        text = "\n\n".join(f"[{each['rank']}] {_named(each)}\n{each['text']}" for each in passages)
        return Outcome(text or "No passage was found.", {"passages": passages})

    async def ask(self, arguments: dict[str, Any]) -> Outcome:
        """Answer a question."""
        request = answer_pb2.AskRequest(question=arguments["question"], agent=arguments.get("agent", ""))
        request.filter.collection = arguments.get("collection", "")
        narrow(request.filter, arguments)
        asking = Asking(self._gateway, self._caller, seconds_max=self._answer_seconds_max)
        async with asking.ask(request) as events, aclosing(events):
            answer = await gather_answer(events)
        cited = {each.marker: each for each in answer.citations if each.marker}
        sources = [
            {"marker": marker, "title": each.title, "source": each.source, "page": each.page,
             "moment": moment_of(each.places, french=True), "document_id": each.document_id,
             "version_id": each.version_id, "chunk_id": each.chunk_id}
            for marker, each in sorted(cited.items())
        ]
        lines = [answer.text, *(["", "Sources:"] if sources else []),
                 *(f"[{each['marker']}] {_named(each)}" for each in sources)]
        return Outcome("\n".join(lines), {
            "answer": answer.text, "outcome": answer.outcome, "sources": sources, "answer_id": answer.answer_id,
            "withheld": [{"sentence": each.sentence, "reason": each.reason} for each in answer.withheld],
        })

    async def facets(self, arguments: dict[str, Any]) -> Outcome:
        """Count values."""
        request = answer_pb2.GetFacetsRequest(
            fields=filter(None, map(str.strip, arguments.get("fields", "").split(","))), limit=arguments.get("limit", 0)
        )
        request.filter.collection = arguments.get("collection", "")
        narrow(request.filter, arguments)
        response: answer_pb2.GetFacetsResponse = await self._gateway.call(
            FACETS, request, caller=self._caller, seconds=SECONDS_MAX
        )
        facets = [
            {"field": each.field, "document_count": each.document_count, "value_count": each.value_count,
             "values": [{"value": value.value, "document_count": value.document_count} for value in each.values]}
            for each in response.facets
        ]
        lines = [f"{each.field}: {', '.join(f'{value.value} ({value.document_count})' for value in each.values)}"
                 for each in response.facets]
        return Outcome("\n".join(lines) or "There are no documents.", {
            "document_count": response.document_count, "facets": facets,
        })

    async def list_documents(self, arguments: dict[str, Any]) -> Outcome:
        """List a page of documents."""
        request = knowledge_pb2.ListDocumentsRequest(
            collection=arguments.get("collection", ""), page_size=arguments.get("limit", 50),
            page_token=arguments.get("page_token", ""),
        )
        response: knowledge_pb2.ListDocumentsResponse = await self._gateway.call(
            LIST_DOCUMENTS, request, caller=self._caller, seconds=SECONDS_MAX
        )
        documents = [_document(each) for each in response.documents]
        text = "\n".join(f"{each['document_id']}  {_named(each)}" for each in documents)
        return Outcome(text or "There are no documents.", {
            "documents": documents, "next_page_token": response.next_page_token,
        })

    async def get_document(self, arguments: dict[str, Any]) -> Outcome:
        """Read a document."""
        document_id = arguments["document_id"]
        response: knowledge_pb2.GetDocumentResponse = await self._gateway.call(
            GET_DOCUMENT, knowledge_pb2.GetDocumentRequest(document_id=document_id), caller=self._caller,
            seconds=SECONDS_MAX,
        )
        start, limit = arguments.get("offset", 0), arguments.get("limit", TEXT_CHARACTERS_MAX)
        text, more = await self._text(document_id, start=start, limit=limit)
        found = {**_document(response.document), "text": text, "offset": start, "next_offset": start + len(text)}
        if not more:
            del found["next_offset"]
        return Outcome(text, found)

    async def _text(self, document_id: str, *, start: int, limit: int) -> tuple[str, bool]:
        """Return so many characters of a document's text, and whether there are more."""
        request = knowledge_pb2.GetDocumentTextRequest(document_id=document_id)
        text, before = "", 0
        async with self._gateway.stream(
            GET_DOCUMENT_TEXT, request, caller=self._caller, seconds=SECONDS_MAX
        ) as pieces, aclosing(pieces):
            async for piece in pieces:
                text += piece.text[max(start - before, 0):]
                before += len(piece.text)
                if len(text) > limit:
                    return text[:limit], True
        return text, False

    async def list_collections(self, arguments: dict[str, Any]) -> Outcome:
        """List collections."""
        request = knowledge_pb2.ListCollectionsRequest(page_size=1_000)
        response: knowledge_pb2.ListCollectionsResponse = await self._gateway.call(
            LIST_COLLECTIONS, request, caller=self._caller, seconds=SECONDS_MAX
        )
        collections = [{"name": each.name, "document_count": each.document_count, "chunk_count": each.chunk_count}
                       for each in response.collections]
        text = "\n".join(f"{each['name']}  {each['document_count']} documents" for each in collections)
        return Outcome(text or "There are no collections.", {"collections": collections})


def _document(document: knowledge_pb2.Document) -> dict[str, Any]:
    told = json_format.MessageToDict(document, preserving_proto_field_name=True)
    kept = ("document_id", "collection", "title", "source", "filename", "content_type", "version_id", "chunk_count",
            "metadata", "category", "created_at", "indexed_at")
    return {name: told[name] for name in kept if name in told}


def _named(each: Mapping[str, Any]) -> str:
    where = f"p. {each['page']}" if each.get("page") else each.get("moment", "")
    name = each.get("title") or each.get("filename", "")
    return f"{name}{f', {where}' if where else ''} ({each.get('source', '')})"


def _check(tool: Tool, argument: str, value: Any) -> None:
    schema = tool.takes.get(argument)
    if schema is None:
        raise InvalidArgument(f"{tool.name} takes no {argument[:100]!r}; it takes {', '.join(tool.takes) or 'nothing'}",
                              field=argument[:100])
    if schema["type"] == "boolean":
        if not isinstance(value, bool):
            raise InvalidArgument(f"{argument} is neither true nor false", field=argument)
    elif "object" in schema["type"] and isinstance(value, dict):
        return  # read, and refused, as a whole
    elif schema["type"] == "string" or isinstance(schema["type"], list):
        if not isinstance(value, str):
            raise InvalidArgument(f"{argument} is no text", field=argument)
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgument(f"{argument} holds half of a character", field=argument) from error
    elif isinstance(value, bool) or not isinstance(value, int) or not (
        schema["minimum"] <= value <= schema["maximum"]
    ):
        raise InvalidArgument(f"{argument} is no whole number from {schema['minimum']} to {schema['maximum']}",
                              field=argument)


def _whole(about: str, *, minimum: int, maximum: int) -> dict[str, Any]:
    return {"type": "integer", "description": about, "minimum": minimum, "maximum": maximum}


QUESTION = {"type": "string", "description": "The question, in the documents' language if possible."}
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (
    Tool(
        name="search", title="Search documents", run=Tools.search, needs=("question",),
        about="Find the passages of the documents that are closest to a question, with title, page and source.",
        takes={"question": QUESTION, **WHERE,
               "limit": _whole("Most passages, 5 by default.", minimum=1, maximum=100)},
    ),
    Tool(
        name="ask", title="Ask the documents", run=Tools.ask, needs=("question",),
        about="Answer a question from the documents alone, each statement with its source; says so where the documents "
              "do not hold the answer. Slower than search.",
        takes={"question": QUESTION, **WHERE,
               "agent": {"type": "string", "description": "The agent to ask; left out, none."}},
    ),
    Tool(
        name="facets", title="Values to narrow by", run=Tools.facets,
        about="Tell which values the documents' fields have, and of how many documents: what a filter can ask for.",
        takes={**WHERE,
               "fields": {"type": "string", "description": "The fields, parted by commas; left out, all there are."},
               "limit": _whole("Most values of each field, 20 by default.", minimum=1, maximum=1_000)},
    ),
    Tool(
        name="list_documents", title="List documents", run=Tools.list_documents,
        about="List the documents of a collection, or of all.",
        takes={"collection": COLLECTION,
               "limit": _whole("Most documents, 50 by default.", minimum=1, maximum=1_000),
               "page_token": {"type": "string", "description": "`next_page_token` of the page before."}},
    ),
    Tool(
        name="get_document", title="Read a document", run=Tools.get_document, needs=("document_id",),
        about="Read what a document says, as Markdown.",
        takes={"document_id": {"type": "string", "description": "The document's id."},
               "offset": _whole("First character to read, from 0.", minimum=0, maximum=2**31 - 1),
               "limit": _whole("Most characters.", minimum=1, maximum=TEXT_CHARACTERS_MAX)},
    ),
    Tool(
        name="list_collections", title="List collections", run=Tools.list_collections, takes={},
        about="List the collections of documents.",
    ),
)}
