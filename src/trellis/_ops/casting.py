"""Data types of arrays."""

from .record import composed

# fmt: off
OPS = (
    composed("astype", near="np.astype jnp.astype torch.Tensor.to tf.cast"),
    composed("can_cast", near="np.can_cast jnp.can_cast torch.can_cast"),
    composed("finfo", near="np.finfo jnp.finfo torch.finfo tf.experimental.numpy.finfo"),
    composed("iinfo", near="np.iinfo jnp.iinfo torch.iinfo tf.experimental.numpy.iinfo"),
    composed("isdtype", near="np.isdtype jnp.isdtype"),
    composed("result_type",
             near="np.result_type jnp.result_type torch.result_type "
                  "tf.experimental.numpy.result_type"),
)
