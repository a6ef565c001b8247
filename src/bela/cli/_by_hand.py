"""People who answer: on the page or in the terminal, in a campaign that is begun or taken up again."""

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType

from bela.campaign import StoredCampaign
from bela.cli._answering import choose_helper, helping, show_prompt
from bela.cli._auditing import AuditLabeller, audit_in_terminal
from bela.cli._campaigns import folder_of, is_campaign, open_or_create
from bela.cli._model_options import HelperOptions, ModelOptions
from bela.cli._options import CampaignOptions, FolderOptions, PageOptions, PeopleOptions, TeamOptions
from bela.cli._output import Output
from bela.cli._overview import Overview
from bela.cli._terminal import TerminalLabeller, label_in_terminal
from bela.errors import ParameterError


def label_by_hand(
    data: str, options: CampaignOptions, folder: FolderOptions, page: PageOptions | None,
    people: PeopleOptions, *, help_from: HelperOptions, model: ModelOptions, json_file: str | None, command: str,
) -> None:  # fmt: skip
    """Let people answer on the page, or in the terminal where there is none; `command` is how to go on."""
    output = Output(json_file)
    path = folder_of(data, folder)
    helper = choose_helper(help_from, model, path if is_campaign(path) else None, method=options.method)
    if helper is None and (model.choice().said() or model.show_prompt):
        raise ParameterError("what is said about a language model is for --helper llm: leave it out")
    with open_or_create(data, path, options, folder, output, background=True) as stored:
        if model.show_prompt and helper is not None:
            for line in show_prompt(stored, helper, model, output):
                output.say(line)
            return
        with helping(stored, helper, model, output):
            if page is None:
                answer_in_terminal(stored, output, again=people.again)
            else:
                answer_on_page(stored, output, page, people)
        found = Overview(stored)
    output.finish(found.to_json(), found.summary(command))


def answer_in_terminal(
    stored: StoredCampaign, output: Output, known: Mapping[int, str | None] = MappingProxyType({}), *,
    again: float = 0.0,
) -> None:  # fmt: skip
    """Let the person in the terminal answer; what is `known` of labels under audit is not asked.

    Nothing is suggested there, whether a row is drawn at random or not; the share `again` of draws is asked twice.
    """
    campaign, column = stored.campaign, stored.settings.prediction
    if column is None:
        named = () if stored.settings.id_column is None else (stored.settings.id_column,)
        shown = tuple(dict.fromkeys((*named, *stored.plan.shown)))
        labeller = TerminalLabeller(output.console, stored.records, campaign.classes, shown)
        label_in_terminal(campaign, labeller, again=again)
    else:
        shown = tuple(name for name in stored.records.columns if name not in (*stored.hidden, column))
        audit_in_terminal(campaign, AuditLabeller(output.console, stored.records, campaign, column, shown), known)


def answer_on_page(
    stored: StoredCampaign, output: Output, page: PageOptions, people: PeopleOptions | None = None
) -> None:
    """Serve the page until somebody stops it, which is how it ends."""
    from bela.web import serve, trust_proxy

    team = page if isinstance(page, TeamOptions) else TeamOptions()
    people = people or PeopleOptions()
    with suppress(KeyboardInterrupt):
        serve(
            stored, say=output.say,
            host=page.host, port=page.port, open_browser=page.browser, token=page.token,
            team=team is page, overlap=team.overlap, lease_seconds=team.lease, hosts=tuple(team.name or ()),
            root_path=team.root_path or "", owner=team.owner,
            proxy=trust_proxy(team.proxy_header, tuple(team.proxy or ()), team.proxy_secret),
            again=people.again, suggest_draws=people.suggest_draws,
        )  # fmt: skip
