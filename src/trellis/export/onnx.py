"""Models as ONNX files, through torch's exporter."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from .description import RECORD, Description, to_text
from .program import Dynamic, Program
from .torch_program import exported, quiet
from .verify import Runner
from .writing import Format, require, write

_FORMAT = Format("ONNX", ("torch", "onnxscript", "onnx"), "onnxruntime")


def to_onnx(
    model: Any,
    args: Sequence[Any],
    path: str | os.PathLike[str],
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamic: Dynamic | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    variables: str = "parameters",
    training: bool = False,
    opset: int | None = None,
    verify: bool = True,
) -> Description:
    """Write a model as an ONNX file; onnxruntime compares it with the model before this returns.

    Variables are initializers under their key paths with dots, "layers.v0.w"; with
    `variables="constants"` they are folded into what is computed from them. `opset` is the
    version of ONNX's operators, by default that of torch's exporter. The other options are those
    of all writers: see docs/export.md.

    >>> import os, tempfile, numpy as np, trellis
    >>> path = os.path.join(tempfile.mkdtemp(), "model.onnx")
    >>> model, x = trellis.nn.Linear(3, 2, backend="numpy"), np.ones((4, 3), "float32")
    >>> _ = trellis.export.to_onnx(model, (x,), path, dynamic={"x": {0: "batch"}})
    >>> import onnxruntime
    >>> onnxruntime.InferenceSession(path).run(None, {"x": np.ones((7, 3), "float32")})[0].shape
    (7, 2)
    """
    for package in ("onnx", "onnxscript", *(("onnxruntime",) if verify else ())):
        require(package, "to_onnx")
    names = (input_names, output_names)
    program = Program(
        model, args, kwargs, dynamic, names, training, backend="torch", function="to_onnx"
    )

    def save(target: Path, about: Mapping[str, Any]) -> None:
        made, inputs, shapes = exported(program, variables)
        with quiet():
            found: Any = torch.onnx.export(
                made,
                inputs,
                dynamo=True,
                input_names=[port.name for port in program.inputs],
                output_names=[port.name for port in program.outputs],
                dynamic_shapes=shapes,
                opset_version=opset,
                optimize=False,
                verbose=False,
            )
            _optimize(found.model, keeps_weights=variables == "parameters")
            found.model.producer_name = RECORD
            found.model.producer_version = about["versions"]["trellis"]
            found.model.metadata_props[RECORD] = to_text(about)
            found.save(target)

    return write(program, path, _FORMAT, variables, save=save, load=load, verify=verify)


def _optimize(model: Any, *, keeps_weights: bool) -> None:
    """Fold what is known beforehand; not what comes from the weights, if they are to stay apart."""
    # Not onnxscript's whole optimizer: of its rewritings, that of two clamps of one input leaves a
    # file that does not load.
    from onnx_ir.passes import Sequential, common
    from onnxscript.optimizer import fold_constants_ir

    graph = model.graph
    count, weights = len(graph.inputs), list(graph.initializers.values()) if keeps_weights else []
    arrays = [weight.const_value for weight in weights]
    graph.inputs.extend(weights)
    for weight in weights:  # an input like others, of which nothing is known: not even zeros
        del graph.initializers[weight.name]
        weight.const_value = None
    common.InlinePass()(model)
    fold_constants_ir(model)
    Sequential(
        common.RemoveUnusedNodesPass(),
        common.RemoveUnusedFunctionsPass(),
        common.RemoveUnusedOpsetsPass(),
        common.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0),
        common.DeduplicateInitializersPass(),
        common.CommonSubexpressionEliminationPass(),
        common.OutputFixPass(),
        common.NameFixPass(),
    )(model)
    del graph.inputs[count:]
    for weight, array in zip(weights, arrays, strict=True):
        weight.const_value = array
        graph.register_initializer(weight)
    for node in graph.all_nodes():
        node.metadata_props.clear()  # lines of source, with the directories of this machine


def load(path: Path) -> Runner:
    """A file in the runtime of its format."""
    import onnxruntime  # type: ignore[import-untyped]

    session = onnxruntime.InferenceSession(os.fspath(path), providers=["CPUExecutionProvider"])
    names = [port.name for port in session.get_inputs()]

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        given: Sequence[Any] = session.run(None, dict(zip(names, inputs, strict=True)))
        return given

    return run
