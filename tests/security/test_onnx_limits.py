"""Small ONNX files that would crash the process, never end, or take all memory."""

import re
import resource
import sys

import numpy as np
import pytest

from trellis import cli, convert
from trellis.convert.apart import process
from trellis.convert.apart.arrays import read_arrays, write_arrays
from trellis.errors import ArgumentError, ConversionError, NotSupportedError, TrellisError

onnx = pytest.importorskip("onnx", reason="the extra 'convert' is not installed")

from onnx import TensorProto, helper  # noqa: E402

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux'")


def tensor(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, initializers=(), functions=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    versions = [helper.make_opsetid("", opset)]
    if functions:
        versions.append(helper.make_opsetid("own", 1))
    return helper.make_model(
        graph, opset_imports=versions, ir_version=8, functions=list(functions)
    ).SerializeToString()


def ints(name, values, shape=None):
    return helper.make_tensor(name, TensorProto.INT64, shape or [len(values)], values)


def loop_of(count, start="x", limits=("n", "true")):
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Add", ["a", "a"], ["a2"])],
        "body",
        [tensor("i", [], TensorProto.INT64), tensor("c", [], TensorProto.BOOL), tensor("a", [2])],
        [tensor("c2", [], TensorProto.BOOL), tensor("a2", [2])],
    )
    constants = [
        ints("n", [count], []),
        helper.make_tensor("true", TensorProto.BOOL, [], [True]),
        helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0]),
    ]
    nodes = [
        helper.make_node("Loop", [*limits, start], ["z"], body=body),
        helper.make_node("Add", ["z", "x"], ["y"]),
    ]
    return model(nodes, [tensor("x", [2])], [tensor("y", [2])], constants)


def depth_to_space():
    node = helper.make_node("DepthToSpace", ["x"], ["y"], blocksize=2**32)
    return model([node], [tensor("x", [1, 4, 2, 2])], [tensor("y", None)])


def functions_that_double(depth):
    """Each function calls the one before it twice."""
    made = [
        helper.make_function(
            "own", "f0", ["x"], ["y"], [helper.make_node("Neg", ["x"], ["y"])],
            [helper.make_opsetid("", 17)],
        )
    ]  # fmt: skip
    for i in range(1, depth):
        calls = [
            helper.make_node(f"f{i - 1}", ["x"], ["m"], domain="own"),
            helper.make_node(f"f{i - 1}", ["m"], ["y"], domain="own"),
        ]
        sets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
        made.append(helper.make_function("own", f"f{i}", ["x"], ["y"], calls, sets))
    node = helper.make_node(f"f{depth - 1}", ["x"], ["y"], domain="own")
    return model([node], [tensor("x", [2])], [tensor("y", [2])], functions=made)


def constant_of(shape, kind=TensorProto.DOUBLE):
    value = helper.make_tensor("v", kind, [1], [0])
    nodes = [
        helper.make_node("ConstantOfShape", ["s"], ["z"], value=value),
        helper.make_node("Cast", ["z"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "f"], ["y"]),
    ]
    return model(nodes, [tensor("x", [1])], [tensor("y", None)], [ints("s", shape)])


@pytest.fixture
def short(monkeypatch):
    """Two seconds are enough to see that it does not end."""
    monkeypatch.setattr(process, "SECONDS", 2.0)


