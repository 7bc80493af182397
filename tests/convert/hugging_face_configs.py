"""Tiny models of Hugging Face transformers, made from configurations in code: nothing is fetched.

`MODELS` maps a name to the class of the model, the options of its configuration, and what kind of
arguments it takes.
"""

import inspect

# Sizes that most models of text share, under the names that they use.
TEXT = {
    "vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 36, "max_position_embeddings": 40, "bos_token_id": 1, "eos_token_id": 2,
    "pad_token_id": 0,
}  # fmt: skip
GROUPED = {**TEXT, "num_key_value_heads": 2, "head_dim": 8}
IMAGE = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 36,
    "image_size": 32, "patch_size": 8, "num_channels": 3,
}  # fmt: skip
STAGES = {"num_channels": 3, "embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 2]}
SEQ2SEQ = {
    "vocab_size": 61, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 36,
    "decoder_ffn_dim": 36, "max_position_embeddings": 40, "bos_token_id": 1, "eos_token_id": 2,
    "pad_token_id": 0, "decoder_start_token_id": 2,
}  # fmt: skip
AUDIO = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 36,
    "conv_dim": (16, 16), "conv_stride": (5, 2), "conv_kernel": (10, 3),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, "vocab_size": 30,
    "apply_spec_augment": False, "layerdrop": 0.0,
}  # fmt: skip
CLIP = {
    "text_config": {**TEXT, "projection_dim": 24},
    "vision_config": {**IMAGE, "projection_dim": 24},
    "projection_dim": 24,
}

