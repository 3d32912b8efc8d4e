"""Receive messages of HL7 v2 over MLLP, de-identify each, write it to a file, and answer.

A message is answered with AA only after its file was written completely. Messages are de-identified in worker
processes: one that takes too long or ends its process is answered with AE, and the others go on. The bounds on
messages, times and connections keep slow or silent clients from blocking others. MLLP has no authentication, so only
this machine and the addresses that are named may connect.
"""

import asyncio
import hmac
import ipaddress
import secrets
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..deidentifier import Deidentifier
from ..errors import ConfigError, Errors, describe
from ..exports import Outcome
from ..io import write_whole
from ..processes import Failure, Workers
from .framing import Frame, FrameReader, make_answer
from .run import Hl7Deidentifier

_BLOCK = 64 * 1024
_REASONS = {"cut": "another message began before the end of the frame", "large": "the message is too large"}
_REASONS |= {"stopped": "the listener was stopped before the end of the frame"}
_MEMORY = Path("/dev/shm")  # where dictionaries of single messages are made, if it exists
_ANSWERING = 10.0  # seconds for the last answers after the worker processes were stopped
_STOPPED = "the listener was stopped"

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a client may do.

    message (int): maximal bytes of a message.
    frame (float): maximal seconds from the start to the end of a frame, and for reading an answer.
    idle (float): maximal seconds without a message until a connection is closed.
    last (float): maximal seconds for messages in progress after a signal to stop.
    connections (int): maximal number of connections. A further one closes the one that is silent the longest.
    """

    message: int = 16_000_000
    frame: float = 30.0
    idle: float = 600.0
    last: float = 60.0
    connections: int = 128


class MessageReleaser:
    """De-identifies single messages. Each is an export of its own, so it knows no names of the others.

    deid (Deidentifier): the deidentifier.
    settings (Any): settings of `Hl7Deidentifier`.
    """

    def __init__(self, deid: Deidentifier, **settings: Any) -> None:
        self._deid = deid
        self._settings = {**settings, "folder": _MEMORY if _MEMORY.is_dir() else None}

    def __call__(self, data: bytes) -> Outcome:
        """De-identify a message. RETURNS (Outcome): what became of it."""
        with Hl7Deidentifier(self._deid, **self._settings) as hl7:
            hl7.read([data])
            [outcome] = hl7.release([data])
        return outcome


def read_address(text: str) -> tuple[str, int]:
    """Read "HOST:PORT", "[IPv6]:PORT" or "PORT", which is a port of this machine. RAISES: ConfigError (D995)."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) < 65536):
        raise ConfigError(Errors.D995.format(address=text, reason="it must be HOST:PORT"))
    return host.strip("[]") or "127.0.0.1", int(port)


def read_peers(host: str, peers: Sequence[str]) -> list[Network]:
    """Read the addresses that may connect, and check that there are some if the host is not this machine.

    host (str): the address to listen on.
    peers (Sequence[str]): addresses, or networks such as "10.1.0.0/16".
    RETURNS (list): the networks; empty for those of this machine.
    RAISES: ConfigError (D995).
    """
    try:
        networks = [ipaddress.ip_network(peer) for peer in peers]
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise ConfigError(Errors.D995.format(address=host, reason="hosts and peers must be IP addresses")) from None
    if not is_local and not networks:
        raise ConfigError(Errors.D995.format(address=host, reason="name the machines that may connect with --peer"))
    return networks


@dataclass(eq=False)
class _Connection:
    """A connection of a client; `since` is the time of its last frame, `busy` whether it waits for an answer."""

    writer: asyncio.StreamWriter
    task: "asyncio.Task[Any] | None"
    since: float
    frames: FrameReader
    busy: bool = False


