"""Which elements, and where."""

from .record import COUNT, MIXED, OTHER, Op, composed

# fmt: off
OPS = (
    Op("argmax", COUNT, numpy="np.argmax(x, axis=axis, keepdims=keepdims)",
       torch="torch.argmax(x, dim=axis, keepdim=keepdims)", near="tf.argmax"),
    Op("argmin", COUNT, numpy="np.argmin(x, axis=axis, keepdims=keepdims)",
       torch="torch.argmin(x, dim=axis, keepdim=keepdims)", near="tf.argmin"),
    Op("count_nonzero", COUNT, numpy="np.count_nonzero(x, axis=axis, keepdims=keepdims)",
       tensorflow="tf.math.count_nonzero(x, axis=axis, keepdims=keepdims)",
       near="torch.count_nonzero"),
    Op("nonzero", OTHER, numpy="np.nonzero(x)", torch="torch.nonzero(x, as_tuple=True)",
       tensorflow="tf.unstack(tf.where(x), axis=1)", near="tf.where"),
    Op("searchsorted", COUNT, numpy="np.searchsorted(x1, x2, side=side, sorter=sorter)",
       torch="torch.searchsorted(x1, x2, side=side, sorter=sorter)", near="tf.searchsorted"),
    Op("topk", OTHER, near="np.argpartition jax.lax.top_k torch.topk tf.math.top_k"),
    Op("where", MIXED, numpy="np.where(condition, x1, x2)", torch="torch.where(condition, x1, x2)",
       tensorflow="tf.where(condition, x1, x2)", reads={"tensorflow": "SelectV2", "onnx": "Where"},
       apart=("condition",), arrays_only=("tensorflow",)),
    # Written over others.
    composed("histogram",
             near="np.histogram jnp.histogram torch.histogram tf.histogram_fixed_width"),
)
