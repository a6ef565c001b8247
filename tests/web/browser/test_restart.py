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
