"""Which of the two packaged language models the stack takes where nobody named one.

What is fetched decides first: the memory that is free now need not be what it was then.
"""

from __future__ import annotations

from pathlib import Path

import psutil

from sourcier.services.chassis.models.memory import within_container
from sourcier.services.chassis.models.store import MANIFEST_FILE

DEFAULT_MODEL = "qwen2.5-coder-1.5b-instruct"
SMALL_MODEL = "smollm2-135m-instruct"
DEFAULT_MODEL_MEMORY_BYTES = 8 * 1024**3


def to_take(models_root: Path) -> str:
    """Return the model to load: the only one that is fetched, else the one for the memory available."""
    fetched = _fetched(models_root)
    return fetched[0] if len(fetched) == 1 else _for_memory()


def to_fetch(models_root: Path) -> str:
    """Return the model that the store should have. The small one, which tests fetch, does not stand for the other."""
    return DEFAULT_MODEL if _fetched(models_root) == (DEFAULT_MODEL,) else _for_memory()


def notice(model: str, *, models_root: Path) -> str:
    """Return what a person has to know of the model that was taken; empty where nothing.

    The small one's answers are no measure of the other's, and the other may need more memory than there is.
    """
    short, only = _for_memory() == SMALL_MODEL, _fetched(models_root) == (model,)
    little = f"Under {DEFAULT_MODEL_MEMORY_BYTES // 1024**3} GB of memory are available"
    if model == SMALL_MODEL and only and not short:
        return (f"The language model is {model}, the only one in the model store, which proves the path, in English. "
                f"`sourcier models fetch {DEFAULT_MODEL}` fetches the one for answers.")
    if model == SMALL_MODEL:
        return (f"{little}: the language model is {model}, which proves the path, in English. "
                "SOURCIER_GENERATE_MODEL names another.")
    if short:
        return (f"{little}, and the language model is {model}, the only one in the model store. "
                f"`sourcier models fetch {SMALL_MODEL}` fetches the one for little memory.")
    return ""


def _fetched(models_root: Path) -> tuple[str, ...]:
    return tuple(name for name in (DEFAULT_MODEL, SMALL_MODEL) if (models_root / name / MANIFEST_FILE).is_file())


def _for_memory() -> str:
    available = within_container(psutil.virtual_memory().available)
    return DEFAULT_MODEL if available >= DEFAULT_MODEL_MEMORY_BYTES else SMALL_MODEL
