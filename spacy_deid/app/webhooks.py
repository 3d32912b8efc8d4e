"""Notifies other systems when a job is finished, by signed requests to addresses that the service allows.

Requests follow the Standard Webhooks specification: the headers ``webhook-id`` (the same in every attempt),
``webhook-timestamp`` and ``webhook-signature``, "v1," and the base64 of the HMAC-SHA256 of "ID.TIMESTAMP.BODY". The
body has ids and counts, never names or content. No redirect is followed and no proxy used.

The address is a setting of the job. A host that is not allowed explicitly is refused, this machine as well, because
services on it may trust any request from it.
"""

import base64
import binascii
import hmac
import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import ConfigError, Errors, describe
from ..io import read_bytes
from ..llm.server import Deadline, Endpoint
from .logs import LOGGER
from .settings import ServiceSettings
from .store import Store

EVENT = "job.finished"
DELAYS = (10.0, 60.0, 300.0, 1800.0, 7200.0)  # seconds before each further attempt
SECONDS = 10.0  # time limit of an attempt
PAUSE = 1.0  # seconds between two looks for finished jobs
MOST = 2000  # characters of an address


def read_secret(path: Path) -> bytes:
    """Read the secret that signs requests: "whsec_" and the base64 of 24 to 64 bytes.

    RAISES: ConfigError (D975) if the file has another content; InputError if it cannot be read.
    """
    try:
        text = read_bytes(path).decode("ascii").strip()
        secret = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except (UnicodeError, binascii.Error):
        secret = b""
    if not 24 <= len(secret) <= 64:
        raise ConfigError(Errors.D975.format(path=path))
    return secret


def check_address(url: str, service: ServiceSettings) -> str:
    """Check the address of a webhook.

    url (str): the address; "" for no webhook.
    RETURNS (str): the address.
    RAISES: ConfigError (D974), which does not quote the address, if it is not valid or its host is not allowed.
    """
    if url:
        if service.webhook_key is None:
            raise ConfigError(Errors.D974.format(reason="the service has no key for them"))
        if len(url) > MOST or not url.isascii() or not url.isprintable() or " " in url:
            raise ConfigError(Errors.D974.format(reason="the address is not valid"))
        _endpoint(url, service).resolve()
    return url


class _Allowed:
    """An address of a webhook whose host is allowed."""

    def __init__(self, url: str, service: ServiceSettings) -> None:
        self.endpoint = Endpoint(url, service.webhook_allow, loopback=False)
        self.path = urlsplit(url).path or "/"

    def resolve(self) -> str:
        """Look up the host, and check that it is allowed. RETURNS (str): URL with the address that was checked."""
        try:
            place = self.endpoint.resolve()
        except ConfigError:
            raise ConfigError(Errors.D974.format(reason="the host is not found or not allowed")) from None
        return f"{self.endpoint.scheme}://{place}:{self.endpoint.port}{self.path}"


def _endpoint(url: str, service: ServiceSettings) -> _Allowed:
    """Parse an address. RAISES: ConfigError (D974)."""
    try:
        return _Allowed(url, service)
    except ConfigError:
        reason = "the address must have the form https://HOST/PATH, without a query"
        raise ConfigError(Errors.D974.format(reason=reason)) from None


def sign(secret: bytes, id: str, timestamp: int, body: bytes) -> str:
    """Compute the signature of a request. RETURNS (str): value of the header ``webhook-signature``."""
    signature = hmac.digest(secret, f"{id}.{timestamp}.".encode() + body, "sha256")
    return f"v1,{base64.b64encode(signature).decode()}"


class Webhooks:
    """Sends the webhooks of finished jobs in a thread. What is not delivered is sent again after a restart.

    service (ServiceSettings): settings of the service.
    store (Store): the jobs.
    """

    def __init__(self, service: ServiceSettings, store: Store) -> None:
        self.service, self.store = service, store
        self._secret = None if service.webhook_key is None else read_secret(service.webhook_key)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="webhooks", daemon=True)

    def start(self) -> None:
        """Start the thread; nothing if the service has no key for webhooks."""
        if self._secret is not None:
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread after the current attempt."""
        self._stop.set()
        if self._secret is not None:
            self._thread.join(timeout=2 * SECONDS)

    def _watch(self) -> None:
        while not self._stop.wait(PAUSE):
            try:
                self.deliver()
            except Exception as error:  # a full disk, or a deleted job
                LOGGER.error(describe(error))

    def deliver(self) -> int:
        """Send the webhooks that are due. RETURNS (int): number of those that were delivered."""
        delivered = 0
        for row in self.store.due_webhooks(time.time()):
            reason = self._send(row)
            delivered += not reason
            attempts = row["attempts"] + 1
            due = time.time() + DELAYS[attempts - 1] if reason and attempts <= len(DELAYS) else None
            if reason:
                LOGGER.error(Errors.D976.format(job=row["job"], attempt=attempts, reason=reason))
            self.store.finish_webhook(row["job"], row["number"], attempts, due)
        return delivered

    def _send(self, row: dict[str, Any]) -> str:
        """Send one webhook. RETURNS (str): why it was not delivered, without content; "" if it was."""
        import httpx

        id, now = f"msg_{row['job']}_{row['number']}", int(time.time())
        data = {name: row[name] for name in ("job", "total", "done", "failed", "cancelled")}
        at = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H:%M:%SZ}"
        body = json.dumps({"type": EVENT, "timestamp": at, "data": data}).encode()
        signature = sign(self._secret or b"", id, now, body)
        headers = {"webhook-id": id, "webhook-timestamp": str(now), "webhook-signature": signature}
        deadline = Deadline(SECONDS)
        try:
            allowed = _endpoint(row["url"], self.service)
            host = allowed.endpoint.host
            headers |= {"Host": f"{f'[{host}]' if ':' in host else host}:{allowed.endpoint.port}"}
            extensions: dict[str, Any] = {"trace": deadline.watch, "sni_hostname": host}
            with deadline, httpx.Client(trust_env=False, follow_redirects=False, timeout=SECONDS) as client:
                headers["Content-Type"] = "application/json"
                more: dict[str, Any] = {"content": body, "headers": headers, "extensions": extensions}
                with client.stream("POST", allowed.resolve(), **more) as response:
                    return "" if response.is_success else f"HTTP status {response.status_code}"
        except ConfigError as error:
            return str(error)
        except (httpx.HTTPError, OSError) as error:
            return type(error).__name__
