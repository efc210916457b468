"""What calls can be told, by keyword; and how it becomes the messages of the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypedDict, TypeVar, get_args

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from sourcier.errors import InvalidArgument
from sourcier.filters import Filter, condition
from sourcier.gateway.v1 import answer_pb2, knowledge_pb2, operations_pb2

if TYPE_CHECKING:
    from google.protobuf.internal.enum_type_wrapper import _EnumTypeWrapper

M = TypeVar("M", bound=Message)
V = TypeVar("V", bound=int)

SearchModeName = Literal["dense", "lexical", "fused", "reranked"]
PassageKindName = Literal["text", "qa_pair", "source_material", "classic"]
StrictnessName = Literal["withhold", "mark"]
AnswerModeName = Literal["injection", "tools"]
JobStatusName = Literal["pending", "processing", "completed", "failed"]
FailureStateName = Literal["open", "replayed", "discarded"]
FailureStageName = Literal["accept", "parse", "ocr", "speech", "chunk", "embed", "index"]
RoleName = Literal["user", "assistant"]
DocumentOrderName = Literal["title", "date", "indexed", "size"]
ReprocessStageName = Literal["parse", "chunk", "embed"]


class FilterOptions(TypedDict, total=False):
    """Where to search; what is left out narrows nothing."""

    collection: str
    """The collection's name; `default` when left out."""
    collections: Sequence[str]
    """Collections that are searched together, at most 100."""
    all_collections: bool
    """Search all collections that you may read."""
    filter: Filter
    """Only documents that meet this: an expression as `date >= 2024 and (type = avenant or not archived)`, or the same
    as JSON, `{"and": [{"field": "date", "gte": 2024}, …]}`."""
    document_ids: Sequence[str]
    """Only these documents."""
    categories: Sequence[str]
    """Only documents of one of these categories."""
    metadata: Mapping[str, str]
    """Only documents whose metadata has all these values."""
    kinds: Sequence[PassageKindName]
    """By what passages are found, of the kinds named alone; when left out by their own text, and for an agent by what
    its indexing method asks for."""
    chunk_types: Sequence[str]
    """Only passages made of one of these, for example `text`."""


class RetrievalOptions(FilterOptions, total=False):
    """How to search; what is left out is the collection's setting, else the service's."""

    result_threshold: float
    """Passages of a lower cosine similarity are left out, -1 to 1."""
    suppress_duplicates: bool
    """Whether passages that say the same count once."""
    neighbours: int
    """Chunks before and after each passage, of its section, that come with it, 0 to 5."""
    neighbour_tokens: int
    """Most tokens of all neighbours together."""
    detect_categories: bool
    """Whether categories that the question names narrow the search."""


class CollectionRetrieval(TypedDict, total=False):
    """How a collection's passages are searched for, where a request does not say."""

    limit: int
    """Most passages that a search returns, 1 to 100."""
    passages: int
    """Passages given to the language model, 1 to 20."""
    candidates: int
    """How many candidates are re-ranked, 1 to 100."""
    mode: SearchModeName
    """How passages are ranked."""
    rerank: bool
    """Whether to re-rank; refused beside a `mode` that says otherwise."""
    result_threshold: float
    """Passages of a lower cosine similarity are left out, -1 to 1."""
    exact: bool
    """Compare with every vector instead of asking the index."""
    suppress_duplicates: bool
    """Whether passages that say the same count once."""
    neighbours: int
    """Chunks before and after each passage, of its section, that come with it, 0 to 5."""
    neighbour_tokens: int
    """Most tokens of all neighbours together, 1 to 8,000."""
    detect_categories: bool
    """Whether categories that a question names narrow the search."""


class AskOptions(RetrievalOptions, total=False):
    """How to answer; what is left out follows the service's settings."""

    passages: int
    """Passages given to the model, 1 to 20."""
    candidates: int
    """How many candidates are re-ranked, 1 to 100."""
    rerank: bool
    """Whether to re-rank."""
    tokens_max: int
    """Most tokens of the answer."""
    temperature: float
    """The sampling temperature, 0 to 2."""
    seed: int
    """The sampler's seed."""
    conversation_id: str
    """The conversation that the question continues."""
    keep: bool
    """Whether question and answer are kept in the conversation; they are when left out."""
    history: Sequence[tuple[RoleName, str]]
    """Who said what before, oldest first, where you keep the conversation yourself; 50 messages at most."""
    strictness: StrictnessName
    """What becomes of a sentence that no passage supports: `withhold`, or `mark` to show it all the same."""
    agent: str
    """The agent that is asked: its collection is searched, its FAQ comes first."""
    deployment: str
    """The deployment that is asked, which names the agent."""
    direct_answers: bool
    """Whether an FAQ entry that answers this very question is given without the language model."""
    judge: bool
    """Whether the language model, asked as a judge, has to confirm each sentence as well."""
    judge_question: bool
    """Whether it is asked beforehand whether the passages hold the answer."""
    mode: AnswerModeName
    """Who searches: the service (`injection`), or the language model, as often as it needs (`tools`)."""
    analyse: bool
    """Whether the language model analyses the question before the search."""
    answerability_threshold: float
    """How likely the passages must hold the answer, 0 to 1; less is refused without asking the language model."""
    extract_answers: bool
    """Whether a sure extract that holds the value asked for is the answer, without the language model."""


