"""One shape for every error: a kind, and a sentence that says what is wrong."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from bela import errors
from bela.web._models import ErrorOut

_LOG = logging.getLogger("bela.web")
_STATUS: tuple[tuple[type[errors.BelaError], int, str], ...] = (
    (errors.QuestionError, 404, "question"),
    (errors.LabelError, 400, "label"),
    (errors.ParameterError, 400, "parameter"),
    (errors.DataError, 400, "data"),
    (errors.ExportError, 409, "export"),
    (errors.JournalError, 503, "journal"),  # such as a full disk: nothing was taken in, and it can be tried again
)
_KINDS = {401: "token", 403: "role", 404: "address", 405: "method", 409: "conflict", 413: "size", 429: "busy"}

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorOut, "description": HTTPStatus(status).phrase}
    for status in (400, 401, 403, 404, 409, 413, 429)
}
"""What the schema says about errors, for every route."""


def error_response(status: int, kind: str, message: str) -> JSONResponse:
    """Return an error in the one shape."""
    sentence = " ".join(message.split()).encode("utf-8", "replace").decode()[:2000]
    return JSONResponse({"error": {"kind": kind, "message": sentence}}, status_code=status)


def add_error_handlers(app: FastAPI) -> None:
    """Let all errors leave in the one shape."""

    @app.exception_handler(errors.BelaError)
    def on_bela_error(_: Request, error: errors.BelaError) -> JSONResponse:
        found = ((status, name) for kind, status, name in _STATUS if isinstance(error, kind))
        return error_response(*next(found, (400, "input")), str(error))

    @app.exception_handler(RequestValidationError)
    def on_bad_body(_: Request, error: RequestValidationError) -> JSONResponse:
        found = error.errors()[0] if error.errors() else {}
        place = ".".join(str(part) for part in found.get("loc", ()) if part not in ("body", "query", "path"))
        message = str(found.get("msg", "the request makes no sense"))
        return error_response(400, "input", f"{place[:200]}: {message}" if place else message)

    @app.exception_handler(HTTPException)
    def on_http_error(_: Request, error: HTTPException) -> JSONResponse:
        status = 400 if error.status_code == 422 else error.status_code
        response = error_response(status, _KINDS.get(status, "input"), str(error.detail))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    def on_surprise(_: Request, error: Exception) -> JSONResponse:
        _LOG.error("a request failed", exc_info=error)
        return error_response(500, "internal", "something went wrong inside: the server's log says what")


def describe_errors(app: FastAPI) -> None:
    """Let the schema say what is so: FastAPI's own 422 never leaves, as a bad body is answered with 400."""
    schema = app.openapi()  # made once, and kept by the application
    for operations in schema["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(name, None)
