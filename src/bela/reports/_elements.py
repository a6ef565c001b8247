"""HTML as a tree of elements, so that whatever is put into it as text stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias
from xml.etree.ElementTree import Element, ParseError, XMLParser, tostring

Child: TypeAlias = "Element | str | Iterable[Child] | None"

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # what no document may hold


def h(tag: str, *children: Child, **attributes: str | None) -> Element:
    """Return an element; `tag` may name classes as in "p.note", and an attribute called `dir_` is `dir`.

    Examples
    --------
    >>> to_html(h("p.note", "1 < 2 ", h("b", "& more"), title='a "name"'))
    '<p class="note" title="a &quot;name&quot;">1 &lt; 2 <b>&amp; more</b></p>'
    """
    name, *classes = tag.split(".")
    element = Element(name, {"class": " ".join(classes)} if classes else {})
    for key, value in attributes.items():
        if value is not None:
            element.set(key.rstrip("_").replace("_", "-"), as_text(value))
    add(element, children)
    return element


def add(element: Element, child: Child) -> None:
    """Put something at the end of an element."""
    if child is None:
        return
    if isinstance(child, Element):
        element.append(child)
    elif isinstance(child, str):
        if len(element):
            element[-1].tail = (element[-1].tail or "") + as_text(child)
        else:
            element.text = (element.text or "") + as_text(child)
    else:
        for one in child:
            add(element, one)


def as_text(text: str) -> str:
    """Return a text without the signs that no document may hold, a mark in their places.

    Examples
    --------
    >>> as_text("a\\x00b\\ud800c")
    'a\\ufffdb\\ufffdc'
    """
    return _NO_TEXT.sub("\ufffd", text)


def to_html(element: Element) -> str:
    """Return an element as HTML."""
    return tostring(element, encoding="unicode", method="html")


def parse_fragment(source: str) -> Element | None:
    """Return well-formed markup of our own as an element, None if it is not well-formed."""
    parser = XMLParser()  # noqa: S314 - not from outside: what Matplotlib or Markdown made, without declarations
    try:
        parser.feed(f"<div>{as_text(source)}</div>")
        root: Element = parser.close()
    except ParseError:
        return None
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in list(element.attrib):
            if "}" in name:
                element.attrib[name.rpartition("}")[2]] = element.attrib.pop(name)
    return root
