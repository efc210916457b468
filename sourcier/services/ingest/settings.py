"""What the ingest service can be told through the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from sourcier.services.chassis.settings import (
    ModelSettings,
    NatsSettings,
    ObjectStoreSettings,
    PostgresSettings,
    ServiceSettings,
    settings_config,
    shared,
)
from sourcier.services.ingest.enriching.limits import EnrichLimits

STAGES = ("accept", "collect", "parse", "ocr", "speech", "chunk", "index", "enrich")
MEBIBYTE = 1024 * 1024


class IngestSettings(ServiceSettings, NatsSettings, PostgresSettings, ObjectStoreSettings, ModelSettings):
    """`SOURCIER_INGEST_…`, and what several services share."""

    model_config = settings_config("ingest")

    embed_model: str = shared("EMBED_MODEL", "multilingual-e5-small")
    """The embedding model whose tokens are counted and whose space new collections get."""
    embed_models: str = shared("EMBED_MODELS", "")
    """Further embedding models, by comma, whose spaces collections can be moved to; `model@int8` and `model@fp32` are
    one precision as a space of its own."""
    stages: str = ",".join(STAGES)
    """What this process does, so that parsing scales apart from indexing: some of accept, collect, parse, ocr,
    speech, chunk, index, enrich. `collect` watches buckets; `ocr` reads scanned pages and pictures; `speech` hears
    recordings; `enrich` asks the language model for knowledge units."""
    connections_max: int = Field(default=8, ge=2, le=200)
    """Connections to PostgreSQL."""
    migrate: bool = True
    """Whether a start brings the database's schema up to date; `false` waits for `sourcier-service migrate`, which may
    run as a role of its own."""
    document_bytes_max: int = Field(default=100 * MEBIBYTE, ge=1)
    """Larger documents are refused while they are sent."""
    parse_slots: int = Field(default=2, ge=1, le=64)
    """Documents being read at once, each in a process of its own."""
    parse_seconds_max: float = Field(default=120, gt=0)
    """Longest time for reading one document; then its process is killed. After two seconds it gives way to all others,
    and what it is kept waiting for a processor is added, up to as much again."""
    parse_memory_bytes_max: int = Field(default=1536 * MEBIBYTE, ge=256 * MEBIBYTE)
    """Most memory for reading one document."""
    parse_pages_max: int = Field(default=5_000, ge=1)
    """Documents of more pages are refused."""
    comments: Literal["none", "pdf", "all"] = "pdf"
    """Which documents' comments are read, with who wrote them: those of PDF, which stand on its pages; those of Office,
    OpenDocument and RTF files as well; or none."""
    struck: bool = True
    """Whether struck-out text is read, between `~~`; without, it is left out and told."""
    ocr: bool = True
    """Whether pages that are pictures, and picture files, are read by OCR: the parse stage hands them to a process that
    runs the stage `ocr`. Without it, they are told as pages without text, and refused where they are all there is."""
    ocr_slots: int = Field(default=1, ge=1, le=64)
    """Processes that read pages at once; each takes about 1 GB."""
    ocr_threads: int = Field(default=2, ge=1, le=64)
    """Threads of each of them."""
    ocr_page_seconds_max: float = Field(default=40, gt=0, le=600)
    """Longest time for reading a page; then its process is killed, and the page is told as one that was not read."""
    ocr_memory_bytes_max: int = Field(default=3072 * MEBIBYTE, ge=1024 * MEBIBYTE)
    """Most address space of a process that reads pages; about a third of it is used."""
    pictures: bool = True
    """Whether OCR looks for text in the pictures of documents that have a text of their own; needs `ocr`."""
    picture_width_min: int = Field(default=200, ge=0)
    """Narrower pictures, in pixels, are decoration; 0 takes all."""
    picture_height_min: int = Field(default=200, ge=0)
    """Lower pictures are decoration."""
    picture_pixels_min: int = Field(default=40_000, ge=0)
    """Smaller pictures are decoration."""
    picture_ratio_max: float = Field(default=10, ge=0)
    """Pictures whose longer side is more times the shorter one are decoration; 0 takes all."""
    ocr_pages_max: int = Field(default=2_000, ge=1)
    """Most scanned pages of a document that are read; further ones are told as pages without text."""
    pictures_max: int = Field(default=300, ge=1)
    """Most pictures of a document that are read; further ones are told."""
    pictures_bytes_max: int = Field(default=256 * MEBIBYTE, ge=1)
    """Most bytes of all pictures of a document that is no PDF; further ones are told."""
    vision: bool = False
    """Whether pictures are described by a vision model: the stage `ocr` asks the endpoint below. Documents leave this
    machine then, as pictures."""
    vision_url: str = ""
    """An OpenAI-compatible endpoint that describes pictures: its address up to `/v1`."""
    vision_api_key: SecretStr = SecretStr("")
    """The key that the endpoint asks for; empty for none."""
    vision_model: str = ""
    """The endpoint's name of its model."""
    vision_seconds_max: float = Field(default=60, gt=0, le=600)
    """Longest time of one call, for one picture."""
    vision_concurrency: int = Field(default=2, ge=1, le=64)
    """Pictures that are being described at once, over all documents of this process."""
    speech: bool = False
    """Whether recordings are read by speech recognition: the parse stage hands them to a process that runs the stage
    `speech`. Without it they are refused. Needs a model in the store, or an endpoint."""
    speech_model: str = "whisper-base"
    """The model of the store that hears recordings; or a folder with a Whisper model in the form of CTranslate2."""
    speech_languages: str = "fr,en"
    """The languages that are spoken, by comma, as ISO 639-1 codes: the likeliest of them is heard in each part of five
    minutes. One alone is never guessed; empty takes any."""
    speech_slots: int = Field(default=1, ge=1, le=64)
    """Processes that hear recordings at once; each takes about 0.5 GB with Whisper base."""
    speech_threads: int = Field(default=2, ge=1, le=64)
    """Threads of each of them."""
    speech_part_seconds_max: float = Field(default=900, gt=0, le=7200)
    """Longest time for hearing a part of five minutes; then its process is killed, and the part is told as one that was
    not read."""
    speech_memory_bytes_max: int = Field(default=4096 * MEBIBYTE, ge=1024 * MEBIBYTE)
    """Most address space of a process that hears recordings; a fraction of it is used."""
    speech_minutes_max: float = Field(default=300, gt=0, le=6000)
    """Of a longer recording so many minutes are read; the rest is told as not read."""
    speech_url: str = ""
    """An OpenAI-compatible endpoint that hears recordings in the place of the model: its address up to `/v1`. The sound
    leaves this machine then."""
    speech_api_key: SecretStr = SecretStr("")
    """The key that the endpoint asks for; empty for none."""
    speech_endpoint_model: str = "whisper-1"
    """The endpoint's name of its model."""
    speech_endpoint_seconds_max: float = Field(default=300, gt=0, le=3600)
    """Longest time of one call, for five minutes of sound."""
    document_chunks_max: int = Field(default=20_000, ge=1)
    """Documents that make more chunks are refused, DOCUMENT_TOO_COSTLY: so many are about 10,000 pages."""
    chunk_slots: int = Field(default=2, ge=1, le=64)
    """Documents being cut at once."""
    index_slots: int = Field(default=4, ge=1, le=64)
    """Batches being written at once."""
    import_slots: int = Field(default=4, ge=1, le=64)
    """Exported collections being taken in at once; one more is refused. Each has a connection to PostgreSQL of its own
    while it writes a document."""
    import_document_bytes_max: int = Field(default=2048 * MEBIBYTE, ge=1)
    """Most bytes of one of their documents, passages and vectors: those of a large one wait in the temporary folder
    until all are there."""
    import_idle_seconds: float = Field(default=300, gt=0, le=3600)
    """An import of which nothing comes for this time is refused, so that its place is free again."""
    parts_kept_seconds: float = Field(default=48 * 3600, ge=60)
    """Uploads to the object store that nobody ended are given up after this time, with their parts: what a process that
    was killed left. Longer than any upload takes."""
    erase_rewrite_bytes_max: int = Field(default=256 * MEBIBYTE, ge=0)
    """The erasure of a tenant writes tables of up to so many bytes, indexes included, anew, so that no deleted row
    stays in a file; nobody reads a table meanwhile. Larger ones are told in its report."""
    compact_command: str = ""
    """A command that makes the object store give up the bytes of deleted objects; run after an erasure, without a
    shell. Empty where that is the operator's; the embedded stack names its own."""
    idle_seconds: float = Field(default=300, gt=0, le=3600)
    """How long an open upload may send nothing: more than what the gateway, which relays it, allows."""
    index_memory_bytes_max: int = Field(default=2048 * MEBIBYTE, ge=64 * MEBIBYTE)
    """Most memory that PostgreSQL is asked for to build a vector index in, 1.8 KB a vector of 384 values; a larger one
    is finished on the disk, several times slower."""
    in_flight_max: int = Field(default=64, ge=1, le=10_000)
    """Documents released into the pipeline at once, per tenant and lane; the others wait in PostgreSQL."""
    hnsw_deferred_rows_max: int = Field(default=100_000, ge=0)
    """Up to so many chunks of a tenant in a space get their HNSW index after a load, not during it; 0 builds it as soon
    as scans get long. Raise it for the time of a large backfill: chunks go in several times as fast, and searches scan
    them, 0.5 to 1 ms per thousand."""
    source_bucket: str = ""
    """A bucket to watch as a whole, into the default collection; empty for none. Rules say more."""
    bucket_rules: Path | None = None
    """A TOML file of rules: which buckets and prefixes to watch, and where their objects go."""
    source_s3_url: str = ""
    """The store that holds the watched buckets; empty for the service's own, with its keys."""
    source_s3_access_key: SecretStr = SecretStr("")
    source_s3_secret_key: SecretStr = SecretStr("")
    source_s3_region: str = "us-east-1"
    collect_slots: int = Field(default=4, ge=1, le=64)
    """Objects being taken in at once."""
    reconcile_seconds: float = Field(default=300, ge=1)
    """How often each watched bucket is compared with what was taken in."""
    stalled_seconds: float = Field(default=900, ge=60)
    """A released document without an end after this time is released again: its messages may be lost. While messages
    of its tenant and lane wait in the queues, only after 24 times as long: they are slow rather than lost."""

    generate_url: str = shared("GENERATE_URL", "")
    """host:port of the generate service, which makes knowledge units; empty for none."""
    embed_url: str = shared("EMBED_URL", "")
    """host:port of the embed services, by comma, which make the vectors of knowledge units."""
    enrich_slots: int = Field(default=1, ge=1, le=256)
    """Chunks that the language model reads at once, per lane; on a CPU more of them slow answers down."""
    enrich_in_flight_max: int = Field(default=8, ge=1, le=10_000)
    """Chunks on their way to the language model at once, per tenant; the others wait in PostgreSQL."""
    enrich_seconds_max: float = Field(default=120, gt=0, le=3600)
    """Longest time of one generation."""
    enrich_wait_seconds_max: float = Field(default=240, ge=0, le=7200)
    """Longest time, beside that, for which it waits while the language model answers people's questions, and is begun
    anew after it gave way to one; more than `SOURCIER_GENERATE_BULK_WAIT_SECONDS_MAX` for each time it may give way."""
    enrich_attempts_max: int = Field(default=2, ge=1, le=5)
    """Generations for a chunk whose output cannot be used."""
    enrich_pairs: int = Field(default=3, ge=1, le=20)
    """Most questions and answers that are made of a chunk."""
    enrich_output_tokens_max: int = Field(default=700, ge=64, le=8_192)
    """Most tokens of one output."""
    enrich_usefulness_min: float = Field(default=0.25, ge=0, le=1)
    """Chunks that the model judges less useful get no questions and answers."""
    enrich_chunks_max: int = Field(default=2_000, ge=1)
    """Most chunks of a document that are enriched."""
    enrich_tokens_max: int = Field(default=2_000_000, ge=1)
    """Most tokens, read and written, that a document may cost."""

    @field_validator("stages")
    @classmethod
    def _known_stages(cls, value: str) -> str:
        unknown = [stage for stage in value.split(",") if stage not in STAGES]
        if unknown:
            raise ValueError(f"unknown stage {', '.join(unknown)}; name some of {', '.join(STAGES)}")
        return value

    @field_validator("vision_url")
    @classmethod
    def _check_vision_url(cls, url: str) -> str:
        if url:
            check_endpoint_url(url, key="SOURCIER_INGEST_VISION_API_KEY")
        return url

    @model_validator(mode="after")
    def _vision_has_an_endpoint(self) -> Self:
        if self.vision and not (self.vision_url and self.vision_model):
            raise ValueError(
                "SOURCIER_INGEST_VISION is on, and nobody describes pictures: set SOURCIER_INGEST_VISION_URL and "
                "SOURCIER_INGEST_VISION_MODEL, or switch it off"
            )
        return self

    @property
    def embed_model_names(self) -> tuple[str, ...]:
        """The embedding models, that of new collections first."""
        names = (self.embed_model, *self.embed_models.split(","))
        return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))

    @property
    def enrich_limits(self) -> EnrichLimits:
        """How much is made of a chunk, and of a document."""
        return EnrichLimits(
            pairs_max=self.enrich_pairs, usefulness_min=self.enrich_usefulness_min,
            output_tokens_max=self.enrich_output_tokens_max, attempts_max=self.enrich_attempts_max,
            chunks_max=self.enrich_chunks_max, tokens_max=self.enrich_tokens_max,
        )

    @property
    def enriches(self) -> bool:
        """Whether this process makes knowledge units: it is its stage, and it knows who makes them."""
        return "enrich" in self.stage_names and bool(self.generate_url and self.embed_url)

    @property
    def picture_limits(self) -> dict[str, float]:
        """In which pictures text is looked for, as a part of `ParsingLimits`."""
        return {
            "pictures": self.pictures, "picture_width_min": self.picture_width_min,
            "picture_height_min": self.picture_height_min, "picture_pixels_min": self.picture_pixels_min,
            "picture_ratio_max": self.picture_ratio_max, "pictures_max": self.pictures_max,
            "pictures_bytes_max": self.pictures_bytes_max,
        }

    @property
    def recognises(self) -> bool:
        """Whether this process reads pages by OCR."""
        return self.ocr and "ocr" in self.stage_names

    @property
    def transcribes(self) -> bool:
        """Whether this process hears recordings."""
        return self.speech and "speech" in self.stage_names

    @property
    def spoken_languages(self) -> tuple[str, ...]:
        """The languages that recordings are in; none for any."""
        return tuple(dict.fromkeys(code.strip().lower() for code in self.speech_languages.split(",") if code.strip()))

    @property
    def stage_names(self) -> frozenset[str]:
        """The stages that this process runs."""
        return frozenset(self.stages.split(","))


def check_endpoint_url(url: str, *, key: str) -> None:
    """Raise ValueError for what is no address of an endpoint, or holds a secret that logs would show."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise ValueError("name an endpoint by http:// or https://, as http://vision:8000/v1")
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"a user in the address is not sent; set {key} instead")
    if parts.query or parts.fragment:
        raise ValueError("leave out what follows the path")
    if parts.port == 0:
        raise ValueError("port 0 is none that can be asked")
