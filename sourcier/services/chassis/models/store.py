"""The model store: one folder per model with a manifest, verified before anything is loaded.

`<root>/<name>/manifest.json` says what the model is and gives the SHA-256 of every file. The store only reads; the
recipes of the top-level package `models` fill it. Imports are light, so that every process can afford this module.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from sourcier.services.chassis.errors import ModelInvalid

ModelKind = Literal["embedding", "language", "cross-encoder", "entailment", "speech"]

MANIFEST_FILE = "manifest.json"
MANIFEST_SCHEMA = 1
NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
READ_BYTES = 1 << 20
ROOT_VARIABLE = "SOURCIER_MODELS_DIR"
PRECISION_SEPARATOR = "@"
"""`multilingual-e5-small@int8` is that model in this precision alone, a space of its own."""
NULL_PRECISION = "null"
"""`multilingual-e5-small@null`: the model's tokens, a space of vectors without meaning, for benchmarks and tests."""


def default_root(environment: Mapping[str, str]) -> Path:
    """Return the store's usual place, `$XDG_CACHE_HOME/sourcier/models` or the same under `~/.cache`.

    A user without a home, as a container may run as, has `/var/cache/sourcier/models`.
    """
    if cache := environment.get("XDG_CACHE_HOME"):
        return Path(cache) / "sourcier" / "models"
    try:
        home = Path(environment.get("HOME") or Path.home())
    except RuntimeError:  # the system knows no such user
        return Path("/var/cache/sourcier/models")
    return home / ".cache" / "sourcier" / "models"


def root_of(environment: Mapping[str, str]) -> Path:
    """Return the store's folder: the one that `SOURCIER_MODELS_DIR` names, else its usual place."""
    return Path(environment.get(ROOT_VARIABLE) or default_root(environment)).expanduser()


@dataclass(frozen=True)
class ModelFile:
    """What a file of the model must be."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a model is, where it came from, and what its files must be.

    The fields from `dimension` to `token_statistics` describe an embedding model; elsewhere they keep their defaults.
    """

    name: str
    kind: ModelKind
    revision: str
    source: str
    licence: str
    files: Mapping[str, ModelFile]
    exporter: str
    exporter_version: str
    variants: Mapping[str, str] = field(default_factory=dict)
    """Variant of precision or format → the file to load, for example `fp32` → `model.onnx`."""
    token_limit: int = 0
    """Most tokens the model reads, special tokens and prefix included."""
    dimension: int = 0
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: str = ""
    token_mean: str = ""
    """File with the mean token embedding, float32 [dimension]."""
    token_weights: str = ""
    """File with one weight per vocabulary entry, float32 [vocabulary]."""
    token_statistics: str = ""
    """Digest of the method and the texts that mean and weights were made with."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Anything else worth knowing; nothing in the services depends on it."""
    precision: str = ""
    """The one variant that was asked for by name; empty where any will do. Never part of the file."""

    @property
    def label(self) -> str:
        """The name by which the model was asked for."""
        return f"{self.name}{PRECISION_SEPARATOR}{self.precision}" if self.precision else self.name

    @property
    def space_id(self) -> str:
        """Name the embedding space: the same for every precision, another one when vectors stop being comparable.

        A model asked for in one precision has a space of its own, to compare precisions and to move between them.

        The token mean enters through `token_statistics`, the recipe it was computed by, not through its bytes: two
        processors round the same mean differently, and their vectors are comparable all the same.
        """
        if self.kind != "embedding":
            raise ModelInvalid(f"{self.name} is a {self.kind} model; only embedding models have a space")
        statistics = self.token_statistics or [
            self.files[file].sha256 for file in (self.token_mean, self.token_weights) if file
        ]
        identity = [self.name, self.revision, self.dimension, self.query_prefix, self.passage_prefix, self.pooling,
                    statistics, *([self.precision] if self.precision else [])]
        digest = hashlib.sha256(json.dumps(identity, ensure_ascii=False).encode()).hexdigest()
        slug = re.sub(r"[^a-z0-9]+", "-", self.label.lower()).strip("-")[:40].rstrip("-")
        return f"{slug}-{digest[:8]}"


@dataclass(frozen=True)
class Model:
    """A verified model: its folder and its manifest."""

    path: Path
    manifest: Manifest

    @property
    def space_id(self) -> str:
        """The embedding space's identifier, see `Manifest.space_id`."""
        return self.manifest.space_id

    def file(self, name: str) -> Path:
        """Return the path of a file of the manifest; ModelInvalid when the model has no such file."""
        if name not in self.manifest.files:
            raise ModelInvalid(f"{self.manifest.name} has no file {name!r}; {remedy(self.manifest.name)}")
        return self.path / name

    def variant(self, name: str) -> Path:
        """Return the file to load for a variant such as `fp32` or `int8`; ModelInvalid when there is none."""
        try:
            return self.path / self.manifest.variants[name]
        except KeyError:
            known = ", ".join(sorted(self.manifest.variants)) or "none"
            raise ModelInvalid(f"{self.manifest.name} has no variant {name!r}; it has {known}") from None


