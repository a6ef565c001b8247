"""Rows and their pictures."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi.responses import Response

from bela.web._context import Service
from bela.web._models import RowOut

router = APIRouter(tags=["rows"])
Row = Annotated[int, Path(ge=0, lt=2**31)]


@router.get("/rows/{row}", response_model=RowOut)
def get_row(row: Row, service: Service) -> dict[str, Any]:
    """Return a row with its label."""
    return service.row(row)


@router.get("/rows/{row}/images/{column:path}", response_class=Response)
def get_image(row: Row, column: str, service: Service) -> Response:
    """Return the picture of a row, as PNG or JPEG."""
    content, kind = service.pictures.picture(row, column)
    return Response(content, media_type=kind)