def grown():
    """Megabytes that this process has taken at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_a_crash_of_onnxruntime_is_an_error():
    with pytest.raises(ConversionError, match=r"onnxruntime crashed \(SIGFPE\).*--no-verify"):
        convert.from_onnx(depth_to_space(), to="numpy")
    # The next model is read by a new child.
    node = helper.make_node("Exp", ["x"], ["y"])
    good = model([node], [tensor("x", [2, 3])], [tensor("y", [2, 3])])
    assert "verified, largest difference" in convert.from_onnx(good, to="numpy").report()


@pytest.mark.parametrize("start", ["x", "w"])  # w: every input of the loop is a constant
def test_a_loop_that_does_not_end_is_an_error(short, start):
    with pytest.raises(ConversionError, match=r"did not end within 2 seconds.*verify=False"):
        convert.from_onnx(loop_of(2**62, start), to="numpy")
    assert "verified, largest" in convert.from_onnx(loop_of(3, start), to="numpy").report()


def test_without_verification_nothing_runs(tmp_path, capsys):
    path = tmp_path / "loop.onnx"
    path.write_bytes(loop_of(2**62, "w"))
    assert cli.main(["convert", str(path), "--no-verify"]) == 0
    assert "not verified" in capsys.readouterr().out
    assert convert.from_onnx(depth_to_space(), to="numpy", verify=False).report()


@pytest.mark.parametrize("shape", [[2**30], [2**15, 2**15], [2**62], [0, 2**62, 2**62]])
def test_constants_of_gigabytes(shape):
    before = grown()
    with pytest.raises(TrellisError):
        convert.from_onnx(constant_of(shape), to="numpy")
    assert grown() - before < 500


def test_declared_sizes_count_bytes():
    """Inputs are made up from what a file declares: 85 bytes asked for gigabytes."""
    node = helper.make_node("Neg", ["x"], ["y"])
    before = grown()
    wide = model(
        [node],
        [tensor("x", [2**26], TensorProto.DOUBLE)],
        [tensor("y", [2**26], TensorProto.DOUBLE)],
    )
    assert len(wide) < 100
    assert "not verified: no example inputs" in convert.from_onnx(wide, to="numpy").report()
    wider = model([node], [tensor("x", [2**30])], [tensor("y", None)])
    with pytest.raises(ArgumentError, match="too large"):
        convert.from_onnx(wider, to="numpy")
    assert grown() - before < 500


def test_functions_that_call_each_other_twice_are_counted_before():
    hostile = functions_that_double(60)  # 2**59 nodes
    assert len(hostile) < 5000
    with pytest.raises(ArgumentError, match="more than 262,144 nodes"):
        convert.from_onnx(hostile, to="numpy")
    x = np.ones(2, np.float32)
    # Eight negations.
    assert convert.from_onnx(functions_that_double(4), to="numpy")(x).tolist() == [1.0, 1.0]


def test_functions_that_call_themselves():
    made = onnx.ModelProto.FromString(functions_that_double(3))
    made.functions[0].node[0].op_type, made.functions[0].node[0].domain = "f2", "own"
    made.functions[0].opset_import.append(helper.make_opsetid("own", 1))
    with pytest.raises(ArgumentError, match="calls itself"):
        convert.from_onnx(made, to="numpy")


@pytest.mark.parametrize("pattern", ["w{}", "a.b/w{}", "w" + "/" * 3 + "{}", "{}same"])
def test_thousands_of_initializers_take_linear_time(pattern):
    """Their names become key paths, which must not be above each other. Exact counts: each name is
    looked up a bounded number of times."""
    count = 6000
    # In the last pattern all names give one key path, but for the number of slashes.
    names = [
        "/" * i + "same" if pattern == "{}same" else pattern.format(i) for i in range(count)
    ]  # fmt: skip
    if pattern == "{}same":
        names = names[:300]
    arrays = [helper.make_tensor(n, TensorProto.FLOAT, [2], [1.0, 2.0]) for n in names]
    nodes, last = [], "x"
    for i, name in enumerate(names):
        nodes.append(helper.make_node("Mul", [last, name], [f"y{i}"]))
        last = f"y{i}"
    from trellis.convert.onnx.builder import OnnxBuilder
    from trellis.convert.onnx.reader import _Reader

    proto = onnx.ModelProto.FromString(
        model(nodes, [tensor("x", [2])], [tensor(last, [2])], arrays)
    )
    asked = []
    reader = _Reader(OnnxBuilder("numpy"), proto, {})
    inner = reader._is_free
    reader._is_free = lambda chain: asked.append(chain) or inner(chain)
    chains = []
    for name in names:
        chains.append(reader._chain(name))
        reader.stored[chains[-1]] = None
    assert len(set(chains)) == len(names)
    assert len(asked) <= 2 * len(names)
    assert max([len(chain) for chain in chains]) < 20


def test_key_paths_have_a_depth():
    name = "a/" * 100_000 + "w"
    array = helper.make_tensor(name, TensorProto.FLOAT, [2], [1.0, 2.0])
    node = helper.make_node("Mul", ["x", name], ["y"])
    hostile = model([node], [tensor("x", [2])], [tensor("y", [2])], [array])
    read = convert.from_onnx(hostile, to="numpy")
    assert read(np.ones(2, np.float32)).tolist() == [1.0, 2.0]


# Shapes and attributes that no array can have: errors of ours, each in the same words everywhere.


def strange(change):
    made = onnx.ModelProto.FromString(
        model(
            [helper.make_node("Conv", ["x", "w"], ["y"], strides=[1, 1], group=1)],
            [tensor("x", [1, 2, 5, 5])],
            [tensor("y", None)],
            [helper.make_tensor("w", TensorProto.FLOAT, [2, 2, 3, 3], [0.1] * 36)],
        )
    )
    change(made.graph)
    return made


def many_axes(graph):
    shape = graph.input[0].type.tensor_type.shape
    for _ in range(61):
        shape.dim.add().dim_value = 1


def empty_and_endless(graph):
    for dim, size in zip(graph.input[0].type.tensor_type.shape.dim, (0, 2**62, 2**62, 1)):
        dim.dim_value = size


def twice_the_same_input(graph):
    graph.input.append(graph.input[0])


def twice_the_same_output(graph):
    graph.output.append(graph.output[0])


def attribute(name, value):
    def change(graph):
        node = graph.node[0]
        kept = [each for each in node.attribute if each.name != name]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(name, value)])

    return change


STRANGE = {
    "65 axes": many_axes,
    "an empty axis and endless ones": empty_and_endless,
    "two inputs of one name": twice_the_same_input,
    "steps of zero": attribute("strides", [0, 0]),
    "steps below zero": attribute("strides", [-1, -1]),
    "dilations of zero": attribute("dilations", [0, 0]),
    "no groups": attribute("group", 0),
    "sizes as text": attribute("strides", "two"),
    "groups as a list": attribute("group", [1, 2]),
    "windows of another number of axes": attribute("kernel_shape", [3]),
    "steps beyond 64 bits of a product": attribute("strides", [2**62, 2**62]),
    "too many pads": attribute("pads", [1] * 9),
    "pads without end": attribute("pads", [2**40] * 4),
}


@pytest.mark.parametrize("what", STRANGE)
@pytest.mark.parametrize("verify", [True, False])
def test_what_no_array_can_have(what, verify):
    with pytest.raises(TrellisError):
        convert.from_onnx(strange(STRANGE[what]), to="numpy", verify=verify)


# The child's own format -------------------------------------------------------------------------


def test_arrays_go_there_and_back(tmp_path):
    import ml_dtypes

    nest = {
        "a": [np.arange(6).reshape(2, 3), None],
        "b": np.array([1.5], ml_dtypes.bfloat16),
        "c": np.zeros((0, 3), np.int8),
        "d": np.float64(2.0),
    }
    with open(tmp_path / "arrays", "wb") as file:
        write_arrays(file, nest)
    with open(tmp_path / "arrays", "rb") as file:
        found = read_arrays(file)
    assert list(found) == list(nest) and found["a"][1] is None
    assert found["a"][0].tolist() == [[0, 1, 2], [3, 4, 5]]
    for key in ("b", "c", "d"):
        assert found[key].dtype == np.asarray(nest[key]).dtype
        assert found[key].shape == np.shape(nest[key])
        assert (found[key] == nest[key]).all()


def test_a_child_that_cannot_start_says_so(monkeypatch):
    child = process.Apart("nothing of this name")
    with pytest.raises(ConversionError, match=re.escape("onnx crashed (exit code 1)")):
        child.run("onnx", b"")
    child.close()


def test_a_loop_without_an_end_is_refused_by_name():
    with pytest.raises(NotSupportedError, match="a Loop without a count and a condition"):
        convert.from_onnx(loop_of(3, limits=("", "")), to="numpy")
