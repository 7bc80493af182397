"""Functions of TensorFlow with unusual options, on inputs that conversion did not see: right, or
raised with the name of the operation."""

import numpy as np
import pytest
from foreign_programs import check_row

from converted_checks import weights
from trellis import convert

tf = pytest.importorskip("tensorflow")

from tensorflow_programs import ROWS  # noqa: E402

pytestmark = pytest.mark.needs("tensorflow")


def converted(fn, example, backend, verify):
    return convert.from_tensorflow(fn, [tf.constant(x) for x in example], to=backend, verify=verify)


def run(fn, inputs):
    found = fn(*[tf.constant(x) for x in inputs])
    return [x.numpy() for x in tf.nest.flatten(found)]


def gradient(fn, inputs, places):
    arrays = [tf.constant(x) for x in inputs]
    chosen = [arrays[i] for i in places]
    with tf.GradientTape() as tape:
        for x in chosen:
            tape.watch(x)
        total = tf.constant(0.0)
        for out in tf.nest.flatten(fn(*arrays)):
            if out.dtype.is_floating or out.dtype.is_complex:
                part = tf.abs(out) if out.dtype.is_complex else out
                w = tf.cast(weights(tuple(out.shape)), part.dtype)
                total = total + tf.cast(tf.reduce_sum(part * w), tf.float32)
    found = tape.gradient(total, chosen, unconnected_gradients="zero")
    return [np.asarray(tf.convert_to_tensor(x)) for x in found]


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
