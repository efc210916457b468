"""Signing in at an identity provider from a terminal (RFC 8628), and what is kept of it, for the user alone.

Only the standard library speaks to the provider: the SDK stays light. Addresses come from the provider's own discovery
document, and nothing is sent to one that is not encrypted, but on this machine.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sourcier.errors import FailedPrecondition, Unauthenticated, Unavailable

CREDENTIALS_VARIABLE = "SOURCIER_CREDENTIALS"
ANSWER_BYTES_MAX = 1024 * 1024
REQUEST_SECONDS_MAX = 15.0
INTERVAL_SECONDS, SLOWER_SECONDS = 5.0, 5.0
"""Between two questions whether somebody has signed in; RFC 8628, 3.5."""
EARLY_SECONDS = 30.0
"""So long before its end a token is renewed."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class SignedIn:
    """What is kept of a sign-in at a gateway."""

    token: str
    expires_at: float
    refresh_token: str = ""
    token_endpoint: str = ""
    client_id: str = ""


def begin(*, issuer: str, client_id: str, scope: str, audience: str) -> tuple[dict[str, Any], str]:
    """Ask the provider for a code; return its answer and where the token is then to be had."""
    document = _fetch(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if document.get("issuer") != issuer:
        raise FailedPrecondition("the identity provider's document is of another issuer")
    device, token = (str(document.get(name, "")) for name in ("device_authorization_endpoint", "token_endpoint"))
    if not device or not token:
        raise FailedPrecondition("the identity provider offers no sign-in from a terminal (device flow)",
                                 hint="make an API key for this program: sourcier keys create --help")
    asked = {"client_id": client_id, "scope": scope} | ({"audience": audience} if audience else {})
    answer = _fetch(device, asked)
    if "device_code" not in answer:
        raise FailedPrecondition(f"the identity provider refused: {_error(answer)}")
    return answer, token


def finish(
    answer: Mapping[str, Any], *, token_endpoint: str, client_id: str, sleep: Callable[[float], None] = time.sleep
) -> SignedIn:
    """Wait until somebody has signed in with the code; raise Unauthenticated where nobody did, or it was refused."""
    interval = float(answer.get("interval", INTERVAL_SECONDS))
    ends_at = time.monotonic() + float(answer.get("expires_in", 600))
    asked = {"grant_type": "urn:ietf:params:oauth:grant-type:device_code", "client_id": client_id,
             "device_code": str(answer["device_code"])}
    while time.monotonic() < ends_at:
        sleep(interval)
        told = _fetch(token_endpoint, asked)
        if told.get("error") == "slow_down":
            interval += SLOWER_SECONDS
        elif told.get("error") != "authorization_pending":
            return _signed_in(told, token_endpoint=token_endpoint, client_id=client_id)
    raise Unauthenticated("nobody signed in in time; begin again")


def renewed(before: SignedIn) -> SignedIn:
    """Return a new token for one that ends; raise Unauthenticated where it cannot be had."""
    if not before.refresh_token:
        raise Unauthenticated("the sign-in has ended")
    told = _fetch(before.token_endpoint, {
        "grant_type": "refresh_token", "refresh_token": before.refresh_token, "client_id": before.client_id,
    })
    told.setdefault("refresh_token", before.refresh_token)
    return _signed_in(told, token_endpoint=before.token_endpoint, client_id=before.client_id)


def _signed_in(told: Mapping[str, Any], *, token_endpoint: str, client_id: str) -> SignedIn:
    access, identity = str(told.get("access_token", "")), str(told.get("id_token", ""))
    # Some providers' access tokens are for themselves alone, and no one else can read them.
    token = access if access.count(".") == 2 else identity
    if not token:
        raise Unauthenticated(f"the identity provider gave no token: {_error(told)}")
    return SignedIn(
        token, time.time() + float(told.get("expires_in", 300)), str(told.get("refresh_token", "")), token_endpoint,
        client_id,
    )


def credentials_file() -> Path:
    """Return where sign-ins are kept."""
    if named := os.environ.get(CREDENTIALS_VARIABLE):
        return Path(named).expanduser()
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "sourcier" / "credentials.json"


def keep(gateway: str, signed_in: SignedIn | None) -> None:
    """Keep a sign-in at a gateway, or forget it; the file is its user's alone from its first byte on."""
    path = credentials_file()
    kept = _read(path)
    kept.pop(gateway, None)
    if signed_in is not None:
        kept[gateway] = asdict(signed_in)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(kept, file)
    beside.replace(path)


def kept_token(gateway: str) -> str:
    """Return the token of a gateway, renewed where it is about to end; empty where nobody signed in there."""
    entry = _read(credentials_file()).get(gateway)
    if entry is None:
        return ""
    try:
        signed_in = SignedIn(**entry)
    except TypeError:
        return ""
    if signed_in.expires_at - EARLY_SECONDS > time.time():
        return signed_in.token
    try:
        signed_in = renewed(signed_in)
    except (Unauthenticated, Unavailable, FailedPrecondition):
        # The gateway tells that it has ended, and what to do.
        return signed_in.token
    keep(gateway, signed_in)
    return signed_in.token


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: what is sent is for the one who was named."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse."""


def _fetch(url: str, form: Mapping[str, str] | None = None) -> dict[str, Any]:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise FailedPrecondition(f"the identity provider's address {url[:200]!r} is not encrypted")
    body = None if form is None else urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(url, data=body, headers={"accept": "application/json"})  # noqa: S310 looked at
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=REQUEST_SECONDS_MAX) as response:
            body = response.read(ANSWER_BYTES_MAX)
    except urllib.error.HTTPError as error:
        body = error.read(ANSWER_BYTES_MAX)  # the protocol tells of waiting by an error
    except OSError as error:
        raise Unavailable(f"the identity provider cannot be reached: {error}") from error
    try:
        told = json.loads(body)
    except ValueError as error:
        raise Unavailable("the identity provider's answer is not understood") from error
    return told if isinstance(told, dict) else {}


def _error(told: Mapping[str, Any]) -> str:
    return str(told.get("error_description") or told.get("error") or "no reason is given")[:200]
