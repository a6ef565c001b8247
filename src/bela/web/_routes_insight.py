"""What has come of it so far: status, rows, leaves, classes, people, and the course of the bound."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response, StreamingResponse

from bela import views
from bela.web._context import Me, Service, ready
from bela.web._models import PeopleOut, Tab
from bela.web._roles import open_to_annotators, shown_to

router = APIRouter(tags=["insight"])
Number = Annotated[int, Path(ge=0, lt=2**31)]
Offset = Annotated[int, Query(ge=0, lt=2**31)]
Limit = Annotated[int, Query(ge=1, le=100)]


@router.get("/state", response_model=views.CampaignStatus)
@open_to_annotators
def get_state(service: Service, me: Me) -> Response:
    """Return the status of the campaign."""
    return ready(shown_to(me, service.status(), service))


@router.get("/events", response_class=StreamingResponse)
@open_to_annotators
async def get_events(request: Request, me: Me, tab: Tab = "") -> StreamingResponse:
    """Send the status whenever it changes, as server-sent events; for as long as it listens, a tab is in sight."""
    return StreamingResponse(request.app.state.broadcast.lines(me, tab), media_type="text/event-stream")


@router.get("/rows/{row}")
def get_row(row: Number, service: Service) -> views.LabelledRow:
    """Return a row with its label."""
    return service.monitor.row(row)


@router.get("/rows/{row}/images/{column:path}", response_class=Response)
@open_to_annotators
def get_image(row: Number, column: str, service: Service) -> Response:
    """Return the picture of a row, as PNG or JPEG."""
    content, kind = service.pictures.picture(row, column)
    return Response(content, media_type=kind)


@router.get("/leaves")
def get_leaves(service: Service) -> list[views.LeafView]:
    """Return the leaves, the largest first."""
    return service.monitor.leaves()


@router.get("/leaves/{leaf}/rows")
def get_leaf_rows(leaf: Number, service: Service, offset: Offset = 0, limit: Limit = 60) -> list[views.LabelledRow]:
    """Return rows of a leaf, the least certain first."""
    return service.monitor.leaf_rows(leaf, offset, limit)


@router.get("/history")
@open_to_annotators
def get_history(service: Service, me: Me) -> list[views.ChartPoint]:
    """Return what was certain after how many answers; nothing for those who must not know it."""
    return service.monitor.history() if me.is_owner or not service.second_opinions else []


@router.get("/classes")
def get_classes(service: Service) -> views.ClassOverview:
    """Return the classes, and what is mistaken for what."""
    return service.monitor.classes()


@router.get("/parts")
def get_parts(service: Service) -> views.PartsNow:
    """Return what is certified by class, and how many rows are sure; it may take a while, so ask for it seldom."""
    return service.monitor.parts()


@router.get("/people")
def get_people(service: Service) -> PeopleOut:
    """Return who answers, and how far they agree."""
    with service.lock:
        return PeopleOut(people=service.status().people, agreement=views.agreement_of(service.stored.campaign.book))


@router.get("/disagreements")
def get_disagreements(
    service: Service, settled: bool = False, offset: Offset = 0, limit: Limit = 100
) -> list[views.Disagreement]:
    """Return rows that people see differently."""
    with service.lock:
        book, view = service.stored.campaign.book, service.view
        return views.disagreements(book, view, settled=settled, offset=offset, limit=limit)
