"""Settings that end with their block, and the surroundings of a function that runs again."""

from trellis._core import repeating
from trellis._core.settings import Setting


def test_a_setting_is_overridden_inside_its_block_only():
    colour = Setting("colour of a test", "green")
    assert not colour.is_overridden
    with colour.using("red"):
        assert colour.is_overridden and colour.get() == "red"
        with colour.using("blue"):
            assert colour.get() == "blue"
        assert colour.get() == "red"
    assert not colour.is_overridden and colour.get() == "green"


def test_only_the_first_run_is_told_so(monkeypatch):
    told = []

    class Noting(repeating.Noted):
        def enter(self, is_first):
            told.append(is_first)
            return len(told)

        def leave(self, entered):
            told.append(f"left {entered}")

    monkeypatch.setattr(repeating, "makers", [Noting])
    around = repeating.Surroundings()
    assert around.run(lambda: 5) == (5, [[]]) and around.run(lambda: 6) == (6, [[]])
    assert told == [True, "left 1", False, "left 3"]
