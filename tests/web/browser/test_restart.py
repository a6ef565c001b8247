"""A server that is killed and started again while somebody answers."""


def test_kill_and_restart_lose_nothing(visit, serve):
    """Answers given before, while and after the server is gone are all there, each once."""
    server = serve("killed", answered=20, classes=[str(digit) for digit in range(10)])
    ada = visit(server.url, alarmed=False)
    rows = [ada.answer() for _ in range(3)]
    server.kill()
    rows += [ada.answer() for _ in range(3)]
    ada.page.locator("#away", has_text="kept in this browser").wait_for()
    server.start()
    ada.settle()
    ada.page.locator("#away").wait_for(state="hidden")
    rows += [ada.answer() for _ in range(3)]
    ada.settle()
    assert len(set(rows)) == 9
    assert server.get("state")["answers"] == 29
    assert all(server.get(f"rows/{row}")["label"] == ada.truth[row] for row in rows)


def test_nobody_of_a_team_has_to_log_in_again(visit, serve):
    """Pages of two people go on with their rows when the server is back, and links are as good as before."""
    server = serve("again", answered=20, serving={"team": True}, classes=[str(digit) for digit in range(10)])
    bo = visit(server.url, "Bo", role="annotator", alarmed=False)
    cy = visit(server.url, "Cy", role="annotator", alarmed=False)
    rows = [person.answer() for person in (bo, cy)]
    server.kill()
    rows += [person.answer() for person in (bo, cy)]
    server.start()
    for person in (bo, cy):
        person.settle()
        person.page.locator("#away").wait_for(state="hidden")
        rows.append(person.answer())
        person.settle()
    assert len({*rows}) == 6
    assert [server.answers_of(name, 3) for name in ("Bo", "Cy")] == [3, 3]
    assert all(server.get(f"rows/{row}")["label"] == bo.truth[row] for row in rows)
    visit(server.url, "Bo", beside=bo)  # by the link that there was
