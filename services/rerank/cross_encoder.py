"""Any cross-encoder exported to ONNX: question and passage read together, one logit each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Encoding, Tokenizer

from services.chassis.errors import FailedPrecondition, InvalidArgument, ModelInvalid
from services.chassis.models import Model
from services.rerank.ranker import Candidate, FloatArray, Question

INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class CrossEncoderRanker:
    """Reads texts; passages over the model's limit are cut at the end, the question never is."""

    reads_text = True
    reads_codes = False

    def __init__(self, model: Model, *, threads: int, batch_texts_max: int) -> None:
        if model.manifest.kind != "cross-encoder":
            raise FailedPrecondition(
                f"{model.manifest.name} is a {model.manifest.kind} model, not a cross-encoder; set "
                "SOURCIER_RERANK_MODEL to one, or leave it empty for late interaction"
            )
        if model.manifest.token_limit < 1:
            raise ModelInvalid(
                f"the manifest of {model.manifest.name} says token_limit {model.manifest.token_limit}; a cross-encoder "
                "needs the number of tokens that it reads", model=model.manifest.name,
            )
        self.name = model.manifest.name
        self.revision = model.manifest.revision
        self._batch_texts_max = batch_texts_max
        self._token_limit = model.manifest.token_limit
        self._tokenizer = Tokenizer.from_file(str(model.file("tokenizer.json")))
        self._tokenizer.enable_truncation(self._token_limit, strategy="only_second")
        self._tokenizer.enable_padding(pad_id=self._tokenizer.token_to_id("<pad>") or 0)
        variant = "int8" if "int8" in model.manifest.variants else "fp32"
        self._session = _open_session(model.variant(variant), model=self.name, threads=threads)
        self._inputs = {entry.name for entry in self._session.get_inputs()}

    def score(self, question: Question, candidates: Sequence[Candidate]) -> FloatArray:
        """Return the model's logits; raise InvalidArgument where the question alone reaches the model's limit."""
        scores = np.empty(len(candidates), dtype=np.float32)
        # Neighbours in length share a batch, so that little is padded.
        order = sorted(range(len(candidates)), key=lambda place: len(candidates[place].text))
        for start in range(0, len(order), self._batch_texts_max):
            places = order[start : start + self._batch_texts_max]
            encodings = self._encode([(question.text, candidates[place].text) for place in places])
            feed = {
                "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
                "attention_mask": np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64),
                "token_type_ids": np.array([encoding.type_ids for encoding in encodings], dtype=np.int64),
            }
            logits = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
            scores[places] = logits.reshape(len(places), -1)[:, -1]
        return scores

    def _encode(self, pairs: list[tuple[str, str]]) -> list[Encoding]:
        try:
            return self._tokenizer.encode_batch(pairs)
        except Exception as error:
            # The library has no class for it; cutting the passage to nothing does not make room.
            if "Truncation error" not in str(error):
                raise
            raise InvalidArgument(
                f"query leaves no room for a passage: {self.name} reads {self._token_limit} tokens of both together; "
                "send a shorter one", field="query",
            ) from error


def _open_session(path: Path, *, model: str, threads: int) -> Any:
    """Load a graph; raise ModelInvalid unless it makes one score of each pair of texts."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.enable_cpu_mem_arena = False
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=onnxruntime.get_available_providers())
    except (state.Fail, state.InvalidProtobuf, state.InvalidGraph, state.NotImplemented) as error:
        raise ModelInvalid(f"{path} of {model} cannot be loaded: {error}", model=model) from error
    if unknown := {entry.name for entry in session.get_inputs()} - INPUTS:
        raise ModelInvalid(
            f"{path} wants {', '.join(sorted(unknown))}; a cross-encoder reads {', '.join(sorted(INPUTS))}", model=model
        )
    output = session.get_outputs()[0]
    if len(output.shape) > 2:
        raise ModelInvalid(
            f"{path} gives {output.name} of shape {output.shape}; a cross-encoder gives one score a pair", model=model
        )
    return session
