"""The private functions of JAX that this backend uses, each with a public fallback.

Each one is tested with a small call when the backend is loaded. If a version of JAX lacks it or has
it in another form, the fallback gives the same values, only slower. No probe computes anything: JAX
can join other processes only before its first computation.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..doors import opened, require

# Arrays -----------------------------------------------------------------------------------------
# Their class, which has no public name. The fallback takes the class of an array.


def _array_class() -> type:
    from jax._src.array import ArrayImpl

    require(issubclass(ArrayImpl, jax.Array))
    return ArrayImpl  # type: ignore[no-any-return]


def _public_array_class() -> type:
    with jax.ensure_compile_time_eval():  # the backend may be loaded while a function is traced
        return type(jnp.zeros(1))


ARRAY_CLASS: type = opened("jax.array_class", _array_class) or _public_array_class()


# Traces -----------------------------------------------------------------------------------------
# The current trace, which differs inside transforms and `jit`, and the one outside all of them.
# The fallback creates a constant each time, which is symbolic inside `jit`.


def _trace_state() -> tuple[Callable[[], Any], Any]:
    from jax.extend import core

    # Older versions have it in jax.core.
    state = getattr(core, "get_opaque_trace_state", None) or jax.core.get_opaque_trace_state
    at_rest, inside = state(), []
    jax.eval_shape(lambda x: inside.append(state()), 0.0)
    require(at_rest == state(), at_rest != inside[0])
    return state, at_rest


trace_state, trace_state_at_rest = opened("jax.trace_state", _trace_state) or (
    lambda: False,
    True,
)


# Programs ---------------------------------------------------------------------------------------
# The classes of what jax.make_jaxpr returns. The fallback takes them from a small program.


def _program() -> Any:
    return jax.make_jaxpr(lambda x: x + 1.0)(jax.ShapeDtypeStruct((), "float32"))


def _public_classes() -> tuple[Any, Any, Any]:
    closed = _program()
    literal = [x for x in closed.jaxpr.eqns[0].invars if hasattr(x, "val")]
    return type(closed), type(closed.jaxpr), type(literal[0])


def _classes() -> tuple[Any, Any, Any]:
    from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

    closed = _program()
    literals = len([x for x in closed.jaxpr.eqns[0].invars if isinstance(x, Literal)])
    require(isinstance(closed, ClosedJaxpr), isinstance(closed.jaxpr, Jaxpr), literals == 1)
    return ClosedJaxpr, Jaxpr, Literal


ClosedJaxpr, Jaxpr, Literal = opened("jax.programs", _classes) or _public_classes()


# Threefry ---------------------------------------------------------------------------------------
# The words for the first counters: all first words, then all second words. Probed by their
# shape. The fallback takes them out of new keys, which are the same words.


def _counter_words() -> Callable[[Any, int], Any]:
    from jax.extend.random import threefry_2x32

    def counter_words(key: Any, count: int) -> Any:
        counters = jnp.arange(count, dtype=jnp.uint32)
        return threefry_2x32(key, jnp.concatenate([jnp.zeros_like(counters), counters]))

    made = jax.eval_shape(lambda key: counter_words(key, 3), jax.ShapeDtypeStruct((2,), "uint32"))
    require(made.shape == (6,), made.dtype == "uint32")
    return counter_words


def _public_counter_words(key: Any, count: int) -> Any:
    with jax.threefry_partitionable(True):
        keys = jax.random.split(jax.random.wrap_key_data(key, impl="threefry2x32"), count)
        return jax.random.key_data(keys).T.reshape(-1)


counter_words = opened("jax.threefry", _counter_words) or _public_counter_words


# Processes --------------------------------------------------------------------------------------
# To let gloo, which moves arrays between CPUs, listen at one address, before JAX makes its CPU
# client. Without it, gloo listens at the address that the host's name has; `trellis run` looks.


def _listen_at() -> Callable[[str], None]:
    from inspect import signature

    from jax._src import distributed, xla_bridge
    from jax.extend.backend import register_backend_factory
    from jaxlib import _jax

    def listen_at(address: str) -> None:
        if jax.config.jax_cpu_collectives_implementation != "gloo":  # type: ignore[attr-defined]
            return

        def client() -> Any:
            gloo = _jax.make_gloo_tcp_collectives(
                distributed_client=distributed.global_state.client, hostname=address
            )
            return xla_bridge.make_cpu_client(gloo)

        register_backend_factory("cpu", client, priority=0, fail_quietly=False)

    require("collectives" in signature(xla_bridge.make_cpu_client).parameters)
    require(hasattr(distributed.global_state, "client"))
    require("hostname" in (_jax.make_gloo_tcp_collectives.__doc__ or ""))
    return listen_at


listen_at = opened("jax.listen_at", _listen_at) or (lambda address: None)
