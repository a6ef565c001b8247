"""An audit of labels on the page, with the keyboard."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def guesses(digits_file) -> list[str]:
    """The labels under audit: one in forty is wrong."""
    digits = np.load(digits_file)["digit"]
    return [str((digit + (row % 40 == 0)) % 10) for row, digit in enumerate(digits)]


@pytest.fixture(scope="module")
def audit(serve, digits_file, guesses, tmp_path_factory):
    """A server of the audit."""
    path = tmp_path_factory.mktemp("audit") / "digits.npz"
    known = np.load(digits_file)
    np.savez(path, image=known["image"], digit=known["digit"], guess=np.array(guesses, dtype=int))
    return serve("audit", data=path, method="audit", prediction="guess", hidden=["digit"], target=0.8)


def shown_label(visitor) -> str:
    """The label under audit that is on the screen."""
    return visitor.page.text_content(".suggested strong")


def test_labels_are_judged_until_there_is_a_verdict(audit, visit, truth, guesses):
    """Enter says right, n says wrong, the key of a class says what is right, Backspace takes it back."""
    visitor = visit(audit.url)
    first = visitor.row
    assert shown_label(visitor) == guesses[first]
    assert "Not decided" in visitor.page.text_content(".certificate-body .sentence")
    visitor.press("n")
    visitor.settle()
    assert audit.get("state")["audit"]["n_mistakes"] == 1
    visitor.press("Backspace")
    assert visitor.row == first
    assert audit.get("state")["audit"]["n_mistakes"] == 0
    other = str((int(guesses[first]) + 1) % 10)
    visitor.press(other)
    visitor.settle()
    assert audit.get("state")["audit"]["n_mistakes"] == 1
    visitor.press("Backspace")
    for _ in range(200):
        visitor.settle()  # so that the verdict, if there is one, does not come between the look and the key
        row = visitor.row_or_end
        if row is None:
            break
        assert shown_label(visitor) == guesses[row]
        visitor.press("Enter" if guesses[row] == truth[row] else "n")
    assert "Certified: at least 80\u00a0%" in visitor.page.text_content(".reached")
    visitor.settle()
    state = audit.get("state")
    assert (state["stop_reason"], state["audit"]["verdict"]) == ("target", "certified")
    visitor.page.goto(f"{audit.url}#/report")
    visitor.wait("() => document.querySelector('.summary')?.textContent.includes('as it is: at least')")


def test_buttons_do_what_the_keys_do_and_the_label_can_be_hidden(serve, digits_file, guesses, visit, tmp_path):
    """Right and wrong have buttons; whoever would rather not know the label gives one, and sees no buttons."""
    path = tmp_path / "digits.npz"
    np.savez(path, image=np.load(digits_file)["image"], guess=np.array(guesses, dtype=int))
    server = serve("buttons", data=path, method="audit", prediction="guess", target=0.9)
    visitor = visit(server.url)
    before = visitor.row
    visitor.page.click("[data-verdict=wrong]")
    visitor.wait("(before) => document.querySelector('h1').textContent !== `Row ${before}`", before)
    before = visitor.row
    visitor.page.click("[data-verdict=right]")
    visitor.wait("(before) => document.querySelector('h1').textContent !== `Row ${before}`", before)
    visitor.settle()
    state = server.get("state")
    assert (state["answers"], state["audit"]["n_mistakes"]) == (2, 1)
    visitor.page.click(".switches .check")
    visitor.wait("() => !document.querySelector('[data-verdict]')")
    visitor.press("3")
    visitor.settle()
    assert server.get("state")["answers"] == 3
