"""The server of the page: on this machine only, for who has the token.

Everything lies below an address that nobody can guess. Requests from other places (`Host`,
`Origin`) and requests with a body are refused before anything else looks at them.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from forebay._explore import protocol
from forebay._explore.results import Results
from forebay._explore.stage import Client, Stage, said

HOST = "127.0.0.1"
LARGEST_MESSAGE = 1 << 18
"""Bytes of a message of the page."""
MOST_ASKED = 32
"""Messages of a tab that may wait to be obeyed; it cannot send more until one of them is."""
MOST_UNREAD = 50
"""Messages that a tab may leave unread before nothing more is taken from it."""
MOST_WAITING = 500
"""Messages that a tab may leave unread before it counts as gone."""
PAGE = Path(str(resources.files("forebay._explore"))) / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
)
"""What the page may load: nothing from elsewhere."""


class Guard:
    """Refuses what does not come from the page itself."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        """In front of `app`, which is to be reached as one of `hosts` ("127.0.0.1:8000")."""
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on what is allowed."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refusal(headers)
        if refused is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            # Refused before it is open: the browser is told 403.
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            status, why = refused
            await PlainTextResponse(f"{why}\n", status)(scope, receive, send)

    def _refusal(self, headers: Headers) -> tuple[int, str] | None:
        if headers.get("host") not in self._hosts:
            return 403, "This server answers only on its own address."
        origin = headers.get("origin")
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            return 403, "Requests from other pages are refused."
        if headers.get("transfer-encoding") or int(headers.get("content-length") or 0) > 0:
            return 413, "Nothing is to be sent here."
        return None


def application(stage: Stage, token: str, port: int) -> ASGIApp:
    """The server's application."""
    results = Results(stage, f"/{token}/report")

    async def index(_request: Request) -> Response:
        headers = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
        return FileResponse(PAGE / "index.html", headers=headers)

    async def report(_request: Request) -> Response:
        if results.page is None:
            return PlainTextResponse("There is no report yet.\n", 404)
        return Response(results.page, media_type="text/html")

    async def live(socket_: WebSocket) -> None:
        await socket_.accept()
        await _serve(socket_, stage, results)

    @contextlib.asynccontextmanager
    async def life(_app: Starlette):  # type: ignore[no-untyped-def]
        stage.start()
        yield
        results.stop()
        stage.stop()

    below = [
        Route("/", index),
        Route("/report", report),
        WebSocketRoute("/live", live),
        Mount("/static", StaticFiles(directory=PAGE)),
    ]
    routes = [Mount(f"/{token}", routes=below)]
    hosts = frozenset({f"{HOST}:{port}", f"localhost:{port}"})
    return Guard(Starlette(routes=routes, lifespan=life), hosts)


async def _serve(socket_: WebSocket, stage: Stage, results: Results) -> None:
    """A tab, until it goes."""
    loop = asyncio.get_running_loop()
    outbox: asyncio.Queue[str] = asyncio.Queue()
    has_sent = asyncio.Event()
    room = asyncio.Semaphore(MOST_ASKED)

    def soon(act: Callable[..., object], *words: str) -> None:
        # The stage may still speak when the server has ended.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(act, *words)

    def put(text: str) -> None:
        if outbox.qsize() < MOST_WAITING:
            outbox.put_nowait(text)
        else:
            sender.cancel()

    async def send() -> None:
        while True:
            await socket_.send_text(await outbox.get())
            has_sent.set()

    async def receive() -> None:
        while True:
            text = await socket_.receive_text()
            while outbox.qsize() >= MOST_UNREAD:
                has_sent.clear()
                await has_sent.wait()
            try:
                command = protocol.command(text)
            except ValueError as error:
                put(said("error", str(error)))
                continue
            await room.acquire()
            done = partial(soon, room.release)
            if not results.takes(client, command, done):
                stage.post(client, command, done)

    client = Client(partial(soon, put))
    sender, receiver = asyncio.create_task(send()), asyncio.create_task(receive())
    stage.connect(client)
    try:
        await asyncio.wait((sender, receiver), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stage.disconnect(client)
        for task in (sender, receiver):
            task.cancel()
        # It has gone, sent no text, or does not read what it is sent.
        await asyncio.gather(sender, receiver, return_exceptions=True)
        with contextlib.suppress(WebSocketDisconnect, RuntimeError, asyncio.TimeoutError):
            await asyncio.wait_for(socket_.close(), 1)


def server(stage: Stage, token: str, port: int) -> uvicorn.Server:
    """The server of `application`, to be run on a socket that listens at `port`."""
    config = uvicorn.Config(
        application(stage, token, port),
        log_level="error",
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=LARGEST_MESSAGE,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def run(
    stage: Stage, port: int = 0, *, ready: Callable[[str], None], story: str | None = None
) -> None:
    """Serve the page until the process is interrupted; `ready` is told its address."""
    token = secrets.token_urlsafe(18)
    with socket.create_server((HOST, port)) as listening:
        port = listening.getsockname()[1]
        place = "" if story is None else f"#story={story}&step=1"
        ready(f"http://{HOST}:{port}/{token}/{place}")
        server(stage, token, port).run(sockets=[listening])
