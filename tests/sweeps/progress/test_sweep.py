import io
from pathlib import Path

from rich.console import Console

from gossipgan.sweeps import ObjectiveView, SweepView, TrialView, report_sweep, summary

BLANK = TrialView(0, "trial-0", "waiting", None, {}, 0, 100, 0.0, None, {}, Path("work"), None, None, None)
OK = BLANK._replace(state="ok", score=12.5, values=(12.5,), seconds=61.0, settings={"lookahead.k": 5})
RUNNING = BLANK._replace(number=1, name="trial-1", state="running", score=20.0, step=40, left=75.0)
BASELINE = BLANK._replace(name="baseline-adam", state="ok", score=14.0)
DIVERGED = OK._replace(number=2, name="trial-2", state="diverged", reason="loss_d is nan at step 4")


def _sweep(*trials: TrialView) -> SweepView:
    objectives = (ObjectiveView("fid", "fid_digits_2000_ema", True),)
    return SweepView("some", "some.yaml", objectives, 9, 3700.0, False, trials, (BASELINE,))


def test_a_terminal_sees_what_runs_the_best_against_the_baseline_and_the_outcomes() -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=160, color_system=None)
    with report_sweep(console) as show:
        show(_sweep(OK, RUNNING))
    seen = text.getvalue()
    for part in (
        "40/100",
        "20.0000",
        "1:15",
        "trials: 2 of 9: 1 ok, 1 running; 1:01:40",
        "best: trial-0: fid_digits_2000_ema 12.5000; lookahead.k=5",
        "baseline-adam: ok 14.0000; the best is 1.5 better",
    ):
        assert part in seen, part


def test_elsewhere_each_trial_that_ends_is_one_line_and_what_had_ended_before_is_none() -> None:
    text = io.StringIO()
    with report_sweep(Console(file=text, width=40)) as show:
        show(_sweep(OK, RUNNING))
        show(_sweep(OK, RUNNING._replace(state="pruned"), DIVERGED))
        show(_sweep(OK, RUNNING._replace(state="pruned"), DIVERGED))
    assert text.getvalue().splitlines() == [
        "trial-1: pruned 20.0000 0:00",
        "trial-2: diverged 12.5000 (lookahead.k=5) 1:01 - loss_d is nan at step 4",
    ]


def test_of_several_objectives_both_ends_of_the_front_are_shown() -> None:
    few, many = OK._replace(values=(14.0, 1e6)), OK._replace(number=3, name="trial-3", score=11.0, values=(11.0, 2.5e6))
    sweep = _sweep(few, many, RUNNING)
    several = sweep._replace(objectives=(*sweep.objectives, ObjectiveView("bytes", "bytes", True)))
    (line,) = (line for line in summary(several) if line.startswith("none better"))
    assert line == (
        "none better in all: 2: trial-3 (fid_digits_2000_ema 11.0000, bytes 2,500,000) to "
        "trial-0 (fid_digits_2000_ema 14.0000, bytes 1,000,000)"
    )
