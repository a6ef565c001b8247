"""Things chosen by name, from bela and from other packages."""

import sys
from pathlib import Path

import pytest

from bela._registry import Registry
from bela.errors import ParameterError


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Install packages into a folder of their own: a module each, with its entry points."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    modules = set(sys.modules)

    def install(name: str, code: str, **points: str) -> Path:
        (tmp_path / f"{name}.py").write_text(code)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = "".join(f"{point} = {value}\n" for point, value in points.items())
        (info / "entry_points.txt").write_text(f"[bela.shapes]\n{lines}")
        return tmp_path / f"{name}.py"

    yield install
    for module in set(sys.modules) - modules:
        del sys.modules[module]


def shapes(**entries) -> Registry[object]:
    return Registry("shape", "bela.shapes", entries)


def test_what_is_registered_is_found_by_its_name():
    """Entries come from the start, by a call or by a decorator, and are listed in that order."""
    registry = shapes(square=4)
    registry.add("triangle", 3)

    @registry.register("circle")
    class Circle:
        pass

    assert registry["square"] == 4
    assert registry["circle"] is Circle
    assert registry.names == tuple(registry) == ("square", "triangle", "circle")
    assert "circle" in registry
    assert "line" not in registry


def test_an_unknown_name_is_told_with_those_there_are():
    """The error lists the names."""
    with pytest.raises(ParameterError, match="there is no shape 'line': choose one of square, circle"):
        shapes(square=4, circle=0)["line"]


def test_a_name_is_given_once():
    """A second entry of the same name is refused."""
    with pytest.raises(ParameterError, match="there is a shape 'square' already"):
        shapes(square=4).add("square", 5)


def test_a_module_is_imported_when_it_is_chosen(outside):
    """An entry "module:attribute" costs nothing until then, and is imported once."""
    outside("heavy", "class Cube: pass")
    registry = shapes(cube="heavy:Cube", square=4)
    assert registry["square"] == 4
    assert "heavy" not in sys.modules
    assert registry["cube"] is registry["cube"] is sys.modules["heavy"].Cube


def test_other_packages_add_theirs(outside):
    """An entry point is listed after what is there, and is imported only when it is chosen."""
    outside("theirs", "class Star: pass", star="theirs:Star", arrow="theirs:Star")
    registry = shapes(square=4)
    assert registry.names == ("square", "arrow", "star")
    assert "theirs" not in sys.modules
    assert registry["star"] is sys.modules["theirs"].Star
    assert registry.names == ("square", "arrow", "star")


def test_what_comes_with_bela_is_not_replaced(outside):
    """An entry point with the name of a built-in entry is not looked at."""
    outside("theirs", "raise RuntimeError", square="theirs:Square")
    registry = shapes(square=4)
    assert registry.names == ("square",)
    assert registry["square"] == 4


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("x = ", "SyntaxError"),
        ("class Other: pass", "AttributeError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
    ],
)
def test_a_broken_package_is_named(outside, code, message):
    """One sentence says which package it is and what it said; the rest goes on working."""
    outside("theirs", code, star="theirs:Star")
    registry = shapes(square=4)
    with pytest.raises(ParameterError, match=f"the shape 'star' of the package 'theirs' cannot be loaded: {message}"):
        registry["star"]
    assert registry["square"] == 4


def test_two_packages_that_add_the_same_name_are_named(outside):
    """Which of them is meant cannot be told."""
    outside("theirs", "Star = 1", star="theirs:Star")
    outside("others", "Star = 2", star="others:Star")
    with pytest.raises(ParameterError, match="each add a shape 'star'") as caught:
        shapes()["star"]
    assert "'theirs'" in str(caught.value)
    assert "'others'" in str(caught.value)
