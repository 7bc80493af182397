"""Cases of ONNX's suite that are refused, or that come out otherwise, each group with its reason.

Cases with strings, sequences or optional values, and those with element types of 2 to 8 bits on
frameworks that have none, are known by their types and not listed here: they must be refused.
"""

# Refused by every framework: `NotSupportedError`.
REFUSED = {
    "images are decoded by other libraries": [
        f"test_image_decoder_decode_{kind}"
        for kind in (
            "jpeg_rgb", "jpeg_grayscale", "jpeg_bgr", "jpeg2k_rgb", "bmp_rgb", "png_rgb",
            "tiff_rgb", "webp_rgb", "pnm_rgb",
        )
    ],
    "operator set 1, and from_onnx reads 7 to 28": ["test_not_2d", "test_not_3d", "test_not_4d"],
}  # fmt: skip

# Computed, but not to the suite's tolerance of 1e-3.
ROUNDED = {
    "the suite rounds the softmax to 16 bits after each step, Trellis once at its end": [
        name + end
        for name in (
            "test_attention_4d_causal_bf16", "test_attention_4d_causal_fp16",
            "test_attention_4d_padded_kv_bf16", "test_attention_4d_causal_padded_kv_bf16",
            "test_attention_4d_attn_mask_causal_bf16", "test_attention_3d_causal_bf16",
        )
        for end in ("", "_expanded")
    ],
}  # fmt: skip

# The same for one framework. The transforms are of numbers up to 99, in 32 bits.
_NOISE = "its Fourier transform leaves 1e-7 to 1e-6 where the suite has zero, to 1e-7"
_DFT = [f"test_dft{kind}{end}" for kind in ("", "_axis", "_rfft") for end in ("", "_opset19")]
ROUNDED_BY = {
    "tensorflow": {_NOISE: _DFT},
    "jax": {
        _NOISE: _DFT,
        "a tie is rounded to the other side: XLA divides by 255 with another last bit": [
            "test_dynamicquantizelinear", "test_dynamicquantizelinear_expanded",
        ],
    },
    "torch": {
        "the suite expects 2e-7 of noise where it gives zero": [
            "test_dft_inverse", "test_dft_inverse_opset19",
        ],
    },
}  # fmt: skip

# The expected outputs are draws of another generator: only shapes and types are compared.
RANDOM = ("bernoulli", "training_dropout", "dropout_random")


def reason(table, name):
    """Why a case is in a table, or None."""
    return next((why for why, names in table.items() if name in names), None)