@dataclass
class Listener:
    """Listens for messages until a signal to stop.

    release (Callable): de-identifies a message; it is called in worker processes.
    output (Path): folder of the released messages; those with warnings are in its folder "review".
    note (Callable): is called with the outcome of each message.
    peers (Sequence): networks that may connect; empty for this machine.
    bounds (Bounds): what a client may do.
    n_process (int): number of worker processes.
    seconds (float): time limit of a message, 0 for none.
    secret (bytes): key of the names of files, which are the same for the same message.
    """

    release: Callable[[bytes], Outcome]
    output: Path
    note: Callable[[Outcome], None]
    peers: Sequence[Network] = ()
    bounds: Bounds = field(default_factory=Bounds)
    n_process: int = 1
    seconds: float = 0
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def run(self, host: str, port: int, ready: Callable[[str], None]) -> None:
        """Listen until SIGTERM or SIGINT. Then no connection is accepted. A message in progress is finished and
        answered; one that takes too long, or whose frame does not end, is answered with AE, and has no file.

        host, port (str, int): the address; port 0 is any free port.
        ready (Callable): is called with the address as soon as clients can connect.
        RAISES: ConfigError (D995) if the address cannot be used.
        """
        self._number = 0
        self._connections: set[_Connection] = set()
        self._expired = False
        pools = [Workers(self.release, 1, seconds=self.seconds) for _ in range(self.n_process)]
        threads = ThreadPoolExecutor(self.n_process)
        try:
            asyncio.run(self._serve(host, port, ready, pools, threads))
        finally:
            threads.shutdown(cancel_futures=True)
            for pool in pools:
                pool.close()

    async def _serve(
        self, host: str, port: int, ready: Callable[[str], None], pools: list[Any], threads: ThreadPoolExecutor
    ) -> None:
        """Serve clients until a signal to stop."""
        self._threads = threads
        self._free: asyncio.Queue[Any] = asyncio.Queue()
        for pool in pools:
            self._free.put_nowait(pool)
        self._stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError, ValueError, RuntimeError):  # Windows, or not in the main thread
                loop.add_signal_handler(number, self._stopping.set)
        try:
            server = await asyncio.start_server(self._talk, host, port, limit=_BLOCK)
        except OSError as error:
            raise ConfigError(Errors.D995.format(address=f"{host}:{port}", reason=describe(error))) from None
        place = server.sockets[0].getsockname()
        ready(f"{place[0]}:{place[1]}")
        await self._stopping.wait()
        server.close()
        for connection in list(self._connections):
            if not connection.busy and not connection.frames.is_inside and connection.task:
                connection.task.cancel()
        await self._wait_for_connections(self.bounds.last)
        self._expired = True
        for pool in pools:
            pool.stop()
        await self._wait_for_connections(_ANSWERING)

    async def _wait_for_connections(self, seconds: float) -> None:
        """Wait until all connections are closed, but not longer than some seconds."""
        tasks = [connection.task for connection in self._connections if connection.task]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client: read frames and answer them in order."""
        if not self._may_connect(writer.get_extra_info("peername")) or self._stopping.is_set():
            writer.transport.abort()
            return
        now = asyncio.get_running_loop().time
        frames = FrameReader(self.bounds.message)
        connection = _Connection(writer, asyncio.current_task(), now(), frames)
        self._connections.add(connection)
        self._close_silent()
        try:
            while not frames.is_over and (frames.is_inside or not self._stopping.is_set()):
                left = connection.since + (self.bounds.frame if frames.is_inside else self.bounds.idle) - now()
                data = await asyncio.wait_for(reader.read(_BLOCK), max(0.001, left))
                was_inside = frames.is_inside
                found = frames.feed(data) if data else []
                if not data or frames.skipped > _BLOCK:
                    break
                connection.busy = True
                for frame in found:
                    writer.write(await self._answer(frame))
                    await asyncio.wait_for(writer.drain(), self.bounds.frame)
                connection.busy = False
                if found or (frames.is_inside and not was_inside):
                    connection.since = now()
        except (TimeoutError, OSError, asyncio.CancelledError):
            if frames.is_inside and self._stopping.is_set():
                with suppress(OSError):
                    writer.write(await self._answer(Frame(frames.started, "stopped")))
        finally:
            self._connections.discard(connection)
            with suppress(OSError, TimeoutError, asyncio.CancelledError):
                writer.close()
                await asyncio.wait_for(writer.wait_closed(), 5)

    def _may_connect(self, peer: Any) -> bool:
        """Whether the address of a client may connect."""
        address = ipaddress.ip_address(str(peer[0]).partition("%")[0])
        return address.is_loopback or any(address in network for network in self.peers)

    def _close_silent(self) -> None:
        """Close the connection that is silent the longest if there are too many."""
        if len(self._connections) > self.bounds.connections:
            silent = [connection for connection in self._connections if not connection.busy]
            if silent:
                min(silent, key=lambda connection: connection.since).writer.transport.abort()

    async def _answer(self, frame: Frame) -> bytes:
        """De-identify and write the message of a frame. RETURNS (bytes): the answer."""
        self._number += 1
        outcome = Outcome("", f"message {self._number}", "failed", _REASONS.get(frame.problem, ""))
        if not frame.problem:
            pool = await self._free.get()
            try:
                loop = asyncio.get_running_loop()
                made = await loop.run_in_executor(self._threads, self._process, pool, frame.data)
            finally:
                self._free.put_nowait(pool)
            if isinstance(made, Outcome):
                made.reason = made.reason.replace("message 1", outcome.path, 1)
                made.path, outcome = outcome.path, made
            else:
                outcome.reason = made.reason
        data, outcome.data = outcome.data, None
        self.note(outcome)
        if outcome.status == "removed":
            return make_answer(frame.data, "AR", "the profile does not name the type of the message")
        if data is None or outcome.status == "failed":
            return make_answer(frame.data, "AR" if frame.problem == "large" else "AE", outcome.reason)
        return make_answer(frame.data, "AA")

    def _process(self, pool: "Workers[bytes, Outcome]", data: bytes) -> Outcome | Failure:
        """De-identify a message in a worker process, and write its file."""
        try:
            if self._expired:
                return Failure(_STOPPED)
            [(_, outcome)] = pool.run([data])
            if isinstance(outcome, Outcome) and outcome.data is not None:
                if self._expired:  # it is answered with AE, so it must have no file
                    return Failure(_STOPPED)
                name = hmac.digest(self.secret, data, "sha256").hex()[:32]
                folder = self.output / "review" if outcome.status == "review" else self.output
                write_whole(folder / name[:2] / f"{name}.hl7", outcome.data)
        except Exception as error:
            return Failure.from_error(error)
        return outcome
