"""A change of the public API has a line in the CHANGELOG; nothing goes without a deprecation."""

import importlib.util
import sys
from pathlib import Path

import pytest

import trellis

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def api():
    """tools/api.py, which is no package."""
    spec = importlib.util.spec_from_file_location("api", ROOT / "tools" / "api.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["api"] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


@pytest.mark.needs("jax", "torch", "tensorflow")  # names of readers and writers need theirs
def test_changes_are_announced(api):
    records = api.stored()
    made = api.changes(list(records.values())[-1], api.current())
    problems = api.missing(made, api.unreleased(), records, trellis.__version__)
    assert not problems, "\n".join(problems.values())


def test_the_record_is_of_the_api(api):
    """Functions, classes and methods are in it, with what a call can say."""
    newest = list(api.stored().values())[-1]
    assert newest["trellis.exp"]["parameters"] == [["x", "POSITIONAL_ONLY", None]]
    assert ["momentum", "POSITIONAL_OR_KEYWORD", "0"] in newest["trellis.optim.SGD"]["parameters"]
    assert newest["trellis.nn.Module.save_weights"]["parameters"][1][0] == "path"
    assert newest["trellis.pi"]["parameters"] is None
    assert "trellis.nn.Linear.save_weights" not in newest  # once, with its class


def test_a_member_may_move_to_a_base_class(api):
    assert api.look_up("trellis.nn.Linear.save_weights", {})["parameters"][1][0] == "path"
    assert api.look_up("trellis.nn.Linear.unknown", {}) is None


def test_members_of_a_new_class_are_news_with_it(api):
    own = {"parameters": None}
    old = {"trellis.Old": own}
    new = {**old, "trellis.Old.more": own, "trellis.New": own, "trellis.New.part": own}
    made = api.changes(old, new, found_in=lambda path, names: names.get(path))
    assert [change.path for change in made] == ["trellis.Old.more", "trellis.New"]


def parameters(api, fn):
    return api.described(fn)["parameters"]


COMPATIBLE = [
    (lambda x, /: 0, lambda y, /: 0),
    (lambda x, /: 0, lambda x: 0),
    (lambda x, /: 0, lambda x, /, *, axis=0: 0),
    (lambda x: 0, lambda x, y=1: 0),
    (lambda x, *, axis: 0, lambda x, axis=0: 0),
    (lambda x=1: 0, lambda x=2: 0),
    (lambda **options: 0, lambda *, dtype=None, **options: 0),
]
INCOMPATIBLE = [
    (lambda x: 0, lambda y: 0, "does not take 'x'"),
    (lambda x, y: 0, lambda y, x: 0, "does not take 'x' where"),
    (lambda x, y=1: 0, lambda x, z=1, y=1: 0, "does not take 'y' where"),
    (lambda x: 0, lambda x, /: 0, "takes 'x' in another way"),
    (lambda x, axis=0: 0, lambda x, *, axis=0: 0, "takes 'axis' in another way"),
    (lambda x, axis=0: 0, lambda x, axis: 0, "needs 'axis', which had a default"),
    (lambda x, /: 0, lambda x, y, /: 0, "needs 'y', which is new"),
    (lambda x, /: 0, lambda x, /, *, axis: 0, "needs 'axis', which is new"),
    (lambda x, y, /: 0, lambda x, /: 0, "does not take 'y'"),
    (lambda *xs: 0, lambda x: 0, "any number"),
    (lambda **options: 0, lambda: 0, "any number"),
]


@pytest.mark.parametrize("old, new", COMPATIBLE)
def test_calls_that_still_work(api, old, new):
    assert api.incompatibility(parameters(api, old), parameters(api, new)) is None


@pytest.mark.parametrize("old, new, what", INCOMPATIBLE)
def test_calls_that_do_not(api, old, new, what):
    assert what in api.incompatibility(parameters(api, old), parameters(api, new))


def problems_of(api, old, new, news="", records=None, version="0.3.0"):
    made = api.changes(old, new, lambda path, found: found.get(path))
    return api.missing(made, news, records or {"0.2.0": old}, version)


def test_what_a_change_needs(api):
    one = {"trellis.f": {"parameters": [["x", "POSITIONAL_ONLY", None]]}}
    two = {
        "trellis.f": {"parameters": [["x", "POSITIONAL_ONLY", None], ["y", "KEYWORD_ONLY", "0"]]}
    }
    other = {**one, "trellis.g": {"parameters": None}}
    assert problems_of(api, one, one) == {}
    assert "`g`: write one" in problems_of(api, one, other)["trellis.g"]
    assert problems_of(api, one, other, "- `trellis.g` is a thing.") == {}
    assert "`g`: write one" in problems_of(api, one, other, "- `trellis.go`, `big`")["trellis.g"]
    assert "has other parameters" in problems_of(api, one, two)["trellis.f"]
    assert problems_of(api, one, two, "- `f(x, y=1)`") == {}
    # A line alone is not enough where calls stop working.
    assert "DeprecationWarning" in problems_of(api, one, {}, "- `f` is gone")["trellis.f"]
    assert "DeprecationWarning" in problems_of(api, two, one, "- `f`")["trellis.f"]


def test_a_removal_after_two_minor_versions(api):
    plain = {"trellis.f": {"parameters": None}}
    advice = "write g; gone in 0.5, not before 2027-06"
    marked = {"trellis.f": {"parameters": None, "deprecated": advice}}
    news = "- `f` is removed: write g."
    assert "is deprecated, and no line" in problems_of(api, plain, marked)["trellis.f"]
    once = {"0.2.0": plain, "0.3.0": marked, "0.3.1": marked}
    assert "is gone" in problems_of(api, marked, {}, news, once, "0.4.0")["trellis.f"]
    twice = {**once, "0.4.0": marked}
    assert problems_of(api, marked, {}, news, twice, "0.5.0") == {}
    assert "no line" in problems_of(api, marked, {}, "", twice, "0.5.0")["trellis.f"]
    # A major version may remove what it announces.
    assert problems_of(api, plain, {}, news, {"0.2.0": plain}, "1.0.0") == {}


@pytest.mark.parametrize("advice", ["write g", "write g; gone in 0.5", "gone on 2027-06"])
def test_a_deprecation_names_its_version_and_date(api, advice):
    plain = {"trellis.f": {"parameters": None}}
    marked = {"trellis.f": {"parameters": None, "deprecated": advice}}
    news = "- `f` is deprecated: write g."
    assert "name the version that removes it" in problems_of(api, plain, marked, news)["trellis.f"]
    marked["trellis.f"]["deprecated"] = f"{advice}; gone in 0.5, not before 2027-06"
    assert problems_of(api, plain, marked, news) == {}
