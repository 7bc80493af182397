"""Elements by their indices."""

from .record import OTHER, Op, composed

# fmt: off
OPS = (
    Op("index_add", OTHER),
    Op("index_max", OTHER),
    Op("index_min", OTHER),
    Op("index_multiply", OTHER),
    Op("index_set", OTHER),
    Op("segment_sum", OTHER,
       tensorflow="tf.math.unsorted_segment_sum(x, tf.where(segment_ids < num_segments, "
                  "segment_ids, -1), num_segments)",
       near="np.add.reduceat jax.ops.segment_sum torch.scatter_add"),
    Op("take", OTHER, numpy="np.take(x, indices, axis=axis)", near="torch.index_select tf.gather"),
    Op("take_along_axis", OTHER, numpy="np.take_along_axis(x, indices, axis=axis)",
       torch="torch.take_along_dim(x, indices.long(), axis)",
       near="tf.experimental.numpy.take_along_axis"),
    Op("update_slice", OTHER),
    # Written over others.
    composed("at", near="jnp.ndarray.at torch.Tensor.index_put tf.tensor_scatter_nd_update"),
    composed("put_along_axis",
             near="np.put_along_axis jnp.put_along_axis torch.scatter tf.tensor_scatter_nd_update"),
    composed("scatter",
             near="np.put_along_axis jax.lax.scatter torch.scatter tf.tensor_scatter_nd_update"),
)
