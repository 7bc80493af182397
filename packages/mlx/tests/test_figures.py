"""The tables of the pages are those of the stored data, and the data keep what is promised."""

import importlib.util
from pathlib import Path

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def figures():
    spec = importlib.util.spec_from_file_location("figures", BENCHMARKS / "figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_are_those_of_the_data():
    module = figures()
    tables = module.tables_of(module.read())
    for page in (module.README, module.PAGE):
        text = page.read_text("utf-8")
        assert "<!-- mlx kit -->" in text
        assert module.with_tables(text, tables) == text, page


def test_what_is_promised():
    data = figures().read()
    groups = data["kit"]["groups"].values()
    green, failed = [sum([x.get(key, 0) for x in groups]) for key in ("passed", "failed")]
    exceptions = sum([x.get("exception", 0) for x in groups])
    assert failed == 0 and green / (green + exceptions) > 0.97
    assert exceptions == sum(data["kit"]["exceptions"].values())
    for group, (passed, _) in data["array_api"]["trellis"].items():
        assert passed >= data["array_api"]["mlx"][group][0], group
    assert all(x["trellis"] < 1.1 * x["by_hand"] for x in data["speed"].values())
    for name, x in data["curves"].items():
        kind = "float64" if name == "character_transformer" else "float32"  # see the README
        assert x[kind]["difference"] < 1e-5, name
