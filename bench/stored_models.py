"""The packaged models that benchmarks and peers run, where the services have them, too."""

from __future__ import annotations

import os
from pathlib import Path

from services.chassis.models import ModelStore, default_root


def models_root() -> Path:
    """Return the folder of the model store, as `SOURCIER_MODELS_DIR` names it or as it is by default."""
    return Path(os.environ.get("SOURCIER_MODELS_DIR") or default_root(os.environ)).expanduser()


def model_store() -> ModelStore:
    """Return the store; models are fetched by `make models`, not by a benchmark."""
    return ModelStore(models_root())
