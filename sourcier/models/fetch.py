"""Fill one model of the store: find its weights, convert them, write the manifest, put it in place."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sourcier.models import sources
from sourcier.models.catalogue import RECIPES, OwnWeights, Recipe
from sourcier.models.exporting import ExportEnvironment
from sourcier.models.progress import Progress, size
from sourcier.models.staging import FetchFailed, locked, publish, require_space, staged
from sourcier.services.chassis.errors import ModelInvalid
from sourcier.services.chassis.models.store import (
    MANIFEST_FILE,
    Manifest,
    ModelFile,
    ModelStore,
    file_sha256,
    manifest_to_json,
)

SPEECH_FILES = ("model.bin", "config.json", "tokenizer.json")
# Source, export and result lie beside one another while a model is made.
SPACE_PER_SOURCE_BYTE = 4


@dataclass(frozen=True, kw_only=True)
class Fetcher:
    """What every fetch needs: the store's root, the environment variables, the exporter and the progress lines."""

    root: Path
    environment: Mapping[str, str]
    progress: Progress = field(default_factory=Progress)
    export: ExportEnvironment = field(default_factory=ExportEnvironment)

    def fetch(self, recipe: Recipe, *, folder: Path | None = None, force: bool = False) -> Manifest:
        """Make sure that the model is in the store and whole; a model that verifies is left alone."""
        with locked(self.root, recipe.name, progress=self.progress):
            present = None if force else self.verified(recipe)
            if present is not None:
                self.progress.say(f"{recipe.name} is there and verified ({self.root / recipe.name})")
                return present
            self.progress.say(f"{recipe.name} ({recipe.kind})")
            return self.make(recipe, folder=folder)

    def verified(self, recipe: Recipe) -> Manifest | None:
        """Return the manifest of a model that is there, whole, and has the form asked for; None otherwise."""
        if not (self.root / recipe.name / MANIFEST_FILE).exists():
            return None
        try:
            manifest = ModelStore(self.root).load(recipe.name).manifest
        except ModelInvalid as error:
            self.progress.say(f"  fetching again: {error}")
            return None
        if recipe.int8 and "int8" not in manifest.variants:
            self.progress.say(f"  fetching again: {recipe.name} is there without its int8 form")
            return None
        own = recipe.own
        built_here = own is not None and own.file.is_file() and not manifest.revision.startswith("local-")
        if own is not None and built_here and manifest.revision != own.revision(recipe.name):
            self.progress.say(f"  building again: {recipe.name} is there with other weights than this project's")
            return None
        return manifest

    def make(self, recipe: Recipe, *, folder: Path | None) -> Manifest:
        copied = stored(recipe, folder)
        if copied is not None:
            return self.copy(recipe, copied)
        if recipe.own is not None and folder is None:
            return self.build(recipe, recipe.own)
        if recipe.kind != "speech":
            self.export.require()
        source = sources.locate(recipe, folder=folder, environment=self.environment, progress=self.progress)
        # A speech model is copied as it is; but a hub is asked in the export environment.
        if recipe.kind == "speech" and source.hub_model is not None:
            self.export.require()
        needed_bytes = max(recipe.space_bytes if source.packaged else 0, source.size_bytes * SPACE_PER_SOURCE_BYTE)
        require_space(self.root, recipe.name, needed_bytes=needed_bytes)
        with staged(self.root, recipe.name) as scratch:
            weights = sources.materialise(source, recipe=recipe, scratch=scratch, export=self.export,
                                          progress=self.progress)
            made = scratch / "model"
            self.convert(recipe, weights, target=made, scratch=scratch)
            return self.put_in_place(recipe, source, made)

    def build(self, recipe: Recipe, own: OwnWeights) -> Manifest:
        """Make a model of weights that travel with the project and of its base, which is fetched first."""
        self.export.require()
        if not own.file.is_file():
            raise FetchFailed(f"{own.file} is not there, the weights of {recipe.name} that travel with this project; "
                              "install it anew, or train them (docs/developing/reader.md)")
        base = self.fetch(RECIPES[own.base])
        require_space(self.root, recipe.name, needed_bytes=recipe.space_bytes)
        source = sources.Source(
            description=f"this project, over {own.base} {base.revision}", licence=own.licence,
            revision=own.revision(recipe.name), size_bytes=own.file.stat().st_size,
        )
        with staged(self.root, recipe.name) as scratch:
            made = scratch / "model"
            with self.progress.step(f"building on {own.base}"):
                self.export.run("sourcier.models.exports.reader", own.file, "--base", self.root / own.base,
                                "--target", made, log=scratch / "export.log")
            return self.put_in_place(recipe, source, made)

    def put_in_place(self, recipe: Recipe, source: sources.Source, made: Path) -> Manifest:
        """Describe a folder that was made, and put it into the store."""
        with self.progress.step("hashing and putting in place"):
            manifest = describe(recipe, source, made)
            write_manifest(manifest, made)
            publish(made, root=self.root, name=recipe.name)
        total = sum(entry.size_bytes for entry in manifest.files.values())
        self.progress.say(f"{recipe.name} is ready: {size(total)} in {self.root / recipe.name}")
        return manifest

    def convert(self, recipe: Recipe, weights: Path, *, target: Path, scratch: Path) -> None:
        int8 = "--int8" if recipe.int8 else "--no-int8"
        if recipe.kind == "embedding":
            with self.progress.step("exporting to ONNX"):
                self.export.run("sourcier.models.exports.embedding", weights, "--target", target, "--passage-prefix",
                                recipe.passage_prefix, log=scratch / "export.log")
            if recipe.int8:
                with self.progress.step("quantising to int8"):
                    self.export.run("sourcier.models.exports.quantisation", target,
                                    "--passage-prefix", recipe.passage_prefix,
                                    "--query-prefix", recipe.query_prefix, log=scratch / "int8.log")
        elif recipe.kind == "cross-encoder":
            with self.progress.step("exporting to ONNX"):
                self.export.run("sourcier.models.exports.cross_encoder", weights, "--target", target,
                                log=scratch / "export.log")
        elif recipe.kind == "entailment":
            with self.progress.step("exporting to ONNX"):
                self.export.run("sourcier.models.exports.entailment", weights, "--target", target,
                                log=scratch / "export.log")
        elif recipe.kind == "speech":
            with self.progress.step("copying"):
                copy_speech_model(weights, target)
        else:
            with self.progress.step("quantising to int8" if recipe.int8 else "writing the weights"):
                self.export.run("sourcier.models.exports.language", weights, "--target", target, int8,
                                log=scratch / "export.log")

    def copy(self, recipe: Recipe, model: Path) -> Manifest:
        """Copy a model from another store, verified on arrival."""
        require_space(self.root, recipe.name, needed_bytes=sum(path.stat().st_size for path in model.iterdir()))
        with staged(self.root, recipe.name) as scratch:
            with self.progress.step(f"copying {model}"):
                shutil.copytree(model, scratch / recipe.name)
            manifest = ModelStore(scratch).load(recipe.name).manifest
            publish(scratch / recipe.name, root=self.root, name=recipe.name)
        return manifest


