"""One shape for every error: a kind, and a sentence that says what is wrong."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from bela.errors import (
    BelaError,
    DataError,
    ExportError,
    JournalError,
    LabelError,
    ParameterError,
    QuestionError,
)
from bela.web._models import ErrorOut

_LOG = logging.getLogger("bela.web")
_STATUS: tuple[tuple[type[BelaError], int, str], ...] = (
    (QuestionError, 404, "question"),
    (LabelError, 400, "label"),
    (ParameterError, 400, "parameter"),
    (DataError, 400, "data"),
    (ExportError, 409, "export"),
    (JournalError, 503, "journal"),  # such as a full disk: nothing was taken in, and it can be tried again
)
_KINDS = {401: "token", 403: "origin", 404: "address", 405: "method", 413: "size"}

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorOut, "description": HTTPStatus(status).phrase} for status in (400, 401, 403, 404, 409, 413)
}
"""What the schema says about errors, for every route."""


class Conflict(BelaError):  # noqa: N818 - reads as what happened
    """Something that cannot be done as things stand."""


def error_response(status: int, kind: str, message: str) -> JSONResponse:
    """Return an error in the one shape."""
    sentence = " ".join(message.split()).encode("utf-8", "replace").decode()[:2000]
    return JSONResponse({"error": {"kind": kind, "message": sentence}}, status_code=status)


def add_error_handlers(app: FastAPI) -> None:
    """Let all errors leave in the one shape."""
    app.add_exception_handler(BelaError, _on_bela_error)
    app.add_exception_handler(RequestValidationError, _on_bad_body)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_surprise)


def describe_errors(app: FastAPI) -> None:
    """Let the schema say what is so: FastAPI's own 422 never leaves, as a bad body is answered with 400."""
    schema = app.openapi()  # made once, and kept by the application
    for operations in schema["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(name, None)


def _on_bela_error(_: Request, error: Exception) -> JSONResponse:
    if isinstance(error, Conflict):
        return error_response(409, "conflict", str(error))
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            return error_response(status, name, str(error))
    return error_response(400, "input", str(error))


def _on_bad_body(_: Request, error: Exception) -> JSONResponse:
    found = error.errors()[0] if isinstance(error, RequestValidationError) and error.errors() else {}
    place = ".".join(str(part) for part in found.get("loc", ()) if part not in ("body", "query", "path"))
    message = str(found.get("msg", "the request makes no sense"))
    return error_response(400, "input", f"{place[:200]}: {message}" if place else message)


def _on_http_error(_: Request, error: Exception) -> JSONResponse:
    status = error.status_code if isinstance(error, HTTPException) else 500
    message = str(error.detail) if isinstance(error, HTTPException) else "something went wrong"
    if status == 422:
        status = 400
    response = error_response(status, _KINDS.get(status, "input"), message)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


def _on_surprise(_: Request, error: Exception) -> JSONResponse:
    _LOG.error("a request failed", exc_info=error)
    return error_response(500, "internal", "something went wrong inside: the server's log says what")
