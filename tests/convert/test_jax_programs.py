"""Functions of JAX with unusual options, on inputs that conversion did not see: right, or raised
with the name of the primitive."""

import numpy as np
import pytest
from foreign_programs import check_row

from converted_checks import weights
from trellis import convert

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax_programs import ROWS  # noqa: E402

pytestmark = pytest.mark.needs("jax")


def converted(fn, example, backend, verify):
    return convert.from_jax(fn, example, variables=(), to=backend, verify=verify)


def run(fn, inputs):
    return jax.tree_util.tree_leaves(fn(*[jnp.asarray(x) for x in inputs]))


def gradient(fn, inputs, places):
    arrays = [jnp.asarray(x) for x in inputs]

    def loss(*chosen):
        given = list(arrays)
        for i, x in zip(places, chosen):
            given[i] = x
        total = 0.0
        for out in jax.tree_util.tree_leaves(fn(*given)):
            if jnp.issubdtype(out.dtype, jnp.inexact):
                part = jnp.abs(out) if jnp.iscomplexobj(out) else out
                total = total + jnp.sum(part * weights(out.shape).astype(part.dtype))
        return total

    chosen = [arrays[i] for i in places]
    return [np.asarray(x) for x in jax.grad(loss, argnums=tuple(range(len(places))))(*chosen)]


def check(name, backend):
    check_row(ROWS[name], backend, converted, run, gradient)


# One row of each kind of function; all of them take minutes.
@pytest.mark.parametrize("name", list(ROWS)[::30])
def test_some_functions(name, backend):
    check(name, backend)


@pytest.mark.long
@pytest.mark.parametrize("name", ROWS)
def test_all_functions(name, backend):
    check(name, backend)


def test_a_row_that_is_not_the_usual_one_has_its_reason():
    assert ROWS.without_reason() == []
