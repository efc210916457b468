"""One OpenVINO model with a branch for each of a few lengths, and one for all others.

A model that is compiled apart for each length has weights of its own, packed as the processor wants them, and threads
of its own. Branches of one model share both: of several streams, too, where they otherwise take turns in the cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import openvino
from openvino import opset13 as operations

ANY = -1
"""A dimension that is found when a batch comes."""


def branched(model: Any, lengths: Sequence[int]) -> Any:
    """Return a model of the same inputs and output, which knows the shape of batches of these lengths beforehand.

    `model` takes inputs of shape (texts, tokens) and puts out (texts, tokens, dimension). A branch puts out rows of
    the dimension: all tokens of the batch where the batch has its length, none otherwise, so that the rows of all
    branches together are those of the one that ran. OpenVINO lets branches put out different shapes, and the engine
    runs the one whose condition holds.
    """
    dimension = model.output(0).partial_shape[2].get_length()
    inputs = {}
    for known in model.get_parameters():
        name = known.get_friendly_name()
        inputs[name] = operations.parameter([ANY, ANY], np.int64, name=name)
        inputs[name].output(0).set_names(known.output(0).get_names())
    shape = operations.shape_of(next(iter(inputs.values())))
    tokens = operations.gather(shape, _integers(1), _integers(0))
    conditions = [operations.equal(tokens, _integers(length)) for length in lengths]
    is_known = reduce(operations.logical_or, conditions)
    rows = [_branch(condition, _rows(model, dimension, length), _none(dimension), inputs)
            for condition, length in zip(conditions, lengths, strict=True)]
    rows.append(_branch(is_known, _none(dimension), _rows(model, dimension, ANY), inputs))
    hidden = operations.reshape(
        operations.concat(rows, 0), operations.concat([shape, _integers([dimension])], 0), False
    )
    result = openvino.Model([operations.result(hidden)], list(inputs.values()), model.get_friendly_name())
    result.validate_nodes_and_infer_types()
    return result


def _branch(condition: Any, then: Any, otherwise: Any, inputs: dict[str, Any]) -> Any:
    """Return the output of the one or the other, of which one takes the inputs and the other none."""
    choice = operations.if_op(condition.output(0))
    choice.set_then_body(then)
    choice.set_else_body(otherwise)
    for parameter in then.get_parameters():
        choice.set_input(inputs[parameter.get_friendly_name()].output(0), parameter, None)
    for parameter in otherwise.get_parameters():
        choice.set_input(inputs[parameter.get_friendly_name()].output(0), None, parameter)
    return choice.set_output(then.get_results()[0], otherwise.get_results()[0])


def _rows(model: Any, dimension: int, length: int) -> Any:
    """Return a copy that reads batches of one length, or of any, and puts out (texts × tokens, dimension)."""
    body = model.clone()
    if length != ANY:
        _tell_length(body, length)
    result = body.get_results()[0]
    flat = operations.reshape(result.input_value(0), _integers([ANY, dimension]), False)
    result.input(0).replace_source_output(flat.output(0))
    body.validate_nodes_and_infer_types()
    return body


def _tell_length(body: Any, length: int) -> None:
    """Let a model know the length: it is handed a batch of unknown shape, and reshapes it to what it is."""
    body.reshape({entry.any_name: [ANY, length] for entry in body.inputs})
    for known in body.get_parameters():
        parameter = operations.parameter([ANY, ANY], np.int64, name=known.get_friendly_name())
        shaped = operations.reshape(parameter, _integers([ANY, length]), False)
        for reader in known.output(0).get_target_inputs():
            reader.replace_source_output(shaped.output(0))
        body.add_parameters([parameter])
        body.remove_parameter(known)


def _none(dimension: int) -> Any:
    rows = operations.constant(np.zeros((0, dimension), dtype=np.float32))
    return openvino.Model([operations.result(rows)], [], "none")


def _integers(values: int | Sequence[int]) -> Any:
    return operations.constant(np.array(values, dtype=np.int64))
