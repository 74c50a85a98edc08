"""The wire to a judge's server: back-off, pace, and a key that is read from the environment alone.

Run settings: `ASSAY_JUDGE_KEY` (else `OPENAI_API_KEY`, for OpenAI alone), `ASSAY_JUDGE_CONCURRENCY`,
`ASSAY_JUDGE_RATE` (requests a minute), `ASSAY_JUDGE_TIMEOUT` (seconds a request). The key goes into the
request's header and nowhere else: no field, file, message or log holds it.
"""

from __future__ import annotations

import json
import os
import random
from functools import lru_cache
from ipaddress import ip_address
from threading import Lock
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assay.errors import BudgetError, MetricError, SpecError
from assay.models.budget import ledger

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 6
BROKEN = 3  # bodies that are no answer: a wrong address gives them for ever
_QUOTED = 80  # characters of what a server said
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0  # seconds
_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)
_KEY, _OPENAI_KEY, _OPENAI = "ASSAY_JUDGE_KEY", "OPENAI_API_KEY", "api.openai.com"


class _Malformed(Exception):
    """A body that is not an answer: worth another try."""


class Line:
    """One endpoint, with what was learnt about it: its pace, whether it tells odds."""

    def __init__(self, endpoint: str) -> None:
        self._host = _checked(endpoint)
        self.url = endpoint.rstrip("/") + "/chat/completions"
        self.gives_probabilities = True
        self._next = 0.0  # when the next request may go out, on the monotonic clock
        self._lock = Lock()

    def open(self) -> httpx.Client:
        """Connections for some questions; whoever opens them closes them."""
        return _client(loopback=_is_loopback(self._host))

    def post(self, client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
        """The server's answer; dropped connections, busy servers and broken bodies are tried again."""
        import httpx

        trouble, broken = "nothing was tried", 0
        for attempt in range(ATTEMPTS):
            if attempt:
                ledger().retried()
            self._wait_turn()
            try:
                response = client.post(self.url, json=body, headers=self._headers())
                if self._refuses_probabilities(response, body):
                    continue
                if response.status_code not in _AGAIN:
                    return self._read(response)
                trouble = f"status {response.status_code}"
                self._hold(_retry_after(response), attempt)
            except httpx.TransportError as error:
                trouble = f"{type(error).__name__}: {error}"
                self._hold(None, attempt)
            except _Malformed as error:
                trouble, broken = str(error), broken + 1
                if broken == BROKEN:
                    raise self._misunderstood(trouble) from error
                self._hold(None, attempt)
        raise MetricError(
            f"the judge at {self.url} did not answer in {ATTEMPTS} attempts ({self._masked(trouble)}); check "
            f"the address, or ask more slowly: ASSAY_JUDGE_CONCURRENCY=1, ASSAY_JUDGE_RATE=60 (a minute)"
        )

    def _misunderstood(self, said: str) -> MetricError:
        return MetricError(
            f"the judge at {self.url} answers, but with {said} ({BROKEN} times); check endpoint=, "
            f"the address before /chat/completions (most end in /v1), and that model= writes text"
        )

    def _headers(self) -> dict[str, str]:
        key = _key(self._host, self.url)
        return {"Authorization": f"Bearer {key}"} if key else {}

    def _refuses_probabilities(self, response: httpx.Response, body: dict[str, Any]) -> bool:
        """Some servers refuse the field; the question is then asked without it, from now on."""
        if response.status_code not in (400, 422) or "logprobs" not in body:
            return False
        if "logprobs" not in response.text:
            return False
        self.gives_probabilities = False
        del body["logprobs"], body["top_logprobs"]
        return True

    def _read(self, response: httpx.Response) -> dict[str, Any]:
        said = self._masked(response.text)
        if response.status_code in (401, 403):
            raise MetricError(
                f"the judge at {self.url} refused the key (status {response.status_code}); set {_KEY} in the "
                f"environment ({_OPENAI_KEY} is sent to {_OPENAI} only)"
            )
        if response.status_code != 200:
            raise MetricError(
                f"the judge at {self.url} refused the question (status {response.status_code}): "
                f"{said[:200]}; check model= and endpoint="
            )
        try:
            answer = json.loads(said)
            content = answer["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError) as error:
            raise _Malformed(f"what is no chat completion: {_cut(said)}") from error
        if not isinstance(content, str):
            raise _Malformed(f"a message without text: {_cut(said)}")
        return dict(answer)

    def _masked(self, text: str) -> str:
        key = _key(self._host, self.url)
        return text.replace(key, "***") if key else text

    def _wait_turn(self) -> None:
        """Requests leave at the pace the user set, and not before a busy server wants them."""
        rate = setting("ASSAY_JUDGE_RATE", 0.0, least=0.0)
        with self._lock:
            now = monotonic()
            turn = max(now, self._next)
            self._next = turn + (60.0 / rate if rate else 0.0)
        sleep(turn - now)

    def _hold(self, asked: float | None, attempt: int) -> None:
        """Nobody asks again before the server's own time, else twice as long each time, with some jitter."""
        backoff = _FIRST_WAIT * 2**attempt * random.uniform(0.75, 1.25)
        wait = min(_LONGEST_WAIT, asked if asked is not None else backoff)
        with self._lock:
            self._next = max(self._next, monotonic() + wait)


def _cut(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "...")


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds the server asks for; a date or nonsense counts as nothing said."""
    try:
        return max(0.0, float(response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None


@lru_cache(maxsize=8)
def line_to(endpoint: str) -> Line:
    """The one line of this process to an endpoint."""
    return Line(endpoint)


def _checked(endpoint: str) -> str:
    """The host of an address that may be kept in a signature and asked."""
    try:
        parts = urlsplit(endpoint)
        host = parts.hostname
    except ValueError as error:
        raise SpecError(f"endpoint={endpoint!r} is not an address: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise SpecError(f"endpoint={endpoint!r} is not an address; write http://127.0.0.1:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise SpecError(f"endpoint= must not hold a user, key or query: signatures are stored; set {_KEY}")
    return host


def _key(host: str, endpoint: str) -> str | None:
    """The key for this host; never over plain HTTP to another machine."""
    found = os.environ.get(_KEY) or (os.environ.get(_OPENAI_KEY) if host == _OPENAI else None)
    if found and endpoint.startswith("http:") and not _is_loopback(host):
        raise SpecError(f"endpoint={endpoint}: a key is not sent over plain http; use https, or unset {_KEY}")
    return found or None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _client(*, loopback: bool) -> httpx.Client:
    try:
        import httpx
    except ImportError as error:
        raise MetricError("a judge behind an endpoint needs the extra: pip install 'assay[judge]'") from error
    return httpx.Client(timeout=setting("ASSAY_JUDGE_TIMEOUT", 120.0, least=0.01), trust_env=not loopback)


def setting(name: str, default: float, *, least: float) -> float:
    """A number from the environment."""
    text = os.environ.get(name)
    if not text:
        return default
    try:
        value = float(text)
    except ValueError as error:
        raise BudgetError(f"{name}={text!r} is not a number") from error
    if not value >= least:
        raise BudgetError(f"{name}={text}: at least {least:g} is needed")
    return value
