import pytest

from gossipgan.sweeps.search import seconds


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("90s", 90), ("15m", 900), ("15 min", 900), ("2h", 7200), ("1h30m", 5400), ("1.5h", 5400), ("1d", 86400), (7, 7)],
)
def test_a_duration_is_read_in_seconds(text: object, wanted: float) -> None:
    assert seconds(text) == wanted


@pytest.mark.parametrize("text", ["", "2", "2 weeks", "h", "1h30", "-1h", "0s", True, None, 0])
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        seconds(text)
