"""A judge behind an OpenAI-compatible endpoint: several requests at a time, with retries and a rate limit.

Run settings: `ASSAY_JUDGE_KEY` (else `OPENAI_API_KEY`, for OpenAI alone), `ASSAY_JUDGE_CONCURRENCY`,
`ASSAY_JUDGE_RATE` (requests per minute), `ASSAY_JUDGE_TIMEOUT` (seconds per request). The key is read from
the environment and goes into the request's header and nowhere else: no field, file, message or log holds it.
"""

from __future__ import annotations

import json
import math
import os
import random
import zlib
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import lru_cache, partial
from ipaddress import ip_address
from string import ascii_lowercase, ascii_uppercase
from threading import Lock, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from assay.errors import BudgetError, MetricError, SpecError, UnreachableError, install
from assay.metrics.judge.answers import Reply, without_thoughts
from assay.metrics.judge.dialect import Body, Dialect, text_written
from assay.metrics.judge.prompt import JudgeQuestion, ReadGrade
from assay.models.budget import Price, Watch, current_budget, price

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 6
BROKEN = 3  # malformed responses before giving up: a wrong address never sends anything else
_MOST_BYTES = 4_000_000  # of a response; an answer has a few thousand
_TIMEOUT = "ASSAY_JUDGE_TIMEOUT"
_QUOTED = 80  # characters of a server's response in a message
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0  # seconds
_GRACE = 1.0  # seconds for a request to end by itself when its time is up
_RETRIED = (408, 409, 425, 429, 500, 502, 503, 504)
_AS_IT_IS = {"Accept-Encoding": "identity"}
_MASK, _PART = "***", 10  # what stands for a key, and the characters of it that no message may show
_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)
_URL_SAFE = str.maketrans("+/", "-_")
_KEY, _OPENAI_KEY, _OPENAI = "ASSAY_JUDGE_KEY", "OPENAI_API_KEY", "api.openai.com"


@dataclass(frozen=True, slots=True)
class Asking:
    """How one model behind a server is asked, and who says whether its answers can be read."""

    model: str
    reading: ReadGrade
    temperature: float
    effort: str  # how long it may think; empty: as long as it does by itself
    can_be_read: Callable[[Reply], bool]
    watch: Watch


def ask_server(address: str, asking: Asking, questions: Sequence[JudgeQuestion]) -> list[Reply]:
    """Ask all questions, several at a time; return replies in order, or raise the first final failure."""
    endpoint, dialect = endpoint_at(address), dialect_of(address, asking.model)
    cost = price()
    workers = int(setting("ASSAY_JUDGE_CONCURRENCY", 8, least=1))
    with endpoint.open() as client, ThreadPoolExecutor(workers) as pool:

        def ask_one(question: JudgeQuestion) -> Reply:
            def send() -> Reply:
                body = partial(_body, dialect, asking, question)
                return _send(endpoint, dialect, client, body, question, cost)

            with asking.watch.asking():
                reply = send()
                while not asking.can_be_read(reply) and dialect.gives_more_room(reply):
                    reply = send()
                asking.watch.note(reply.text, can_be_read=asking.can_be_read(reply))
            return reply

        waiting = [pool.submit(copy_context().run, ask_one, question) for question in questions]
        try:
            return [future.result() for future in waiting]
        finally:
            for future in waiting:
                future.cancel()