def copy_speech_model(weights: Path, target: Path) -> None:
    """Fill `target` with a Whisper model in the form of CTranslate2; FetchFailed when something is missing."""
    missing = [name for name in SPEECH_FILES if not (weights / name).is_file()]
    if missing:
        raise FetchFailed(
            f"the model has no {', '.join(missing)}: a speech model is a Whisper model in the form of CTranslate2, "
            "such as Systran/faster-whisper-small"
        )
    target.mkdir()
    for path in sorted(weights.iterdir()):
        if path.suffix in (".bin", ".json", ".txt") and path.is_file():
            shutil.copy(path, target)
    facts = {
        "exporter": "copied", "exporter_version": "1", "variants": {"ctranslate2": "model.bin"}, "facts": {},
    }
    (target / "export.json").write_text(json.dumps(facts))


def stored(recipe: Recipe, folder: Path | None) -> Path | None:
    """Return the model's folder if `folder` is a model store, or the model's folder of one."""
    candidates = [] if folder is None else [folder, folder / recipe.name]
    return next((path for path in candidates if (path / MANIFEST_FILE).is_file()), None)


def describe(recipe: Recipe, source: sources.Source, made: Path) -> Manifest:
    """Build the manifest from the recipe, the source and what the exporter says of its files."""
    exported = made / "export.json"
    facts = json.loads(exported.read_text(encoding="utf-8"))
    exported.unlink()
    files = {
        str(path.relative_to(made)): ModelFile(sha256=file_sha256(path), size_bytes=path.stat().st_size)
        for path in sorted(made.rglob("*")) if path.is_file()
    }
    return Manifest(
        name=recipe.name, kind=recipe.kind, revision=source.revision, source=source.description,
        licence=source.licence, files=files, query_prefix=recipe.query_prefix, passage_prefix=recipe.passage_prefix,
        pooling=recipe.pooling, **{**facts, "facts": {"model": recipe.hub_id or recipe.name, **facts.get("facts", {})}},
    )


def write_manifest(manifest: Manifest, folder: Path) -> None:
    text = json.dumps(manifest_to_json(manifest), indent=2, ensure_ascii=False) + "\n"
    (folder / MANIFEST_FILE).write_text(text, encoding="utf-8")
