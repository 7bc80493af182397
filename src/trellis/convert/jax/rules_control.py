"""Programs inside programs: calls are inlined, branches and loops become Trellis' own."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...graph import Function, Value
from ..rules import Rules
from ..target import packed
from .builder import JaxBuilder, Jaxpr, Operand

control_rules = Rules()
ITERATED = "custom_linear_solve by iteration"


@control_rules("pjit", "jit", "closed_call", "core_call", "remat", "remat2", "checkpoint")
@control_rules("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin")
@control_rules("call", "composite", "custom_vmap_call", "eval_jaxpr")
def call(
    g: JaxBuilder,
    *args: Operand,
    jaxpr: Jaxpr | None = None,
    call_jaxpr: Jaxpr | None = None,
    fun_jaxpr: Jaxpr | None = None,
    call: Jaxpr | None = None,
    name: str = "",
) -> Any:
    """A derivative that the source defines by hand is not kept: the program's own is taken."""
    inner: Any = jaxpr or call_jaxpr or fun_jaxpr or call  # as `inner_program` has it
    if name == "frexp" and len(g.out) == 2 and _has_own_derivative(inner):
        # By its bits, which it takes apart, the fraction would have the derivative zero.
        x = g.array(args[0], g.given[0].dtype)
        exponent = g.inline(inner, (x,))[1]
        return g.s.scaled_by_two(x, g.t.negative(exponent)), exponent
    if g.source.startswith("custom"):
        if name == "relu" and len(args) == 1 and isinstance(args[0], Value):
            return (g.F.relu(args[0]),)
        remark = "Derivatives defined by hand in the source are taken of what it computes instead."
        if remark not in g.notes.remarks:
            g.notes.remarks.append(remark)
    return tuple(g.inline(inner, args))


def is_call(name: str) -> bool:
    """Whether a primitive only runs a program inside it."""
    return control_rules.find(name) is call


def inner_program(params: Mapping[str, Any]) -> Any:
    """The program that a call runs."""
    names = ("jaxpr", "call_jaxpr", "fun_jaxpr", "call")
    return next((params[name] for name in names if params.get(name) is not None), None)


def _has_own_derivative(jaxpr: Any) -> bool:
    return [equation.primitive.name for equation in jaxpr.eqns] == ["custom_jvp_call"]


@control_rules("custom_linear_solve")
def custom_linear_solve(g: JaxBuilder, *args: Operand, const_lengths: Any, jaxprs: Any) -> Any:
    """The solution of matvec(x) = b. JAX takes its derivative from `matvec`: the steps of `solve`
    have none by the matrix.
    """
    if any([equation.primitive.name == "while" for equation in jaxprs.solve.eqns]):
        g.source = ITERATED
    first = const_lengths.matvec
    start = first + const_lengths.vecmat
    end = start + const_lengths.solve
    rest = args[end + const_lengths.transpose_solve :]
    if first == 1 and len(rest) == 1 and _multiplies(jaxprs.matvec):
        dtype = g.out[0].dtype
        return _solved(g, g.array(args[0], dtype), g.array(rest[0], dtype))
    found = [g.t.stop_gradient(x) for x in g.inline(jaxprs.solve, (*args[start:end], *rest))]
    there = g.inline(jaxprs.matvec, (*args[:first], *found))
    missing = [g.t.subtract(b, y) for b, y in zip(rest, there, strict=True)]
    more = g.inline(jaxprs.solve, (*args[start:end], *missing))
    return tuple([g.t.add(x, y) for x, y in zip(found, more, strict=True)])


def _multiplies(jaxpr: Any) -> bool:
    """Whether a function is the product of a matrix and the last axis of its argument."""
    product = jaxpr.jaxpr.eqns[0]
    if product.primitive.name != "dot_general" or len(jaxpr.jaxpr.eqns) > 2:
        return False
    matrix, x = jaxpr.jaxpr.invars
    (left, right), _ = product.params["dimension_numbers"]
    last = (len(matrix.aval.shape) - 1,), (len(x.aval.shape) - 1,)
    is_same = product.invars[0] is matrix and product.invars[1] is x
    return is_same and (tuple(left), tuple(right)) == last


def _solved(g: JaxBuilder, matrix: Any, b: Any) -> Any:
    if len(b.shape) == len(matrix.shape):  # many, in rows
        return g.t.matrix_transpose(g.linalg.solve(matrix, g.t.matrix_transpose(b)))
    return g.t.squeeze(g.linalg.solve(matrix, g.t.expand_dims(b, axis=-1)), axis=-1)


@control_rules("debug_callback", "debug_print", "shape_assertion")
def nothing(g: JaxBuilder, *printed: Operand) -> Any:
    """Neither printing nor checking is part of what a model computes."""
    return ()


@control_rules("platform_index")
def platform_index(g: JaxBuilder, *, platforms: Sequence[Any]) -> int:
    """The branch that the source takes on a CPU."""
    for i, names in enumerate(platforms):
        if names is None or "cpu" in names:
            return i
    return 0


