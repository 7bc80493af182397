"""Quantiles, covariances, counts. All written over other operations."""

from .record import composed

# fmt: off
OPS = (
    composed("bincount", near="np.bincount jnp.bincount torch.bincount tf.math.bincount"),
    composed("cov", near="np.cov jnp.cov torch.cov"),
    composed("median", near="np.median jnp.median torch.median"),
    composed("nanmax", near="np.nanmax jnp.nanmax"),
    composed("nanmean", near="np.nanmean jnp.nanmean torch.nanmean"),
    composed("nanmin", near="np.nanmin jnp.nanmin"),
    composed("nansum", near="np.nansum jnp.nansum torch.nansum"),
    composed("nunique"),
    composed("percentile", near="np.percentile jnp.percentile"),
    composed("quantile", near="np.quantile jnp.quantile torch.quantile"),
)
