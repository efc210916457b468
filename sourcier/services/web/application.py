"""All routes in one application, behind the guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from sourcier.services.chassis.errors import NotFound
from sourcier.services.web.connect.bridge import Bridge
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.guard import Guard, send_error
from sourcier.services.web.mcp.server import open_http
from sourcier.services.web.openai.chat import ChatCompletions, Models, unknown
from sourcier.services.web.openai.embeddings import Embeddings
from sourcier.services.web.pages import Pages
from sourcier.services.web.refusals import refusal
from sourcier.services.web.rest.conversations import Answers, Conversations, Questions
from sourcier.services.web.rest.health import Health
from sourcier.services.web.rest.jobs import Jobs
from sourcier.services.web.rest.texts import Texts
from sourcier.services.web.rest.uploads import Uploads
from sourcier.services.web.rest.vectors import VectorRoutes
from sourcier.services.web.settings import WebSettings
from sourcier.services.web.signin.provider import Provider
from sourcier.services.web.signin.routes import SignIn, TermsOfGateway
from sourcier.services.web.signin.sealing import Seal
from sourcier.services.web.signin.sessions import COOKIE, Sessions, WithSessions

ANY = ("GET", "POST", "PUT", "PATCH", "DELETE")


@asynccontextmanager
async def open_application(settings: WebSettings, gateway: Gateway) -> AsyncIterator[ASGIApp]:
    """Open the application over a gateway."""
    provider, terms = Provider(client_secret=settings.oidc_client_secret.get_secret_value()), TermsOfGateway(gateway)
    sessions = Sessions(
        Seal(settings.session_secret.get_secret_value(), name=COOKIE), provider, terms.terms,
        seconds_max=settings.session_seconds_max,
    )
    sign_in = SignIn(gateway, settings, provider, sessions, terms)
    try:
        async with open_http(gateway, settings) as mcp:
            routes = _routes(settings, gateway, mcp, sign_in)
            layered = WithSessions(_Named(Router(routes, redirect_slashes=False, default=_nothing_there)), sessions)
            yield Guard(layered, hosts=settings.host_names, origins=settings.allowed_origins)
    finally:
        await provider.close()


def _routes(settings: WebSettings, gateway: Gateway, mcp: ASGIApp, sign_in: SignIn) -> list[Route]:
    pages = Pages()
    return [
        Route("/health", Health(gateway).get),
        *_rest(settings, gateway),
        *_openai(settings, gateway),
        Route("/mcp", mcp),
        Route("/sourcier.{method:path}", Bridge(
            gateway, body_bytes_max=settings.body_bytes_max, body_seconds_max=settings.body_seconds_max
        )),
        Route("/auth/login", sign_in.login),
        Route("/auth/callback", sign_in.callback),
        Route("/auth/session", sign_in.session),
        Route("/auth/key", sign_in.key, methods=["POST"]),
        Route("/auth/logout", sign_in.logout, methods=["POST"]),
        Route("/{path:path}", pages.serve, methods=["GET"]),
    ]


def _rest(settings: WebSettings, gateway: Gateway) -> list[Route]:
    uploads = Uploads(gateway, bytes_max=settings.upload_bytes_max, files_max=settings.upload_files_max,
                      seconds_max=settings.upload_seconds_max, at_once_max=settings.uploads_at_once_max)
    jobs, texts, vectors = Jobs(gateway), Texts(gateway, settings), VectorRoutes(gateway, settings)
    return [
        Route("/api/documents/text", texts.ingest, methods=["POST"]),
        Route("/api/conversations", Conversations(gateway, settings).create, methods=["POST"]),
        Route("/api/conversations/{conversation_id}/messages", Questions(gateway, settings, streams=True),
              methods=["POST"]),
        Route("/api/answers/{answer_id}", Answers(gateway, settings), methods=["GET"]),
        Route("/embed", vectors.embed, methods=["POST"]),
        Route("/embed_batch", vectors.embed_batch, methods=["POST"]),
        *(Route(path, vectors.rerank, methods=["POST"]) for path in ("/rerank", "/v1/rerank", "/v2/rerank")),
        Route("/api/documents/upload", uploads.upload, methods=["POST"]),
        Route("/api/jobs/{job_id}", jobs.get),
        # RAGFab's own paths.
        Route("/api/admin/documents/upload", uploads.upload, methods=["POST"]),
        Route("/api/documents/jobs/{job_id}", jobs.get),
        Route("/api/chat", Questions(gateway, settings, streams=False), methods=["POST"]),
    ]


def _openai(settings: WebSettings, gateway: Gateway) -> list[Route]:
    models = Models(gateway)
    return [
        Route("/v1/models", models.list),
        Route("/v1/models/{model:path}", models.get),
        Route("/v1/embeddings", Embeddings(gateway, settings).create, methods=["POST"]),
        Route("/v1/chat/completions", ChatCompletions(gateway, settings), methods=["POST"]),
        # Whatever the method: a client reads no other body than this dialect's.
        *(Route(path, unknown, methods=ANY) for path in ("/v1", "/v1/{path:path}")),
    ]


class _Named:
    """Tells the route's path to what measures."""

    def __init__(self, router: Router) -> None:
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._router(scope, receive, send)
        finally:
            route = scope.get("route")
            if isinstance(route, Route):
                scope.setdefault("route_name", route.path)


async def _nothing_there(scope: Scope, receive: Receive, send: Send) -> None:
    path = Request(scope).url.path
    await send_error(send, refusal(NotFound(f"there is nothing at {scope['method']} {path[:200]!r}")))
