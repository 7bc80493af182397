"""Fine-tune a BERT three ways: its head alone, adapters beside its matrices, everything.

python examples/text_classifier.py [numpy | jax | torch | tensorflow]

The sentences are made up: a review is good if it praises more than it complains, and "not" turns a
word around. The model is a small one with random weights; `models.from_pretrained(folder)` reads a
real one, such as MiniLM, and the rest stays as it is.
"""

import copy
import sys

import numpy as np

import trellis
from trellis import functional as F
from trellis import models, nn, optim

GOOD, BAD = ("good", "great", "fine", "lovely"), ("bad", "poor", "awful", "dull")
OTHER = ("the", "film", "was", "and", "plot", "music", "very", "actor")
WORDS = {word: i for i, word in enumerate(("[pad]", "[cls]", "not", *GOOD, *BAD, *OTHER))}
LENGTH = 12


def review(random):
    """The words of one, and by how much it praises more than it complains."""
    words, score = ["[cls]"], 0
    while len(words) < LENGTH - 1:
        kind, is_not = random.integers(0, 3), random.random() < 0.3
        word = str(random.choice((GOOD, BAD, OTHER)[kind]))
        words += ["not", word] if is_not and kind < 2 else [word]
        score += (1, -1, 0)[kind] * (-1 if is_not else 1)
    return words, score


def reviews(count):
    """Tokens (count, LENGTH), and whether each is a good review."""
    random = np.random.default_rng(0)
    tokens, labels = np.zeros((count, LENGTH), "int32"), np.zeros(count, "int32")
    for i in range(count):
        words, score = review(random)
        while score == 0:
            words, score = review(random)
        tokens[i, : len(words)] = [WORDS[word] for word in words]
        labels[i] = score > 0
    return tokens, labels


def small_bert(backend):
    """A model of the kind that `models.from_pretrained` reads."""
    config = models.BertConfig(
        vocab_size=len(WORDS), hidden_size=32, num_hidden_layers=1, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=16, num_labels=2, initializer_range=0.2,
        architecture="BertForSequenceClassification", hidden_dropout_prob=0.0,
    )  # fmt: skip
    return models.Bert(config, backend=backend)


def main(backend="numpy", steps=120, picture=None):
    trellis.seed(0)
    model = small_bert(backend)
    data = reviews(256)

    def tuned(model, lr, trainable):
        """The history of one way."""
        return trellis.train.fit(
            model, F.cross_entropy, data, optimizer=optim.AdamW(lr), trainable=trainable,
            batch_size=32, epochs=-(-steps // 8), metrics="accuracy", seed=0,
            progress=sys.stderr.isatty(),
        )  # fmt: skip

    head = ["pooler/*", "classifier/*"]
    ways = {
        "head": tuned(copy.deepcopy(model), 1e-2, head),
        "lora": tuned(
            nn.lora(copy.deepcopy(model), 4, "layers/*", alpha=8), 5e-3, ["*/adapters/*", *head]
        ),
        "full": tuned(model, 2e-3, None),
    }
    for way, history in ways.items():
        accuracy = history.metrics["accuracy"][-1]
        print(f"{way:5} {backend}: accuracy {accuracy:.1%}, loss {history.final_loss:.4f}")
    if picture is not None:
        curves = {way: history.metrics["loss"] for way, history in ways.items()}
        trellis.train.draw_curves(picture, curves, title="One BERT, three ways", x_label="epoch")
    return ways["lora"].final_loss


if __name__ == "__main__":
    main(*sys.argv[1:2], picture="text_classifier.svg")
