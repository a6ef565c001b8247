"""What has come of it so far: leaves, classes, people, and the course of the bound."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from bela.web._classes import change_classes, class_overview
from bela.web._context import Service
from bela.web._models import (
    ClassesIn,
    ClassesOut,
    DisagreementOut,
    LeafOut,
    PeopleOut,
    PointOut,
    RelabelIn,
    RowOut,
    StateAfter,
)
from bela.web._team import agreement, disagreements, settle

router = APIRouter(tags=["insight"])
Offset = Annotated[int, Query(ge=0, lt=2**31)]
Limit = Annotated[int, Query(ge=1, le=100)]


@router.get("/leaves", response_model=list[LeafOut])
def get_leaves(service: Service) -> list[dict[str, Any]]:
    """Return the leaves, the largest first."""
    return service.leaves()


@router.get("/leaves/{leaf}/rows", response_model=list[RowOut])
def get_leaf_rows(
    leaf: Annotated[int, Path(ge=0, lt=2**31)], service: Service, offset: Offset = 0, limit: Limit = 60
) -> list[dict[str, Any]]:
    """Return rows of a leaf, the least certain first."""
    return service.leaf_rows(leaf, offset, limit)


@router.get("/history", response_model=list[PointOut])
def get_history(service: Service) -> list[dict[str, Any]]:
    """Return what was certain after how many answers."""
    return service.history()


@router.get("/classes", response_model=ClassesOut)
def get_classes(service: Service) -> dict[str, Any]:
    """Return the classes, and what is mistaken for what."""
    return class_overview(service)


@router.post("/classes", response_model=StateAfter)
def post_classes(body: ClassesIn, service: Service) -> dict[str, Any]:
    """Add, rename or merge classes."""
    change_classes(service, body.by, body.action, body.label, body.to)
    return {"state": service.state()}


@router.get("/people", response_model=PeopleOut)
def get_people(service: Service) -> dict[str, Any]:
    """Return who answers, and how far they agree."""
    return {"people": service.state()["people"], "agreement": agreement(service)}


@router.get("/disagreements", response_model=list[DisagreementOut])
def get_disagreements(
    service: Service, settled: bool = False, offset: Offset = 0, limit: Limit = 100
) -> list[dict[str, Any]]:
    """Return rows that people see differently."""
    return disagreements(service, settled=settled, offset=offset, limit=limit)


@router.post("/settle", response_model=StateAfter)
def post_settle(body: RelabelIn, service: Service) -> dict[str, Any]:
    """Say what a row is that people see differently."""
    settle(service, body.by, body.row, body.label)
    return {"state": service.state()}
