"""Fourier transforms."""

from .record import OTHER, Op

# fmt: off
OPS = (
    Op("fft.fft", OTHER, numpy="np.fft.fft(x, n=n, axis=axis, norm=norm)",
       torch="torch.fft.fft(x, n=n, dim=axis, norm=norm)", near="tf.signal.fft"),
    Op("fft.fftfreq", OTHER, numpy="np.fft.fftfreq(n, d=d).astype(result)",
       torch="torch.fft.fftfreq(n, d, dtype=result)", tensorflow=None),
    Op("fft.fftn", OTHER, numpy="np.fft.fftn(x, s=s, axes=axes, norm=norm)",
       torch="torch.fft.fftn(x, s=s, dim=axes, norm=norm)", tensorflow=None,
       near="tf.signal.fftnd"),
    Op("fft.fftshift", OTHER, numpy="np.fft.fftshift(x, axes=axes)",
       torch="torch.fft.fftshift(x, dim=axes)", near="tf.signal.fftshift"),
    Op("fft.hfft", OTHER, numpy="np.fft.hfft(x, n=n, axis=axis, norm=norm)",
       torch="torch.fft.hfft(x, n=n, dim=axis, norm=norm)", tensorflow=None),
    Op("fft.ifft", OTHER, numpy="np.fft.ifft(x, n=n, axis=axis, norm=norm)",
       torch="torch.fft.ifft(x, n=n, dim=axis, norm=norm)", near="tf.signal.ifft"),
    Op("fft.ifftn", OTHER, numpy="np.fft.ifftn(x, s=s, axes=axes, norm=norm)",
       torch="torch.fft.ifftn(x, s=s, dim=axes, norm=norm)", tensorflow=None,
       near="tf.signal.ifftnd"),
    Op("fft.ifftshift", OTHER, numpy="np.fft.ifftshift(x, axes=axes)",
       torch="torch.fft.ifftshift(x, dim=axes)", near="tf.signal.ifftshift"),
    Op("fft.ihfft", OTHER, numpy="np.fft.ihfft(x, n=n, axis=axis, norm=norm)",
       torch="torch.fft.ihfft(x, n=n, dim=axis, norm=norm)", tensorflow=None),
    Op("fft.irfft", OTHER, numpy="np.fft.irfft(x, n=n, axis=axis, norm=norm)",
       torch="torch.fft.irfft(x, n=n, dim=axis, norm=norm)", near="tf.signal.irfft"),
    Op("fft.irfftn", OTHER, numpy="np.fft.irfftn(x, s=s, axes=axes, norm=norm)",
       torch="torch.fft.irfftn(x, s=s, dim=axes, norm=norm)", tensorflow=None,
       near="tf.signal.irfftnd"),
    Op("fft.rfft", OTHER, numpy="np.fft.rfft(x, n=n, axis=axis, norm=norm)",
       torch="torch.fft.rfft(x, n=n, dim=axis, norm=norm)", near="tf.signal.rfft"),
    Op("fft.rfftfreq", OTHER, numpy="np.fft.rfftfreq(n, d=d).astype(result)",
       torch="torch.fft.rfftfreq(n, d, dtype=result)", tensorflow=None),
    Op("fft.rfftn", OTHER, numpy="np.fft.rfftn(x, s=s, axes=axes, norm=norm)",
       torch="torch.fft.rfftn(x, s=s, dim=axes, norm=norm)", tensorflow=None,
       near="tf.signal.rfftnd"),
)
