"""Read and answer messages of HL7 v2 in MLLP frames, without input or output.

A frame is VT message FS CR (HL7 v2.5.1, "Minimal Lower Layer Protocol", release 1). An answer is a message ACK with
MSA-1 "AA" (accepted), "AE" (error) or "AR" (rejected) and the control id of the message in MSA-2.
"""

import re
import secrets
from datetime import datetime
from typing import NamedTuple

START = b"\x0b"
END = b"\x1c\r"

_HEAD = re.compile(rb"\s*MSH([^A-Za-z0-9\s\x00-\x1f])([^\r\n]*)")
_LONGEST = 1000  # characters of a field that an answer repeats
_ESCAPED = str.maketrans({"|": " ", "^": " ", "~": " ", "\\": "/", "&": " ", "\r": " ", "\n": " "})


class Frame(NamedTuple):
    """The content of a frame.

    data (bytes): the message; of a frame that is too large, only its beginning.
    problem (str): "" if the frame is complete; "cut" if another one began before its end; "large" if it is too large;
        "stopped" if the listener stopped before its end.
    """

    data: bytes
    problem: str = ""

    def __repr__(self) -> str:
        return f"Frame({len(self.data)} bytes, problem={self.problem!r})"


class FrameReader:
    """Finds the frames in a stream of bytes. What is outside of frames is skipped.

    most (int): maximal bytes of a message.
    skipped (int): bytes outside of frames so far.
    is_inside (bool): whether a frame has begun and has not ended.
    is_over (bool): whether a message was too large. Nothing is read after it.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._buffer = bytearray()
        self._searched = 0
        self.skipped, self.is_inside, self.is_over = 0, False, False

    @property
    def started(self) -> bytes:
        """The beginning of the message whose frame has not ended."""
        return bytes(self._buffer) if self.is_inside else b""

    def feed(self, data: bytes) -> list[Frame]:
        """Add bytes, in pieces of any size.

        data (bytes): the bytes.
        RETURNS (list[Frame]): the frames that end in them. They do not depend on the sizes of the pieces.
        """
        self._buffer += data
        frames: list[Frame] = []
        while not self.is_over and (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def _next(self) -> Frame | None:
        """Return the next frame that has ended; None if there is none."""
        buffer = self._buffer
        if not self.is_inside:
            at = buffer.find(START)
            self.skipped += len(buffer) if at < 0 else at
            del buffer[: len(buffer) if at < 0 else at + 1]
            if at < 0:
                return None
            self.is_inside, self._searched = True, 0
        end = buffer.find(END, self._searched)
        again = buffer.find(START, self._searched, len(buffer) if end < 0 else end)
        stop = again if again >= 0 else end
        if stop > self._most or (stop < 0 and len(buffer) > self._most + 1):
            self.is_over = True
            return Frame(bytes(buffer[: self._most]), "large")
        if stop < 0:
            self._searched = max(0, len(buffer) - 1)
            return None
        frame = Frame(bytes(buffer[:stop]), "cut" if again >= 0 else "")
        del buffer[: stop + (1 if again >= 0 else len(END))]
        self.is_inside, self._searched = again >= 0, 0
        return frame


def make_answer(data: bytes, code: str, reason: str = "") -> bytes:
    """Make the answer to a message, in a frame.

    data (bytes): the message, or its beginning. If it has no segment MSH, the answer has no control id.
    code (str): "AA", "AE" or "AR".
    reason (str): why it was not accepted, without content; it becomes ERR-8.
    RETURNS (bytes): the frame. Sender and receiver, the processing id, the version and the character set are those of
        the message.
    """
    head = _HEAD.match(data)
    separator = head[1] if head else b"|"
    raw = head[2].split(separator) if head else []
    fields = [re.sub(rb"[\x00-\x1f]", b"", field) if len(field) <= _LONGEST else b"" for field in raw]

    def get(number: int, default: bytes = b"") -> bytes:
        return fields[number - 2] if len(fields) > number - 2 and fields[number - 2] else default

    marks = get(2, b"^~\\&")
    component = marks[:1]
    event = get(9).split(component)[1:2]
    kind = component.join([b"ACK", *event])
    now, own = datetime.now().strftime("%Y%m%d%H%M%S").encode(), secrets.token_hex(10).encode()
    msh = [b"MSH", marks, get(5), get(6), get(3), get(4), now, b"", kind, own, get(11, b"P"), get(12, b"2.5")]
    if get(18):
        msh += [b""] * 5 + [get(18)]
    segments = [msh, [b"MSA", code.encode(), get(10)]]
    if reason:
        name = b"200" if code == "AR" else b"207"  # HL7 table 0357: unsupported message type, application error
        said = reason.translate(_ESCAPED).encode("ascii", "replace")
        segments.append([b"ERR", b"", b"", name, b"E", b"", b"", b"", said])
    return START + b"".join(separator.join(segment) + b"\r" for segment in segments) + END
