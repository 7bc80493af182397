"""ONNX files are data: damaged and hostile ones end in clear errors, and none leads elsewhere."""

import random

import numpy as np
import pytest

from trellis import convert
from trellis.errors import ArgumentError, ArgumentTypeError, NotSupportedError, TrellisError

onnx = pytest.importorskip("onnx", reason="the extra 'convert' is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def a_model():
    """A small convolutional network with shape arithmetic and a branch."""
    rng = np.random.default_rng(0)
    arrays = {
        "conv.weight": rng.standard_normal((4, 3, 3, 3)).astype("float32"),
        "conv.bias": rng.standard_normal(4).astype("float32"),
        "head.weight": rng.standard_normal((5, 4)).astype("float32"),
        "shape": np.array([0, -1]),
        "limit": np.array(0.5, "float32"),
    }
    branches = [
        helper.make_graph(
            [helper.make_node(op, ["pooled"], [f"{op}.out"])],
            op,
            [],
            [helper.make_tensor_value_info(f"{op}.out", TensorProto.FLOAT, None)],
        )
        for op in ("Tanh", "Sin")
    ]
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["c"], ["d"]),
        helper.make_node("Reshape", ["d", "shape"], ["pooled"]),
        helper.make_node("ReduceMax", ["pooled"], ["most"], keepdims=0),
        helper.make_node("Greater", ["most", "limit"], ["is_large"]),
        helper.make_node(
            "If", ["is_large"], ["e"], then_branch=branches[0], else_branch=branches[1]
        ),
        helper.make_node("Gemm", ["e", "head.weight"], ["y"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 5])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def read(data):
    return convert.from_onnx(data, to="numpy", verify=False)


def test_the_undamaged_file_is_read():
    model = convert.from_onnx(a_model().SerializeToString(), to="numpy")
    assert "verified, largest" in model.report()


def test_damaged_files_end_in_errors_of_ours():
    data = a_model().SerializeToString()
    rng = random.Random(0)
    refused = 0
    for i in range(1500):
        damaged = bytearray(data)
        if i % 3 == 0:
            damaged = damaged[: rng.randrange(len(damaged))]
        elif i % 3 == 1:
            for _ in range(rng.choice([1, 1, 2, 8])):
                damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        else:
            at = rng.randrange(len(damaged))
            damaged[at : at + rng.choice([0, 1, 4])] = rng.randbytes(rng.choice([1, 4, 16]))
        try:
            read(bytes(damaged))
        except TrellisError:
            refused += 1
    assert refused > 300  # the others changed a weight, or text that nobody reads


@pytest.mark.parametrize("data", [b"", b"not a model", b"\x08\x08", bytes(1000)])
def test_other_bytes_are_no_model(data):
    with pytest.raises(ArgumentError, match="not an ONNX model"):
        read(data)


def test_what_is_not_a_model_is_refused():
    with pytest.raises(ArgumentTypeError, match="takes a path, bytes"):
        read(3)
    with pytest.raises(ArgumentError, match="finds no file"):
        read("there/is/no/such.onnx")


def with_external(folder, location, offset=0, dims=(5, 4)):
    model = a_model()
    tensor = model.graph.initializer[2]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.dims[:] = dims
    for key, value in (("location", location), ("offset", str(offset))):
        tensor.external_data.add(key=key, value=value)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_beside_the_file(tmp_path):
    weights = np.arange(20, dtype="float32").reshape(5, 4)
    (tmp_path / "weights.bin").write_bytes(bytes(8) + weights.tobytes())
    model = read(with_external(tmp_path, "weights.bin", 8))
    np.testing.assert_array_equal(model.v["head/weight"], weights)


@pytest.mark.parametrize(
    "location", ["/etc/passwd", "../secret.bin", "link.bin", "inner/../../secret.bin", "", "none"]
)
def test_external_data_elsewhere_are_refused(tmp_path, location):
    (tmp_path / "secret.bin").write_bytes(bytes(200))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    with pytest.raises(ArgumentError, match="external data"):
        read(with_external(folder, location))


@pytest.mark.parametrize(("offset", "dims"), [(8, (5, 4)), (-1, (5, 4)), (0, (1 << 20, 1 << 20))])
def test_external_data_that_are_too_short_are_refused(tmp_path, offset, dims):
    (tmp_path / "weights.bin").write_bytes(bytes(80))
    with pytest.raises(ArgumentError, match=r"fewer|impossible"):
        read(with_external(tmp_path, "weights.bin", offset, dims))


def test_external_data_of_bytes_have_no_folder(tmp_path):
    path = with_external(tmp_path, "weights.bin")
    with pytest.raises(ArgumentError, match="pass the path"):
        read(path.read_bytes())


def test_external_data_of_a_constant_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.bin").write_bytes(bytes(80))
    model = a_model()
    constant = model.graph.node.add(op_type="Constant", output=["unused"])
    tensor = constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t
    tensor.data_type, tensor.data_location = TensorProto.FLOAT, TensorProto.EXTERNAL
    tensor.dims.extend([5, 4])
    tensor.external_data.add(key="location", value="secret.bin")
    with pytest.raises(ArgumentError, match="external data"):
        read(model)


def test_declared_sizes_beyond_memory_are_refused():
    model = a_model()
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = 1 << 40
    with pytest.raises(ArgumentError, match="too large"):
        read(model)
    model = a_model()
    model.graph.initializer[0].dims[0] = 1 << 50
    with pytest.raises(ArgumentError, match="too large"):
        read(model)
    model.graph.initializer[0].dims[0] = -1
    with pytest.raises(ArgumentError, match="impossible shape"):
        read(model)


def test_graphs_nested_too_deep_are_refused():
    def nested(depth):
        out = helper.make_tensor_value_info(f"y{depth}", TensorProto.FLOAT, [1])
        if depth == 0:
            node = helper.make_node("Neg", ["x"], ["y0"])
        else:
            inner = nested(depth - 1)
            node = helper.make_node(
                "If", ["c"], [f"y{depth}"], then_branch=inner, else_branch=inner
            )
        return helper.make_graph([node], "g", [], [out])

    graph = nested(1)
    for _ in range(20):  # shared graphs would double at each level: pytree one branch only
        shell = nested(1)
        shell.node[0].attribute[0].g.CopyFrom(graph)
        graph = shell
    graph.input.extend(
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1]),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
        ]
    )
    with pytest.raises(ArgumentError, match="deep"):
        read(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


def test_other_operator_sets_are_refused():
    model = a_model()
    model.opset_import[0].version = 6
    with pytest.raises(NotSupportedError, match="operator sets 7 to 28"):
        read(model)
