"""`bela run`: a campaign that a column, a function, a command or a language model answers, up to the target."""

import time

from bela.cli._answering import choose_helper, choose_oracle, have_answered, helping, show_prompt
from bela.cli._campaigns import folder_of, is_about_dataset, is_campaign, open_or_create
from bela.cli._model_options import HelperOptions, ModelOptions
from bela.cli._options import AnswerOptions, FolderOptions, JsonTo, LabelOptions, Place, StopAfter, with_options
from bela.cli._output import Output
from bela.cli._overview import Overview


@with_options
def run(
    data: Place,
    *,
    answering: AnswerOptions,
    help_from: HelperOptions,
    model: ModelOptions,
    options: LabelOptions,
    stop_after: StopAfter = None,
    folder: FolderOptions,
    json_file: JsonTo = None,
) -> None:
    """Have a dataset labelled by a column, a function, a command or a language model, until the target is certified.

    Everything is kept in the folder of the campaign, each answer as soon as it is given: the same command goes on.
    """
    output = Output(json_file)
    path = folder_of(data, folder)
    with output.apart():
        begun, model_helps = path if is_campaign(path) else None, help_from.helper == "llm"
        brings_truth = is_about_dataset(data, path)
        answerer = choose_oracle(answering, model, brings_truth=brings_truth, model_helps=model_helps, begun=begun)
        helper = choose_helper(help_from, model, begun, method=options.method)
    start = time.perf_counter()
    with open_or_create(data, path, options, folder, output, truth=answerer.truth_column) as stored:
        if model.show_prompt:
            for line in show_prompt(stored, helper if helper and model_helps else answerer.make, model, output):
                output.say(line)
            return
        with helping(stored, helper, model, output):
            accuracy = have_answered(stored, answerer, output, stop_after=stop_after)
        found = Overview(stored)
    seconds = round(time.perf_counter() - start, 3)
    words = found.summary("")
    if accuracy is not None:
        words.insert(3, f"In truth {100 * accuracy:.2f} % are right: only a simulation can know this.")
    output.finish({**found.to_json(), "accuracy": accuracy, "seconds": seconds}, [*words, f"{seconds:.1f} s."])
