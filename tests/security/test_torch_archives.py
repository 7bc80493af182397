"""Archives of torch.export that would run code: each is refused, and its code does not run."""

import contextlib
import io
import json
import os
import pickle
import zipfile

import pytest

from oracles import torch
from trellis import cli, convert
from trellis.errors import ArgumentError

pytestmark = pytest.mark.needs("torch")


class Runs:
    """Pickled, it is a call of os.mkdir."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def a_model():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)
            self.register_buffer("scale", torch.ones(2))
            self.shift = torch.ones(2)

        def forward(self, x):
            doubled = torch.cat([x, x])
            return self.linear(doubled) * self.scale + self.shift * doubled.shape[0]

    return Model().eval()


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "model.pt2"
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(a_model(), (torch.ones(4, 3),), dynamic_shapes={"x": {0: batch}})
    torch.export.save(program, path)
    return path


def changed(good, path, parts=(), add=(), program=None):
    """A copy with other parts; `program` changes what models/model.json holds."""
    parts = dict(parts)
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            top, _, part = name.partition("/")
            content = parts.get(part, source.read(name))
            if part == "models/model.json" and program is not None:
                found = json.loads(content)
                program(found)
                content = json.dumps(found).encode()
            target.writestr(name, content)
        for name, content in add:
            target.writestr(f"{top}/{name}", content)
    return path


def saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def refused(path, made, words):
    with pytest.raises(ArgumentError, match=words) as error:
        convert.from_torch(path, to="numpy")
    assert "trust=True" in str(error.value)
    assert not made.exists()


def test_a_harmless_archive_is_read(good, capsys):
    model = convert.from_torch(good, to="numpy")
    assert "verified, largest" in model.report()
    assert cli.main(["convert", str(good)]) == 0
    assert "verified, largest" in capsys.readouterr().out
    trusted = convert.from_torch(str(good), to="numpy", trust=True)
    assert trusted.to_source() == model.to_source()


def test_pickles_that_call_functions(good, tmp_path):
    made, path = tmp_path / "made", tmp_path / "bad.pt2"
    inputs = saved(((Runs(made),), {}))
    changed(good, path, {"data/sample_inputs/model.pt": inputs})
    refused(path, made, "a pickle with more than arrays .*mkdir")
    # The other forms that torch.load knows: a bare pickle, and weights as torch once wrote them.
    changed(good, path, {"data/sample_inputs/model.pt": pickle.dumps(((Runs(made),), {}))})
    refused(path, made, "a pickle with more than arrays")
    for part in ("data/weights/model.pt", "data/constants/model.pt"):
        changed(good, path, add=[(part, saved({"x": Runs(made)}))])
        refused(path, made, "a pickle with more than arrays")


def test_the_attack_is_real(good, tmp_path):
    """torch itself runs the code: the copy that is refused is not refused for a mistake in it."""
    made, path = tmp_path / "made", tmp_path / "bad.pt2"

    def size(program):
        values = program["graph_module"]["graph"]["tensor_values"]
        values["x"]["sizes"][0]["as_expr"]["expr_str"] = f"__import__('os').mkdir({str(made)!r})"

    changed(good, path, program=size)
    refused(path, made, "symbolic size")
    with contextlib.suppress(Exception):  # what torch says after it ran the code
        convert.from_torch(path, to="numpy", trust=True)
    assert made.exists()


@pytest.mark.parametrize("name", ["metadata", "as_string", "custom", "nn_module_stack"])
def test_a_tensor_that_is_called_like_a_field_of_text(name, good, tmp_path):
    made, path = tmp_path / "made", tmp_path / "bad.pt2"

    def rename(program):
        text = json.dumps(program).replace('"x"', json.dumps(name))
        program.update(json.loads(text))
        size = graph_of(program)["tensor_values"][name]["sizes"][0]["as_expr"]
        size["expr_str"] = f"__import__('os').mkdir({str(made)!r})"

    changed(good, path, program=rename)
    refused(path, made, "symbolic size")


def test_pickled_weights_and_objects(good, tmp_path):
    made, path = tmp_path / "made", tmp_path / "bad.pt2"
    config = "data/weights/model_weights_config.json"
    with zipfile.ZipFile(good) as archive:
        weights = json.loads(archive.read(f"model/{config}"))
    weights["config"]["scale"]["use_pickle"] = True
    parts = {config: json.dumps(weights), "data/weights/weight_2": saved(Runs(made))}
    changed(good, path, parts)
    refused(path, made, "'scale' in it is pickled")
    for kind in ("custom_obj_0", "opaque_obj_0", "../tensor_0"):
        entry = {"path_name": kind, "is_param": False, "use_pickle": False, "tensor_meta": None}
        constants = {"config": {"shift": entry}}
        parts = {"data/constants/model_constants_config.json": json.dumps(constants)}
        content = pickle.dumps(Runs(made))
        changed(good, path, parts, add=[(f"data/constants/{kind}", content)])
        refused(path, made, "object of torch's own format")


def graph_of(program):
    return program["graph_module"]["graph"]


def test_names_that_are_code(good, tmp_path):
    """torch writes the names of nodes into a function and runs it."""
    made, path = tmp_path / "made", tmp_path / "bad.pt2"
    code = f"x=__import__('os').mkdir({str(made)!r})"

    def argument(program):
        text = json.dumps(program).replace('"name": "x"', json.dumps({"name": code})[1:-1])
        program.update(json.loads(text))
        values = graph_of(program)["tensor_values"]
        values[code] = values.pop("x")

    def node(program):
        graph_of(program)["nodes"][0]["name"] = "a\nimport os"

    def parameter(program):
        program["graph_module"]["signature"]["input_specs"][0]["parameter"]["parameter_name"] = (
            '"+"'
        )

    for change in (argument, node, parameter):
        changed(good, path, program=change)
        refused(path, made, "it has the name")


@pytest.mark.parametrize(
    "target",
    [
        "torch.os.mkdir",
        "torch.ops.load_library",
        "torch.ops.aten.from_file.default",
        "torch.ops.aten.__class__.mro",
        "torch.ops.higher_order.triton_kernel_wrapper_mutation",
        "_operator.methodcaller",
        "_operatorX.methodcaller",
        "#extension:op",
    ],
)
def test_operations_that_do_more_than_compute(target, good, tmp_path):
    made, path = tmp_path / "made", tmp_path / "bad.pt2"

    def call(program):
        node = graph_of(program)["nodes"][0]
        node["target"] = target
        node["inputs"] = [{"name": "", "arg": {"as_string": str(made)}, "kind": 1}]

    changed(good, path, program=call)
    refused(path, made, "it calls")


def test_trees_of_arguments_import_nothing(good, tmp_path):
    made, path = tmp_path / "made", tmp_path / "bad.pt2"
    leaf = {"type": None, "context": None, "children_spec": []}
    enum = json.dumps({"__enum__": True, "fqn": "antigravity:x", "name": "x"})
    factory = {"default_factory_module": "this", "default_factory_name": "c", "dict_context": []}
    contexts = [("builtins.dict", enum), ("collections.defaultdict", factory)]
    for kind, context in contexts:

        def tree(program, kind=kind, context=context):
            spec = {"type": kind, "context": context, "children_spec": [leaf]}
            call = program["graph_module"]["module_call_graph"][0]["signature"]
            call["out_spec"] = json.dumps([1, spec])

        changed(good, path, program=tree)
        refused(path, made, "its arguments have the structure")


def test_source_of_guards_and_compiled_libraries_are_left_out(good, tmp_path):
    made, path = tmp_path / "made", tmp_path / "bad.pt2"

    def guards(program):
        program["guards_code"] = [f"__import__('os').mkdir({str(made)!r})"]

    changed(good, path, add=[("data/aotinductor/model/a.so", b"code")], program=guards)
    assert "verified, largest" in convert.from_torch(path, to="numpy").report()
    assert not made.exists()


def test_archives_that_can_be_read_in_two_ways(good, tmp_path):
    made, path = tmp_path / "made", tmp_path / "bad.pt2"
    with pytest.warns(UserWarning, match="Duplicate name"):
        changed(good, path, add=[("models/model.json", b"{}")])
    refused(path, made, "two ways")
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(path, "w", 8) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name))
    refused(path, made, "compressed")
    path.write_bytes(good.read_bytes()[:200])
    with pytest.raises(ArgumentError, match="not an archive of torch"):
        convert.from_torch(path, to="numpy")


def test_the_command_says_why(good, tmp_path, capsys):
    made, path = tmp_path / "made", tmp_path / "bad.pt2"
    changed(good, path, {"data/sample_inputs/model.pt": saved(((Runs(made),), {}))})
    for words in (["convert", str(path)], ["export", str(path), str(tmp_path / "out.onnx")]):
        assert cli.main(words) == 1
        said = capsys.readouterr().err
        assert "could run code" in said and "--trust" in said
    assert not made.exists()


def test_symbolic_sizes():
    from trellis.convert.torch.suspicion import is_plain_expression  # imports torch

    for text in (
        "Symbol('s0', positive=True, integer=True)",
        "Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(-1))",
        "FloorDiv(Max(Symbol('u0', integer=True), Integer(4)), Integer(2))",
        "Pow(Symbol('s0', positive=True), Integer(2))",
        "Equality(Mod(Symbol('s0'), Integer(8)), Integer(0))",
        "2*s0 + 1 - s1 // 2 % 3",
        "Float('0.5', precision=53)",
    ):
        assert is_plain_expression(text), text
    for text in (
        "__import__('os').system('id')",
        "().__class__.__base__.__subclasses__()",
        "open('x', 'w')",
        "Symbol('s0').args",
        "Symbol('a\\'+open()')",
        "Lambda(x0, x0)",
        "sympify('open()')",
        "[s0 for s0 in s1]",
        "lambda: 0",
        "Integer('open()')",
        "10**10**10",
        "Pow(Pow(Integer(10), Integer(64)), Integer(64))",
        "Pow(Integer(10), Integer(1000000000))",
        "s0!",
        "s0\nopen",
        "(" * 300 + "1" + ")" * 300,
        "1+" * 3000 + "1",
    ):
        assert not is_plain_expression(text), text
