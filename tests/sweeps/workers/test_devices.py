import pytest

from gossipgan.errors import UserError
from gossipgan.sweeps import deal


@pytest.mark.parametrize(
    ("devices", "per_trial", "trials_per_device", "places"),
    [
        ("0,1", None, None, ("0", "1")),
        ("0,1,2,3", 2, None, ("0,1", "2,3")),
        ("3,1", 2, None, ("3,1",)),
        ("0,1", None, 3, ("0", "1", "0", "1", "0", "1")),  # the first two workers get one each
    ],
)
def test_devices_are_dealt_as_a_person_would(
    devices: str, per_trial: int | None, trials_per_device: int | None, places: tuple[str, ...]
) -> None:
    assert deal(devices.split(","), per_trial=per_trial, trials_per_device=trials_per_device) == places


@pytest.mark.parametrize(
    ("devices", "per_trial", "trials_per_device", "says"),
    [
        ("0,one", None, None, "numbers of GPUs are wanted, such as 0,1"),
        ("", None, None, "numbers of GPUs are wanted"),
        ("0,0", None, None, "each once; for several trials on one use --trials-per-device"),
        ("0,1,2", 2, None, "3 cannot be dealt in groups of 2"),
        ("0,1", 2, 2, "--devices-per-trial goes without --trials-per-device"),
    ],
)
def test_what_does_not_come_out_even_is_said_in_one_line(
    devices: str, per_trial: int | None, trials_per_device: int | None, says: str
) -> None:
    with pytest.raises(UserError) as error:
        deal(devices.split(","), per_trial=per_trial, trials_per_device=trials_per_device)
    assert says in str(error.value)
    assert "\n" not in str(error.value)
