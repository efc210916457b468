"""Any cross-encoder exported to ONNX: question and passage read together, one logit each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from services.chassis.errors import FailedPrecondition
from services.chassis.models import Model
from services.rerank.ranker import Candidate, FloatArray, Question


class CrossEncoderRanker:
    """Reads texts; passages over the model's limit are cut at the end, the question never is."""

    reads_text = True
    reads_codes = False

    def __init__(self, model: Model, *, threads: int, batch_texts_max: int) -> None:
        import onnxruntime

        if model.manifest.kind != "cross-encoder":
            raise FailedPrecondition(
                f"{model.manifest.name} is a {model.manifest.kind} model, not a cross-encoder; set "
                "SOURCIER_RERANK_MODEL to one, or leave it empty for late interaction"
            )
        self.name = model.manifest.name
        self.revision = model.manifest.revision
        self._batch_texts_max = batch_texts_max
        self._tokenizer = Tokenizer.from_file(str(model.file("tokenizer.json")))
        self._tokenizer.enable_truncation(model.manifest.token_limit, strategy="only_second")
        self._tokenizer.enable_padding(pad_id=self._tokenizer.token_to_id("<pad>") or 0)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.enable_cpu_mem_arena = False
        variants = model.manifest.variants
        self._session: Any = onnxruntime.InferenceSession(
            str(model.variant("int8" if "int8" in variants else "fp32")), options,
            providers=onnxruntime.get_available_providers(),
        )
        self._inputs = {entry.name for entry in self._session.get_inputs()}

    def score(self, question: Question, candidates: Sequence[Candidate]) -> FloatArray:
        """Return the model's logits."""
        scores = np.empty(len(candidates), dtype=np.float32)
        # Neighbours in length share a batch, so that little is padded.
        order = sorted(range(len(candidates)), key=lambda place: len(candidates[place].text))
        for start in range(0, len(order), self._batch_texts_max):
            places = order[start : start + self._batch_texts_max]
            encodings = self._tokenizer.encode_batch([(question.text, candidates[place].text) for place in places])
            feed = {
                "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
                "attention_mask": np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64),
                "token_type_ids": np.array([encoding.type_ids for encoding in encodings], dtype=np.int64),
            }
            logits = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
            scores[places] = logits.reshape(len(places), -1)[:, -1]
        return scores