# The list that converted models must reach.
MODELS = {
    "bert": ("BertModel", TEXT, "text"),
    "roberta": ("RobertaModel", TEXT, "text"),
    "distilbert": (
        "DistilBertForSequenceClassification",
        {"vocab_size": 61, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 36},
        "text",
    ),
    "albert": ("AlbertModel", {**TEXT, "embedding_size": 16}, "text"),
    "electra": ("ElectraModel", {**TEXT, "embedding_size": 16}, "text"),
    "gpt2": (
        "GPT2LMHeadModel",
        {"vocab_size": 61, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 40,
         "bos_token_id": 1, "eos_token_id": 2},
        "text",
    ),
    "llama": ("LlamaForCausalLM", GROUPED, "text"),
    "mistral": ("MistralForCausalLM", {**GROUPED, "sliding_window": 5}, "text"),
    "mixtral": (
        "MixtralForCausalLM", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}, "text",
    ),
    "gemma2": ("Gemma2ForCausalLM", {**GROUPED, "sliding_window": 5}, "text"),
    "qwen3": ("Qwen3ForCausalLM", GROUPED, "text"),
    "qwen3_moe": (
        "Qwen3MoeForCausalLM",
        {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 20},
        "text",
    ),
    "phi3": ("Phi3ForCausalLM", {**TEXT, "num_key_value_heads": 2}, "text"),
    "opt": (
        "OPTForCausalLM", {**TEXT, "ffn_dim": 36, "word_embed_proj_dim": 32}, "text",
    ),
    "bloom": (
        "BloomForCausalLM",
        {"vocab_size": 61, "hidden_size": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 1,
         "eos_token_id": 2, "pad_token_id": 0},
        "text",
    ),
    "falcon": ("FalconForCausalLM", TEXT, "text"),
    "t5": (
        "T5ForConditionalGeneration",
        {"vocab_size": 61, "d_model": 32, "d_kv": 8, "d_ff": 36, "num_layers": 2, "num_heads": 4,
         "decoder_start_token_id": 0},
        "seq2seq",
    ),
    "bart": ("BartForConditionalGeneration", SEQ2SEQ, "seq2seq"),
    "mamba": (
        "MambaForCausalLM",
        {"vocab_size": 61, "hidden_size": 32, "state_size": 4, "num_hidden_layers": 2,
         "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0},
        "ids",
    ),
    "vit": ("ViTForImageClassification", IMAGE, "image"),
    "deit": ("DeiTForImageClassification", IMAGE, "image"),
    "swin": (
        "SwinForImageClassification",
        {"image_size": 32, "patch_size": 2, "embed_dim": 8, "depths": [2, 2], "num_heads": [2, 4],
         "window_size": 4},
        "image",
    ),
    "convnext": (
        "ConvNextForImageClassification",
        {"num_stages": 2, "hidden_sizes": [8, 16], "depths": [1, 2], "layer_scale_init_value": 0.5},
        "image",
    ),
    "resnet": ("ResNetForImageClassification", {**STAGES, "layer_type": "basic"}, "image"),
    "regnet": ("RegNetForImageClassification", {**STAGES, "groups_width": 4}, "image"),
    "mobilenet_v2": (
        "MobileNetV2ForImageClassification", {"image_size": 32, "depth_multiplier": 0.35}, "image",
    ),
    "segformer": (
        "SegformerForSemanticSegmentation",
        {"num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [8, 16],
         "patch_sizes": [7, 3], "strides": [4, 2], "num_attention_heads": [1, 2],
         "mlp_ratios": [2, 2], "decoder_hidden_size": 16},
        "image",
    ),
    "clip": ("CLIPModel", CLIP, "clip"),
    "whisper": (
        "WhisperForConditionalGeneration",
        {**SEQ2SEQ, "num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 24},
        "whisper",
    ),
    "wav2vec2": ("Wav2Vec2ForCTC", AUDIO, "audio"),
    "detr": (
        "DetrForObjectDetection",
        {**SEQ2SEQ, "num_queries": 6, "use_timm_backbone": False, "use_pretrained_backbone": False,
         "backbone": None, "backbone_config": {"model_type": "resnet", **STAGES,
         "layer_type": "basic", "out_features": ["stage2"]}},
        "image",
    ),
    "patchtst": (
        "PatchTSTForPrediction",
        {"num_input_channels": 2, "context_length": 24, "patch_length": 6, "patch_stride": 6,
         "num_hidden_layers": 2, "d_model": 16, "num_attention_heads": 4, "ffn_dim": 20,
         "prediction_length": 5, "loss": "mse"},
        "series",
    ),
}  # fmt: skip


def build(name, models=MODELS):
    """A model with weights and statistics that no output is near zero with, and its arguments."""
    import torch
    import transformers

    class_name, options, kind = models[name]
    model_class = getattr(transformers, class_name)
    torch.manual_seed(0)
    config = model_class.config_class(**options)
    model = model_class(config).eval()
    randomise(model)
    return model, arguments(kind, config)


def randomise(model):
    """Weights that keep the scale of what goes through them, and statistics unlike 0 and 1."""
    import torch

    generator = torch.Generator().manual_seed(1)
    seen = set()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if id(p) in seen or not p.is_floating_point():
                continue
            seen.add(id(p))
            noise = torch.randn(p.shape, generator=generator)
            if p.ndim < 2:
                p.copy_(p + 0.1 * noise)
            elif p.std() > 0:
                fan = p[0].numel() if p.ndim > 1 else p.numel()
                if "embed" in name or "shared" in name or "wte" in name or "wpe" in name:
                    fan = 4
                p.copy_(noise / fan**0.5)
            else:
                p.add_(0.1 * noise)
        for name, b in model.named_buffers():
            if name.endswith("running_mean"):
                b.copy_(0.2 * torch.randn(b.shape, generator=generator))
            elif name.endswith("running_var"):
                b.copy_(0.5 + torch.rand(b.shape, generator=generator))


def arguments(kind, config):
    """Example arguments, by name."""
    import torch

    generator = torch.Generator().manual_seed(2)

    def ids(batch, length, low=3, high=60):
        return torch.randint(low, high, (batch, length), generator=generator)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, 6:] = 0
    size = getattr(config, "image_size", 32)
    size = size if isinstance(size, int) else 32
    if kind == "ids":
        return {"input_ids": ids(2, 9)}
    if kind == "text":
        return {"input_ids": ids(2, 9), "attention_mask": mask}
    if kind == "seq2seq":
        return {"input_ids": ids(2, 9), "attention_mask": mask, "decoder_input_ids": ids(2, 5)}
    if kind == "text8":
        return {"input_ids": ids(2, 8), "attention_mask": mask[:, :8]}
    if kind == "text16":
        return {"input_ids": ids(2, 16), "attention_mask": torch.ones(2, 16, dtype=torch.long)}
    if kind == "seq2seq8":
        return {
            "input_ids": ids(2, 8), "attention_mask": mask[:, :8], "decoder_input_ids": ids(2, 5),
        }  # fmt: skip
    if kind == "clip4":
        return {"input_ids": ids(2, 9), "pixel_values": normal(2, 3, 32, 32)}
    if kind == "image64":
        return {"pixel_values": normal(2, 3, 64, 64)}
    if kind == "image_noise":
        return {"pixel_values": normal(2, 3, 32, 32), "noise": torch.rand(2, 16)}
    if kind == "features":
        return {"input_features": normal(2, 12, 16)}
    if kind == "spectrogram":
        return {"input_values": normal(2, 24, 16)}
    if kind == "speech":
        return {"input_features": normal(2, 24, 16), "decoder_input_ids": ids(2, 5)}
    if kind == "waves":
        return {"input_values": normal(2, 1, 64)}
    if kind == "hifigan":
        return {"spectrogram": normal(2, 6, 8)}
    if kind == "patches":
        return {
            "pixel_values": normal(2, 16, 192), "pixel_attention_mask": torch.ones(2, 16).long(),
            "spatial_shapes": torch.tensor([[4, 4], [4, 4]]),
        }  # fmt: skip
    if kind == "qformer":
        return {"query_embeds": normal(2, 4, 32), "encoder_hidden_states": normal(2, 6, 32)}
    if kind == "lxmert":
        return {
            "input_ids": ids(2, 9), "visual_feats": normal(2, 5, 8), "visual_pos": normal(2, 5, 4),
        }  # fmt: skip
    if kind == "video":
        return {"pixel_values": normal(2, 4, 3, 32, 32)}
    if kind == "video_vjepa":
        return {"pixel_values_videos": normal(2, 4, 3, 32, 32)}
    if kind == "times":
        return {
            "past_values": normal(2, 12), "past_time_features": normal(2, 12, 2),
            "past_observed_mask": torch.ones(2, 12), "future_values": normal(2, 4),
            "future_time_features": normal(2, 4, 2),
        }  # fmt: skip
    if kind == "decisions":
        return {
            "states": normal(2, 4, 5), "actions": normal(2, 4, 3), "rewards": normal(2, 4, 1),
            "returns_to_go": normal(2, 4, 1), "timesteps": ids(2, 4, 0, 20),
            "attention_mask": torch.ones(2, 4),
        }  # fmt: skip
    if kind == "perceiver":
        return {"inputs": ids(2, 9), "attention_mask": mask}
    if kind == "image":
        return {"pixel_values": normal(2, 3, 32, 32)}
    if kind == "clip":
        return {
            "input_ids": ids(2, 9), "pixel_values": normal(2, 3, 32, 32), "attention_mask": mask,
        }  # fmt: skip
    if kind == "whisper":
        return {"input_features": normal(2, 16, 40), "decoder_input_ids": ids(2, 5)}
    if kind == "audio":
        return {"input_values": normal(2, 400)}
    if kind == "series":
        return {"past_values": normal(2, 24, 2)}
    raise ValueError(kind)


def accepts(model, name):
    """Whether the forward of a model takes an argument."""
    return name in inspect.signature(model.forward).parameters
