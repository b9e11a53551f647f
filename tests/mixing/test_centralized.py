"""All-reduce and server: all learners step by the mean gradient."""

import pytest
import torch

from gossipgan.mixing.centralized import AllReduce, Server
from gossipgan.mixing.group import OneProcess


@pytest.mark.parametrize("kind", [AllReduce, Server])
@pytest.mark.parametrize("learners", [1, 2, 5])
def test_every_learner_gets_the_mean_of_all_gradients(kind: type[AllReduce | Server], learners: int) -> None:
    gradients = {i: [torch.randn(7), torch.randn(3)] for i in range(learners)}
    expected = [torch.stack([mine[part] for mine in gradients.values()]).double().mean(dim=0) for part in (0, 1)]
    before = gradients[0][0].clone()
    mixing = kind(OneProcess(learners))
    mixing.gradients(gradients)
    for mine in gradients.values():
        for part, wanted in zip(mine, expected, strict=True):
            torch.testing.assert_close(part.double(), wanted, rtol=1e-5, atol=1e-6)
    if learners == 1:
        assert torch.equal(gradients[0][0], before)
    # A ring all-reduce sends 2 (n - 1) / n of a vector at each learner, a server in all as much.
    assert mixing.bytes == pytest.approx(2 * (learners - 1) * 10 * 4, abs=learners * 2)
