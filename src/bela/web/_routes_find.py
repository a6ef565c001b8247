"""Finding rows among all of them."""

from fastapi import APIRouter

from bela.views import FoundPlace, FoundRows, Wanted
from bela.web._context import Me, Service
from bela.web._models import FindIn
from bela.web._roles import open_to_annotators

router = APIRouter(tags=["find"])


@router.post("/rows/find")
@open_to_annotators
def post_find(body: FindIn, service: Service, me: Me) -> FoundRows:
    """Return rows by what is in them, by label, source, confidence, and by what people did with them.

    Annotators see the labels that they gave themselves, and no others.
    """
    after = None if body.after is None else FoundPlace(row=body.after.row, probability=body.after.probability)
    wanted = Wanted(**body.model_dump(exclude={"after", "limit"}))
    return service.find(me.name, wanted, after, body.limit, own=not me.is_owner)
