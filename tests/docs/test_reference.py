"""The reference of the site: every public name has a page, and what it says of others is true."""

import importlib
import inspect
import sys
import tomllib
from pathlib import Path

import pytest

import trellis

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))

import board_lines  # noqa: E402
import parameters  # noqa: E402
import public_names  # noqa: E402
import reference  # noqa: E402

COUNTERPARTS = reference.counterparts()
NAMES = {name.path: name for name in public_names.all_names()}


@pytest.fixture(scope="module")
def pages():
    return reference.pages()


def test_every_way_of_writing_a_name_has_a_page(pages):
    addresses = public_names.pages()
    missing = []
    for module in (
        *("", "errors", "tree", "linalg", "fft", "random", "gradients", "compilation"),
        *("interchange", "testing", "functional", "nn", "nn.init", "optim", "train", "graph"),
        *("distributions", "distributions.bijections", "distributions.constraints", "mcmc"),
        *("convert", "data", "export", "distributed", "array_api", "special", "signal"),
        *("optimize", "ode"),
    ):
        module = importlib.import_module(f"trellis.{module}".rstrip("."))
        for name in dir(module):
            if name.startswith("_") or not name.isidentifier():
                continue
            try:
                value = getattr(module, name)
            except ModuleNotFoundError:  # a reader whose framework is not there
                continue
            if inspect.ismodule(value):
                continue
            path = f"{module.__name__}.{name}"
            if addresses.get(path) not in pages:
                missing.append(path)
    assert missing == []


def test_every_public_module_is_in_the_reference():
    """A new package is entered in tools/docs/public_names.py."""
    rooms = {f"trellis.{name}" for name in dir(trellis) if inspect.ismodule(getattr(trellis, name))}
    programs = {"trellis.cli", "trellis.conformance", "trellis.demo"}  # run, not called
    programs |= {"trellis.backend"}  # for authors of backends: docs/new_backend.md
    programs |= {"trellis.typing"}  # names of types, for annotations: docs/learn/library.md
    assert rooms - programs - set(public_names.MODULES) == set()


def with_parameters():
    """The names that have parameters, with these."""
    found = {}
    for path, name in NAMES.items():
        is_error = inspect.isclass(name.value) and issubclass(name.value, BaseException)
        if reference.is_documented(name.value) and not is_error:
            found[path] = list(parameters.signature_of(name.value).parameters)
    return found


def test_every_parameter_is_described():
    """In the docstring, or by docs/parameters.toml."""
    missing = [
        f"{path}: {name}"
        for path in with_parameters()
        for name, words in parameters.described(path, NAMES[path].value).items()
        if not words
    ]
    assert missing == []


@pytest.mark.needs("jax", "torch", "tensorflow")  # readers and writers of all have their names
def test_the_table_describes_what_exists():
    every = with_parameters()
    table = tomllib.loads(parameters.TABLE.read_text(encoding="utf-8"))
    assert set(table["everywhere"]) <= {name for names in every.values() for name in names}
    paths = {f"{path}.{name}" for path, names in every.items() for name in names}
    assert set(table["particular"]) <= paths


def test_parameters_are_on_the_page(pages):
    page = pages[NAMES["trellis.sum"].page]
    assert "| `keepdims` | Keep reduced axes with size 1. | by name | `False` |" in page
    layer = pages[NAMES["trellis.nn.Linear"].page]
    assert "## More parameters" in layer
    assert "| `build_mode` | When variables are created" in layer


def test_names_in_tables_stay_in_one_piece():
    css = (ROOT / "tools" / "docs" / "trellis.css").read_text(encoding="utf-8")
    rule = css.partition(".md-typeset td code")[2].partition("}")[0]
    assert "white-space: nowrap" in rule


def test_no_two_names_share_a_page():
    files = [name.page.lower() for name in NAMES.values()]
    assert len(files) == len(set(files))


def test_every_name_has_a_sentence():
    without = [path for path, name in NAMES.items() if name.sentence[-1:] not in (".", ":")]
    assert without == []


def test_a_page_says_all_that_it_must(pages):
    page = pages[NAMES["trellis.functional.gelu"].page]
    assert "::: trellis.functional.gelu" in page
    row = next(line for line in page.splitlines() if line.startswith("| `approximate` | "))
    assert row.endswith(" | by name | `False` |")
    assert "`torch.nn.functional.gelu`" in page and "`jax.nn.gelu`" in page
    assert "NumPy, JAX, PyTorch and TensorFlow" in page  # its line on the board


@pytest.mark.needs("jax", "torch", "tensorflow")  # writers of files are among the names
def test_counterparts_belong_to_public_names():
    assert set(COUNTERPARTS) - set(NAMES) == set()