class ModelStore:
    """The models under one root folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def list(self) -> tuple[Manifest, ...]:
        """Return the manifests of all models, by name, without reading their files."""
        folders = sorted(self.root.iterdir()) if self.root.is_dir() else []
        return tuple(
            read_manifest(folder) for folder in folders
            if not folder.name.startswith(".") and (folder / MANIFEST_FILE).is_file()
        )

    def describe(self, name: str) -> Manifest:
        """Return a model's manifest without reading its files; ModelInvalid when the model is not there."""
        return self.describe_model(name).manifest

    def describe_model(self, name: str) -> Model:
        """Return a model without reading its files; ModelInvalid when it is not there, or not in this precision."""
        name, separator, precision = name.partition(PRECISION_SEPARATOR)
        folder = self._folder(name)
        manifest = read_manifest(folder)
        if separator and precision not in (*manifest.variants, NULL_PRECISION):
            known = ", ".join(sorted(manifest.variants)) or "none"
            raise ModelInvalid(f"{name} has no variant {precision!r}; it has {known}", model=name)
        return Model(path=folder, manifest=replace(manifest, precision=precision))

    def load(self, name: str) -> Model:
        """Return the model, every file verified; ModelInvalid says what is wrong and how to fetch it again."""
        model = self.describe_model(name)
        for file, expected in model.manifest.files.items():
            verify_file(model.path / file, expected=expected, model=model.manifest.name)
        return model

    def _folder(self, name: str) -> Path:
        # The name may come from a setting: it must not lead out of the root.
        if not NAME_PATTERN.fullmatch(name):
            raise ModelInvalid(f"{name!r} is not a model name: lower-case letters, digits, '.', '_' and '-' only")
        folder = self.root / name
        if not (folder / MANIFEST_FILE).is_file():
            raise ModelInvalid(f"the model {name} is not in {self.root}; run `sourcier models fetch {name}`",
                               model=name)
        return folder


def remedy(name: str) -> str:
    """Return the sentence that tells how to repair a model."""
    return f"fetch it again with `sourcier models fetch --force {name}`"


def verify_file(path: Path, *, expected: ModelFile, model: str) -> None:
    """Compare size and SHA-256 of a file with its manifest; ModelInvalid names file, expected and found."""
    try:
        size_bytes = path.stat().st_size
    except OSError as error:
        raise ModelInvalid(f"{path} cannot be read ({error.strerror}); {remedy(model)}", model=model) from error
    if size_bytes != expected.size_bytes:
        raise ModelInvalid(f"{path} has {size_bytes} bytes, its manifest says {expected.size_bytes}; {remedy(model)}",
                           model=model, file=path.name)
    found = file_sha256(path)
    if found != expected.sha256:
        raise ModelInvalid(f"{path} has SHA-256 {found}, its manifest says {expected.sha256}; {remedy(model)}",
                           model=model, file=path.name)


def file_sha256(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """Read `manifest.json` of a model's folder; ModelInvalid when it is not a manifest of this schema."""
    path = folder / MANIFEST_FILE
    try:
        return manifest_from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelInvalid(f"{path} is not a manifest of schema {MANIFEST_SCHEMA} ({error}); {remedy(folder.name)}",
                           model=folder.name) from error


def manifest_from_json(document: Mapping[str, Any]) -> Manifest:
    """Build a manifest from its JSON object; ValueError, TypeError or KeyError when it is not one."""
    fields = dict(document)
    if fields.pop("schema") != MANIFEST_SCHEMA:
        raise ValueError(f"schema {document['schema']}")
    if fields["kind"] not in get_args(ModelKind):
        raise ValueError(f"kind {fields['kind']!r}")
    files = {
        str(name): ModelFile(sha256=str(entry["sha256"]), size_bytes=int(entry["size_bytes"]))
        for name, entry in fields.pop("files").items()
    }
    outside = [name for name in files if Path(name).is_absolute() or ".." in Path(name).parts]
    if outside:
        raise ValueError(f"file {outside[0]!r} is outside the model's folder")
    manifest = Manifest(files=files, **fields)
    missing = [name for name in (*manifest.variants.values(), manifest.token_mean, manifest.token_weights)
               if name and name not in files]
    if missing:
        raise ValueError(f"{missing[0]!r} is named but not among the files")
    return manifest


def manifest_to_json(manifest: Manifest) -> dict[str, Any]:
    """Return the JSON object of a manifest, the inverse of `manifest_from_json`."""
    document: dict[str, Any] = {"schema": MANIFEST_SCHEMA, **vars(manifest)}
    del document["precision"]
    document["files"] = {
        name: {"sha256": entry.sha256, "size_bytes": entry.size_bytes} for name, entry in sorted(manifest.files.items())
    }
    return cast("dict[str, Any]", json.loads(json.dumps(document)))
