"""Parameters of JAX's primitives that a rule need not name.

Primitives have no defaults. One that a rule does not name must stand in these tables, or be None,
by which JAX says that nothing was asked for: versions add parameters that are None until used.
"""

from collections.abc import Mapping
from typing import Any

from ..binding import ANY

_WHERE = (  # on which devices an array lies
    "sharding", "out_sharding", "in_shardings", "out_shardings", "in_layouts", "out_layouts",
    "layout", "devices", "srcs", "dst_sharding", "concrete_mesh", "context_mesh", "ctx_mesh",
    "unconstrained_dims", "copy_semantics", "out_pspec", "resource_env",
)  # fmt: skip
_HOW = (  # how a program is compiled, kept in memory and named
    "donated_invars", "keep_unused", "inline", "compiler_options_kvs", "prevent_cse", "policy",
    "differentiated", "linear", "unroll", "_split_transpose", "name", "version", "is_high",
    "use_magma", "algorithm", "static_argnums", "mutable_arrays_tracked",
)  # fmt: skip
_DERIVATIVES = (  # those by hand: a remark of the report says that they are not kept
    "jvp_jaxpr_fun", "jvp_jaxpr_thunk", "fwd_jaxpr_thunk", "bwd", "num_consts", "symbolic_zeros",
    "out_trees", "fwd_in_tree", "in_tree", "out_tree", "jvp", "fwd", "optimize_remat",
)  # fmt: skip
_SAID_BY_THE_RESULT = (  # its data type, which rules take from `g.out`
    "new_dtype", "index_dtype", "preferred_element_type", "input_dtype", "weak_type", "dtype",
    "out_dtype",
)  # fmt: skip
_PROMISES = (  # by the caller: where they are broken, JAX leaves the result open
    "indices_are_sorted", "unique_indices", "assume_unique", "recall_target",
    "reduction_input_size_override",
)  # fmt: skip

DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys((*_WHERE, *_HOW, *_DERIVATIVES, *_SAID_BY_THE_RESULT, *_PROMISES), ANY),
    "precision": ANY,  # how exact a product is at least; ours is never coarser than its type
    "is_stable": ANY,  # ours always is: without it, the order of equal elements is left open
    "impl": ANY,  # of random keys: which ones can be read is checked when they are used
    "branches_platforms": ANY,  # the index says which branch is taken
    "update_consts": (),  # of the function that a scatter joins old and new numbers by
    "sort_eigenvalues": True,
    "pivoting": False,
    "aggregate_to_topk": True,
}
# What these are given is for people to read, and no part of what a model computes.
_SILENT = ("debug_callback", "debug_print", "shape_assertion")
# The name says how these join numbers, for all of them but the plain one.
_NAMED_SCATTERS = ("add", "mul", "min", "max", "sub")


def defaults_of(primitive: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """At which values the parameters of an equation may be left out."""
    if primitive in _SILENT:
        return dict.fromkeys(params, ANY)
    found = {**dict.fromkeys(params), **DEFAULTS}
    if primitive.startswith("scatter") and primitive[-3:] in _NAMED_SCATTERS:
        found["update_jaxpr"] = ANY
    return found