# Frameworks have nothing like them, or a loop of one's own in their place.
WITHOUT = {
    "array_api",
    "debug",
    "mcmc",
    "sklearn",
    "errors",
    "graph",
    "convert",
    "models",
    "testing",
    "tree",
    "data",
    "train",
    "optim",
    "backends",
    "random",
    "solvers",
}


@pytest.mark.needs("jax", "torch", "tensorflow")  # writers of files are among the names
def test_names_have_counterparts():
    """A name without one is one that no framework has; a new one must be thought about."""
    lacking = {path for path, name in NAMES.items() if name.group not in WITHOUT}
    # A new name: a record of the op table, a row of docs/counterparts.toml, or, if no framework
    # has one, here.
    assert lacking - set(COUNTERPARTS) == {
        *[f"trellis.nn.adapters.{x}" for x in ("activate", "active", "load", "merge", "names")],
        *[f"trellis.nn.{x}" for x in ("adapters.remove", "adapters.save", "adapters.unmerge")],
        *["trellis.nn.lora", "trellis.nn.quantize"],  # PEFT's, and packages for single frameworks
        *[
            f"trellis.distributions.{x}"
            for x in ("BetaProportion", "Censored", "Delta", "Expanded")
        ],
        *[f"trellis.distributions.{x}" for x in ("GammaPoisson", "LKJ", "Mixture", "Parametric")],
        *[f"trellis.distributions.{x}" for x in ("Truncated", "ZeroInflated")],
        *[f"trellis.distributions.ZeroInflated{x}" for x in ("NegativeBinomial", "Poisson")],
        *[f"trellis.distributions.bijections.{x}" for x in ("Bijection", "Identity", "Inverse")],
        *[f"trellis.distributions.bijections.{x}" for x in ("Ordered", "OverEvent")],
        *[f"trellis.distributions.constraints.{x}" for x in ("circular", "correlation", "counts")],
        *[f"trellis.distributions.constraints.{x}" for x in ("integer", "open_unit_interval")],
        *[f"trellis.distributions.constraints.{x}" for x in ("ordered", "positive_vector")],
        "trellis.distributions.constraints.real_matrix",
        *["trellis.functional.selective_scan", "trellis.nn.Mamba", "trellis.nn.MixtureOfExperts"],
        "trellis.lazy_apply",  # array-api-extra's
        "trellis.apply_where",
        "trellis.compilation.Compiled",
        "trellis.export.Description",
        "trellis.export.describe",
        "trellis.export.to_tflite",  # tf.lite.TFLiteConverter, of a module that is loaded lazily
        "trellis.functional.KVCache",
        "trellis.functional.cache_mask",
        "trellis.functional.cache_positions",
        "trellis.functional.extend_cache",
        "trellis.distributed.check_same",
        "trellis.functional.geglu",
        "trellis.functional.init_cache",
        "trellis.functional.rotary_embedding",
        "trellis.functional.sinusoidal_encoding",
        "trellis.functional.swiglu",
        "trellis.nn.DropPath",
        "trellis.nunique",
        "trellis.segment_softmax",
        "trellis.special.log1mexp",
        "trellis.special.softplus_inverse",
        "trellis.nn.GEGLU",
        "trellis.nn.SwiGLU",
        "trellis.nn.init.Siren",
        "trellis.using_default_dtype",
    }


def exists(path):
    """Whether there is something of that name, modules imported on the way."""
    parts = path.split(".")
    for i in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for name in parts[i:]:
            if not hasattr(value, name):
                return False
            value = getattr(value, name)
        return True
    return False


@pytest.mark.parametrize("framework", ["numpy", "jax", "torch", "tensorflow"])
@pytest.mark.needs("jax", "torch", "tensorflow")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of modules that are only looked at
def test_counterparts_exist(framework):
    named = {row[framework] for row in COUNTERPARTS.values() if framework in row}
    assert len(named) > 150
    assert [path for path in sorted(named) if not exists(path)] == []


def test_what_is_not_there_is_found_out():
    assert exists("numpy.linalg.qr")
    assert not exists("numpy.linalg.quirk") and not exists("nowhere.qr")


def test_rows_are_counted():
    """By hand: what src/trellis/conformance/cases holds of one function."""
    from trellis.conformance.cases import all_cases

    rows = [row for _, row in all_cases() if row.op == "logsumexp"]
    line = board_lines.lines()["trellis.logsumexp"]
    assert line.rows == len(rows) > 1
    assert line.with_gradient == sum(row.gradient is True for row in rows)


def test_tests_that_name_a_class_are_found():
    found = board_lines.lines()["trellis.nn.Conv2D"].files
    assert found["tests/nn/test_layers.py"] >= 1
