import numpy as np
from scipy.special import erf, expit, log_softmax, softmax

from ..case import NO_FLOATS, Case, numbers

x = numbers(3, 4, low=-3.0, high=3.0)
# Beyond all the bends of the functions with straight parts.
wide = np.array([-7.5, -2.5, -0.6, 0.4, 1.7, 2.6, 8.5])
pairs = numbers(2, 6, seed=1)
whole = np.array([-2, 0, 3])


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def gelu(x):
    return x / 2 * (1 + erf(x / np.sqrt(2)))


def halves(x):
    return x[..., :3], x[..., 3:]


def gelu_by_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def case(name, args, expected, **more):
    return Case(f"functional.{name}", args, expected, **more)


CASES = [
    case("relu", (x,), lambda x: np.maximum(x, 0)),
    case("relu", (whole,), np.array([0, 0, 3]), about="integers", gradient=NO_FLOATS),
    case("relu6", (wide,), lambda x: np.clip(x, 0, 6)),
    case("leaky_relu", (x,), lambda x: np.where(x > 0, x, 0.01 * x)),
    case(
        "leaky_relu",
        (x,),
        lambda x: np.where(x > 0, x, 0.2 * x),
        about="slope",
        kwargs={"negative_slope": 0.2},
    ),
    case("prelu", (x, numbers(4)), lambda x, w: np.where(x > 0, x, w * x)),
    case("hard_sigmoid", (wide,), lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    case("hard_swish", (wide,), lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    case("hard_tanh", (wide,), lambda x: np.clip(x, -1, 1)),
    case(
        "hard_tanh",
        (wide,),
        lambda x: np.clip(x, -2, 3),
        about="bounds",
        kwargs={"low": -2.0, "high": 3.0},
    ),
    case("sigmoid", (x,), expit),
    case("log_sigmoid", (x,), lambda x: -np.logaddexp(0, -x)),
    case("softplus", (x,), lambda x: np.logaddexp(0, x)),
    case("softplus", (x,), lambda x: np.logaddexp(0, 3 * x) / 3, about="beta", kwargs={"beta": 3}),
    case("softsign", (x,), lambda x: x / (1 + abs(x))),
    case("elu", (x,), elu),
    case("elu", (x,), lambda x: elu(x, 0.5), about="alpha", kwargs={"alpha": 0.5}),
    case("selu", (x,), lambda x: 1.0507009873554805 * elu(x, 1.6732632423543772)),
    case("gelu", (x,), gelu),
    case("gelu", (x,), gelu_by_tanh, about="by tanh", kwargs={"approximate": True}),
    case("silu", (x,), lambda x: x * expit(x)),
    case("mish", (x,), lambda x: x * np.tanh(np.logaddexp(0, x))),
    case("softmax", (x,), lambda x: softmax(x, axis=-1)),
    case("softmax", (x,), lambda x: softmax(x, axis=0), about="first axis", kwargs={"axis": 0}),
    case("log_softmax", (x,), lambda x: log_softmax(x, axis=-1)),
    case("glu", (pairs,), lambda x: halves(x)[0] * expit(halves(x)[1])),
    case("geglu", (pairs,), lambda x: halves(x)[0] * gelu(halves(x)[1])),
    case("swiglu", (pairs,), lambda x: halves(x)[0] * halves(x)[1] * expit(halves(x)[1])),
]
