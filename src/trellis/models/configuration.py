"""The contents of `config.json` as typed dataclasses: one for each model.

Fields have Hugging Face's names, and the values that this format gives to keys that are absent. Any
other key raises an error that names it, unless it is in a list of harmless keys or has a fixed
value: it may change what the model computes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import UnionType
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

from .._core.errors import ArgumentError, ArgumentTypeError, NotSupportedError, TrellisError
from .._core.kinds import shown

# Keys that change no number of a forward pass: descriptions, training, and options of generation
# that older versions kept here. They are kept, and written again.
HARMLESS = frozenset(
    """
    _commit_hash _name_or_path attn_implementation _attn_implementation architectures bos_token_id
    chunk_size_feed_forward decoder_start_token_id dtype eos_token_id finetuning_task
    gradient_checkpointing is_encoder_decoder label2id output_attentions output_hidden_states
    pad_token_id prefix problem_type return_dict sep_token_id task_specific_params tokenizer_class
    torch_dtype torchscript transformers_version use_bfloat16 use_cache
    bad_words_ids begin_suppress_tokens diversity_penalty do_sample early_stopping
    encoder_no_repeat_ngram_size exponential_decay_length_penalty forced_bos_token_id
    forced_decoder_ids forced_eos_token_id length_penalty max_length min_length
    no_repeat_ngram_size num_beam_groups num_beams num_return_sequences output_scores
    remove_invalid_values repetition_penalty return_dict_in_generate suppress_tokens temperature
    tf_legacy_loss top_k top_p typical_p
    """.split()
)
# Keys that may have one value only, whatever the model: the others are not built here.
FIXED: dict[str, tuple[Any, ...]] = {
    "add_cross_attention": (False, None),
    "cross_attention_hidden_size": (None,),
    "is_decoder": (False, None),
    "pruned_heads": ({}, None),
    "tie_encoder_decoder": (False, None),
    "quantization_config": (None,),
}


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What all configurations share.

    >>> from trellis import models
    >>> models.GPT2Config(n_layer=2).n_layer
    2
    """

    model_type: ClassVar[str] = ""
    # Keys of this model that change no number, and those that may have the listed values only.
    harmless: ClassVar[frozenset[str]] = frozenset()
    fixed: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

    architecture: str = ""  # Hugging Face's name of the class; "" is the one of the whole model
    extra: dict[str, Any] = field(default_factory=dict)  # harmless keys, as they were read

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], *, source: str = "config.json") -> Self:
        """The configuration in a dict; keys that are not known are refused.

        >>> from trellis import models
        >>> models.BertConfig.from_dict({"hidden_size": 32, "color": "red"})
        Traceback (most recent call last):
        trellis._core.errors.NotSupportedError: config.json has the key 'color', which BertConfig \
does not know: it may change what the model computes. ...
        """
        if not isinstance(given, Mapping):
            raise ArgumentTypeError(f"{source} should hold a dict, got {type(given).__name__}.")
        known = {f.name for f in fields(cls)} - {"architecture", "extra"}
        fixed = {**FIXED, **cls.fixed}
        values, extra, unknown = {}, {}, []
        hints = get_type_hints(cls)
        try:
            renamed = cls._renamed(dict(given))
        except (TypeError, AttributeError, ValueError) as error:
            if isinstance(error, TrellisError):
                raise
            raise ArgumentTypeError(
                f"{source} has a value of another type than {cls.__name__} expects: {error}."
            ) from error
        for key, value in renamed.items():
            if key in known:
                if not _fits(value, hints[key]):
                    raise ArgumentTypeError(
                        f"{source} has {key}={shown(value)}, which {cls.__name__} expects to be "
                        f"{_in_words(hints[key])}."
                    )
                values[key] = value
            elif key in fixed:
                if value not in fixed[key]:
                    raise NotSupportedError(
                        f"{source} has {key}={value!r}, which {cls.__name__} does not build; it "
                        f"builds {' or '.join([repr(each) for each in fixed[key]])}."
                    )
                extra[key] = value
            elif key in HARMLESS or key in cls.harmless:
                extra[key] = value
            elif key != "model_type":
                unknown.append(key)
        if unknown:
            names = ", ".join([repr(key) for key in unknown])
            word = "key" if len(unknown) == 1 else "keys"
            raise NotSupportedError(
                f"{source} has the {word} {names}, which {cls.__name__} does not know: it may "
                "change what the model computes. If you know that it does not, remove it from the "
                "file."
            )
        named = given.get("architectures") or [""]
        if not isinstance(named, list):
            raise ArgumentTypeError(f"{source} should hold a list of architectures.")
        return cls(**{"architecture": str(named[0]), "extra": extra, **values})

    def to_dict(self) -> dict[str, Any]:
        """What config.json holds, in the form that transformers reads.

        >>> from trellis import models
        >>> models.ViTConfig().to_dict()["model_type"]
        'vit'
        """
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        extra = own.pop("extra")
        named = own.pop("architecture")
        whole = {**extra, **own, "model_type": self.model_type}
        return {**whole, "architectures": [named]} if named else whole

    @classmethod
    def _renamed(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Older names of keys as the newest one."""
        return given

    def _refuse(self, key: str, known: tuple[Any, ...]) -> None:
        value = getattr(self, key)
        if value not in known:
            raise NotSupportedError(
                f"{type(self).__name__} has {key}={value!r}; it builds "
                f"{' or '.join([repr(each) for each in known])}."
            )

    def _check_heads(self, width: int, heads: int) -> None:
        if heads < 1 or width % heads:
            raise ArgumentError(
                f"{type(self).__name__} has a width of {width} and {heads} heads, which must "
                "divide it."
            )


# A size above this is a mistake, or meant to take all memory.
_LARGEST = 1 << 40


def _fits(value: object, hint: Any) -> bool:
    """Whether a value out of JSON is of the type of a field; sizes are not negative."""
    if get_origin(hint) in (Union, UnionType):
        return any([_fits(value, each) for each in get_args(hint)])
    if hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, bool)
    if hint is int:
        return type(value) is int and -1 <= value <= _LARGEST
    if hint is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and abs(value) <= _LARGEST  # type: ignore[arg-type]
    if get_origin(hint) in (list, tuple):
        items = get_args(hint)[0] if get_args(hint) else Any
        return isinstance(value, (list, tuple)) and all([_fits(x, items) for x in value])
    if get_origin(hint) is dict or hint is dict:
        return isinstance(value, dict)
    return isinstance(value, hint) if isinstance(hint, type) else True


def _in_words(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join([_in_words(each) for each in get_args(hint)])
    words = {int: f"a number from 0 to {_LARGEST:,}", float: "a number", type(None): "null"}
    if get_origin(hint) in (list, tuple):
        return f"a list, of {_in_words(get_args(hint)[0])} each"
    return words.get(hint, f"of type {getattr(hint, '__name__', hint)}")


def with_num_labels(given: dict[str, Any]) -> dict[str, Any]:
    """`num_labels` out of the table of labels, where only that is there."""
    if "num_labels" not in given and given.get("id2label"):
        given["num_labels"] = len(given["id2label"])
    return given
