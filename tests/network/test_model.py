"""The fitted model: it finds again the numbers that times were made from."""

import pytest

from gossipgan.mixing.links import Link
from gossipgan.network.model import CostModel
from gossipgan.network.schemes import Phase, Scheme, schemes

PARAMETERS = 575_000
STEPS = [scheme.phases(8, PARAMETERS) for scheme in schemes()]


def test_a_phase_costs_latency_and_its_bytes_and_more_where_messages_share_a_link() -> None:
    model = CostModel(latency=0.002, bandwidth=1e6, contention=0.5)
    assert model.seconds([]) == 0.0
    assert model.seconds([Phase(1, 125_000)]) == pytest.approx(0.002 + 1.0)
    assert model.seconds([Phase(2, 125_000)]) == pytest.approx(0.002 + 2.0 * (1 + 0.5 / 2))
    assert model.seconds([Phase(1, 125_000), Phase(4, 125_000)]) == pytest.approx(0.004 + 1.0 + 4.0 * (1 + 0.5 * 3 / 4))


def test_a_plain_link_gives_the_plain_model() -> None:
    link = Link(bandwidth=100e6, latency=0.001)
    model = CostModel.of(link)
    for scheme in schemes():
        if scheme.kind != "server":
            modelled = scheme.modelled(8, PARAMETERS, link)
            assert model.seconds(scheme.phases(8, PARAMETERS)) == pytest.approx(modelled)


@pytest.mark.parametrize(
    "model",
    [CostModel(0.003, 94e6, 0.2), CostModel(0.0, 100e6, 0.0), CostModel(0.05, 20e6, 0.0), CostModel(0.0, 90e6, 1.5)],
)
def test_a_fit_finds_the_model_that_times_were_made_by(model: CostModel) -> None:
    fitted = CostModel.fit(STEPS, [model.seconds(step) for step in STEPS], bandwidth=100e6)
    assert fitted.latency == pytest.approx(model.latency, abs=1e-9)
    assert fitted.bandwidth == pytest.approx(model.bandwidth, rel=1e-6)
    assert fitted.contention == pytest.approx(model.contention, abs=1e-6)


def test_a_fitted_network_is_never_faster_than_its_links() -> None:
    fitted = CostModel.fit(STEPS, [0.5 * CostModel(0, 100e6, 0).seconds(step) for step in STEPS], bandwidth=100e6)
    assert fitted == CostModel(0.0, 100e6, 0.0)


def test_times_that_do_not_grow_with_bytes_are_latency() -> None:
    tiny = [scheme.phases(8, 10) for scheme in schemes() if scheme.kind == "gossip"]
    fitted = CostModel.fit(tiny, [0.004] * len(tiny), bandwidth=100e6)
    assert fitted.latency == pytest.approx(0.004, rel=0.01)


def test_ten_thousand_learners_can_be_asked_about() -> None:
    model = CostModel(0.001, 95e6, 0.1)
    one_peer, all_reduce, server = (
        model.seconds(scheme.phases(10_000, PARAMETERS))
        for scheme in (Scheme("gossip", "one-peer-exponential"), Scheme("all-reduce"), Scheme("server"))
    )
    per_model = 8 * 4 * PARAMETERS / 95e6
    assert one_peer == pytest.approx(0.001 + per_model)
    assert all_reduce == pytest.approx(2 * 9_999 * (0.001 + per_model / 10_000))
    assert server == pytest.approx(0.001 * 15 + per_model * (14 + 9_999 * (1 + 0.1 * (1 - 1 / 9_999))))
