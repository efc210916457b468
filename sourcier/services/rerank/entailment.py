"""Any model of natural language inference exported to ONNX: whether a premise says what a hypothesis says.

The project's own one, the reader, reads the question before the hypothesis, and windows of a passage for premises: its
`config.json` says so under `sourcier_reader`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, ModelInvalid
from sourcier.services.chassis.models.store import Model
from sourcier.services.rerank.onnx_pairs import FloatArray, PairModel

CONFIG_FILE = "config.json"
READER_KEY = "sourcier_reader"
_PLACE = re.compile(r"\{(question|sentence)\}")
ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"
_NAMES = {
    "entailment": ENTAILMENT, "entail": ENTAILMENT, "neutral": NEUTRAL, "contradiction": CONTRADICTION,
    # Models that know two relations: what is not said counts against the hypothesis.
    "not_entailment": CONTRADICTION, "non_entailment": CONTRADICTION,
}


@dataclass(frozen=True)
class Relation:
    """What a premise is to a hypothesis: probabilities that add up to 1."""

    entailment: float
    neutral: float
    contradiction: float


@dataclass(frozen=True)
class Form:
    """In what form a model reads its pairs; by default whole passages, and hypotheses without their question."""

    hypothesis: str = "{sentence}"
    """The second text of a pair, with places for `{question}` and `{sentence}`."""
    window_tokens: int = 0
    """Most tokens of a pair that the model was trained on; 0 for one that reads whole passages."""

    def filled(self, question: str, sentence: str) -> str:
        """Return the second text of a pair."""
        texts = {"question": question, "sentence": sentence}
        return _PLACE.sub(lambda place: texts[place.group(1)], self.hypothesis).strip()


class EntailmentModel:
    """Reads each premise with each hypothesis; where both are too long, the premise is cut at its end."""

    def __init__(self, model: Model, *, threads: int, batch_texts_max: int) -> None:
        """Load the model; raise ModelInvalid where its labels or its graph do not tell the three relations."""
        if model.manifest.kind != "entailment":
            raise FailedPrecondition(
                f"{model.manifest.name} is a {model.manifest.kind} model, not an entailment model; set "
                "SOURCIER_RERANK_ENTAILMENT_MODEL to one, or leave it empty"
            )
        self.labels = read_labels(model.file(CONFIG_FILE), model=model.manifest.name)
        self.form = read_form(model.file(CONFIG_FILE), model=model.manifest.name)
        self._model = PairModel(model, threads=threads, cut="only_first")
        self.name = self._model.name
        width = self._model.output_shape[-1]
        if isinstance(width, int) and width != len(self.labels):
            raise ModelInvalid(
                f"{self._model.path} gives {width} logits, and {CONFIG_FILE} names {len(self.labels)} labels",
                model=self.name,
            )
        self._batch_texts_max = batch_texts_max

    def relations(
        self, premises: Sequence[str], hypotheses: Sequence[str], *, question: str = ""
    ) -> list[Relation]:
        """Return the relation of each hypothesis to the first premise, then to the next one, and so on.

        Raise InvalidArgument for a hypothesis that leaves no room for a premise.
        """
        pairs = [
            (premise, self.form.filled(question, hypothesis)) for premise in premises for hypothesis in hypotheses
        ]
        try:
            logits = self._model.in_batches(pairs, batch_texts_max=self._batch_texts_max)
        except ValueError as error:
            raise InvalidArgument(
                f"a hypothesis leaves no room for the premise: {self.name} reads {self._model.token_limit} tokens "
                "of both together; send shorter ones", field="hypotheses",
            ) from error
        return [self._relation(_softmax(row)) for row in logits]

    def _relation(self, probabilities: FloatArray) -> Relation:
        by_label = dict(zip(self.labels, map(float, probabilities), strict=True))
        return Relation(by_label[ENTAILMENT], by_label.get(NEUTRAL, 0.0), by_label.get(CONTRADICTION, 0.0))


def read_labels(path: Path, *, model: str) -> tuple[str, ...]:
    """Return the labels in the order of the logits, as the model's own configuration names them."""
    try:
        named: Any = json.loads(path.read_text(encoding="utf-8"))["id2label"]
        names = [str(named[key]) for key in sorted(named, key=int)]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ModelInvalid(f"{path} names no labels ({error}); fetch a model of natural language inference",
                           model=model) from error
    labels = tuple(_NAMES.get(name.strip().lower().replace("-", "_").replace(" ", "_"), "") for name in names)
    if "" in labels or len(set(labels)) != len(labels) or ENTAILMENT not in labels or len(labels) < 2:
        raise ModelInvalid(
            f"{path} names the labels {', '.join(names)}; they have to be entailment, neutral and contradiction, or "
            "entailment and not_entailment, in the order of the model", model=model,
        )
    return labels


def read_form(path: Path, *, model: str) -> Form:
    """Return the form that the model's own configuration tells; ModelInvalid where it tells one that cannot be."""
    told: Any = json.loads(path.read_text(encoding="utf-8")).get(READER_KEY)
    if told is None:
        return Form()
    if not (
        isinstance(told, dict) and isinstance(hypothesis := told.get("hypothesis"), str) and "{sentence}" in hypothesis
        and isinstance(window_tokens := told.get("window_tokens"), int) and window_tokens > 0
    ):
        raise ModelInvalid(
            f'{path} has {READER_KEY}: {json.dumps(told)}; it has to be an object like {{"hypothesis": "{{question}} '
            '{sentence}", "window_tokens": 128}', model=model,
        )
    return Form(hypothesis, window_tokens)


def _softmax(logits: FloatArray) -> FloatArray:
    shifted = np.exp(logits - logits.max())
    result: FloatArray = shifted / shifted.sum()
    return result
