"""Tokenizers are read from tokenizer.json, and from nothing else."""

import json
import sys

import pytest

from trellis import errors, models


@pytest.fixture
def folder(tmp_path):
    """A folder with a tokenizer of whole words."""
    pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, "the": 1, "cat": 2}
    # As text: tokenizers 1.0 cannot put one together any more.
    tokenizer = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": words, "unk_token": "[UNK]"},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    return tmp_path


def test_it_reads_the_file(folder):
    tokenizer = models.load_tokenizer(folder)
    assert tokenizer.encode("the cat sleeps").ids == [1, 2, 0]
    assert tokenizer.decode([1, 2]) == "the cat"


def test_what_is_no_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(errors.ArgumentError, match=r"tokenizer\.json is not a tokenizer"):
        models.load_tokenizer(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no tokenizer\.json"):
        models.load_tokenizer(folder)


def test_the_library_is_named_where_it_is_missing(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(errors.BackendNotInstalledError, match=r"trellis-ml\[models\]"):
        models.load_tokenizer(folder)
