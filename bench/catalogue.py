"""Every benchmark by name: the module that runs it, the page that tells of it, and what has to be there first."""

from __future__ import annotations

import os
from dataclasses import dataclass

E5, SMOLLM2, QWEN = "multilingual-e5-small", "smollm2-135m-instruct", "qwen2.5-coder-1.5b-instruct"


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One benchmark; its module has `async def run(*, quick: bool) -> list[Table]`."""

    module: str
    about: str
    """What is measured, in a few words."""
    page: str
    """The page of docs/measured/performance that tells of it, and of docs/measured/history that has its tables."""
    environments: tuple[str, ...] = ()
    """What requirements/install.py makes first, beside the services' own environment."""
    models: tuple[str, ...] = (E5,)
    """What has to be in the model store."""
    whole_models: tuple[str, ...] = ()
    """What has to be there, too, for a run that is not quick."""
    corpus: bool = False
    """Whether it searches the grown corpus, which is filled once in a run."""
    quick_seconds: int = 50
    """About how long a quick run takes, on two cores; all of them together in about eight minutes."""
    seconds: int = 180
    """About how long a whole run takes."""
    time_variable: str = ""
    """The variable that names for how many seconds it works, where it is asked to work longer."""

    def wanted_models(self, *, quick: bool) -> tuple[str, ...]:
        """Return what has to be in the model store."""
        return self.models if quick else self.models + self.whole_models

    def expected_seconds(self, *, quick: bool) -> int:
        """Return about how long a run takes."""
        own = self.quick_seconds if quick else self.seconds
        try:
            return own + int(float(os.environ.get(self.time_variable) or 0))
        except (ValueError, OverflowError):
            # The benchmark itself refuses it and says what it can be.
            return own

    def seconds_max(self, *, quick: bool) -> int:
        """Return after how long a run is given up: slow machines are waited for, endless loops are not."""
        return max(300, 6 * self.expected_seconds(quick=quick))


BENCHMARKS = {
    "embedding": Benchmark(
        module="bench.embedding.embedding", page="embedding",
        about="tokens embedded a second, beside sentence-transformers and bare onnxruntime",
        environments=("export", "bench"), quick_seconds=40, seconds=1_000,
    ),
    "embedding-quality": Benchmark(
        module="bench.embedding.quality", about="what int8 costs in retrieval, beside fp32", page="embedding",
        environments=("export",), quick_seconds=20, seconds=150,
    ),
    "ingestion": Benchmark(
        module="bench.ingestion.ingestion", about="files to rows that can be found, beside LlamaIndex and Haystack",
        page="ingestion", environments=("export", "bench", "llamaindex", "haystack"), quick_seconds=55, seconds=2_200,
    ),
    "stages": Benchmark(
        module="bench.ingestion.stages", about="what a chunk costs beside the model, by stage", page="ingestion",
        environments=("export",), quick_seconds=20, seconds=60,
    ),
    "growth": Benchmark(
        module="bench.ingestion.growth", page="ingestion",
        about="ingestion without a model as the index grows, and each service's memory",
        environments=("export",), quick_seconds=20, seconds=330,
        time_variable="SOURCIER_BENCH_GROWTH_SECONDS",
    ),
    "reading": Benchmark(
        module="bench.ingestion.reading", page="ingestion", models=(),
        about="pages of PDF with a text layer read a second of a core, beside other readers",
        environments=("readers",), quick_seconds=40, seconds=240,
    ),
    "freshness": Benchmark(
        module="bench.ingestion.freshness", about="from a changed object to its text being found", page="freshness",
        environments=("export",), quick_seconds=14, seconds=40,
    ),
    "search": Benchmark(
        module="bench.search.searching", about="`Search` by stage", page="search-path", environments=("export",),
        quick_seconds=20,
    ),
    "traces": Benchmark(
        module="bench.search.tracing", about="what traces of a tenth of the requests cost a search",
        page="search-path", environments=("export",), quick_seconds=40, seconds=480,
    ),
    "generate": Benchmark(
        module="bench.generation.generating", about="the first token, beside vLLM called directly", page="generation",
        environments=("export", "generate"), models=(SMOLLM2,), quick_seconds=40, seconds=190,
    ),
    "resume": Benchmark(
        module="bench.streaming.resuming", about="what it costs that an answer outlives its connection", page="answers",
        models=(), quick_seconds=8, seconds=110,
    ),
    "direct": Benchmark(
        module="bench.search.direct", about="answers from an agent's FAQ, without a language model", page="answers",
        environments=("export",), quick_seconds=16, seconds=210,
    ),
    "doors": Benchmark(
        module="bench.doors.costs", page="doors",
        about="what a token, rights and the page cost",
        environments=("dev", "export", "web"), quick_seconds=30, seconds=300,
    ),
    "neighbours": Benchmark(
        module="bench.doors.neighbours", page="doors", about="what a tenant that asks much costs the others",
        environments=("export",), quick_seconds=35, seconds=450,
    ),
    "startup": Benchmark(
        module="bench.startup", about="until the stack is ready, what it takes idle, and until a command answers",
        page="startup", environments=("export",), quick_seconds=25,
    ),
    "streaming": Benchmark(
        module="bench.streaming.streaming", about="what the way of a token to the client adds, beside a bare relay",
        page="streaming", models=(), quick_seconds=31, seconds=300,
    ),
    "streaming-ask": Benchmark(
        module="bench.streaming.asking", about="what `Ask` adds to the tokens of an answer, its check included",
        page="streaming", environments=("export",), quick_seconds=36, seconds=340,
    ),
    "crowd": Benchmark(
        module="bench.streaming.crowd", page="streaming",
        about="a tenant's short calls while thousands of another's are silent or drip",
        models=(), quick_seconds=20, seconds=120,
    ),
    "cancelled": Benchmark(
        module="bench.streaming.cancelled", page="streaming",
        about="memory over many streams that their clients cancel",
        models=(), quick_seconds=13, seconds=520,
    ),
    "scale": Benchmark(
        module="bench.scale.scale", about="search at 10,000, 100,000 and 1,000,000 chunks", page="scale",
        environments=("export",), corpus=True, quick_seconds=27, seconds=4_000,
    ),
    "search-scale": Benchmark(
        module="bench.scale.over_grpc", about="`Search` over gRPC at the same sizes", page="scale",
        environments=("export",), corpus=True, quick_seconds=20, seconds=600,
    ),
    "tenants": Benchmark(
        module="bench.scale.tenants", about="thousands of tenants of ten passages: start, search, upkeep, dump",
        page="scale", models=(), quick_seconds=25, seconds=900,
    ),
    "engines": Benchmark(
        module="bench.embedding.engines", page="embedding",
        about="ways to run the embedding model, one changed at a time",
        environments=("export",), quick_seconds=21, seconds=390,
    ),
    "generation-settings": Benchmark(
        module="bench.generation.settings", about="the service's settings of vLLM beside vLLM's defaults",
        page="generation", environments=("export", "generate"), models=(SMOLLM2,), whole_models=(QWEN,),
        quick_seconds=70, seconds=700,
    ),
}
