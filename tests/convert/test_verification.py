"""A conversion is compared with its source on more than the example; the report says on what."""

import numpy as np
import pytest

from oracles import torch
from trellis import convert
from trellis.convert import trials
from trellis.convert.verify import distance
from trellis.errors import ConversionError, NotSupportedError

pytestmark = pytest.mark.needs("torch")


def module(forward):
    class Model(torch.nn.Module):
        pass

    Model.forward = forward
    return Model()


def report(forward, *example):
    return convert.from_torch(module(forward), example, to="numpy").report()


def test_the_report_says_what_was_tried():
    text = report(lambda self, x: x.exp().sum(1), torch.ones(4, 3))
    first, second = text.splitlines()[:2]
    assert "verified, largest difference" in first
    for name in ("the example", "other numbers", "ties", "nan", "inf and -inf", "3e4"):
        assert name in second


def test_single_numbers_and_signs_are_verified():
    assert ": verified" in report(lambda self, x: x.sum(), torch.ones(4))
    assert ": verified" in report(lambda self, x: x.sign(), torch.ones(4))
    assert "every output is constant" in report(lambda self, x: torch.ones_like(x), torch.ones(4))


def test_inputs_that_the_source_refuses_are_named():
    def forward(self, x):
        return torch.linalg.cholesky(x @ x.mT + torch.eye(2))

    text = report(forward, torch.eye(2))
    assert "not compared on nan: torch raises" in text


def test_a_program_that_is_wrong_on_other_inputs_is_refused():
    """What torch.export recorded need not be what the module computes."""

    def forward(self, x):
        return x * 2 if torch.compiler.is_compiling() else x * x

    with pytest.raises(
        ConversionError, match=r"other numbers of its kind.* recorded program itself"
    ):
        report(forward, torch.full((3,), 2.0))


def test_the_call_that_differs_on_hard_numbers_is_named():
    torch.library.define("trellis_test::bound", "(Tensor x) -> Tensor")
    torch.library.impl("trellis_test::bound", "CompositeExplicitAutograd")(lambda x: x.fmax(0 * x))
    # The same but for -inf, where 0 * x is nan, and the larger number of the two is -inf.
    convert.rule("trellis_test::bound")(lambda g, x: g.F.relu(x))
    with pytest.raises(ConversionError, match=r"inf.*call that differs is relu.*trellis_test"):
        report(lambda self, x: torch.ops.trellis_test.bound(x), torch.randn(16))


def test_other_types_are_refused():
    torch.library.define("trellis_test::count", "(Tensor x) -> Tensor")
    torch.library.impl("trellis_test::count", "CompositeExplicitAutograd")(lambda x: x.int())
    convert.rule("trellis_test::count")(lambda g, x: g.t.trunc(x))
    with pytest.raises(ConversionError, match="is float32, differs from torch's, which is int32"):
        report(lambda self, x: torch.ops.trellis_test.count(x), torch.arange(3.0))


def test_ties_are_torchs_choice():
    """Which of equal numbers topk takes is its own affair; what follows is compared with that."""

    def forward(self, x):
        values, places = torch.topk((x > 0).float(), 3)
        return x.gather(-1, places) * values

    x = torch.rand(64, 40, generator=torch.Generator().manual_seed(0))
    text = report(forward, x)
    assert ": verified" in text
    assert "torch leaves the order of equal numbers open in aten.topk" in text


def test_new_memory_is_undefined_where_it_is_seen():
    for fn in (torch.empty_like, lambda x: torch.empty(4).view(torch.int32) + x):
        text = report(lambda self, x, fn=fn: fn(x), torch.ones(4))
        assert "not verified: torch leaves the numbers of new memory undefined" in text
    assert ": verified" in report(lambda self, x: torch.empty(4).fill_(2.0) * x, torch.ones(4))


def test_errors_name_the_operation():
    with pytest.raises(NotSupportedError, match=r"aten\.conv1d"):
        report(
            lambda self, x: torch.nn.functional.conv1d(x, x),
            torch.ones(2, 2, 3, dtype=torch.complex64),
        )


def test_results_that_rules_leave_out_are_refused():
    with pytest.raises(NotSupportedError, match=r"aten\.native_layer_norm.* result 1"):
        report(lambda self, x: torch.native_layer_norm(x, (3,), None, None, 1e-5), torch.ones(2, 3))


# The inputs ---------------------------------------------------------------------------------------


def tried(*example, is_small=True):
    return {trial.name: trial.inputs for trial in trials.trials(list(example), is_small)}


def test_shapes_and_types_stay():
    example = (np.ones((2, 3), "float32"), np.arange(4), np.array([True, False]), np.array(1.5))
    for inputs in tried(*example).values():
        assert [x.shape for x in inputs] == [x.shape for x in example]
        assert [x.dtype for x in inputs] == [x.dtype for x in example]


def test_integers_stay_in_the_range_of_the_example():
    ids = np.array([[5, 9, 5, 7]])
    found = tried(ids)
    assert list(found) == [trials.ORDINARY]
    assert found[trials.ORDINARY][0].min() >= 5
    assert found[trials.ORDINARY][0].max() <= 9
    # Different ones stay different: they may be places that are written to.
    assert sorted(tried(np.array([3, 1, 2]))[trials.ORDINARY][0]) == [1, 2, 3]
    # A mask of ones loses its end, as in a padded batch.
    assert tried(np.ones((1, 8), "int64"))[trials.ORDINARY][0].tolist() == [[1] * 6 + [0] * 2]


def test_sorted_inputs_stay_sorted():
    offsets, edges = np.array([0, 3, 4, 9]), np.array([-1.0, 0.5, 2.0])
    for inputs in tried(offsets, edges).values():
        assert (np.diff(inputs[0]) >= 0).all()
        assert inputs[0][[0, -1]].tolist() == [0, 9]
        numbers = inputs[1][~np.isnan(inputs[1])]
        assert (np.sort(numbers) == numbers).all()


def test_hard_numbers_stand_at_few_places():
    found = tried(np.linspace(-1, 1, 64).astype("float32")[::-1])
    assert np.isnan(found["nan"][0]).sum() == 8
    assert np.isinf(found["inf and -inf"][0]).sum() == 8
    tied = found["negative numbers, ties, 0 and -0"][0]
    assert len(np.unique(tied)) <= 5
    assert np.signbit(tied[tied == 0]).any()
    assert not np.signbit(tied[tied == 0]).all()
    assert set(tried(np.ones(4), is_small=False)) < set(tried(np.ones(4)))


def test_distance():
    nan, inf = float("nan"), float("inf")
    assert distance(np.array([nan, inf, 2.0]), np.array([nan, inf, 2.0])) == 0
    assert distance(np.array([nan, 1.0]), np.array([1.0, 1.0])) == inf
    assert distance(np.array([-inf]), np.array([inf])) == inf
    assert distance(np.array([2**62 + 1]), np.array([2**62])) > 0
    assert distance(np.array([complex(nan, 1)]), np.array([complex(nan, nan)])) == 0
