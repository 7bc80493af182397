"""Every optimizer, transformation and schedule: bad arguments, data types, copies and pickles."""

import contextlib
import copy
import inspect
import math
import pickle
import re

import numpy as np
import pytest

import trellis
from optim_cases import OPTIMIZERS, SCHEDULES, TRANSFORMATIONS, named
from trellis import Container, errors, optim, tree
from trellis.conformance.good_calls import NEEDED
from trellis.optim import schedules
from trellis.optim.arguments import ADVICE, OTHER_NAMES
from trellis.testing import assert_close

ROWS = named([*OPTIMIZERS, *TRANSFORMATIONS, *SCHEDULES])


def of(name):
    """What stands under a public name: "Adam", "clip", "schedules.cosine"."""
    found = optim
    for part in name.split("."):
        found = getattr(found, part)
    return found


# Mistakes -----------------------------------------------------------------------------------------

# None is a value of these.
OPTIONAL = {
    "mask",
    "clipping",
    "where",
    "adam_lr",
    "beta3",
    "steps_down",
    ("Adafactor", "momentum"),
    ("Adafactor", "lr"),
    ("Optimizer", "lr"),
    ("ParameterAverage", "decay"),
}
# None is not a value of these, although it is one of others of their name.
REQUIRED = {("Adan", "beta3"), ("scale_by_adan", "beta3")}
# Any finite number will do for these.
ANY_NUMBER = {"factor", "value", "end", "start", "peak", "low", "high"}
NOT_IN_A_SIGNATURE = ("chain", "identity")


def parameters():
    names = sorted({row.name for row in ROWS.values()} - set(NOT_IN_A_SIGNATURE))
    return [(name, p) for name in [*names, "ParameterAverage"] for p in signature(name)]


def signature(name):
    return inspect.signature(of(name)).parameters


def mistakes(name, parameter):
    """Values that this parameter cannot take."""
    given = ["0.5", object(), 1j, [0.5, 0.5], np.ones(3), {1, 2}]
    pair = (name, parameter)
    if pair in REQUIRED or not (parameter in OPTIONAL or pair in OPTIONAL):
        given.append(None)
    if parameter == "coefficients":
        return [*given[:4], given[5], 0.5]
    if parameter in ("mask", "where"):
        return [*given[:3], given[4], given[5], 0.5]
    if parameter in ("lr", "adam_lr", "schedule", "schedules", "boundaries", "factors", "inner"):
        return [math.nan, *given] if parameter in ("lr", "adam_lr") else given
    if parameter == "transformation":
        return given
    default = signature(name)[parameter].default
    if isinstance(default, bool):
        return [*given, 1, 0.5]
    numbers = [math.nan, math.inf, True]
    return [*given, *numbers, *([] if parameter in ANY_NUMBER else [-0.5, -1])]


@pytest.mark.parametrize("name, parameter", parameters())
def test_bad_values_are_named(name, parameter):
    for value in mistakes(name, parameter):
        with pytest.raises(errors.TrellisError) as caught:
            of(name)(**{**NEEDED.get(name, {}), parameter: value})
        text = str(caught.value)
        said = re.search(rf"\b{parameter}\b", text) or parameter in ("inner", "transformation")
        assert said and len(text) > 20, (value, text)


@pytest.mark.parametrize("name", ["beta1", "beta2"])
def test_betas_of_one_and_more(name):
    for value in (1, 1.0, 2.0, -0.1):
        with pytest.raises(errors.ArgumentError, match=rf"{name} must be a number in \[0, 1\)"):
            optim.Adam(**{name: value})


HABITS = {
    "betas": (lambda: optim.Adam(betas=(0.9, 0.999)), "beta1 and beta2"),
    "learning_rate": (lambda: optim.Adam(learning_rate=0.1), "'lr'"),
    "weight_decay": (lambda: optim.RMSprop(weight_decay=0.1), "add_decayed_weights"),
    "maximize": (lambda: optim.Adam(maximize=True), "maximizing"),
    "params": (lambda: optim.SGD(params=[1], lr=0.1), "step"),
    "params first": (lambda: optim.SGD([np.ones(1)]), "step"),
    "a module first": (lambda: optim.SGD(trellis.nn.Linear(1, 1)), "step"),
    "params first and lr": (lambda: optim.Adam([np.ones(1)], lr=0.1), "lr"),
    "eps": (lambda: optim.AdamW(eps=1e-8), "'epsilon'"),
    "rho": (lambda: optim.RMSprop(rho=0.9), "'decay'"),
    "alpha": (lambda: optim.RMSprop(alpha=0.9), "'decay'"),
    "b1": (lambda: optim.Lion(b1=0.9), "'beta1'"),
    "a typing error": (lambda: optim.SGD(0.1, momentun=0.9), "'momentum'"),
    "clipnorm": (lambda: optim.Adam(clipnorm=1.0), "clip_by_norm"),
    "max_norm": (lambda: optim.clip_by_global_norm(max_norm=1.0), "'limit'"),
    "T_max": (lambda: schedules.cosine(0.1, T_max=10), "'steps'"),
    "decay_steps": (lambda: schedules.cosine(0.1, decay_steps=10), "'steps'"),
    "gamma": (lambda: schedules.step(0.1, 10, gamma=0.1), "'factor'"),
    "max_lr": (lambda: schedules.one_cycle(max_lr=0.1, steps=10), "'peak'"),
    "step_size": (lambda: schedules.step(0.1, step_size=10), "'every'"),
    "step_size of optax": (lambda: optim.scale(step_size=2.0), "'factor'"),
    "init_value": (lambda: schedules.cosine(init_value=0.1, steps=10), "'value'"),
    "milestones": (lambda: schedules.piecewise(0.1, milestones=[1]), "'factors'"),
    "decoupled": (lambda: optim.Adam(decoupled_weight_decay=True), "AdamW does not"),
    "missing": (lambda: optim.SGD(), "'lr'"),
    "an optimizer in a chain": (lambda: optim.chain(optim.Adam()), "after"),
    "a function in a chain": (lambda: optim.chain(optim.clip), "clip\\(...\\)"),
    "nesterov without momentum": (lambda: optim.SGD(0.1, nesterov=True), "momentum"),
}


