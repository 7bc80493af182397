"""trellis.ode: orders of the methods, SciPy, closed forms, gradients."""

import numpy as np
import pytest
from equations import DETEST, STIFF
from scipy.integrate import solve_ivp

import trellis
from trellis import ode
from trellis.conformance.compilers import compile_with, one_program
from trellis.ode.tableaus import TABLEAUS


@pytest.fixture(autouse=True)
def wide(x64):
    with x64():
        yield


@pytest.mark.parametrize("name", TABLEAUS)
def test_tableaus_are_consistent(name):
    """Row sums, weights and polynomials; the coefficients are printed to 15 digits and more."""
    table = TABLEAUS[name]
    for i, row in enumerate(table.a):
        assert sum(row) + (table.diagonal if i else 0.0) == pytest.approx(table.c[i], abs=1e-14)
    assert sum(table.b) == pytest.approx(1.0, abs=1e-14)
    for row in table.errors:
        assert sum(row) == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(np.sum(table.polynomial, axis=0), table.b, atol=1e-12)
    np.testing.assert_allclose(table.polynomial[0], np.eye(len(table.b))[0], atol=1e-12)


# Fixed steps: the larger number first; few enough that rounding stays far below the error.
STEPS = {
    "bosh3": (20, 40),
    "dopri5": (10, 20),
    "tsit5": (10, 20),
    "dopri8": (4, 8),
    "kvaerno3": (20, 40),
    "kvaerno5": (10, 20),
}


@pytest.mark.parametrize("name", STEPS)
def test_orders(name):
    """y' = y cos(t) has the solution exp(sin(t)); half the step is 2^order times less error."""
    errors = []
    for steps in STEPS[name]:
        found = ode.solve(
            lambda t, y: y * trellis.cos(t), np.ones(1), [0.0, 2.0], method=name, step=2.0 / steps
        )
        assert int(found.accepted) == steps
        errors.append(abs(float(found.y[0]) - np.exp(np.sin(2.0))))
    order = np.log2(errors[0] / errors[1])
    # The next order still shows at these steps; a wrong coefficient costs at least one.
    assert TABLEAUS[name].order - 0.35 < order < TABLEAUS[name].order + 1.6


@pytest.mark.parametrize("name", STEPS)
def test_between_steps(name):
    """Inside steps of 0.1 the polynomials are as exact as the ends of the steps, about; a wrong
    coefficient costs two digits at least."""
    ts = np.linspace(0.0, 1.0, 23)
    found = ode.solve(lambda t, y: y * trellis.cos(t), np.ones(1), ts, method=name, step=0.1)
    bound = {"bosh3": 5e-5, "kvaerno3": 3e-4, "kvaerno5": 2e-6, "dopri8": 1e-11}.get(name, 2e-7)
    np.testing.assert_allclose(found.ys[:, 0], np.exp(np.sin(ts)), atol=bound)


def of_scipy(fn, y0, end, method="DOP853", rtol=1e-12):
    """To 12 digits; to 9 for stiff problems."""
    found = solve_ivp(fn, (0.0, end), y0, method=method, rtol=rtol, atol=1e-2 * rtol)
    return found.y[:, -1]


@pytest.mark.parametrize("group", "ABCDE")
def test_detest(xp, backend, group):
    """Every problem of the set on NumPy, the first one elsewhere."""
    rows = [name for name in DETEST if name[0] == group]
    for name in rows if backend == "numpy" else rows[:1]:
        fn, y0 = DETEST[name]
        expected = of_scipy(lambda t, y, fn=fn: np.stack(fn(np, t, y)), y0, 5.0)
        run = one_program(
            backend,
            lambda y, fn=fn: ode.solve(
                lambda t, y: trellis.stack(fn(trellis, t, y)), y, [0.0, 5.0], rtol=1e-8, atol=1e-10
            ),
        )
        found = run(xp.from_numpy(np.array(y0)))
        # Errors of single steps are 1e-8; the problems let them grow by less than 100.
        np.testing.assert_allclose(
            trellis.to_numpy(found.y), expected, rtol=1e-6, atol=1e-6, err_msg=name
        )


# With the tolerance of steps, and how many times that the result may be away: problems of DETEST
# let errors grow by less than 100, and D5, an orbit of eccentricity 0.9, by 1,000.
OTHER_METHODS = {"dopri5": 1e-8, "dopri8": 1e-8, "bosh3": 1e-5}


