"""Which elements, and where."""

from .record import COUNT, MIXED, OTHER, Op

# fmt: off
OPS = (
    Op("argmax", COUNT, numpy="np.argmax(x, axis=axis, keepdims=keepdims)",
       torch="torch.argmax(x, dim=axis, keepdim=keepdims)",
       near={"tensorflow": "tensorflow.argmax"}),
    Op("argmin", COUNT, numpy="np.argmin(x, axis=axis, keepdims=keepdims)",
       torch="torch.argmin(x, dim=axis, keepdim=keepdims)",
       near={"tensorflow": "tensorflow.argmin"}),
    Op("count_nonzero", COUNT, numpy="np.count_nonzero(x, axis=axis, keepdims=keepdims)",
       tensorflow="tf.math.count_nonzero(x, axis=axis, keepdims=keepdims)",
       near={"torch": "torch.count_nonzero"}),
    Op("nonzero", OTHER, numpy="np.nonzero(x)", torch="torch.nonzero(x, as_tuple=True)",
       tensorflow="tf.unstack(tf.where(x), axis=1)", near={"tensorflow": "tensorflow.where"}),
    Op("searchsorted", COUNT, numpy="np.searchsorted(x1, x2, side=side, sorter=sorter)",
       torch="torch.searchsorted(x1, x2, side=side, sorter=sorter)",
       near={"tensorflow": "tensorflow.searchsorted"}),
    Op("topk", OTHER,
       near={"numpy": "numpy.argpartition", "jax": "jax.lax.top_k", "torch": "torch.topk",
             "tensorflow": "tensorflow.math.top_k"}),
    Op("where", MIXED, numpy="np.where(condition, x1, x2)", torch="torch.where(condition, x1, x2)",
       tensorflow="tf.where(condition, x1, x2)", reads={"tensorflow": "SelectV2", "onnx": "Where"},
       apart=("condition",), arrays_only=("tensorflow",)),
)
