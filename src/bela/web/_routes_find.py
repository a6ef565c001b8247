"""Finding rows among all of them."""

from fastapi import APIRouter

from bela.views import FoundPlace, FoundRows, Wanted
from bela.web._context import Service
from bela.web._models import FindIn

router = APIRouter(tags=["find"])


@router.post("/rows/find")
def post_find(body: FindIn, service: Service) -> FoundRows:
    """Return rows by what is in them, by label, source, confidence, and by what people did with them."""
    after = None if body.after is None else FoundPlace(row=body.after.row, probability=body.after.probability)
    wanted = Wanted(**body.model_dump(exclude={"by", "after", "limit"}))
    return service.find(body.by, wanted, after, body.limit)
