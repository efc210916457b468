"""Finds the weights of a language model: in the model store, in a folder, or on a hub."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sourcier.services.chassis.errors import ModelInvalid
from sourcier.services.chassis.models.store import ModelStore


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Where a model is and what it is called."""

    location: str
    """A folder, or a hub id."""
    name: str
    revision: str = ""
    token_limit: int = 0
    """Most tokens the model was made for; 0 where that is not known."""
    from_hub: bool = False


def locate(model: str, *, store: ModelStore) -> Weights:
    """Return the weights that a setting names; those of the model store are verified file by file."""
    folder = Path(model).expanduser()
    if folder.is_absolute() or model.startswith((".", "~")):
        if not (folder / "config.json").is_file():
            raise ModelInvalid(f"{folder} has no config.json; SOURCIER_GENERATE_MODEL names no folder of a model")
        return Weights(location=str(folder), name=folder.name, token_limit=_token_limit(folder))
    if "/" in model:
        return Weights(location=model, name=model, from_hub=True)
    stored = store.load(model)
    manifest = stored.manifest
    if manifest.kind != "language":
        raise ModelInvalid(f"{model} is of kind {manifest.kind}; name a language model with SOURCIER_GENERATE_MODEL")
    return Weights(location=str(stored.path), name=manifest.name, revision=manifest.revision,
                   token_limit=manifest.token_limit or _token_limit(stored.path))


def _token_limit(folder: Path) -> int:
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return int(config.get("max_position_embeddings", 0))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ModelInvalid(f"{folder / 'config.json'} cannot be read: {error}") from error
