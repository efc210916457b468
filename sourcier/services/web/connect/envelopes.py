"""Messages of the Connect protocol on the wire: JSON or binary, alone or in envelopes.

https://connectrpc.com/docs/protocol: an envelope is a byte of flags, four bytes of length, the message.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.web.refusals import Refusal, detail_json

COMPRESSED, END = 0x01, 0x02
_HEAD = struct.Struct(">BI")


@dataclass(frozen=True, slots=True)
class Codec:
    """How messages are written: the same for a request and its response."""

    is_json: bool
    streams: bool

    @property
    def content_type(self) -> str:
        """The type that a response has."""
        kind = "json" if self.is_json else "proto"
        return f"application/connect+{kind}" if self.streams else f"application/{kind}"

    def read(self, body: bytes, kind: type[Message]) -> Message:
        """Return a message; raise InvalidArgument with what is wrong."""
        message = kind()
        try:
            if self.is_json:
                json_format.Parse(body or b"{}", message)
            else:
                message.ParseFromString(body)
        # Not only ParseError: its parser lets several others through.
        except (json_format.Error, DecodeError, ValueError, TypeError, RecursionError, AttributeError) as error:
            raise InvalidArgument(f"the request is no {message.DESCRIPTOR.name}: {str(error)[:400]}",
                                  field="body") from error
        return message

    def write(self, message: Message) -> bytes:
        """Return a message as bytes; JSON as proto3 has it: 64-bit numbers are strings, what is empty is left out."""
        if not self.is_json:
            return message.SerializeToString()
        return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode()


CODECS = {
    codec.content_type: codec for codec in (Codec(is_json, streams) for is_json in (True, False)
                                            for streams in (True, False))
}


def codec_of(content_type: str) -> Codec | None:
    """Return the codec that a `Content-Type` names; None for none."""
    kind, _, parameters = content_type.lower().partition(";")
    codec = CODECS.get(kind.strip())
    charset = parameters.replace(" ", "").replace('"', "")
    return codec if not charset or charset == "charset=utf-8" else None


def envelope(body: bytes, *, flags: int = 0) -> bytes:
    """Return a message in its envelope."""
    return _HEAD.pack(flags, len(body)) + body


def only_message(body: bytes) -> bytes:
    """Return the one message of a body; raise InvalidArgument where there is another number of them."""
    if len(body) < _HEAD.size:
        raise InvalidArgument("the body holds no envelope of the Connect protocol", field="body")
    flags, size = _HEAD.unpack_from(body)
    if flags & COMPRESSED:
        raise InvalidArgument("the message is compressed; send it as it is", field="body")
    if flags or len(body) != _HEAD.size + size:
        raise InvalidArgument("the body is not one whole envelope; send one message", field="body")
    return body[_HEAD.size:]


def error_json(error: Refusal) -> dict[str, object]:
    """Return an error as the Connect protocol has it."""
    told: dict[str, object] = {"code": error.name.lower().replace("cancelled", "canceled"), "message": error.message}
    if details := detail_json(error.status):
        told["details"] = details
    return told


def end(error: Refusal | None = None) -> bytes:
    """Return the envelope that ends a stream."""
    told = {} if error is None else {"error": error_json(error)}
    return envelope(json.dumps(told, ensure_ascii=False).encode(), flags=END)
