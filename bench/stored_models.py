"""The packaged models that benchmarks and peers run, where the services have them, too."""

from __future__ import annotations

import os
from pathlib import Path

from sourcier.services.chassis.models.store import ModelStore, root_of


def models_root() -> Path:
    """Return the folder of the model store."""
    return root_of(os.environ)


def model_store() -> ModelStore:
    """Return the store; models are fetched by `make models`, not by a benchmark."""
    return ModelStore(models_root())
