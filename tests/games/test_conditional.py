"""Class-conditional batch norm against the formula, and against an ordinary batch norm for each class."""

import pytest
import torch
from torch import nn

from gossipgan.games.conditional import ConditionalBatchNorm2d, LabelledSequential, batch_norm, check_labels

LABELS = torch.tensor([2, 0, 1, 1, 2, 2])


def _norm() -> ConditionalBatchNorm2d:
    torch.manual_seed(1)
    norm = ConditionalBatchNorm2d(features=4, classes=3)
    with torch.no_grad():
        norm.gain.normal_(1.0, 0.5)
        norm.bias.normal_(0.0, 0.5)
    return norm


def test_it_starts_as_batch_norm_without_gain_and_bias() -> None:
    inputs = torch.randn(6, 4, 5, 5) * 3 + 1
    norm = ConditionalBatchNorm2d(features=4, classes=3)
    torch.testing.assert_close(norm(inputs, LABELS), nn.BatchNorm2d(4, affine=False)(inputs))
    assert {name: tuple(p.shape) for name, p in norm.named_parameters()} == {"gain": (3, 4), "bias": (3, 4)}


@pytest.mark.parametrize("training", [True, False])
def test_each_picture_gets_what_an_ordinary_batch_norm_with_its_classs_gain_and_bias_gives(training: bool) -> None:
    norm, inputs = _norm(), torch.randn(6, 4, 5, 5) * 3 + 1
    norm(torch.randn(6, 4, 5, 5), LABELS)  # running statistics that are not the first ones
    ordinary = [nn.BatchNorm2d(4) for _ in range(3)]
    for label, one in enumerate(ordinary):
        one.load_state_dict({"weight": norm.gain[label], "bias": norm.bias[label], **norm.norm.state_dict()})
        one.train(training)
    # Each sees the whole batch, so that the statistics are those of all classes together.
    every = torch.stack([one(inputs) for one in ordinary])
    outputs = norm.train(training)(inputs, LABELS)
    torch.testing.assert_close(outputs, every[LABELS, torch.arange(6)])


def test_gradients_of_gain_and_bias_are_sums_over_the_pictures_of_their_class() -> None:
    norm, inputs, towards = _norm(), torch.randn(6, 4, 5, 5), torch.randn(6, 4, 5, 5)
    norm(inputs, LABELS).backward(towards)
    variance, mean = torch.var_mean(inputs, dim=(0, 2, 3), correction=0, keepdim=True)
    normed = (inputs - mean) / torch.sqrt(variance + 1e-5)
    assert norm.gain.grad is not None
    assert norm.bias.grad is not None
    for label in range(3):
        mine = label == LABELS
        torch.testing.assert_close(norm.gain.grad[label], (towards * normed)[mine].sum(dim=(0, 2, 3)))
        torch.testing.assert_close(norm.bias.grad[label], towards[mine].sum(dim=(0, 2, 3)))


def test_under_autocast_it_keeps_the_activations_type_and_its_own_precision() -> None:
    norm, inputs = _norm(), torch.randn(6, 4, 5, 5)
    exact = norm(inputs, LABELS)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = norm(inputs.bfloat16(), LABELS)
    assert rounded.dtype == torch.bfloat16
    torch.testing.assert_close(rounded.float(), exact, rtol=0.02, atol=0.02)


def test_a_sequence_hands_labels_to_conditional_batch_norms_alone() -> None:
    norm, convolution, inputs = _norm(), nn.Conv2d(4, 4, 1), torch.randn(6, 4, 5, 5)
    outputs = LabelledSequential(norm, nn.ReLU(), convolution)(inputs, LABELS)
    torch.testing.assert_close(outputs, convolution(norm(inputs, LABELS).relu()))


def test_without_classes_batch_norm_is_the_ordinary_one() -> None:
    assert type(batch_norm(4, 0)) is nn.BatchNorm2d
    assert type(batch_norm(4, 2)) is ConditionalBatchNorm2d


def test_labels_go_with_conditional_networks_only() -> None:
    check_labels(None, 0)
    check_labels(LABELS, 3)
    with pytest.raises(ValueError, match="3 classes needs labels"):
        check_labels(None, 3)
    with pytest.raises(ValueError, match="takes no labels"):
        check_labels(LABELS, 0)