def _body(dialect: Dialect, asking: Asking, question: JudgeQuestion) -> Body:
    """The request as it would be sent now."""
    turns = [{"role": turn.role, "content": turn.content} for turn in question.messages]
    body: Body = {"temperature": asking.temperature, "seed": question.draw}
    if asking.reading in ("auto", "probabilities"):
        body |= {"logprobs": True, "top_logprobs": 20}
    if asking.effort:
        body["reasoning_effort"] = asking.effort
    if question.schema:
        schema = {"name": "answer", "strict": True, "schema": question.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    room = dialect.room(question.room, thinks=asking.effort not in ("", "none", "minimal"))
    return {"model": asking.model, "messages": turns} | dialect.spoken(body, room)


def _send(
    endpoint: Endpoint,
    dialect: Dialect,
    client: httpx.Client,
    body: Callable[[], Body],
    question: JudgeQuestion,
    cost: Price,
) -> Reply:
    estimate = (question.tokens, dialect.limit_of(body()))
    reserved = current_budget().reserve(cost, *estimate)
    used = (0, 0)
    try:
        answer = endpoint.post(client, body, dialect)
        used = _usage(answer.get("usage")) or estimate
    finally:
        current_budget().book(cost, reserved, *used, estimated=used is estimate)
    choice = answer["choices"][0]
    written = str(text_written(choice))
    text = without_thoughts(written)
    # What a thinking model writes first are thoughts: the likeliest first tokens are no grades.
    chances = (
        _probabilities(choice.get("logprobs"), question.grades, text) if text == written.strip() else None
    )
    was_cut = choice.get("finish_reason") == "length" or (not text and bool(written))
    thought = was_cut and (text != written.strip() or not text)
    return Reply(chances, text, *used, dialect.without, estimate[1], was_cut, thought)


def _usage(usage: object) -> tuple[int, int] | None:
    """Return the tokens read and written; None where the server reports none that can be used."""
    counts = usage if isinstance(usage, Mapping) else {}
    read, written = (counts.get(name) for name in ("prompt_tokens", "completion_tokens"))
    if not (isinstance(read, int) and isinstance(written, int) and min(read, written) >= 0):
        return None
    return read, written


def _probabilities(logprobs: object, grades: Sequence[str], text: str) -> dict[str, float] | None:
    """Return P of each grade as the first token written; None where the server reports none.

    A number that takes several tokens (7, 0) cannot be read off the first one.
    """
    first = _first_token(logprobs)
    if first is None or not _may_be_grade(first, grades, text):
        return None
    chances: dict[str, float] = defaultdict(float)
    for row in first.get("top_logprobs") or [first]:
        chances[str(row["token"]).strip()] += math.exp(float(row["logprob"]))
    return {grade: chances[grade] for grade in grades if grade in chances} or None


def _first_token(logprobs: object) -> Mapping[str, Any] | None:
    """The first token written that is not blank, with its probability."""
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    tokens = content if isinstance(content, list) else []
    return next((row for row in tokens if str(row.get("token", "")).strip()), None)


def _may_be_grade(token: Mapping[str, Any], grades: Sequence[str], text: str) -> bool:
    """Whether the first token is the first word of the answer, or the letter of a text of a pair."""
    if not grades:
        return False
    first_word = (text.split() or [""])[0].strip(".*")
    return grades[0] == "A" or token["token"].strip() == first_word


class _MalformedError(Exception):
    """A response that is not an answer: worth another try."""


class Endpoint:
    """An HTTP endpoint's state: its address and its rate limit."""

    def __init__(self, endpoint: str) -> None:
        self._host = checked_host(endpoint)
        self.url = endpoint.rstrip("/") + "/chat/completions"
        self._answered = 0  # responses so far, of whatever status
        self._next = 0.0  # when the next request may go out, on the monotonic clock
        self._lock = Lock()

    def open(self) -> httpx.Client:
        """Return a client, which the caller closes."""
        try:
            import httpx
        except ImportError as error:
            raise MetricError(f"a judge behind an endpoint needs httpx: {install('judge')}") from error
        timeout = setting(_TIMEOUT, 120.0, least=0.01)
        return httpx.Client(timeout=timeout, trust_env=not _is_loopback(self._host))

    def post(self, client: httpx.Client, body: Callable[[], Body], dialect: Dialect) -> dict[str, Any]:
        """Return the server's answer; retry dropped connections, busy servers and malformed responses.

        A question that is refused for one of its parameters is asked without it: the body is made anew.
        """
        import httpx

        trouble, malformed, answered = "nothing was tried", 0, self._answered
        key = _key(self._host, self.url)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        for attempt in range(ATTEMPTS):
            if attempt:
                current_budget().retried()
            self._wait()
            try:
                response = self._accepted(client, body, headers, dialect)
                self._answered += 1
                if response.status_code not in _RETRIED:
                    return self._read(response)
                trouble, answered = f"status {response.status_code}", -1
                self._delay(_retry_after(response), attempt)
            except httpx.TransportError as error:
                trouble = f"{type(error).__name__}: {error}"
                self._delay(None, attempt)
            except _MalformedError as error:
                trouble, malformed = str(error), malformed + 1
                if malformed == BROKEN:
                    raise MetricError(
                        f"the judge at {self.url} answers, but with {trouble} ({BROKEN} times); check "
                        f"endpoint=, the address before /chat/completions (most end in /v1), and that model= "
                        f"writes text"
                    ) from error
                self._delay(None, attempt)
        # If nobody's question was answered meanwhile, the next will not be either.
        kind = UnreachableError if answered == self._answered else MetricError
        raise kind(
            f"the judge at {self.url} did not answer in {ATTEMPTS} attempts ({self._masked(trouble)}); check "
            f"the address, or ask more slowly: ASSAY_JUDGE_CONCURRENCY=1, ASSAY_JUDGE_RATE=60 (per minute)"
        )

    def _accepted(
        self, client: httpx.Client, body: Callable[[], Body], headers: Mapping[str, str], dialect: Dialect
    ) -> httpx.Response:
        """The response to a body whose parameters the server takes; each is refused at most once."""
        while True:
            sent = body()
            response = _fetch(client, self.url, sent, headers)
            if not dialect.learns(sent, response.status_code, self._masked(response.text)):
                return response

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
            answer = json.loads(said, object_hook=self._masked_object)
            content = text_written(answer["choices"][0])
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise _MalformedError(f"what is no chat completion: {_cut(said)}") from error
        if content is None:
            raise _MalformedError(f"a message without text: {_cut(said)}")
        return dict(answer)

    def _masked(self, text: str) -> str:
        """The text without the key, in whatever form a server has put it there."""
        key = _key(self._host, self.url)
        return masked_key(text, key) if key else text

    def _masked_object(self, values: dict[str, Any]) -> dict[str, Any]:
        return {k: self._masked(value) if isinstance(value, str) else value for k, value in values.items()}

    def _wait(self) -> None:
        """Keep to the rate the user set, and to the time a busy server asked for."""
        rate = setting("ASSAY_JUDGE_RATE", 0.0, least=0.0)
        with self._lock:
            now = monotonic()
            turn = max(now, self._next)
            self._next = turn + (60.0 / rate if rate else 0.0)
        sleep(turn - now)

    def _delay(self, seconds: float | None, attempt: int) -> None:
        """Delay all requests by the server's own time, else exponentially with some jitter."""
        backoff = _FIRST_WAIT * 2**attempt * random.uniform(0.75, 1.25)
        wait = min(_LONGEST_WAIT, backoff if seconds is None else seconds)
        with self._lock:
            self._next = max(self._next, monotonic() + wait)


endpoint_at = lru_cache(maxsize=8)(Endpoint)  # the process's one object for an address
dialect_of = lru_cache(maxsize=64)(Dialect)  # and for a model there


def _fetch(client: httpx.Client, url: str, body: Body, headers: Mapping[str, str]) -> httpx.Response:
    """The whole response within ASSAY_JUDGE_TIMEOUT, however slowly it drips, and of at most `_MOST_BYTES`.

    httpx limits each single read: a server that sends a byte now and then would never end. The thread of such
    a request is left behind; closing the client ends it. Answers are asked for as they are; what comes packed
    all the same is unpacked here, with a limit: httpx would unpack as much as there is.
    """
    import httpx

    seconds = setting(_TIMEOUT, 120.0, least=0.01)
    result: Future[httpx.Response] = Future()

    def read() -> None:
        try:
            content, raw, until = bytearray(), 0, monotonic() + seconds
            with client.stream("POST", url, json=body, headers={**headers, **_AS_IT_IS}) as response:
                unpack = _unpacking(response.headers.get("content-encoding", "").lower())
                for chunk in response.iter_raw():
                    raw += len(chunk)
                    content += unpack(chunk, _MOST_BYTES + 1 - len(content))
                    if max(raw, len(content)) > _MOST_BYTES or monotonic() > until:
                        raise _MalformedError(f"more than {_MOST_BYTES:,} bytes or {seconds:g} s of response")
                plain = {k: v for k, v in response.headers.items() if k.lower() == "retry-after"}
                answer = httpx.Response(response.status_code, headers=plain, content=bytes(content))
            result.set_result(answer)
        except (httpx.HTTPError, httpx.StreamError, _MalformedError, OSError, RuntimeError) as error:
            result.set_exception(error)

    Thread(target=read, daemon=True).start()
    try:
        return result.result(timeout=seconds + _GRACE)
    except TimeoutError as error:
        raise httpx.ReadTimeout(f"no whole response within {seconds:g} s ({_TIMEOUT})") from error


def _unpacking(encoding: str) -> Callable[[bytes, int], bytes]:
    """Return what turns a chunk of a response into at most so many bytes, for one layer of packing."""
    if encoding in ("", "identity"):
        return lambda chunk, most: chunk
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise _MalformedError(f"a response packed as {_cut(encoding)}, which was not asked for")
    stream = zlib.decompressobj(zlib.MAX_WBITS | 32)  # either of the two, by its first bytes

    def unpack(chunk: bytes, most: int) -> bytes:
        try:
            return stream.decompress(chunk, most)
        except zlib.error as error:
            raise _MalformedError(f"a damaged response ({error})") from error

    return unpack


def masked_key(text: str, key: str) -> str:
    """The text without a key, as JSON and addresses write it, in capitals, reversed, in base 64, in part.

    A part of ten characters can be enough to recognise a key by, and a key with fewer is a word, which masks
    itself alone.

    >>> masked_key("it is 3210FEDCBA-ks", "sk-abcdef0123456789")
    'it is ***'
    """
    for form in dict.fromkeys([key, json.dumps(key)[1:-1], quote(key)]):
        text = text.replace(form, _MASK)
    return text if len(key) < _PART else _without_parts(text, _parts(key))


@lru_cache(maxsize=2)
def _parts(key: str) -> frozenset[str]:
    """All runs of ten characters of a key's forms, in small letters."""
    plain = key.encode()
    # A text before the key moves it within the groups of three bytes that base 64 writes together.
    packed = [b64encode(b" " * shift + plain).decode()[4 if shift else 0 :] for shift in range(3)]
    forms = [
        key,
        key[::-1],
        quote(key),
        plain.hex(),
        *packed,
        *(form.translate(_URL_SAFE) for form in packed),
    ]
    small = [form.rstrip("=").lower() for form in forms]
    return frozenset(form[start : start + _PART] for form in small for start in range(len(form) - _PART + 1))


def _without_parts(text: str, parts: frozenset[str]) -> str:
    """The text with one mask for every stretch of it that is made of such parts."""
    small = text.translate(_SMALL)  # ASCII alone: other letters may change their number
    kept: list[str] = []
    end = marked = 0
    for start in range(len(small) - _PART + 1):
        if small[start : start + _PART] in parts:
            if start > marked or not kept:
                kept += [text[end:start], _MASK]
            marked = end = start + _PART
    return "".join([*kept, text[end:]]) if kept else text


def _cut(text: str) -> str:
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "...")


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that the server asks for; None for a date or anything else."""
    with suppress(KeyError, ValueError):
        return max(0.0, float(response.headers["retry-after"]))
    return None


def checked_host(endpoint: str) -> str:
    """Return the host of an address, which must be one that may stand in a signature."""
    try:
        parts = urlsplit(endpoint)
        host = parts.hostname
    except ValueError as error:
        raise SpecError(f"endpoint= is not an address: {error}; write http://127.0.0.1:8000/v1") from error
    if any(mark in endpoint for mark in "@?#") or not endpoint.isprintable():
        raise SpecError(f"endpoint= must not hold a user, key or query: signatures are stored; set {_KEY}")
    if parts.scheme not in ("http", "https") or not host:
        raise SpecError(f"endpoint={endpoint!r} is not an address; write http://127.0.0.1:8000/v1")
    return host


def _key(host: str, endpoint: str) -> str | None:
    """Return the key for this host; it never goes over plain HTTP to another machine."""
    names = (_KEY, _OPENAI_KEY) if host == _OPENAI else (_KEY,)
    key = next(filter(None, map(os.environ.get, names)), "").strip()  # most files of keys end with a newline
    if not all("!" <= character <= "~" for character in key):  # httpx would show it in its message
        raise SpecError(f"the key in {_KEY} holds blanks or other characters that no header takes; check it")
    if key and endpoint.startswith("http:") and not _is_loopback(host):
        raise SpecError(f"endpoint={endpoint}: a key is not sent over plain http; use https, or unset {_KEY}")
    return key or None


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):  # another name
        return host == "localhost" or ip_address(host).is_loopback
    return False


def setting(name: str, default: float, *, least: float) -> float:
    """Return a number from the environment."""
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
