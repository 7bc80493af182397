"""Elements by their indices."""

from .record import OTHER, Op

# fmt: off
OPS = (
    Op("index_add", OTHER),
    Op("index_max", OTHER),
    Op("index_min", OTHER),
    Op("index_multiply", OTHER),
    Op("index_set", OTHER),
    Op("segment_sum", OTHER,
       tensorflow="tf.math.unsorted_segment_sum(x, segment_ids, num_segments)",
       near={"numpy": "numpy.add.reduceat", "jax": "jax.ops.segment_sum",
             "torch": "torch.scatter_add"}),
    Op("take", OTHER, numpy="np.take(x, indices, axis=axis)",
       near={"torch": "torch.index_select", "tensorflow": "tensorflow.gather"}),
    Op("take_along_axis", OTHER, numpy="np.take_along_axis(x, indices, axis=axis)",
       torch="torch.take_along_dim(x, indices.long(), axis)",
       near={"tensorflow": "tensorflow.experimental.numpy.take_along_axis"}),
    Op("update_slice", OTHER),
)
