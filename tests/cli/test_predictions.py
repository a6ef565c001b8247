"""Predictions on the command line: simulate, run, certify --mend, predict."""

import numpy as np
import pytest


@pytest.fixture
def predicted(tmp_path):
    """A table of texts, two thirds of which a model has labelled right, surer where it is."""
    rng = np.random.default_rng(0)
    path = tmp_path / "said.csv"
    lines = ["n,text,truth,model,sure"]
    for i in range(240):
        truth = ["up", "down", "flat"][rng.integers(3)]
        right = rng.random() < 0.8
        said = truth if right else ["up", "down", "flat"][rng.integers(3)]
        lines.append(f"{i},it went {truth} {rng.integers(9)},{truth},{said},{0.5 * right + 0.5 * rng.random():.2f}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_simulate_takes_predictions(call, predicted):
    """The columns of a prediction are no features, and its labels are there from the first answer on."""
    done = call(
        "simulate", predicted, "--truth", "truth", "--prediction", "model:sure", "--target", "0.8", "--json", "-"
    )
    found = done.json
    assert found["certificate"]["lower"] >= 0.8
    assert found["trajectory"][0]["accuracy"] > 0.7


def test_a_column_that_is_not_there(call, predicted):
    """One sentence says so."""
    done = call("simulate", predicted, "--truth", "truth", "--prediction", "gpt", status=2)
    assert "there is no column 'gpt'" in done.err


def test_run_keeps_predictions(call, predicted):
    """They are in the settings; another prediction contradicts them; new rows need them as well."""
    options = ("--truth", "truth", "--prediction", "model:sure", "--target", "0.8")
    call("run", predicted, *options)
    folder = predicted.with_suffix(".bela")
    assert 'predictions = [\n    [\n        "model"' in (folder / "campaign.toml").read_text(encoding="utf-8")
    call("run", predicted, *options)
    assert "contradicts" in call("run", predicted, "--truth", "truth", "--prediction", "n", status=2).err
    call("verify", folder)
    new = predicted.with_name("new.csv")
    call("predict", folder, predicted, "--to", new)
    assert len(new.read_text(encoding="utf-8").splitlines()) == 241
    fewer = predicted.with_name("fewer.csv")
    fewer.write_text("n,text\n1,it went up 3\n", encoding="utf-8")
    assert "'model'" in call("predict", folder, fewer, "--to", new, status=2).err


def test_certify_mends(call, predicted):
    """Labels that do not meet the target are put right until they do."""
    place = ("--label", "model", "--score", "sure", "--truth", "truth", "--target", "0.95")
    assert call("certify", predicted, *place, "--json", "-", status=1).json["verdict"] == "refuted"
    found = call("certify", predicted, *place, "--mend", "--json", "-").json
    assert found["verdict"] == "certified"
    assert found["n_mistakes"] > 10
    assert found["certificate"]["lower"] >= 0.95


@pytest.fixture
def apart(predicted):
    """The same predictions in a file of their own, in the order of the rows."""
    rows = [line.split(",") for line in predicted.read_text(encoding="utf-8").splitlines()]
    predicted.write_text("\n".join(",".join(row[:3]) for row in rows), encoding="utf-8")
    path = predicted.with_name("gpt.csv")
    path.write_text("\n".join(",".join([row[0], *row[3:]]) for row in rows), encoding="utf-8")
    return path


def test_predictions_in_a_file_of_their_own(call, predicted, apart):
    """They are kept with the campaign, which goes on without the file; new rows bring their own."""
    options = ("--truth", "truth", "--prediction", f"{apart}:model:sure", "--target", "0.8")
    found = call("simulate", predicted, *options, "--json", "-").json
    assert found["certificate"]["lower"] >= 0.8
    assert found["trajectory"][0]["accuracy"] > 0.7
    call("run", predicted, *options)
    call("run", predicted, *options)
    folder = predicted.with_suffix(".bela")
    new = ("--prediction", f"{apart}:model:sure", "--to", predicted.with_name("new.csv"))
    call("predict", folder, predicted, *new)
    assert "name one FILE for each" in call("predict", folder, predicted, *new[2:], status=2).err
    other = call("run", predicted, "--truth", "truth", "--prediction", f"{apart}:model", status=2).err
    assert "contradicts" in other
    apart.unlink()
    assert call("verify", folder).status == 0


def test_rows_of_a_file_by_their_ids(call, predicted, apart):
    """In another order, and for some of the rows: the ids say which is which."""
    head, *lines = apart.read_text(encoding="utf-8").splitlines()
    apart.write_text("\n".join([head, *lines[200:50:-1]]), encoding="utf-8")
    options = ("--truth", "truth", "--prediction", f"{apart}:model:sure", "--target", "0.8")
    assert "has 150 rows and the data have 240" in call("simulate", predicted, *options, status=2).err
    found = call("simulate", predicted, *options, "--id", "n", "--json", "-").json
    assert found["certificate"]["lower"] >= 0.8
    begun = call("run", predicted, *options, "--id", "n", "--budget", "10")
    assert "has the ids of 150 of 240 rows" in begun.out
    apart.write_text("\n".join([head, *(f"x{line}" for line in lines)]), encoding="utf-8")
    assert "none of the ids" in call("simulate", predicted, *options, "--id", "n", status=2).err


@pytest.mark.parametrize("column", ["", "gpt", "model:gpt"])
def test_a_file_without_that_column(call, predicted, apart, column):
    """One sentence says which there are."""
    said = call("simulate", predicted, "--truth", "truth", "--prediction", f"{apart}:{column}", status=2).err
    assert "gpt.csv has n, model, sure" in said


def test_texts_are_no_predictions(call, predicted):
    """A column with nearly as many values as rows has no classes in it."""
    said = call("simulate", predicted, "--truth", "truth", "--prediction", "n", status=2).err
    assert "240 different values in 240 rows" in said


def test_scores_in_percent(call, predicted):
    """93 % is a number; a column without any is told with how to write them."""
    lines = [line.split(",") for line in predicted.read_text("utf-8").splitlines()]
    for end in (" %", " sure"):
        shares = [f"{100 * float(line[-1]):.0f}{end}" for line in lines[1:]]
        rows = [",".join((*line[:-1], share)) for line, share in zip(lines[1:], shares, strict=True)]
        predicted.write_text("\n".join((",".join(lines[0]), *rows)), encoding="utf-8")
        options = ("simulate", predicted, "--truth", "truth", "--prediction", "model:sure", "--budget", "20")
        done = call(*options, status=2 if end == " sure" else 0)
        assert ("write them as 0.93" in done.err) == (end == " sure")


def test_predictions_that_name_the_classes_otherwise(call, predicted):
    """Labels that differ by capitals are other classes, which is told: nobody would see why it takes so long."""
    head, *rows = predicted.read_text("utf-8").splitlines()
    cells = [row.split(",") for row in rows]
    rows = [",".join((*row[:3], row[3].upper(), row[4])) for row in cells]
    predicted.write_text("\n".join((head, *rows)), encoding="utf-8")
    options = (predicted, "--truth", "truth", "--prediction", "model:sure", "--budget", "20")
    assert "are two classes here" in call("simulate", *options).err
    assert "are two classes here" in call("run", *options).out


def test_predictions_of_what_is_no_class(call, predicted):
    """Where classes were declared, or are known, it is said of how many rows a prediction says nothing."""
    head, *rows = predicted.read_text("utf-8").splitlines()
    cells = [row.split(",") for row in rows]
    rows = [",".join((*row[:3], row[3].replace("up", "rising"), row[4])) for row in cells]
    n_strange = sum(",rising," in row for row in rows)
    predicted.write_text("\n".join((head, *rows)), encoding="utf-8")
    options = (predicted, "--truth", "truth", "--prediction", "model:sure", "--budget", "20")
    told = f"names no class in {n_strange} rows, such as 'rising'"
    assert told in call("simulate", *options).err
    assert told in call("run", *options, "--classes", "up,down,flat").out
    assert "names no class" not in call("run", *options, "--campaign", predicted.with_name("open.bela")).out


def test_a_score_that_is_not_there(call, predicted):
    """The column that is missing is the one that is named."""
    done = call("simulate", predicted, "--truth", "truth", "--prediction", "model:confidence", status=2)
    assert "there is no column 'confidence'" in done.err


def test_a_prediction_without_labels(call, predicted):
    """It would say nothing about any row, and is taken for a slip; no campaign is left behind."""
    head, *rows = predicted.read_text("utf-8").splitlines()
    predicted.write_text("\n".join((f"{head},blank", *(f"{row}," for row in rows))), encoding="utf-8")
    for command in ("simulate", "run"):
        done = call(command, predicted, "--truth", "truth", "--prediction", "blank", status=2)
        assert "'blank' has no label for any row" in done.err
    assert not predicted.with_suffix(".bela").exists()
