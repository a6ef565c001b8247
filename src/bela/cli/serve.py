"""`bela serve`: the labelling page of a campaign, for a team."""

from bela.cli._by_hand import label_by_hand
from bela.cli._model_options import HelperOptions, ModelOptions
from bela.cli._options import FolderOptions, JsonTo, LabelOptions, PeopleOptions, Place, TeamOptions, with_options


@with_options
def serve(
    data: Place,
    *,
    options: LabelOptions,
    people: PeopleOptions,
    help_from: HelperOptions,
    model: ModelOptions,
    folder: FolderOptions,
    json_file: JsonTo = None,
    page: TeamOptions,
) -> None:
    """Serve the labelling page of a campaign to several people, each with a name.

    Begins a campaign, or goes on with the one that is there. Nobody gets a question that somebody else has before
    them. Reachable from this machine only, unless --host says otherwise; then the page asks for the token that is in
    the address.
    """
    label_by_hand(
        data, options, folder, page, people,
        help_from=help_from, model=model, json_file=json_file, command="bela serve",
    )  # fmt: skip
