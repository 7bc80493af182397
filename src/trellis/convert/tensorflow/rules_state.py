"""Variables of TensorFlow, and the random numbers that it draws."""

from typing import Any

import numpy as np

from ..._core.errors import ConversionError
from ...graph import Value
from ..rules import Rules
from .builder import Operand, Resource, TensorFlowBuilder

state_rules = Rules()


@state_rules("ReadVariableOp")
def read(g: TensorFlowBuilder, resource: Resource, *, dtype: str = "") -> Value:
    if resource.chain in g.state:
        return g.state[resource.chain]  # type: ignore[no-any-return]
    place = g.graph.buffers if resource.is_buffer else g.graph.variables
    return place[resource.chain]


@state_rules("ResourceGather")
def resource_gather(
    g: TensorFlowBuilder, resource: Resource, indices: Operand, *, dtype: str, batch_dims: int = 0
) -> Value:
    x = read(g, resource)
    if batch_dims:
        return g.s.take_in_batches(x, g.array(indices), axis=batch_dims, batch_axes=batch_dims)
    return g.t.take(x, g.array(indices), axis=0)


@state_rules("ResourceGatherNd")
def resource_gather_nd(
    g: TensorFlowBuilder, resource: Resource, indices: Operand, *, dtype: str
) -> Value:
    return g.s.gathered_points(read(g, resource), g.array(indices))


@state_rules("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp")
def assign(g: TensorFlowBuilder, resource: Resource, value: Operand) -> Any:
    """From here on the variable is another value, which the buffer has after the call."""
    if not g.at_top:
        raise ConversionError(
            f"The variable {resource.chain!r} is assigned inside a branch or a loop, which a "
            "converted model cannot do. Return the new value instead."
        )
    value = g.array(value)
    if g.source != "AssignVariableOp":
        fn = g.t.add if g.source == "AssignAddVariableOp" else g.t.subtract
        before = read(g, resource)
        value = g.described(fn(before, value), before.shape, before.dtype)
    g.state[resource.chain] = value
    if resource.is_buffer:
        g.graph.updates[resource.chain] = value
    return ()


@state_rules("RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2")
@state_rules("RandomStandardNormal", "StatelessRandomNormal", "StatelessRandomNormalV2")
def draw(g: TensorFlowBuilder, shape: Operand, *seeds: Operand, dtype: str) -> Value:
    """Trellis draws numbers of its own, from `trellis.random.stream`."""
    g.is_random = True
    drawn = g.s.random_normal if "Normal" in g.source else g.s.random_uniform
    return drawn(g.ints(shape), 0.0, 1.0, dtype=dtype, backend=g.to)


@state_rules("StatelessRandomGetKeyCounter", "StatelessRandomGetAlg")
def seeds(g: TensorFlowBuilder, *given: Operand) -> Any:
    """Seeds of the source are not used."""
    made = [np.zeros([n or 1 for n in out.shape or ()], "int32") for out in g.out]
    return made[0] if len(made) == 1 else tuple(made)


@state_rules("NoOp", "Assert", "PrintV2", "Print", "VarIsInitializedOp")
def nothing(g: TensorFlowBuilder, *given: Operand) -> Any:
    return ()
