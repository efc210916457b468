"""What the gateway can be told through the environment."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator

from sourcier.services.chassis.addresses import checked_address
from sourcier.services.chassis.fair_turns import FairPlaces
from sourcier.services.chassis.models.processor import usable_cores
from sourcier.services.chassis.settings import NatsSettings, PostgresSettings, ServiceSettings, settings_config, shared
from sourcier.services.gateway.access.settings import AccessSettings
from sourcier.services.gateway.dialogue.dialogue import DialogueSettings
from sourcier.services.gateway.dialogue.small_talk import COMPLEXITY_MIN, KEYWORDS
from sourcier.services.gateway.evidence.entailment import EntailmentMode, EntailmentSettings
from sourcier.services.gateway.evidence.judge import JudgeMode, JudgeSettings
from sourcier.services.gateway.evidence.reading.verdicts import CONTRADICTED_MIN, SUPPORTED_MIN, ReaderThresholds
from sourcier.services.gateway.history import DEFAULT_LANGUAGE, Language
from sourcier.services.gateway.modes import ToolLimits
from sourcier.services.gateway.retrieval.narrowing import Closeness
from sourcier.services.gateway.retrieval.ranking_order import TITLE_WEIGHT
from sourcier.services.gateway.validated.direct_answers import FaqSources


class GatewaySettings(ServiceSettings, PostgresSettings, NatsSettings, AccessSettings):
    """`SOURCIER_GATEWAY_…`, and what several services share."""

    model_config = settings_config("gateway")

    peer_share_percent: float = Field(default=75, ge=1, le=100)
    """How much of the places for calls one network address may take while no other is there. Set 100 behind a proxy,
    where all callers have the proxy's address."""
    ingest_url: str = shared("INGEST_URL")
    """host:port of the ingest service."""
    embed_url: str = shared("EMBED_URL")
    """host:port of the embed services, by comma; each serves one space, and a collection's own is asked."""
    rerank_url: str = shared("RERANK_URL")
    """host:port of the rerank service."""
    generate_url: str = shared("GENERATE_URL")
    """host:port of the generate service."""
    connections_max: int = Field(default=8, ge=2, le=200)
    """Connections to PostgreSQL."""
    searches_at_once: int = Field(default=0, ge=0, le=200)
    """Searches at work at once, each for its tenant's turn; the others wait. 0 takes as many as there are cores, from 2
    to `connections_max`."""
    searches_waiting_max: int = Field(default=256, ge=1, le=100_000)
    """Searches that wait for it; one more takes the place of the newest of the tenant that has most of them."""

    http_listen: str = ""
    """Address of the HTTP endpoint for bucket notifications, host:port; empty for none, port 0 takes a free one."""
    webhook_token: SecretStr = SecretStr("")
    """What senders of notifications have to show; empty lets in whoever reaches the endpoint."""
    webhook_in_hand_max: int = Field(default=64, ge=1, le=10_000)
    """More notifications at once are refused with 503, and sent again."""
    nats_url: SecretStr = shared("NATS_URL", SecretStr(""))
    """Where notifications and the copies of answers go; needed with `http_listen` alone. Without it, or while it cannot
    be reached, an answer can be resumed only at the gateway that makes it."""

    question_characters_max: int = Field(default=8_000, ge=1, le=100_000)
    """Longer questions are refused."""
    candidates: int = Field(default=20, ge=1, le=100)
    """Passages found before re-ranking."""
    passages: int = Field(default=5, ge=1, le=20)
    """Passages given to the language model."""
    sources_characters_max: int = Field(default=0, ge=0, le=1_000_000)
    """Most characters of all passages that the language model reads: of each passage the pieces closest to the
    question, chosen by rule. 0 gives whole passages, for a model that reads fast; `sourcier up` sets 2,200 where it
    runs one on a processor. docs/measured/first-word.md has what each value keeps."""
    rerank: bool = True
    """Whether answers re-rank; a request may say otherwise."""
    ranking: Literal["auto", "service"] = "auto"
    """Who re-ranks: `auto` is the gateway itself, by late interaction, unless the rerank service has a cross-encoder;
    `service` always asks the rerank service, so that re-ranking scales apart."""
    title_weight: float = Field(default=TITLE_WEIGHT, ge=0, le=1)
    """What a document's title that the question names adds to the re-ranking score of its passages, at most; 0 for
    nothing. docs/measured/retrieval.md has what it finds."""
    result_threshold: float = Field(default=0.0, ge=-1, le=1)
    """Passages of a lower cosine similarity are left out of results (R1)."""
    answerability_threshold: float = Field(default=0.25, ge=0, le=1)
    """A question that the passages found could answer less well is refused without calling the model (A6); a request
    may say otherwise. 0 leaves it to the two thresholds below. docs/measured/history/quality.md has what each value
    costs."""
    suppress_duplicates: bool = True
    """Whether passages that say the same count once; docs/measured/history/quality.md shows that it costs nothing."""
    neighbours: int = Field(default=0, ge=0, le=5)
    """Chunks before and after each passage, of its section, that come with it."""
    neighbour_tokens: int = Field(default=1_000, ge=1, le=8_000)
    """Most tokens of all neighbours together."""
    detect_categories: bool = False
    """Whether categories that a question names narrow its search (R7); a collection or a request may say otherwise."""
    refusal_threshold: float = Field(default=0.31, ge=-1, le=1)
    """Where that is not known: no passage with this late-interaction score or more."""
    refusal_similarity: float = Field(default=0.81, ge=-1, le=1)
    """The same for the cosine similarity, where a cross-encoder re-ranked, or nothing did."""
    cross_encoder_threshold: float | None = Field(default=None, allow_inf_nan=False)
    """Least score that a cross-encoder has to give one of the passages besides, on the model's own scale; unset asks
    nothing of its scores."""
    quote_threshold: float = Field(default=0.55, ge=-1, le=1)
    """When the model refuses although a passage has this late-interaction score, the passage is quoted instead."""
    support_threshold: float = Field(default=0.39, ge=-1, le=1)
    """From this score on a passage supports a sentence: the mean of late interaction and of the share of the sentence's
    words that the passage holds. docs/measured/quality.md has what it keeps and what it stops."""
    support_vectors_threshold: float = Field(default=0.29, ge=-1, le=1)
    """The same for late interaction alone, where sentence and passage are in different languages."""
    support_share_threshold: float = Field(default=0.4, ge=0, le=1)
    """The same for the share of words alone, where late interaction is not available."""
    judge: Literal["off", "auto", "on"] = "auto"
    """Whether the language model, asked as a judge, has to confirm each sentence that the wording supports; `auto` asks
    it while a verdict takes `judge_cheap_seconds` at the median. A request may say otherwise.
    docs/measured/quality.md has what it catches."""
    judge_threshold: float = Field(default=0.2, ge=0, le=1)
    """Least probability of yes that confirms a sentence. It belongs to a model, this one to
    qwen2.5-coder-1.5b-instruct; `python -m eval sentences --judge` prints that of another one."""
    judge_cheap_seconds: float = Field(default=0.3, gt=0, le=60)
    """Most that a verdict may take at the median for `auto` to ask for more."""
    judge_seconds_max: float = Field(default=3.0, gt=0, le=60)
    """Longest time for one verdict; later, the sentence is checked by its wording alone, and the answer says so."""
    judge_questions: bool = False
    """Whether the model is asked, before it answers, if the passages hold the answer. A request may say otherwise."""
    judge_questions_threshold: float = Field(default=0.22, ge=0, le=1)
    """Least probability of yes for a question to be answered; it belongs to a model, as `judge_threshold` does."""
    judge_questions_seconds_max: float = Field(default=30.0, gt=0, le=600)
    """Longest time for that verdict, which reads the passages as the answer then does."""
    entailment: Literal["off", "auto", "on"] = "auto"
    """Whether an entailment model has to confirm each sentence that the wording supports; `auto` where the rerank
    service has one, `on` says so in each answer where it has none."""
    entailment_threshold: float = Field(default=0.5, ge=0, le=1)
    """Least probability of entailment that confirms a sentence."""
    reader_supported_threshold: float = Field(default=SUPPORTED_MIN, ge=0, le=1)
    """Least probability by which an entailment model that reads windows, the reader, says a sentence; below it the
    sentence is marked. `python -m eval sentences --reader` prints the one that keeps 95 % of what is right."""
    reader_contradicted_threshold: float = Field(default=CONTRADICTED_MIN, ge=0, le=1)
    """Least probability by which it speaks against a sentence, which is then withheld, and the passage quoted."""
    entailment_seconds_max: float = Field(default=3.0, gt=0, le=60)
    """Longest time for one sentence; later, it is checked without the model, and the answer says so."""
    prefer_in_force: bool = True
    """Whether passages that no longer hold, or not yet, are put aside for those that do, and said so."""
    extracts: bool = True
    """Whether the sentence that answers best is shown at once, where one is sure to."""
    extract_answers: bool = False
    """Whether such a sentence is the answer where it holds the value asked for, and the model is spared. A request may
    say otherwise."""
    answer_in_parts: bool = True
    """Whether a question that asks several things, or of several documents, is searched for and answered part by part.
    """
    strictness: Literal["withhold", "mark"] = "withhold"
    """What becomes of a sentence that no passage supports; a request may say otherwise."""
    prompt_secret: SecretStr = SecretStr("")
    """Keys the delimiters of passages in prompts, so that no document can fake one; the same for all gateways, or each
    makes up its own and the engine's prefix cache works for each alone."""
    default_language: Language = DEFAULT_LANGUAGE
    """In which people are spoken to whose question tells none, nor what was said before: « congé parental »,
    "parental leave". French gets French, and any other language English."""
    refusal_text: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    """What a refusal says; empty for the sentence of the question's language. The model is told to write it, and what
    begins with it is a refusal."""

    direct_answers: bool = True
    """Whether an agent's validated answers are given directly; a request may say otherwise."""
    direct_similarity: float = Field(default=0.95, ge=0, le=1)
    """Cosine similarity that a question needs with one that was answered before; a deployment may say otherwise."""
    faq_sources: int = Field(default=2, ge=0, le=10)
    """Most validated answers to close questions that the language model reads beside the passages; 0 for none."""
    faq_source_similarity: float = Field(default=0.92, ge=0, le=1)
    """Cosine similarity that such a question needs with the one asked; `python -m eval faq` tells what each value lets
    in."""
    learned_responses_max: int = Field(default=20_000, ge=1, le=200_000)
    """Most learned responses of an agent: they are compared one by one with every question it is asked."""
    learned_vectors_seconds: float = Field(default=5, gt=0, le=3600)
    """How often learned responses without a vector in a space they need are looked for."""

    embed_seconds_max: float = Field(default=30, gt=0)
    """Longest time for the embedding of a question."""
    search_seconds_max: float = Field(default=10, gt=0)
    """Longest time for a search in PostgreSQL."""
    rerank_seconds_max: float = Field(default=60, gt=0)
    """Longest time for re-ranking."""
    generate_seconds_max: float = Field(default=600, gt=0)
    """Longest time for one text of the language model, whatever the caller would wait. An engine that says nothing any
    more is noticed long before, by its service."""
    ask_seconds_max: float = Field(default=180, gt=0)
    """Longest time for a whole answer, when the caller sets no deadline."""
    rewrite_seconds_max: float = Field(default=30, gt=0)
    """Longest time to make a follow-up question self-contained; after it the question is searched for as it is."""
    small_talk: bool = True
    """Whether greetings and thanks get a fixed reply; otherwise everything is searched for."""
    search_keywords: str = ", ".join(KEYWORDS)
    """Words, by comma, in the singular: a message with one of them is always searched for."""
    search_complexity: float = Field(default=COMPLEXITY_MIN, ge=0, le=1)
    """Messages more complex than this are always searched for; 20 words or more are 1."""
    conversation_messages_max: int = Field(default=1_000, ge=2, le=100_000)
    """Messages of a conversation; a full one takes no more questions."""
    conversation_retention_days: int | None = Field(default=None, ge=1, le=36_500)
    """Days after its last question that a conversation is deleted, with messages and ratings; unset keeps all."""
    answer_retention_days: int | None = Field(default=None, ge=1, le=36_500)
    """Days after which a question and its answer are deleted, whether their conversation goes on or not; unset keeps
    them as long as it."""
    answer_linger_seconds: float = Field(default=60, ge=0, le=3600)
    """How long an answer that nobody reads goes on being made, so that it can be resumed; 0 is one second."""
    answers_max: int = Field(default=512, ge=1, le=100_000)
    """Answers made at once, unread ones included; beyond it the one unread for longest is given up."""
    answer_tokens_max: int = Field(default=400, ge=1, le=32_768)
    """Most tokens of an answer."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """Sampling temperature of answers in mode injection."""

    mode: Literal["injection", "tools"] = "injection"
    """Who searches: the gateway, or the language model with a tool; a deployment or a request may say otherwise."""
    tools_temperature: float = Field(default=0.7, ge=0, le=2)
    """Sampling temperature in mode tools."""
    tools_searches_max: int = Field(default=3, ge=1, le=20)
    """Searches of one answer in mode tools."""
    tools_sources_tokens_max: int = Field(default=2_000, ge=1, le=100_000)
    """Tokens of all sources of an answer in mode tools, as the embedding model counts them."""
    analyse: bool = False
    """Whether the language model analyses questions before the search; a deployment or a request may say otherwise."""
    analyse_seconds_max: float = Field(default=20, gt=0)
    """Longest time for that; after it the question is searched for as it was asked."""

    @property
    def closeness(self) -> Closeness:
        """From where on a passage is close enough to its question."""
        return Closeness(self.refusal_threshold, self.refusal_similarity)

    @property
    def search_places(self) -> FairPlaces:
        """The places of searches at work."""
        chosen = min(max(2, usable_cores()), self.connections_max)
        return FairPlaces(
            places=self.searches_at_once or chosen, waiting_max=self.searches_waiting_max,
            full="{in_hand} searches are in hand, the most that may be; try again in a moment",
        )

    @property
    def validated_sources(self) -> FaqSources:
        """Which validated answers are sources."""
        return FaqSources(similarity_min=self.faq_source_similarity, count_max=self.faq_sources)

    @property
    def tool_limits(self) -> ToolLimits:
        """What bounds an answer in mode tools."""
        return ToolLimits(searches_max=self.tools_searches_max, sources_tokens_max=self.tools_sources_tokens_max)

    @property
    def judging(self) -> JudgeSettings:
        """What the judge is told."""
        return JudgeSettings(
            mode=JudgeMode(self.judge), threshold=self.judge_threshold, seconds_max=self.judge_seconds_max,
            cheap_seconds=self.judge_cheap_seconds, questions=self.judge_questions,
            question_threshold=self.judge_questions_threshold,
            question_seconds_max=self.judge_questions_seconds_max,
        )

    @property
    def entailing(self) -> EntailmentSettings:
        """What is told to who asks the entailment model."""
        return EntailmentSettings(
            mode=EntailmentMode(self.entailment), threshold=self.entailment_threshold,
            seconds_max=self.entailment_seconds_max,
            reader=ReaderThresholds(
                supported=self.reader_supported_threshold, contradicted=self.reader_contradicted_threshold,
            ),
        )

    @property
    def dialogue(self) -> DialogueSettings:
        """What dialogues are told."""
        keywords = tuple(word for word in map(str.strip, self.search_keywords.split(",")) if word)
        return DialogueSettings(
            small_talk=self.small_talk, keywords=keywords, complexity_min=self.search_complexity,
            messages_max=self.conversation_messages_max,
        )

    @field_validator("http_listen")
    @classmethod
    def _check_http_listen(cls, address: str) -> str:
        return checked_address(address, example="0.0.0.0:8080")

    @model_validator(mode="after")
    def _check_access(self) -> Self:
        self.check_access()
        return self

    @model_validator(mode="after")
    def _check_webhook(self) -> Self:
        if self.http_listen and not self.nats_url.get_secret_value():
            raise ValueError("SOURCIER_NATS_URL is not set, and SOURCIER_GATEWAY_HTTP_LISTEN is: bucket notifications "
                             "go to NATS; set the one or empty the other")
        return self