def names_of_arguments(*modules):
    """The names of all arguments of what is public in some modules."""
    found = set()
    for module in modules:
        for name, value in vars(module).items():
            if callable(value) and not name.startswith("_"):
                with contextlib.suppress(TypeError, ValueError):
                    found |= set(inspect.signature(value).parameters)
    return found


def test_tables_of_names_hold_names_that_exist():
    ours = names_of_arguments(optim, schedules)
    assert {name for names in OTHER_NAMES.values() for name in names} <= ours
    import keras
    import optax
    import torch

    theirs = names_of_arguments(
        *(torch.optim, torch.optim.lr_scheduler, torch.nn.utils, optax, optax.schedules),
        *(keras.optimizers, keras.optimizers.schedules),
    )
    # Of transformers and other trainers.
    elsewhere = {"clip_threshold", "decay_factor", "gradient_accumulation_steps", "parameters"}
    assert (set(OTHER_NAMES) | set(ADVICE)) - theirs - elsewhere == set()


@pytest.mark.parametrize("name", HABITS)
def test_habits_of_other_libraries_are_answered(name):
    make, advice = HABITS[name]
    with pytest.raises(errors.TrellisError, match=advice):
        make()


def test_numbers_of_numpy_are_numbers():
    assert optim.SGD(np.float32(0.5)).lr == 0.5
    assert optim.SGD(np.int64(1), momentum=np.float16(0.5)).lr == 1.0
    assert schedules.cosine(np.float64(1.0), np.int32(4))(2) == pytest.approx(0.5)


def test_a_learning_rate_may_be_an_array(array):
    w = array(np.ones(2, "float32"))
    for make in (optim.SGD, optim.Adam):
        one, other = make(array(np.array(0.25, "float32"))), make(0.25)
        found, expected = one.step(w, w), other.step(w, w)
        np.testing.assert_allclose(trellis.to_numpy(found), trellis.to_numpy(expected), rtol=1e-6)


# Data types ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda: optim.SGD(0.1), optim.Adam, lambda: optim.LARS(0.1), optim.LAMB]
)
def test_complex_and_integer_variables_are_refused(make, array):
    real, number = array(np.ones(2, "float32")), array(np.ones(2, "complex64"))
    whole = array(np.ones(2, "int32"))
    with pytest.raises(errors.DtypeError, match="complex64"):
        make().step({"a": number}, {"a": number})
    with pytest.raises(errors.DtypeError, match="complex64"):
        make().step({"a": real}, {"a": number})
    with pytest.raises(errors.DtypeError, match="int32"):
        make().step({"a": whole}, {"a": real})
    with pytest.raises(errors.DtypeError, match="complex64"):
        optim.global_norm({"a": number})
    np.testing.assert_array_equal(
        trellis.to_numpy(optim.SGD(0.5).step({"a": real}, {"a": whole})["a"]), [0.5, 0.5]
    )


STEPS_AS_FUNCTIONS = {
    "optimizer_update": lambda w, g: trellis.optimizer_update(w, g, 0.1),
    "gradient_descent_update": lambda w, g: trellis.gradient_descent_update(w, g, 0.1),
    "lars_update": lambda w, g: trellis.lars_update(w, g, 0.1),
    "adam_step": lambda w, g: trellis.adam_step(g, w, w, 1),
    "adam_update": lambda w, g: trellis.adam_update(w, g, 0.1, w, w, 1),
    "lamb_update": lambda w, g: trellis.lamb_update(w, g, 0.1, w, w, 1),
}


@pytest.mark.parametrize("name", STEPS_AS_FUNCTIONS)
@pytest.mark.parametrize("leaves", [1, 12])
def test_steps_as_functions_refuse_complex_numbers(name, leaves, array):
    """With many leaves some of them take a path over lists."""
    real, number = array(np.ones(2, "float32")), array(np.full(2, 1 + 2j, "complex64"))

    def nest(x):
        return x if leaves == 1 else {f"w{i}": x for i in range(leaves)}

    fn = STEPS_AS_FUNCTIONS[name]
    for pair in ((real, number), (number, real), (number, number)):
        with pytest.raises(errors.DtypeError, match=rf"{name}\(\).*complex64"):
            fn(*map(nest, pair))
    assert trellis.tree.leaves(fn(nest(real), nest(real)))


