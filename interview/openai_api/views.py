"""`/v1/*`: chat completions and models as OpenAI's clients expect them, with personal tokens, each a queued run."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import structlog
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.views.decorators.csrf import csrf_exempt

from interview.openai_api import follow, translate
from interview.openai_api.answers import ChunkWriter, completion
from interview.openai_api.bodies import ChatBody, parse_body
from interview.openai_api.errors import Refused
from interview.runs.models import Run
from interview.runs.selectors import worker_ready
from interview.runs.services import IdempotencyConflict, QuotaExceeded, run_create

View = Callable[..., Coroutine[Any, Any, HttpResponseBase]]
NO_TOKEN = "Send `Authorization: Bearer` with a personal token. Make one under /account/tokens/."
log = structlog.get_logger(__name__)


def endpoint(*methods: str) -> Callable[[View], View]:
    """These methods, a personal token, and errors in OpenAI's shape whatever happens."""

    def decorate(view: View) -> View:
        @csrf_exempt
        @wraps(view)
        async def answer(request: HttpRequest, **parts: Any) -> HttpResponseBase:
            try:
                _admit(request, methods)
                return await view(request, **parts)
            except Refused as refusal:
                return _with_allow(refusal, methods)
            except Exception:
                log.exception("openai_api_failed", path=request.path)
                return Refused(
                    500, "internal_error", "Something here failed. It is recorded; try again."
                ).response()

        return answer

    return decorate


def _admit(request: HttpRequest, methods: tuple[str, ...]) -> None:
    if request.method not in methods:
        raise Refused(405, "method_not_allowed", f"{request.path} answers {' and '.join(methods)}.")
    if not getattr(request, "by_token", False):
        raise Refused(401, "invalid_api_key", NO_TOKEN)


def _with_allow(refusal: Refused, methods: tuple[str, ...]) -> HttpResponse:
    response = refusal.response()
    if refusal.status == 405:
        response["Allow"] = ", ".join(methods)
    if refusal.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


@endpoint("GET")
async def models(request: HttpRequest) -> HttpResponseBase:
    """The one model that the workers run."""
    return JsonResponse({"object": "list", "data": [_model()]})


@endpoint("GET")
async def model(request: HttpRequest, name: str) -> HttpResponseBase:
    """A model by name."""
    _check_model(name)
    return JsonResponse(_model())


def _model() -> dict[str, Any]:
    folder = Path(settings.MODELS_DIR) / settings.ENGINE_MODEL
    created = int(folder.stat().st_mtime) if folder.exists() else 0
    return {"id": settings.ENGINE_MODEL, "object": "model", "created": created, "owned_by": "prefill"}


def _check_model(name: str) -> None:
    if name != settings.ENGINE_MODEL:
        raise Refused(
            404,
            "model_not_found",
            f"There is no model {name!r} here. This server runs {settings.ENGINE_MODEL!r}.",
            "model",
        )


@endpoint("POST")
async def chat_completions(request: HttpRequest) -> HttpResponseBase:
    """Queue a run and wait for it, streaming or not. A client that goes away cancels it."""
    try:
        body = parse_body(request.body)
    except RequestDataTooBig as error:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raise Refused(413, "request_too_large", f"The body is over {limit} bytes.") from error
    _check_model(body.model)
    run = await sync_to_async(_run)(request, body)
    if body.stream:
        return _streamed(run, body)
    try:
        async for _ in follow.run_follow(run):
            pass
    except asyncio.CancelledError:
        await follow.cancel(run)
        raise
    return JsonResponse(completion(await follow.outcome(run), body.model), headers=_headers(run))


@endpoint("GET", "POST", "PUT", "PATCH", "DELETE")
async def unknown(request: HttpRequest, path: str) -> HttpResponseBase:
    """Everything else under /v1/."""
    raise Refused(404, "unknown_url", f"This server doesn't answer {request.path}. It has /v1/models and /v1/chat/completions.")  # fmt: skip


def _run(request: HttpRequest, body: ChatBody) -> Run:
    """The queued run. Raises Refused with 4xx, 429 or 503."""
    made = translate.run_input(body)
    if not worker_ready():
        raise Refused(503, "no_worker", "No worker is ready. Try again in a few seconds.", retry_after=5)
    try:
        return run_create(
            owner=request.user,  # type: ignore[arg-type]  # a token's owner
            kind="chat",
            input=made,
            idempotency_key=_key(request.headers.get("Idempotency-Key", "")),
        )
    except QuotaExceeded as full:
        raise Refused(429, "rate_limit_exceeded", str(full), retry_after=full.retry_after) from full
    except IdempotencyConflict as conflict:
        raise Refused(409, "idempotency_conflict", str(conflict)) from conflict


def _key(header: str) -> str | None:
    """Keys of this API and of the site's own forms never meet; long ones are folded to fit their column."""
    return uuid.uuid5(uuid.NAMESPACE_URL, header).hex + "-chat" if header else None


def _headers(run: Run) -> dict[str, str]:
    return {"X-Request-Id": str(run.pk), "Openai-Processing-Ms": _milliseconds(run)}


def _milliseconds(run: Run) -> str:
    done = run.finished and run.started
    return str(round((run.finished - run.started).total_seconds() * 1000)) if done and run.finished and run.started else "0"  # fmt: skip


def _streamed(run: Run, body: ChatBody) -> StreamingHttpResponse:
    options = body.stream_options
    writer = ChunkWriter(run, body.model, include_usage=bool(options and options.include_usage))
    return StreamingHttpResponse(
        _chunks(run, writer),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no", "X-Request-Id": str(run.pk)},
    )


async def _chunks(run: Run, writer: ChunkWriter) -> AsyncIterator[bytes]:
    """Chunks until the run has ended. Whoever stops reading before that cancels it."""
    over = False
    try:
        async for event, data in follow.run_follow(run):
            if event == "tokens":
                for line in writer.tokens(data["tokens"]):
                    yield line
            elif event == "restart" and writer.any_sent:
                raise Refused(500, "interrupted", "The worker stopped. Send the request again.")
        over = True
        for line in writer.closing((await follow.outcome(run)).output or {}):
            yield line
    except Refused as refusal:
        over = over or refusal.code != "interrupted"
        yield writer.error(refusal.body)
    finally:
        if not over:
            await follow.cancel(run)
