"""What holds for all of `trellis.optim`: rows, signatures and documentation for each name."""

import ast
import importlib
import inspect
import pkgutil
import re

import pytest

import trellis
from optim_cases import OPTIMIZERS, SCHEDULES, TRANSFORMATIONS
from trellis import optim
from trellis.optim import schedules

ROWS = {row.name for row in [*OPTIMIZERS, *TRANSFORMATIONS, *SCHEDULES]}
# No formula of their own: types, and what tests/optim/test_optim.py tests by name.
WITHOUT_ROW = {
    "Transformation",
    "ParameterAverage",
    "apply_updates",
    "global_norm",
    "groups",
    "hutchinson_diagonal",
    "matrices_only",
    "sharpness_aware",
}


def public():
    """All names that a user writes after `trellis.optim.`."""
    found = {name: value for name, value in vars(optim).items() if is_ours(value)}
    own = {
        f"schedules.{name}": value
        for name, value in vars(schedules).items()
        if is_ours(value) and inspect.getmodule(value) is schedules and name != "Formula"
    }
    return {**found, **own}


def is_ours(value):
    is_code = inspect.isfunction(value) or inspect.isclass(value)
    return is_code and value.__module__.startswith("trellis.optim") and value.__name__[0] != "_"


PUBLIC = public()


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_has_a_row(name):
    assert (name in ROWS) != (name in WITHOUT_ROW), (
        f"write a row for {name} in tests/optim_cases.py"
    )


def test_rows_are_of_public_names():
    assert sorted(ROWS - set(PUBLIC)) == []
    assert sorted(WITHOUT_ROW - set(PUBLIC)) == []


def test_everything_made_is_exported():
    """A function or class with a docstring that has an example is meant for users."""
    hidden = []
    for info in pkgutil.iter_modules(optim.__path__, "trellis.optim."):
        module = importlib.import_module(info.name)
        for name, value in vars(module).items():
            is_own = is_ours(value) and value.__module__ == info.name
            if is_own and ">>> " in (value.__doc__ or ""):
                is_schedule = module is schedules and f"schedules.{name}" in PUBLIC
                is_step = getattr(trellis, name, None) is value  # as a function of the package
                if not (is_schedule or is_step or name in PUBLIC):
                    hidden.append(f"{info.name}.{name}")
    assert hidden == []


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_shows_its_signature_and_documents_all_of_it(name):
    value = PUBLIC[name]
    signature, text = inspect.signature(value), inspect.getdoc(value) or ""
    # A NamedTuple has attributes, which its constructor takes.
    documented = re.split("(?:Args|Attributes):\n", text)[-1].partition("\n\n")[0]
    for parameter in signature.parameters.values():
        is_star = parameter.kind is parameter.VAR_KEYWORD
        assert not is_star and parameter.annotation is not parameter.empty, parameter
        assert f"    {parameter.name}: " in documented, f"{name} does not document {parameter.name}"
    assert ">>> " in text, f"{name} needs an example"
    if inspect.isfunction(value):
        assert signature.return_annotation is not signature.empty


def bare_any():
    """Public parameters and returns of `trellis.optim` that are typed `Any`, and all in number."""
    found, total = [], 0
    for name, value in PUBLIC.items():
        functions = [value]
        if inspect.isclass(value) and not issubclass(value, tuple):
            methods = [f for key, f in vars(value).items() if key[0] != "_" and callable(f)]
            functions = [value.__init__, *methods]
        for function in functions:
            signature = inspect.signature(function)
            typed = [p for p in signature.parameters.values() if p.name != "self"]
            types = [p.annotation for p in typed] + [signature.return_annotation]
            total += len(types)
            found += [f"{name}: {kind}" for kind in types if str(kind) in ("typing.Any", "Any")]
    return found, total


def test_types_mean_something():
    found, total = bare_any()
    assert total > 150
    assert found == []


def test_rules_name_their_slots():
    """A rule reads `state.m`: numbers in brackets say nothing."""
    numbered = []
    for info in pkgutil.iter_modules(optim.__path__, "trellis.optim."):
        tree = ast.parse(inspect.getsource(importlib.import_module(info.name)))
        for node in ast.walk(tree):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                is_number = isinstance(node.slice, ast.Constant) and isinstance(
                    node.slice.value, int
                )
                if is_number and node.value.id in ("state", "slots"):
                    numbered.append(f"{info.name}:{node.lineno}")
    assert numbered == []
