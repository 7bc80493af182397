"""Sampled functions. All written over other operations."""

from .record import composed

# fmt: off
OPS = (
    composed("angle", near="np.angle jnp.angle torch.angle tf.math.angle"),
    composed("convolve", near="np.convolve jnp.convolve"),
    composed("correlate", near="np.correlate jnp.correlate"),
    composed("deg2rad", near="np.deg2rad jnp.deg2rad torch.deg2rad"),
    composed("digitize", near="np.digitize jnp.digitize torch.bucketize"),
    composed("gradient", near="np.gradient jnp.gradient torch.gradient"),
    composed("interp", near="np.interp jnp.interp"),
    composed("rad2deg", near="np.rad2deg jnp.rad2deg torch.rad2deg"),
    composed("sinc", near="np.sinc jnp.sinc torch.sinc"),
    composed("trapezoid", near="np.trapezoid jnp.trapezoid torch.trapezoid"),
    composed("unwrap", near="np.unwrap jnp.unwrap"),
)