@control_rules("cond")
def cond(g: JaxBuilder, index: Operand, *operands: Operand, branches: Sequence[Any]) -> Any:
    """The branch of a number; more than two of them are asked for one after the other."""
    if isinstance(index, (bool, int)):
        return tuple(g.inline(branches[min(max(int(index), 0), len(branches) - 1)], operands))
    index = g.array(index, g.given[0].dtype)
    count = len(g.out)
    outs = list(g.out)

    def branch(i: int) -> Function:
        with g.function(f"branch_{i}") as made:
            results = g.inline(branches[i], operands)
            whole = [g.array(x, out.dtype) for x, out in zip(results, outs)]
            made.outputs = packed(whole)
        return made

    def otherwise(i: int) -> Function:
        if i == len(branches) - 1:
            return branch(i)
        with g.function(f"from_branch_{i}") as made:
            made.outputs = g.t.cond(g.t.less_equal(index, i), branch(i), otherwise(i + 1))
        return made

    if len(branches) == 1:
        return tuple(g.inline(branches[0], operands))
    if len(branches) == 2:
        holds = index if index.dtype == "bool" else g.t.not_equal(index, 0)
        result = g.t.cond(holds, branch(1), branch(0))
    else:
        result = g.t.cond(g.t.less_equal(index, 0), branch(0), otherwise(1))
    return g.unpacked(result, count)


@control_rules("while")
def while_(
    g: JaxBuilder,
    *args: Operand,
    cond_jaxpr: Any,
    body_jaxpr: Jaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Any:
    """Under `vmap` the condition has axes: the loop ends with its last row, and rows that are done
    stay as they are."""
    outs = list(g.out)
    rank = len(cond_jaxpr.out_avals[0].shape)
    start = cond_nconsts + body_nconsts
    kept = g.given[start:]
    state = [g.array(x, known.dtype) for x, known in zip(args[start:], kept)]

    def part(name: str, jaxpr: Jaxpr, consts: Sequence[Any]) -> Function:
        with g.function(name) as made:
            given = g.packed_inputs("state", outs)
            results = g.inline(jaxpr, (*consts, *given))
            if name == "goes_on":
                made.outputs = g.t.any(results[0]) if rank else results[0]
                return made
            after = [g.array(x, o.dtype) for x, o in zip(results, outs)]
            if rank:
                holds = g.array(g.inline(cond_jaxpr, (*args[:cond_nconsts], *given))[0])
                after = [_kept(g, holds, rank, x, y) for x, y in zip(after, given)]
            made.outputs = packed(after)
        return made

    goes_on = part("goes_on", cond_jaxpr, args[:cond_nconsts])
    body = part("body", body_jaxpr, args[cond_nconsts:start])
    result = g.t.while_loop(goes_on, body, packed(state))
    return g.unpacked(result, len(outs))


def _kept(g: JaxBuilder, holds: Value, rank: int, new: Value, old: Value) -> Value:
    for axis in range(rank, len(old.shape or ())):
        holds = g.t.expand_dims(holds, axis=axis)
    return g.t.where(holds, new, old)


@control_rules("scan")
def scan(
    g: JaxBuilder,
    *args: Operand,
    jaxpr: Jaxpr,
    num_consts: int,
    num_carry: int,
    length: int | str,
    reverse: bool,
) -> Any:
    outs, given = list(g.out), list(g.given)
    consts = args[:num_consts]
    whole = [g.array(x, known.dtype) for x, known in zip(args, given)]
    init, xs = whole[num_consts : num_consts + num_carry], whole[num_consts + num_carry :]
    x_results = given[num_consts + num_carry :]
    if reverse:
        xs = [g.described(g.t.flip(x, axis=0), x.shape, x.dtype) for x in xs]
    carried = outs[:num_carry]
    made_ys = outs[num_carry:]
    steps: Any = packed(xs)
    if not xs:
        steps = g.t.arange(g.size(length), dtype="int32", backend=g.to)
    if not init:
        init = [g.full((), 0.0, "float32")]
    with g.function("step") as step:
        inputs = g.packed_inputs("carry", carried) if carried else [g.input("carry")]
        rows = [type(r)(r.shape[1:], r.dtype) for r in x_results]
        row = g.packed_inputs("x", rows) if rows else [g.input("i")]
        results = g.inline(jaxpr, (*consts, *(inputs if carried else ()), *(row if rows else ())))
        new = [g.array(x, out.dtype) for x, out in zip(results, outs)]
        carry = new[:num_carry] if carried else inputs
        step.outputs = (packed(carry), packed(new[num_carry:]))
    result = g.t.scan(step, packed(init), steps)
    last, ys = g.items(result, 2)
    found: list[Value] = []
    if carried:
        found += g.unpacked(last, num_carry)
    if made_ys:
        columns = g.unpacked(ys, len(made_ys))
        found += [g.t.flip(y, axis=0) for y in columns] if reverse else columns
    return tuple(found)
