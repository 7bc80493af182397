"""What several frameworks spell alike."""

Lines = dict[str, str | None]

# No framework does these in one line.
NOWHERE: Lines = dict.fromkeys(
    (
        "argsort", "attention", "attention_weights", "class_losses", "conv", "conv_transpose",
        "grouped_matmul", "index_add", "index_max", "index_min", "index_multiply", "index_set",
        "layer_norm", "linalg.solve", "lstm", "max_pool", "sort", "topk", "update_slice",
    )
)  # fmt: skip


def transforms(module: str, axis: str = "") -> Lines:
    """Those of `fft`, where `axis` is what the framework calls an axis, if it has a name for it."""
    one = f"({{x}}{{n?}}{{axis?{axis}}}{{norm?}})"
    several = f"({{x}}{{s?}}{{axes?{axis}}}{{norm?}})"
    moved = f"({{x}}{{axes?{axis}}})"
    holes = {
        **dict.fromkeys(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"), one),
        **dict.fromkeys(("fftn", "ifftn", "rfftn", "irfftn"), several),
        **dict.fromkeys(("fftshift", "ifftshift"), moved),
    }
    return {f"fft.{name}": f"{module}.fft.{name}{text}" for name, text in holes.items()}
