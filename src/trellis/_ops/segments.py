"""Slices that share an id. All written over other operations."""

from .record import composed

# fmt: off
OPS = (
    composed("segment_max", near="jax.ops.segment_max tf.math.unsorted_segment_max"),
    composed("segment_mean", near="tf.math.unsorted_segment_mean"),
    composed("segment_min", near="jax.ops.segment_min tf.math.unsorted_segment_min"),
    composed("segment_prod", near="jax.ops.segment_prod tf.math.unsorted_segment_prod"),
    composed("segment_softmax"),
)