class DocumentOptions(TypedDict, total=False):
    """What is said of a document when it is brought in."""

    collection: str
    """The collection's name; `default`, created on first use, when left out."""
    content_type: str
    """The media type; detected when left out."""
    title: str
    """The title shown with citations; the document's own when left out."""
    lane: str
    """`interactive`, the default, overtakes `bulk`."""
    metadata: Mapping[str, str]
    """Facts to filter by, at most 64 keys."""
    category: str
    """The category to filter by and to show."""
    source_root: str
    """Which root `source` is a path from, as a digest of machine and folder; told of documents, and used for nothing
    else."""
    renamed_from: str
    """The source that the document had before it was renamed: it keeps its id, its dates and what cites it."""


class FailureOptions(TypedDict, total=False):
    """Which failures are meant; what is left out narrows nothing."""

    stage: FailureStageName
    """Only those of this stage."""
    reason: str
    """Only those with this reason, for example `UNAVAILABLE`."""
    collection: str
    """Only those of this collection."""


def chosen(kind: _EnumTypeWrapper[V], name: str | None, names: Any, *, field: str) -> V:
    """Return the value that a name stands for in an enumeration of the contract; unset for none.

    `names` is the Literal that the name is one of; one that the enumeration lacks leaves the choice to the service.
    Raises InvalidArgument, with what there is, for any other.
    """
    unset = kind.keys()[0]
    if name in (None, ""):
        return kind.Value(unset)
    if str(name).lower() not in get_args(names):
        _refuse(field, name, f"one of {', '.join(get_args(names))}")
    value = unset.removesuffix("UNSPECIFIED") + str(name).upper()
    return kind.Value(value if value in kind.keys() else unset)  # noqa: SIM118 it is no mapping


def message(kind: type[M], **fields: Any) -> M:
    """Return a message of the contract; raise InvalidArgument that names the field which cannot hold its value."""
    try:
        return kind(**fields)
    except (TypeError, ValueError):
        for name, value in fields.items():
            try:
                kind(**{name: value})
            except (TypeError, ValueError):
                _refuse(name, value, _holds(kind.DESCRIPTOR.fields_by_name[name]))
        raise


def _refuse(field: str, value: Any, valid: str) -> NoReturn:
    raise InvalidArgument(f"{field} is {value!r}; it is {valid}", field=field) from None


def _holds(field: Any) -> str:
    numbers = {
        FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1), FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
        FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1), FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    }
    if field.cpp_type in numbers:
        least, most = numbers[field.cpp_type]
        return f"a whole number from {least} to {most}"
    return {
        FieldDescriptor.CPPTYPE_STRING: "text that UTF-8 can say", FieldDescriptor.CPPTYPE_BOOL: "True or False",
        FieldDescriptor.CPPTYPE_FLOAT: "a number", FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    }.get(field.cpp_type, "another kind of value")


def search_filter(options: FilterOptions) -> answer_pb2.SearchFilter:
    """Return the filter that the options describe."""
    kinds = options.get("kinds", ())
    return message(
        answer_pb2.SearchFilter,
        collection=options.get("collection", ""), document_ids=options.get("document_ids", ()),
        categories=options.get("categories", ()), metadata=options.get("metadata", {}),
        kinds=[chosen(answer_pb2.PassageKind, kind, PassageKindName, field="kinds") for kind in kinds],
        chunk_types=options.get("chunk_types", ()),
        where=condition(options["filter"]) if options.get("filter") else None,
        collections=options.get("collections", ()), all_collections=options.get("all_collections", False),
    )


def strictness(name: StrictnessName | None) -> answer_pb2.Strictness.ValueType:
    """Return the strictness of that name; unset for none, which leaves it to the service."""
    return chosen(answer_pb2.Strictness, name, StrictnessName, field="strictness")


def answer_mode(name: AnswerModeName | None) -> answer_pb2.AnswerMode.ValueType:
    """Return the mode of that name; unset for none, which leaves it to the service."""
    return chosen(answer_pb2.AnswerMode, name, AnswerModeName, field="mode")


def failure_filter(options: FailureOptions) -> operations_pb2.FailureFilter:
    """Return the filter that the options describe."""
    return message(
        operations_pb2.FailureFilter,
        stage=options.get("stage", ""), reason=options.get("reason", ""), collection=options.get("collection", "")
    )


def document_header(options: DocumentOptions, *, filename: str, source: str) -> knowledge_pb2.DocumentHeader:
    """Return the header that the options describe."""
    return message(
        knowledge_pb2.DocumentHeader,
        collection=options.get("collection", ""), filename=filename, content_type=options.get("content_type", ""),
        title=options.get("title", ""), source=source, lane=options.get("lane", ""),
        metadata=options.get("metadata", {}), category=options.get("category", ""),
        source_root=options.get("source_root", ""), renamed_from=options.get("renamed_from", ""),
    )
