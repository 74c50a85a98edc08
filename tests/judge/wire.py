"""For the wire's tests: a proxy that fails on purpose, and a real server that tells probabilities."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx


class Proxy:
    """Passes requests on to a server, after playing the faults it was given, one a request."""

    def __init__(self, target: str, faults: list[str]) -> None:
        self.target, self.faults = target, deque(faults)
        self.played: list[str] = []
        self.keys: list[str | None] = []
        self.bodies: list[dict[str, Any]] = []
        self.answers: list[str] = []
        self.lock = threading.Lock()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                with proxy.lock:
                    fault = proxy.faults.popleft() if proxy.faults else ""
                    proxy.played.append(fault)
                    proxy.keys.append(self.headers.get("authorization"))
                    proxy.bodies.append(json.loads(body))
                getattr(self, f"_{fault or 'pass'}")(body)

            def _drop(self, body: bytes) -> None:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True

            def _busy(self, body: bytes) -> None:
                self._send(429, b'{"error": "slow down"}', {"Retry-After": "0.2"})

            def _malformed(self, body: bytes) -> None:
                self._send(200, b"<html>oops", {})

            def _empty(self, body: bytes) -> None:
                self._send(200, b'{"choices": []}', {})

            def _rambling(self, body: bytes) -> None:
                self._say("I would rather not say.", {})

            def _mute(self, body: bytes) -> None:
                self._say(None, {})

            def _four(self, body: bytes) -> None:
                self._say("4", {"prompt_tokens": 5, "completion_tokens": 1})

            def _untold(self, body: bytes) -> None:
                self._say("4", {"prompt_tokens": "x", "completion_tokens": -5})

            def _say(self, text: str | None, usage: dict[str, Any]) -> None:
                answer = {"choices": [{"message": {"content": text}}], "usage": usage}
                self._send(200, json.dumps(answer).encode(), {})

            def _refused(self, body: bytes) -> None:
                self._send(
                    401, json.dumps({"error": f"bad {self.headers.get('authorization')}"}).encode(), {}
                )

            def _echoed(self, body: bytes) -> None:
                self._send(
                    404, json.dumps({"error": f"no model, {self.headers.get('authorization')}"}).encode(), {}
                )

            def _no_odds(self, body: bytes) -> None:
                self._send(400, b'{"error": "logprobs is not supported"}', {})

            def _pass(self, body: bytes) -> None:
                with httpx.Client(timeout=300, trust_env=False) as client:
                    found = client.post(proxy.target + self.path, content=body,
                                        headers={"content-type": "application/json"})  # fmt: skip
                with proxy.lock:
                    proxy.answers.append(found.text)
                self._send(found.status_code, found.content, {})

            def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        return Handler


@contextmanager
def proxied(target: str, faults: list[str]) -> Iterator[tuple[Proxy, str]]:
    """A proxy on loopback, and the endpoint it offers."""
    proxy = Proxy(target, faults)
    server = ThreadingHTTPServer(("127.0.0.1", 0), proxy.handler())
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield proxy, f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def odds_server() -> Iterator[str]:
    """A small OpenAI-compatible server on smollm2's weights that answers with top_logprobs.

    `transformers serve` tells no probabilities; this one exists for that half of the protocol alone.
    """
    import torch
    import uvicorn
    from fastapi import FastAPI

    from assay.models.torch import load

    loaded = load("AutoModelForCausalLM", "smollm2")
    app = FastAPI()

    @app.post("/v1/chat/completions")
    def complete(body: dict[str, Any]) -> dict[str, Any]:
        text = loaded.tokenizer.apply_chat_template(
            body["messages"], tokenize=False, add_generation_prompt=True
        )
        ids = loaded.tokenizer.encode(text, add_special_tokens=False)
        with torch.inference_mode():
            logs = loaded.model(torch.tensor([ids])).logits[0, -1].float().log_softmax(dim=-1)
        best = logs.topk(body["top_logprobs"])
        rows = [{"token": loaded.tokenizer.decode([at]), "logprob": value}
                for at, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)]  # fmt: skip
        first = {**rows[0], "top_logprobs": rows}
        usage = {"prompt_tokens": len(ids), "completion_tokens": 1}
        message = {"role": "assistant", "content": rows[0]["token"]}
        return {"choices": [{"message": message, "logprobs": {"content": [first]}}], "usage": usage}

    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
