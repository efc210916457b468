"""Write small ONNX graphs without the `onnx` package: just what of its Protocol Buffers they need.

Field numbers are those of `onnx.proto`; https://onnx.ai/onnx/api/classes.html describes the messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

IR_VERSION, OPERATORS_VERSION = 8, 13
FLOAT, INT64 = 1, 7
_ATTRIBUTE_INT = 2

Shape = Sequence[int | str]


@dataclass(frozen=True)
class Node:
    """An operator; its attributes are integers."""

    operator: str
    inputs: Sequence[str]
    output: str
    attributes: Mapping[str, int] = field(default_factory=dict)


def model(
    nodes: Sequence[Node], *, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape],
    constants: Mapping[str, Sequence[int]],
) -> bytes:
    """Return a serialised model: int64 inputs, float outputs, int64 vectors as constants."""
    graph = b"".join([
        *(_message(1, _node(node)) for node in nodes),
        _message(2, b"tiny"),
        *(_message(5, _constant(name, values)) for name, values in constants.items()),
        *(_message(11, _value(name, INT64, shape)) for name, shape in inputs.items()),
        *(_message(12, _value(name, FLOAT, shape)) for name, shape in outputs.items()),
    ])
    return _number(1, IR_VERSION) + _message(7, graph) + _message(8, _number(2, OPERATORS_VERSION))


def _node(node: Node) -> bytes:
    attributes = (
        _message(1, name.encode()) + _number(3, value) + _number(20, _ATTRIBUTE_INT)
        for name, value in node.attributes.items()
    )
    return b"".join([
        *(_message(1, name.encode()) for name in node.inputs), _message(2, node.output.encode()),
        _message(4, node.operator.encode()), *(_message(5, attribute) for attribute in attributes),
    ])


def _constant(name: str, values: Sequence[int]) -> bytes:
    content = np.array(values, dtype="<i8").tobytes()
    return _number(1, len(values)) + _number(2, INT64) + _message(8, name.encode()) + _message(9, content)


def _value(name: str, element: int, shape: Shape) -> bytes:
    dimensions = b"".join(
        _message(1, _message(2, size.encode()) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    tensor = _number(1, element) + _message(2, dimensions)
    return _message(1, name.encode()) + _message(2, _message(1, tensor))


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])
