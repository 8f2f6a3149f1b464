"""Address, key and HTTP of a connection to a service."""

from __future__ import annotations

import ipaddress
import os
import pathlib
import warnings
from collections.abc import Generator
from importlib import metadata
from typing import Any
from urllib.parse import urlsplit

import httpx

from .problems import InsecureConnection
from .protocol import Lost, Reply, Request

DEFAULT_URL = "http://127.0.0.1:8080"
TIMEOUT_SECONDS = 120.0
CONNECT_SECONDS = 10.0


class BearerKey(httpx.Auth):
    """Adds the key to each request. Its representation does not show the key."""

    def __init__(self, key: str) -> None:
        self._authorization = f"Bearer {key}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the key to a request."""
        request.headers["authorization"] = self._authorization
        yield request

    def __repr__(self) -> str:
        return "BearerKey(...)"


def address_of(url: str | None) -> str:
    """Return the address of a service: the given one, `SOTTO_URL`, or the default of the service.

    Raises:
        ValueError: if it is not an http or https address, or contains a user name.

    """
    address = (url or os.environ.get("SOTTO_URL") or DEFAULT_URL).rstrip("/")
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("the address of the service must be like https://sotto.example.org")
    if parts.username is not None:
        raise ValueError("the address of the service must not contain a user name; pass the key as key=")
    if parts.scheme == "http" and not _is_this_machine(parts.hostname):
        warnings.warn(
            f"the key is sent to {parts.hostname} without encryption; use an https address",
            InsecureConnection,
            stacklevel=3,
        )
    return address


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def key_of(key: str | pathlib.Path | None) -> str:
    """Return an API key or access token: the given one, that of a file, or `SOTTO_KEY`.

    Raises:
        ValueError: if there is none, or it cannot be sent. The message does not contain it.

    """
    text = key.read_text(encoding="utf-8") if isinstance(key, pathlib.Path) else key
    text = (text or os.environ.get("SOTTO_KEY") or "").strip()
    if not text:
        raise ValueError("no key: pass key=, or a pathlib.Path to a key file, or set SOTTO_KEY")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("the key contains characters that no key has; is it the path of a key file?")
    return text


def http_options(url: str, key: str, timeout_seconds: float, transport: Any) -> dict[str, Any]:
    """Return the options of an httpx client. It follows no redirect, so that the key reaches one address only."""
    return {
        "base_url": url,
        "auth": BearerKey(key),
        "timeout": httpx.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
        "transport": transport,
        "follow_redirects": False,
        "headers": {"user-agent": f"sotto-client/{metadata.version('sotto-client')}"},
    }


def http_arguments(request: Request) -> dict[str, Any]:
    """Return a request as arguments of httpx."""
    patient = {"timeout": httpx.Timeout(None, connect=CONNECT_SECONDS)}
    file = request.file
    return {
        "method": request.method,
        "url": request.path,
        "json": request.body,
        "files": None if file is None else {"file": (file.name, file, "application/octet-stream")},
        "params": dict(request.parameters) or None,
        "headers": dict(request.headers),
        **({} if request.watch is None else patient),
    }


def reply_of(response: httpx.Response) -> Reply:
    """Return a response of httpx as a reply."""
    return Reply(
        response.status_code,
        {name.lower(): value for name, value in response.headers.items()},
        response.content,
        str(response.request.url),
    )


def lost(error: httpx.TransportError) -> Lost:
    """Return an error of httpx. Its text is left out, because it may quote a request."""
    unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
    return Lost(type(error).__name__, sent=not unsent)