@pytest.mark.parametrize("method", OTHER_METHODS)
def test_detest_by_other_methods(method):
    rtol = OTHER_METHODS[method]
    for name, (fn, y0) in DETEST.items():
        expected = of_scipy(lambda t, y, fn=fn: np.stack(fn(np, t, y)), y0, 5.0)
        found = ode.solve(
            lambda t, y, fn=fn: np.stack(fn(np, t, y)), np.array(y0), [0.0, 5.0],
            method=method, rtol=rtol, atol=0.01 * rtol,
        )  # fmt: skip
        grown = 1000 if name == "D5" else 100
        np.testing.assert_allclose(
            found.y, expected, rtol=grown * rtol, atol=grown * rtol, err_msg=name
        )


@pytest.mark.parametrize("method", ["kvaerno5", "kvaerno3"])
@pytest.mark.parametrize("name", STIFF)
def test_stiff_problems(name, method):
    fn, y0, end, atol = STIFF[name]
    expected = of_scipy(lambda t, y: np.stack(fn(np, t, y)), y0, end, "Radau", 1e-9)
    rtol = 1e-6 if method == "kvaerno5" else 1e-4
    found = ode.solve(
        lambda t, y: trellis.stack(fn(trellis, t, y)),
        np.array(y0),
        [0.0, end],
        method=method,
        rtol=rtol,
        atol=atol,
    )
    # Errors of single steps are those of rtol, and shrink in these problems.
    np.testing.assert_allclose(found.y, expected, rtol=10 * rtol, atol=10 * atol)
    # An explicit method needs a step for each of the fastest times: thousands.
    assert int(found.accepted) < (100 if method == "kvaerno5" else 300)


ELSEWHERE = [
    pytest.param(name, marks=() if name == "robertson" else pytest.mark.long) for name in STIFF
]


@pytest.mark.parametrize("name", ELSEWHERE)
def test_stiff_problems_elsewhere(xp, backend, name):
    """Those of NumPy are above."""
    if backend == "numpy":
        return
    fn, y0, end, atol = STIFF[name]
    expected = of_scipy(lambda t, y: np.stack(fn(np, t, y)), y0, end, "Radau", 1e-9)
    run = one_program(
        backend,
        lambda y: ode.solve(
            lambda t, y: trellis.stack(fn(trellis, t, y)), y, [0.0, end], method="kvaerno5",
            rtol=1e-6, atol=atol,
        ),
    )  # fmt: skip
    found = trellis.to_numpy(run(xp.from_numpy(np.array(y0))).y)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=10 * atol)


def test_stiff_elsewhere(xp, backend):
    """A fast mode beside a slow one: y' = -1000 (y - cos(t)), which follows cos(t)."""
    run = one_program(
        backend,
        lambda y: ode.solve(
            lambda t, y: -1000.0 * (y - trellis.cos(t)), y, [0.0, 1.0], method="kvaerno3", rtol=1e-5
        ),
    )
    found = run(xp.from_numpy(np.array([0.0])))
    exact = 1000.0 * (1000.0 * np.cos(1.0) + np.sin(1.0)) / (1000.0**2 + 1)
    assert float(found.y[0]) == pytest.approx(exact, abs=1e-5)
    assert bool(found.finished)


def growth(t, y, a):
    return {"u": a * y["u"], "v": -y["v"]}


@pytest.mark.parametrize("gradient", ["discrete", "adjoint"])
def test_gradients(xp, backend, gradient):
    """u' = a u: u(t) = u0 exp(a t), whose derivatives by u0, a and t are known."""

    def total(y0, a, ts):
        ys = ode.odeint(
            growth, y0, ts, (a,), rtol=1e-9, atol=1e-11, gradient=gradient, max_steps=64
        )
        return trellis.sum(ys["u"] * xp.from_numpy(np.array([0.0, 1.0, 2.0])))

    y0 = {"u": xp.from_numpy(np.array(1.5)), "v": xp.from_numpy(np.array([1.0, 2.0]))}
    a, ts = xp.from_numpy(np.array(0.7)), np.array([0.0, 0.4, 1.0])
    run = one_program(backend, trellis.grad(total, (0, 1, 2)))
    by_y0, by_a, by_ts = run(y0, a, xp.from_numpy(ts))
    u = 1.5 * np.exp(0.7 * ts)
    weights = np.array([0.0, 1.0, 2.0])
    # The tolerance of a step is 1e-9, of the adjoint's too.
    assert float(by_y0["u"]) == pytest.approx((weights * u).sum() / 1.5, rel=1e-7)
    np.testing.assert_allclose(trellis.to_numpy(by_y0["v"]), 0.0, atol=1e-12)
    assert float(by_a) == pytest.approx((weights * u * ts).sum(), rel=1e-7)
    expected = weights * 0.7 * u
    expected[0] = -expected.sum()
    np.testing.assert_allclose(trellis.to_numpy(by_ts), expected, rtol=1e-7)


