"""The widget itself: anywidget's model, which passes messages between the page of a notebook and a campaign."""

import functools
from pathlib import Path
from typing import Any

from bela.notebook._answering import NotebookAnswering

_HERE = Path(__file__).parent


@functools.cache
def widget_class() -> Any:
    """Return the class of the widget, made when it is first needed: not everybody has the packages for it."""
    import anywidget
    import traitlets

    class CampaignWidget(anywidget.AnyWidget):  # type: ignore[misc]
        """Shows one question after the other; what it shows is in `state`, which the page follows."""

        _esm = _HERE / "widget.js"
        _css = _HERE / "widget.css"
        state = traitlets.Dict().tag(sync=True)

        def __init__(self, answering: NotebookAnswering) -> None:
            self._answering = answering
            super().__init__(state=answering.handle({"action": "show"}))
            self.on_msg(self._take)

        def __repr__(self) -> str:
            return f"<CampaignWidget: {self.state['answers']:,} answers. {self.state['claim']}>"

        def _take(self, _: object, message: object, buffers: object) -> None:
            """Do what was asked for; the page sees the outcome when it is on disk."""
            self.state = self._answering.handle(message)

    return CampaignWidget
