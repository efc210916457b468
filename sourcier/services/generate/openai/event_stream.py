"""Server-sent events, read strictly: https://html.spec.whatwg.org/multipage/server-sent-events.html."""

from __future__ import annotations

import codecs

LINE_CHARACTERS_MAX = 1 << 20


class MalformedStream(ValueError):
    """The bytes are not a stream of server-sent events."""


class EventStream:
    """Takes bytes as they come and returns the data of the events that they complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("strict")
        self._rest = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[str]:
        """Return the data of every event that ends in this chunk; MalformedStream for what is no event stream."""
        try:
            text = self._rest + self._decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise MalformedStream(f"bytes that are not UTF-8: {error.reason}") from error
        lines, self._rest = _split(text)
        if len(self._rest) > LINE_CHARACTERS_MAX:
            raise MalformedStream(f"a line of more than {LINE_CHARACTERS_MAX} characters")
        return [event for line in lines if (event := self._line(line)) is not None]

    def close(self) -> None:
        """Check that nothing was cut off; MalformedStream when the stream ended inside an event."""
        if self._rest.strip() or self._data:
            raise MalformedStream("the stream ended inside an event")

    def _line(self, line: str) -> str | None:
        if not line:
            data, self._data = self._data, []
            return "\n".join(data) if data else None
        field, _, value = line.partition(":")
        if field == "data":
            self._data.append(value.removeprefix(" "))
        elif field not in {"", "event", "id", "retry"}:
            # The standard ignores unknown fields; here they are an error page or a JSON answer.
            raise MalformedStream(f"a line that is no field of an event: {line[:80]!r}")
        return None


def _split(text: str) -> tuple[list[str], str]:
    """Split at CRLF, LF or CR; a CR at the very end waits, since an LF may follow."""
    held = text.endswith("\r")
    lines = (text[:-1] if held else text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1], lines[-1] + ("\r" if held else "")