# Copies -------------------------------------------------------------------------------------------


def copies(x):
    return [pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)]


@pytest.mark.parametrize("name", named(OPTIMIZERS))
def test_copied_optimizers_go_on_alike(name, array, backend):
    opt = ROWS[name].make()
    v = Container(a=array(np.ones((2, 3), "float32")), b=array(np.full(2, 0.5, "float32")))
    g = Container(a=array(np.full((2, 3), 0.3, "float32")), b=array(np.ones(2, "float32")))
    fresh = copies(opt)
    v = opt.step(opt.step(v, g), g)
    twins = copies(opt)
    expected = opt.step(v, g)
    for twin in twins:
        found = twin.step(v, g)
        assert type(twin) is type(opt) and int(twin.state.step) == int(opt.state.step) == 3
        for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
            assert trellis.backend_of(x) == backend
            np.testing.assert_array_equal(trellis.to_numpy(x), trellis.to_numpy(y))
    assert all([len(other.state) == 0 for other in fresh])


@pytest.mark.parametrize("name", named(TRANSFORMATIONS))
def test_copied_transformations_are_the_same(name, array):
    transformation = ROWS[name].make()
    w = Container(a=array(np.ones((2, 3), "float32")), b=array(np.full(2, 0.5, "float32")))
    expected = transformation.update(w, transformation.init(w), w)
    for twin in copies(transformation):
        found = twin.update(w, twin.init(w), w)
        for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(trellis.to_numpy(x), trellis.to_numpy(y))


@pytest.mark.parametrize("name", named(SCHEDULES))
def test_copied_schedules_are_the_same(name):
    schedule = ROWS[name].make()
    for twin in copies(schedule):
        assert twin == schedule
        assert [twin(t) for t in range(12)] == [schedule(t) for t in range(12)]
    assert repr(schedule).startswith("<schedule ")


def test_a_copied_average_goes_on_alike(array):
    average = optim.ParameterAverage(0.5)
    average.step({"w": array([1.0, 2.0])})
    twins = copies(average)
    expected = average.step({"w": array([3.0, 4.0])})["w"]
    for twin in twins:
        found = twin.step({"w": array([3.0, 4.0])})["w"]
        np.testing.assert_array_equal(trellis.to_numpy(found), trellis.to_numpy(expected))


def test_hyperparameters_are_set_once(backend, array):
    """A step would not see another value: a compiled one has it built in."""
    w, g = array([1.0, 2.0], "float32"), array([0.5, -1.0], "float32")
    optimizer = optim.SGD(0.1, momentum=0.5)
    v = optimizer.step(w, g)
    for name in ("momentum", "weight_decay"):
        with pytest.raises(errors.ArgumentError, match=rf"new = optim.SGD\({name}=0.0\)"):
            setattr(optimizer, name, 0.0)
    slower = optim.SGD(0.01, momentum=0.5)
    slower.state = optimizer.state
    # m = 0.5 * g + g
    assert_close(
        slower.step(v, g), np.array([0.95 - 0.0075, 2.1 + 0.015], "float32"), backend=backend
    )


def test_a_learning_rate_can_be_set(backend, array):
    """As long as no compiled step can have it built in: after `init` it raises."""
    w, g = array([1.0, 2.0], "float32"), array([0.5, -1.0], "float32")
    optimizer, slower = optim.Adam(0.1), optim.Adam(0.01)
    v = optimizer.step(w, g)
    slower.state = optimizer.state
    optimizer.lr = 0.01
    assert optimizer.lr == 0.01 and "lr=0.01" in repr(optimizer)
    expected = trellis.to_numpy(slower.step(v, g))
    assert_close(optimizer.step(v, g), expected, backend=backend)
    with pytest.raises(errors.ArgumentError, match="lr must be"):
        optimizer.lr = -1.0
    optimizer.init(w)
    for changed in (optimizer, optim.Adam(schedules.constant(0.1)), optim.LARS(0.1)):
        with pytest.raises(errors.ArgumentError, match="lr of an optimizer cannot be changed"):
            changed.lr = 0.5


def test_a_class_of_ones_own_keeps_its_attributes():
    class Warm(optim.Adam):
        def __init__(self, lr, beta1, steps):
            super().__init__(lr, beta1)
            self.beta1, self.steps = beta1, steps

    warm = copy.deepcopy(Warm(0.1, 0.8, 5))
    assert (warm.lr, warm.beta1, warm.steps) == (0.1, 0.8, 5)
    warm.note = "mine"
    with pytest.raises(errors.ArgumentError, match="cannot be changed"):
        warm.steps = 6
    with pytest.raises(AttributeError, match="beta2"):
        warm.beta2  # noqa: B018
