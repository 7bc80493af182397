"""Of the ways that an expert would try in a framework: the best first, as it was found here."""

BEST = {
    ("torch", "gpt", "eager"): (None,),
    ("torch", "gpt", "compiled"): (None,),
    ("torch", "resnet", "eager"): ("channels_last", None),
    ("torch", "resnet", "compiled"): (None, "channels_last"),
    ("torch", "lstm", "eager"): (None,),
    ("torch", "lstm", "compiled"): (None,),
    ("jax", "gpt", "eager"): (None, "dot_product_attention"),
    ("jax", "gpt", "compiled"): (None, "dot_product_attention"),
    ("jax", "resnet", "eager"): (None,),
    ("jax", "resnet", "compiled"): (None,),
    ("jax", "lstm", "eager"): (None, "unroll 4"),
    ("jax", "lstm", "compiled"): (None, "unroll 4"),
    ("tensorflow", "gpt", "eager"): (None,),
    ("tensorflow", "gpt", "compiled"): (None, "jit_compile"),
    ("tensorflow", "resnet", "eager"): (None,),
    ("tensorflow", "resnet", "compiled"): (None, "jit_compile"),
    ("tensorflow", "lstm", "eager"): (None,),
    ("tensorflow", "lstm", "compiled"): (None, "jit_compile"),
}
