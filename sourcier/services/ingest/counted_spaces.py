"""The embedding spaces that this process can fill: what each one is, and how its model counts tokens."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sourcier.services.chassis.errors import SpaceMismatch
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.collections import build_manifest as manifests
from sourcier.services.index.spaces.spaces import EmbeddingSpace
from sourcier.services.ingest.tokens import TokenCounter, Tokens

logger = logging.getLogger(__name__)

WEIGHTS_ORIGIN = "tokenizer unigram scores"


@dataclass(frozen=True)
class CountedSpace:
    """A space with its model's tokenizer."""

    space_id: str
    dimension: int
    tokens: Tokens


class CountedSpaces:
    """The spaces by id; the first one is that of new collections."""

    def __init__(self, spaces: Iterable[CountedSpace]) -> None:
        """Keep the spaces."""
        self._by_id = {space.space_id: space for space in spaces}

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, the default space's first."""
        return tuple(self._by_id)

    def of(self, space_id: str) -> CountedSpace:
        """Return a space; raise SpaceMismatch, with the way out, for one that this process knows no model of."""
        space = self._by_id.get(space_id)
        if space is None:
            raise SpaceMismatch(
                f"the space is {space_id}, this process counts the tokens of {', '.join(self._by_id)}; start an ingest "
                "service whose SOURCIER_EMBED_MODEL or SOURCIER_EMBED_MODELS names the space's model, then replay",
                space_id=space_id,
            )
        return space


def load(store: ModelStore, models: Sequence[str]) -> list[tuple[EmbeddingSpace, CountedSpace]]:
    """Read what the models' spaces are; raise ModelInvalid for one that is not there."""
    loaded = []
    for model in models:
        described = store.describe_model(model)
        manifest = described.manifest
        tokens = TokenCounter.load(
            described.path / "tokenizer.json", token_limit=manifest.token_limit, passage_prefix=manifest.passage_prefix
        )
        loaded.append((
            EmbeddingSpace(
                space_id=manifest.space_id, model=manifest.label, revision=manifest.revision,
                dimension=manifest.dimension, query_prefix=manifest.query_prefix,
                passage_prefix=manifest.passage_prefix, pooling=manifest.pooling,
                token_mean_sha256=manifest.token_statistics, token_weights=WEIGHTS_ORIGIN,
            ),
            CountedSpace(manifest.space_id, manifest.dimension, tokens),
        ))
    return loaded


async def tell_not_loaded(connection: Connection, space_ids: Sequence[str]) -> None:
    """Log the models that collections were built with and that are not loaded here, each with the way out.

    Not the end of the process: the other collections need it. Their own documents are refused with the same reason.
    """
    for model, revision, space_id, count in await manifests.models_not_loaded(connection, space_ids=space_ids):
        logger.error(
            "%d collections were built with the model %s, revision %s (space %s), which is not loaded: name it in "
            "SOURCIER_EMBED_MODELS, fetch this revision, or move them (`sourcier spaces build`)",
            count, model, revision, space_id, extra={"reason": "SPACE_MISMATCH"},
        )