@pytest.mark.parametrize("gradient", ["discrete", "adjoint", "direct"])
def test_gradients_of_stiff_methods(gradient):
    def end(a):
        found = ode.solve(
            lambda t, y, a: -a * y * y,
            np.array([1.0]),
            [0.0, 2.0],
            (a,),
            method="kvaerno5",
            rtol=1e-8,
            atol=1e-10,
            gradient=gradient,
            max_steps=128,
        )
        return trellis.sum(found.y)

    # y = 1 / (1 + a t).
    assert float(trellis.grad(end)(np.array(1.5))) == pytest.approx(-2.0 / 16.0, rel=1e-6)


def test_second_derivatives_go_through_the_loop():
    def end(a, gradient):
        found = ode.odeint(
            lambda t, y, a: a * y, np.array(1.0), [0.0, 1.0], (a,), gradient=gradient, max_steps=64
        )
        return found[-1]

    a = np.array(0.5)
    second = trellis.grad(trellis.grad(lambda a: end(a, "direct")))(a)
    assert float(second) == pytest.approx(np.exp(0.5), rel=1e-5)
    with pytest.raises(trellis.errors.ArgumentError, match="gradient='direct'"):
        trellis.grad(trellis.grad(lambda a: end(a, "discrete")))(a)
    pushed = trellis.jvp(lambda a: end(a, "direct"), (a,), (np.array(1.0),))[1]
    assert float(pushed) == pytest.approx(np.exp(0.5), rel=1e-5)


def test_events(xp, backend):
    """A ball that falls from h reaches the ground at sqrt(2 h / g), as fast as sqrt(2 h g)."""

    def time_of(h):
        y0 = trellis.stack([h, xp.zeros_like(h)])
        found = ode.solve(
            lambda t, y: trellis.stack([y[1], -9.81 + 0.0 * y[0]]),
            y0,
            [0.0, 1.0, 5.0],
            event=lambda t, y: y[0],
            rtol=1e-8,
            max_steps=64,
        )
        return found.t, found

    run = one_program(backend, trellis.value_and_grad(time_of, has_aux=True))
    (t, found), slope = run(xp.from_numpy(np.array(10.0)))
    # A parabola: the method and its polynomial are exact.
    assert float(t) == pytest.approx(np.sqrt(20 / 9.81), rel=1e-10)
    assert float(slope) == pytest.approx(1 / np.sqrt(2 * 9.81 * 10), rel=1e-8)
    assert float(found.y[1]) == pytest.approx(-np.sqrt(2 * 9.81 * 10), rel=1e-10)
    assert found.message == "ended by the event"
    assert np.isnan(trellis.to_numpy(found.ys)[2]).all()


def lotka_volterra(t, y, a):
    return trellis.stack([a * y[0] - y[0] * y[1], -3.0 * y[1] + y[0] * y[1]])


def test_compiled_and_the_same_steps(xp, backend):
    run = compile_with(
        backend,
        lambda y, a: ode.solve(lotka_volterra, y, [0.0, 4.0], (a,), rtol=1e-8, atol=1e-8),
        autograph=False,
    )
    found = run(xp.from_numpy(np.array([10.0, 5.0])), xp.from_numpy(np.array(1.5)))
    # The numbers of NumPy.
    assert (int(found.accepted), int(found.rejected)) == (89, 7)
    expected = of_scipy(
        lambda t, y: [1.5 * y[0] - y[0] * y[1], -3 * y[1] + y[0] * y[1]], [10.0, 5.0], 4.0
    )
    np.testing.assert_allclose(trellis.to_numpy(found.y), expected, rtol=1e-6)


def test_batched(xp, backend):
    """Values and gradients: behind two transforms, where no truth value can be read."""
    rows = np.array([0.5, 2.0])

    def one(a):
        return ode.odeint(lambda t, y, a: -a * y, xp.ones_like(a), [0.0, 1.0], (a,))[-1]

    both = one_program(backend, trellis.vmap(trellis.value_and_grad(one)))
    values, slopes = both(xp.from_numpy(rows))
    np.testing.assert_allclose(trellis.to_numpy(values), np.exp(-rows), rtol=1e-5)
    np.testing.assert_allclose(trellis.to_numpy(slopes), -np.exp(-rows), rtol=1e-5)


