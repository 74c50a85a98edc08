"""Servers on loopback that answer as judges of today do; their grade is how many words a text shares with the reference.

For a look at one from the command line: `python tests/judge/standins.py KIND` prints its address and serves until it is ended.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REFERENCE = re.compile(r"^Reference:\n(.*?)\n\n", re.M | re.S)
TEXTS = re.compile(r"^Text(?: A| B| to judge):\n(.*?)\n\n(?=\S)", re.M | re.S)
Body = dict[str, Any]
THOUGHT = "The user wants a grade. The text has 2 sentences; is it a 3? Perhaps 1 word is missing. " * 4


class Refusal(Exception):
    """What the server does not take."""


def overlap(text: str, reference: str) -> float:
    """The share of the reference's words that the text has."""
    words, wanted = (set(re.findall(r"\w+", each.lower())) for each in (text, reference))
    return len(words & wanted) / max(1, len(wanted))


def decision(body: Body) -> str:
    """The grade of 1 to 5, or of a pair the letter."""
    prompt = body["messages"][-1]["content"]
    reference = " ".join(REFERENCE.findall(prompt)) or prompt
    shares = [overlap(text, reference) for text in TEXTS.findall(prompt)]
    if len(shares) == 2:
        return "A" if shares[0] >= shares[1] else "B"
    return str(1 + round(4 * shares[0]))


def strict(body: Body, number: int) -> str:
    """As reasoning models behind OpenAI's interface: other names, and no say in the sampling."""
    for name in ("max_tokens", "temperature", "logprobs"):
        if name in body:
            use = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
            raise Refusal(f"Unsupported parameter: '{name}' is not supported with this model.{use}")
    return decision(body)


def thinking(body: Body, number: int) -> str:
    return f"<think>\n{THOUGHT}\n</think>\n\n{decision(body)}"


def worded(body: Body, number: int) -> str:
    grade = decision(body)
    verdict = f"I rate it {grade}/5" if grade.isdigit() else f"I prefer text {grade}"
    return f"(2 sentences) {verdict}"


def as_json(body: Body, number: int) -> str:
    """Answers in the schema that it is given."""
    schema = body["response_format"]["json_schema"]["schema"]
    field = schema["required"][-1]
    value = decision(body)
    return json.dumps({field: int(value) if value.isdigit() else value})


def prose(body: Body, number: int) -> str:
    return "This is a thoughtful piece of writing, and I would rather talk about it than put a number on it."


def turncoat(body: Body, number: int) -> str:
    """Grades from 1 to 5, and from the 40th answer on from 1 to 10."""
    grade = int(decision(body))
    return f"{grade}/5" if number < 40 else f"{2 * grade}/10"


KINDS: dict[str, Callable[[Body, int], str]] = {
    "strict": strict, "thinking": thinking, "worded": worded, "json": as_json, "prose": prose, "turncoat": turncoat,
}  # fmt: skip


class StandIn:
    """What a server was asked and answered."""

    def __init__(self, kind: str) -> None:
        self.answer = KINDS[kind]
        self.bodies: list[Body] = []  # of answered questions
        self.refused: list[Body] = []
        self.read = self.written = 0
        self.lock = threading.Lock()

    def reply(self, body: Body) -> tuple[int, Body]:
        """The status and the document; an answer is cut at the limit of its tokens, which are its words here."""
        with self.lock:
            number = len(self.bodies)
            try:
                text = self.answer(body, number)
            except Refusal as error:
                self.refused.append(body)
                return 400, {"error": {"message": str(error), "type": "invalid_request_error"}}
            self.bodies.append(body)
        tokens = re.findall(r"\s*\S+", text)
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        written, read = tokens[:limit], sum(len(turn["content"].split()) for turn in body["messages"])
        with self.lock:
            self.read += read
            self.written += len(written)
        finish = "stop" if len(tokens) <= limit else "length"
        message = {"role": "assistant", "content": "".join(written)}
        usage = {"prompt_tokens": read, "completion_tokens": len(written)}
        return 200, {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


@contextmanager
def standing_in(kind: str) -> Iterator[tuple[StandIn, str]]:
    """A server of this kind, and the endpoint it offers."""
    stand_in = StandIn(kind)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, document = stand_in.reply(body)
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield stand_in, f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


if __name__ == "__main__":
    with standing_in(sys.argv[1]) as (served, address):
        print(address, flush=True)
        sys.stdin.read()  # until the input is closed
        print(
            f"{len(served.bodies)} answered, {len(served.refused)} refused, {served.read} read, {served.written} written"
        )
