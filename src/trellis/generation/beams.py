"""Beam search: which continuations are kept, and which have ended. Small NumPy arrays.

The rules are those of transformers, whose tokens it must give: what counts is the sum of the
log-probabilities, divided by length ** length_penalty when a sequence ends. Only the best `beams`
candidates of a step may end; the others are there so that `beams` of them can go on.
"""

from typing import Any

import numpy as np

# A score that no sequence has: places that are not filled, and sequences that may not be chosen.
_NONE = np.float32(-1e9)


class Beams:
    """The search for all prompts of a batch."""

    def __init__(
        self,
        batch: int,
        beams: int,
        max_new_tokens: int,
        *,
        length_penalty: float,
        early_stopping: bool | str,
        stop_tokens: tuple[int, ...],
        pad_token: int,
    ):
        self._beams, self._most = beams, max_new_tokens
        self._penalty, self._early, self._stops = length_penalty, early_stopping, stop_tokens
        shape = (batch, beams, max_new_tokens)
        # Only the first beam counts at the prompt: all of them would continue alike.
        self.scores = np.full((batch, beams), _NONE)
        self.scores[:, 0] = 0
        self._running = np.full(shape, pad_token, np.int32)
        self._ended = np.full(shape, pad_token, np.int32)
        self._ended_scores = np.full((batch, beams), _NONE)
        self._ended_lengths = np.zeros((batch, beams), np.int64)
        self._is_ended = np.zeros((batch, beams), bool)
        self._can_improve = np.ones((batch, 1), bool)
        self._count = 0

    def advance(self, scores: np.ndarray, tokens: np.ndarray, beams: np.ndarray) -> tuple[Any, Any]:
        """Take the candidates (batch, K) of a step; the tokens and rows to go on with, flat."""
        sequences = np.take_along_axis(self._running, beams[:, :, None], axis=1)
        sequences[:, :, self._count] = tokens
        is_last = self._count + 1 == self._most
        hits = np.isin(tokens, self._stops) | is_last
        going = scores + np.where(hits, _NONE, np.float32(0))
        best = _best(going, self._beams)
        self._collect(scores, sequences, hits)
        self._running = np.take_along_axis(sequences, best[:, :, None], axis=1)
        self.scores = np.take_along_axis(going, best, axis=1)
        self._count += 1
        self._look_ahead()
        self.is_over = bool(
            not self._can_improve.any()
            or (self._early is True and self._is_ended.all())
            or hits.all()
        )
        rows = np.take_along_axis(beams, best, axis=1)
        rows = rows + np.arange(rows.shape[0])[:, None] * self._beams
        chosen = np.take_along_axis(tokens, best, axis=1)
        return chosen.reshape(-1).astype(np.int32), rows.reshape(-1).astype(np.int32)

    def _collect(self, scores: np.ndarray, sequences: np.ndarray, hits: np.ndarray) -> None:
        """Keep the best of the sequences that had ended before and that end now."""
        length = self._count + 1
        ends = hits & (np.arange(hits.shape[1]) < self._beams)
        worth = scores / np.float32(length**self._penalty)
        is_full = self._is_ended.all(axis=1, keepdims=True) & (self._early is True)
        for refused in (is_full, ~self._can_improve, ~ends):
            worth = worth + np.where(refused, _NONE, np.float32(0))
        all_scores = np.concatenate([self._ended_scores, worth], axis=1)
        best = _best(all_scores, self._beams)

        def chosen(old: np.ndarray, new: np.ndarray) -> Any:
            both = np.concatenate([old, new], axis=1)
            return np.take_along_axis(both, best.reshape(best.shape + (1,) * (both.ndim - 2)), 1)

        self._ended_scores = chosen(self._ended_scores, worth)
        self._ended = chosen(self._ended, sequences)
        self._is_ended = chosen(self._is_ended, ends)
        self._ended_lengths = chosen(self._ended_lengths, np.full(ends.shape, length))

    def _look_ahead(self) -> None:
        """Whether a running sequence may still beat the worst of those that have ended."""
        is_longest = self._early == "never" and self._penalty > 0
        length = self._most if is_longest else self._count
        best = self.scores[:, :1] / np.float32(length**self._penalty)
        worst = np.where(self._is_ended, self._ended_scores.min(axis=1, keepdims=True), _NONE)
        self._can_improve &= (best > worst).any(axis=1, keepdims=True)

    def result(self) -> tuple[Any, Any]:
        """The best sequence of each prompt, padded to the longest of them, and its score."""
        length = int(self._ended_lengths[:, 0].max())
        return self._ended[:, 0, :length], self._ended_scores[:, 0]


def _best(scores: np.ndarray, count: int) -> Any:
    """The indices of the largest in each row, largest first; of equal ones the first."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :count]
