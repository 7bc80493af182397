"""Text becomes code, and bytes become objects, only in the lines that are named here."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "src", *sorted((ROOT / "packages").glob("*/src")), ROOT / "tools"]
_MODULES = {"pickle", "marshal", "dill", "cloudpickle", "joblib", "shelve"}
_LOADERS = {"yaml.load", "yaml.unsafe_load", "yaml.full_load", "os.system", "os.popen"}

# File: what it does, as often as it does it, and why that is safe.
ALLOWED = {
    "src/trellis/conformance/vectors.py": (
        ["eval", "eval", "eval"],
        "lambdas in the kit's own vectors.jsonl",
    ),
    "src/trellis/graph/program.py": (["exec"], "programs of graphs, printed from quoted pieces"),
    "tools/docs/code_blocks.py": (["exec"], "the examples of the documentation"),
    "tools/docs/ledger.py": (["eval"], "expressions of tools/docs/ledger_rows.py"),
}


def found_in(source):
    """What turns text into code or bytes into objects, in the order of the lines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [x.name for x in node.names if x.name.partition(".")[0] in _MODULES]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found += [node.module] if str(node.module).partition(".")[0] in _MODULES else []
        elif isinstance(node, ast.Name) and node.id in ("eval", "exec", "__import__"):
            found.append(node.id)
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in _LOADERS:
            found.append(ast.unparse(node))
        elif isinstance(node, ast.keyword):
            text = ast.unparse(node)
            if text in ("weights_only=False", "shell=True", "allow_pickle=True"):
                found.append(text)
    return found


def test_only_named_lines_turn_text_into_code():
    found = {}
    for folder in SOURCES:
        for path in sorted(folder.rglob("*.py")):
            uses = found_in(path.read_text())
            if uses:
                found[path.relative_to(ROOT).as_posix()] = uses
    assert found == {name: uses for name, (uses, reason) in ALLOWED.items() if reason}


@pytest.mark.parametrize(
    "line",
    [
        "import pickle", "from marshal import loads", "eval(x)", "run = exec", "yaml.load(x)",
        "torch.load(x, weights_only=False)", "run(x, shell=True)", "np.load(x, allow_pickle=True)",
    ],
)  # fmt: skip
def test_each_of_them_is_found(line):
    assert found_in(line)
    assert not found_in("model.eval()\nx.load(y, weights_only=True)\nimport pickletools")