def test_backwards_and_controllers():
    found = ode.solve(
        lambda t, y: -y, np.ones(1), [1.0, 0.0], controller=(0.3, 0.3, 0.05), rtol=1e-8
    )
    assert float(found.y[0]) == pytest.approx(np.e, rel=1e-6)
    assert float(found.t) == 0.0


def test_what_does_not_end_says_so():
    short = ode.solve(lambda t, y: -y, np.ones(1), [0.0, 1.0], max_steps=2, rtol=1e-9)
    assert short.message == "max_steps reached"
    assert np.isnan(short.ys[1]).all()
    # y' = y^2 from 1 is infinite at 1.
    with np.errstate(all="ignore"):
        blown = ode.solve(lambda t, y: y * y, np.ones(1), [0.0, 2.0])
    assert not bool(blown.finished)
    assert np.isnan(blown.ys[1]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y: ode.solve(lambda t, y: y, y, [0.0, 1.0], method="rk4"), "'dopri8'"),
        (lambda y: ode.solve(lambda t, y: y, y, [0.0]), "at least two times"),
        (lambda y: ode.solve(lambda t, y: y[:1], y, [0.0, 1.0]), "unknowns, 2, got 1"),
        (lambda y: ode.solve(lambda t, y: y, y, [0.0, 1.0], rtol=0.0), "above 0 for rtol"),
        (lambda y: ode.solve(lambda t, y: y, y, [0.0, 1.0], gradient="no"), "'adjoint'"),
        (lambda y: ode.solve(lambda t, y: y, y, [0.0, 1.0], controller=(1, 0, 0)), "integral"),
        (lambda y: ode.solve(lambda t, y: y, y, "now"), "an array of times"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(trellis.errors.TrellisError, match=message):
        call(np.ones(2))


def test_what_it_closes_over_raises_where_it_is_differentiated(xp):
    def end(a):
        return trellis.sum(ode.odeint(lambda t, y: a * y, xp.ones_like(a), [0.0, 1.0]))

    with pytest.raises(Exception, match="Pass them in args"):
        trellis.grad(end)(xp.from_numpy(np.array([0.5])))


def test_dense_output(xp, backend):
    """At any time of a pytree's solution, forwards and backwards; nan where it was not solved."""

    def run(a, when, end):
        y0 = {"u": xp.ones_like(a), "v": trellis.stack([a, 2.0 * a])}
        found = ode.solve(
            lambda t, y, a: {"u": a * y["u"], "v": -y["v"]},
            y0,
            [0.0, end],
            (a,),
            rtol=1e-9,
            atol=1e-11,
            max_steps=80,
            gradient="direct",
            dense=True,
        )
        return found.at(when)

    a, when = xp.from_numpy(np.array(0.7)), np.array([[0.0, 0.3], [1.9, 2.0]])
    program = one_program(backend, lambda a, when: run(a, when, 2.0))
    found = program(a, xp.from_numpy(when))
    # The polynomial of tsit5 is of order 4: 1e-7 inside of steps whose ends are exact to 1e-9.
    np.testing.assert_allclose(trellis.to_numpy(found["u"]), np.exp(0.7 * when), rtol=1e-6)
    decay = np.exp(-when)[..., None] * np.array([0.7, 1.4])
    np.testing.assert_allclose(trellis.to_numpy(found["v"]), decay, rtol=1e-6)
    if backend == "numpy":
        back = run(a, np.array([0.5, -1.0, -2.5, -3.0]), -2.5)["u"]
        np.testing.assert_allclose(back[1:3], np.exp(-0.7 * np.array([1.0, 2.5])), rtol=1e-6)
        assert np.isnan(back[[0, 3]]).all()
        single = run(a, 0.25, 2.0)["v"]
        np.testing.assert_allclose(single, np.exp(-0.25) * np.array([0.7, 1.4]), rtol=1e-6)
        slope = trellis.grad(lambda a: run(a, np.array([1.5]), 2.0)["u"][0])(a)
        np.testing.assert_allclose(slope, 1.5 * np.exp(0.7 * 1.5), rtol=1e-5)


def test_dense_output_is_differentiated_through_the_loop():
    with pytest.raises(trellis.errors.ArgumentError, match="gradient='direct'"):
        ode.solve(lambda t, y: -y, np.ones(1), [0.0, 1.0], dense=True)
    with pytest.raises(trellis.errors.ArgumentError, match="dense=True"):
        ode.solve(lambda t, y: -y, np.ones(1), [0.0, 1.0]).at(0.5)
