"""What the client gathers from several messages: a whole answer, the outcome of an upload."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sourcier.errors import AnswerFailed
from sourcier.gateway.v1 import answer_pb2, knowledge_pb2

_OUTCOMES = {
    answer_pb2.ANSWER_OUTCOME_ANSWERED: "answered",
    answer_pb2.ANSWER_OUTCOME_TRUNCATED: "truncated",
    answer_pb2.ANSWER_OUTCOME_REFUSED: "refused",
    answer_pb2.ANSWER_OUTCOME_QUOTED: "quoted",
    answer_pb2.ANSWER_OUTCOME_SMALL_TALK: "small_talk",
    answer_pb2.ANSWER_OUTCOME_CANCELLED: "cancelled",
    answer_pb2.ANSWER_OUTCOME_ABANDONED: "abandoned",
    answer_pb2.ANSWER_OUTCOME_DIRECT: "direct",
    answer_pb2.ANSWER_OUTCOME_COLLECTION: "collection",
}


@dataclass(frozen=True)
class Answer:
    """An answer with what it rests on."""

    text: str
    """The text with its markers `[1]`, or the refusal, or the quoted extract."""
    outcome: str
    """`answered`, `truncated` (token limit), `refused` (the documents do not hold it), `quoted` (an extract),
    `small_talk` (a fixed reply to a greeting or thanks), `direct` (a person validated the answer to this question),
    `cancelled`, or `abandoned` (nobody had read it for too long).
    """
    citations: tuple[answer_pb2.Citation, ...] = ()
    """The markers of the text, in order of appearance, one for each place."""
    sources: tuple[answer_pb2.Passage, ...] = ()
    """The passages that the model was given, best first; marker `[n]` stands for the n-th."""
    reason: str = ""
    """Why it was refused, for example `BELOW_THRESHOLD`; empty otherwise."""
    durations: Mapping[str, float] = field(default_factory=dict)
    """Seconds by stage: `rewrite`, `analyse`, `tools`, `embed`, `search`, `rerank`, `first_token`, `generate`,
    `total`."""
    degradations: tuple[answer_pb2.Degradation, ...] = ()
    """What was done in a lesser way than asked; empty when nothing was."""
    withheld: tuple[answer_pb2.Withheld, ...] = ()
    """The model's sentences that no passage supports, and that are not in the text."""
    usage: answer_pb2.Usage = field(default_factory=answer_pb2.Usage)
    """Tokens of the model; zero when it was not called."""
    model: str = ""
    """The model's name; empty when it was not called, `direct_qr_match` for a direct answer."""
    direct: answer_pb2.DirectAnswer | None = None
    """The FAQ entry that was given and the question it was matched by; None for other answers."""
    answer_id: str = ""
    language: str = ""
    """`fr` or `en`: the question's language."""
    rewritten: str = ""
    """The question that was answered, where a follow-up was made self-contained; empty otherwise."""
    message_id: str = ""
    """The answer's message in its conversation, to be rated; empty where nothing was kept."""
    created_at: datetime | None = None
    """When the answer was begun, with a time zone; None where the gateway does not say."""
    queries: tuple[str, ...] = ()
    """What was searched for; in mode tools, what the language model asked for."""
    analysis: answer_pb2.Analysed | None = None
    """What the language model made of the question before the search; None where it was not asked."""
    narrowed: answer_pb2.Narrowed | None = None
    """The categories that the search was narrowed to, and what came of it; None where it was not."""
    conflicts: tuple[answer_pb2.Conflict, ...] = ()
    """Pairs of passages that do not say the same of what was asked, which one the answer rests on, and why."""
    extract: answer_pb2.Extract | None = None
    """The sentence of the passages that was shown before the language model wrote; None where none was sure."""
    parts: tuple[AnswerPart, ...] = ()
    """What became of each part of a question that asks several things; empty for one that asks one thing."""
    parts_left_out: int = 0
    """Documents that were asked about, too, and not read: there are more than parts of one answer."""

    @property
    def refused(self) -> bool:
        """Whether the documents do not hold the answer."""
        return self.outcome == "refused"

    def _repr_html_(self) -> str:
        """Return the answer as a notebook shows it."""
        from sourcier.display import html

        return html(self)

    def _repr_markdown_(self) -> str:
        """Return the answer for notebooks that show Markdown alone."""
        from sourcier.display import markdown

        return markdown(self)


@dataclass(frozen=True)
class AnswerPart:
    """One part of a question that asks several things."""

    label: str
    """What it is about: a document, a thing, or the question itself."""
    question: str
    """The question that was searched for."""
    document_ids: tuple[str, ...] = ()
    """The documents that it is about; empty where all were searched."""
    found: bool = False
    """Whether anything was found."""
    markers: tuple[int, ...] = ()
    """The sources that its words cite."""
    text: str = ""
    """Its line of the answer; empty where the answer ended before it."""


@dataclass(frozen=True)
class PageImage:
    """A page of a document as a picture."""

    png: bytes
    header: knowledge_pb2.PageImageHeader
    """What it shows, and how what is marked on it was found."""

    @property
    def matched_by_text(self) -> bool:
        """Whether what is marked was found by its text alone, since no places of it are kept."""
        return self.header.marking == knowledge_pb2.MARKING_TEXT


