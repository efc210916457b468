"""What the client gathers from several messages: a whole answer, the outcome of an upload."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

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
    queries: tuple[str, ...] = ()
    """What was searched for; in mode tools, what the language model asked for."""
    analysis: answer_pb2.Analysed | None = None
    """What the language model made of the question before the search; None where it was not asked."""
    narrowed: answer_pb2.Narrowed | None = None
    """The categories that the search was narrowed to, and what came of it; None where it was not."""

    @property
    def refused(self) -> bool:
        """Whether the documents do not hold the answer."""
        return self.outcome == "refused"


@dataclass(frozen=True)
class UploadResult:
    """What became of an upload."""

    job: knowledge_pb2.Job
    """The job that tells how far the document is."""
    unchanged: bool
    """Whether the collection held exactly this content under this source already."""

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
    started, finished = answer_pb2.Started(), answer_pb2.Finished()
    tokens, replacement, reason, answer_id, rewritten = list[str](), "", "", "", ""
    citations, sources = list[answer_pb2.Citation](), tuple[answer_pb2.Passage, ...]()
    degradations, withheld = list[answer_pb2.Degradation](), list[answer_pb2.Withheld]()
    direct: answer_pb2.DirectAnswer | None = None
    queries, analysis = list[str](), None
    narrowed: answer_pb2.Narrowed | None = None
    async for event in events:
        answer_id = event.answer_id
        match event.WhichOneof("event"):
            case "started":
                started = event.started
            case "rewritten":
                rewritten = event.rewritten.question
            case "searching":
                queries.append(event.searching.query)
            case "analysed":
                analysis = event.analysed
            case "narrowed":
                narrowed = event.narrowed
            case "reranked":
                sources = tuple(event.reranked.passages)
            case "token":
                tokens.append(event.token.text)
            case "citation":
                citations.append(event.citation)
            case "refused":
                replacement, reason = event.refused.text, event.refused.reason
                citations.clear()
            case "quoted":
                replacement = event.quoted.text
                citations = [event.quoted.citation]
            case "withheld":
                withheld.append(event.withheld)
            case "direct_answer":
                direct = event.direct_answer
                replacement = direct.text
            case "degraded":
                degradations.append(event.degraded)
            case "finished":
                finished = event.finished
            case "failed":
                raise AnswerFailed(event.failed.message, reason=event.failed.reason)
    if not finished.outcome:
        raise AnswerFailed("the answer ended before it was whole", reason="INCOMPLETE")
    return Answer(
        text=replacement or "".join(tokens),
        outcome=_OUTCOMES.get(finished.outcome, "answered"),
        citations=tuple(citations),
        sources=sources,
        reason=reason,
        durations={each.stage: each.duration.ToTimedelta().total_seconds() for each in finished.durations},
        degradations=tuple(degradations),
        withheld=tuple(withheld),
        usage=finished.usage,
        model=finished.model,
        direct=direct,
        answer_id=answer_id,
        language=started.language,
        rewritten=rewritten,
        message_id=finished.message_id,
        queries=tuple(queries),
        analysis=analysis,
        narrowed=narrowed,
    )