@dataclass(frozen=True)
class UploadResult:
    """What became of an upload."""

    job: knowledge_pb2.Job
    """The job that tells how far the document is."""
    unchanged: bool
    """Whether the collection held exactly this content under this source already."""
    renamed: bool = False
    """Whether it is the document that had the source given as `renamed_from`."""

    @property
    def job_id(self) -> str:
        """The job's id."""
        return self.job.job_id

    @property
    def document_id(self) -> str:
        """The document's id."""
        return self.job.document_id


async def gather_answer(events: AsyncIterator[answer_pb2.AskEvent]) -> Answer:
    """Read an answer to its end; raise AnswerFailed when it could not be completed."""
    gathered = _Gathered()
    async for event in events:
        gathered.take(event)
    return gathered.answer()


@dataclass(slots=True)
class _Gathered:
    """What the events of an answer said so far."""

    answer_id: str = ""
    started: answer_pb2.Started = field(default_factory=answer_pb2.Started)
    finished: answer_pb2.Finished = field(default_factory=answer_pb2.Finished)
    rewritten: str = ""
    analysis: answer_pb2.Analysed | None = None
    narrowed: answer_pb2.Narrowed | None = None
    conflicts: list[answer_pb2.Conflict] = field(default_factory=list)
    extract: answer_pb2.Extract | None = None
    decomposed: answer_pb2.Decomposed = field(default_factory=answer_pb2.Decomposed)
    answered: dict[int, answer_pb2.PartAnswered] = field(default_factory=dict)
    direct: answer_pb2.DirectAnswer | None = None
    queries: list[str] = field(default_factory=list)
    sources: tuple[answer_pb2.Passage, ...] = ()
    tokens: list[str] = field(default_factory=list)
    citations: list[answer_pb2.Citation] = field(default_factory=list)
    withheld: list[answer_pb2.Withheld] = field(default_factory=list)
    degradations: list[answer_pb2.Degradation] = field(default_factory=list)
    replacement: str = ""
    """What stands in the place of the tokens."""
    reason: str = ""
    """Why the answer was refused."""

    def take(self, event: answer_pb2.AskEvent) -> None:
        """Take in what the next event says; raise AnswerFailed where it says that there will be no answer."""
        self.answer_id = event.answer_id
        match event.WhichOneof("event"):
            case "started":
                self.started = event.started
            case "rewritten":
                self.rewritten = event.rewritten.question
            case "searching":
                self.queries.append(event.searching.query)
            case "analysed":
                self.analysis = event.analysed
            case "narrowed":
                self.narrowed = event.narrowed
            case "conflict":
                self.conflicts.append(event.conflict)
            case "extract":
                self.extract = event.extract
            case "decomposed":
                self.decomposed = event.decomposed
            case "part_answered":
                self.answered[event.part_answered.number] = event.part_answered
            case "reranked":
                self.sources = tuple(event.reranked.passages)
            case "token":
                self.tokens.append(event.token.text)
            case "citation":
                self.citations.append(event.citation)
            case "refused":
                self.replacement, self.reason = event.refused.text, event.refused.reason
                self.citations.clear()
            case "quoted":
                self.replacement = event.quoted.text
                self.citations = [event.quoted.citation]
            case "withheld":
                self.withheld.append(event.withheld)
            case "direct_answer":
                self.direct = event.direct_answer
                self.replacement = event.direct_answer.text
            case "degraded":
                self.degradations.append(event.degraded)
            case "finished":
                self.finished = event.finished
            case "failed":
                raise AnswerFailed(event.failed.message, reason=event.failed.reason)

    def answer(self) -> Answer:
        """Return the answer; raise AnswerFailed where its end is missing."""
        finished = self.finished
        if not finished.outcome:
            raise AnswerFailed("the answer ended before it was whole", reason="INCOMPLETE")
        return Answer(
            text=self.replacement or "".join(self.tokens),
            outcome=_OUTCOMES.get(finished.outcome, "answered"),
            citations=tuple(self.citations),
            sources=self.sources,
            reason=self.reason,
            durations={each.stage: each.duration.ToTimedelta().total_seconds() for each in finished.durations},
            degradations=tuple(self.degradations),
            withheld=tuple(self.withheld),
            usage=finished.usage,
            model=finished.model,
            direct=self.direct,
            answer_id=self.answer_id,
            language=self.started.language,
            rewritten=self.rewritten,
            message_id=finished.message_id,
            created_at=finished.created_at.ToDatetime(tzinfo=UTC) if finished.HasField("created_at") else None,
            queries=tuple(self.queries),
            analysis=self.analysis,
            narrowed=self.narrowed,
            conflicts=tuple(self.conflicts),
            extract=self.extract,
            parts=tuple(self._part(number, part) for number, part in enumerate(self.decomposed.parts, start=1)),
            parts_left_out=self.decomposed.left_out,
        )

    def _part(self, number: int, part: answer_pb2.QuestionPart) -> AnswerPart:
        told = self.answered.get(number, answer_pb2.PartAnswered())
        return AnswerPart(
            part.label, part.question, tuple(part.document_ids), told.found, tuple(told.markers),
            "".join(self.tokens)[told.text_start : told.text_end],
        )
