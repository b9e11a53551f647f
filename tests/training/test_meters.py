"""The meters against small sums done by hand."""

import torch
from torch import nn

from gossipgan.training.meters import BackwardMeter, OperationsMeter, add_storages


def test_a_matrix_product_is_two_operations_a_multiplication_and_its_backward_pass_twice_that() -> None:
    left, right = torch.randn(3, 5, requires_grad=True), torch.randn(5, 7, requires_grad=True)
    with OperationsMeter() as meter:
        product = left @ right
    assert meter.count == 2 * 3 * 5 * 7
    with OperationsMeter() as meter:
        product.sum().backward()
    assert meter.count == 2 * (2 * 3 * 5 * 7)


def test_the_first_layers_input_needs_no_gradient_and_costs_none() -> None:
    layer = nn.Conv2d(2, 6, 3, padding=1)
    with OperationsMeter() as meter:
        layer(torch.randn(4, 2, 8, 8)).sum().backward()
    forward = 2 * 4 * 8 * 8 * 3 * 3 * 2 * 6
    assert meter.count == 2 * forward


def test_elementwise_arithmetic_counts_nothing() -> None:
    with OperationsMeter() as meter:
        torch.randn(9, 9).exp().add(1).mul(2).sum()
    assert meter.count == 0


def test_what_autograd_keeps_is_counted_once_a_storage_and_gone_after_the_backward_pass() -> None:
    inputs = torch.randn(1000, requires_grad=True)
    meter = BackwardMeter(held=set())
    with meter:
        kept = inputs.exp()  # keeps its result, 4,000 bytes
        squared = kept * kept  # keeps both factors: the same storage
        loss = squared.sum()  # keeps nothing
    assert meter.bytes == meter.most == 4000
    loss.backward()
    assert meter.bytes == 0
    assert meter.most == 4000
    torch.testing.assert_close(inputs.grad, 2 * inputs.exp().square())


def test_weights_that_are_there_anyway_are_not_counted() -> None:
    layer = nn.Linear(10, 20)
    held: set[int] = set()
    add_storages(layer, held)
    pictures = torch.randn(5, 10)

    def kept(known: set[int]) -> int:
        meter = BackwardMeter(known)
        with meter:
            layer(pictures)
        return meter.most

    # A first layer keeps its input, for the weights' gradient; a later one its weights too, for the input's.
    assert (kept(held), kept(set())) == (4 * 5 * 10, 4 * 5 * 10)
    pictures.requires_grad_()
    assert (kept(held), kept(set())) == (4 * 5 * 10, 4 * (5 * 10 + 10 * 20))


def test_a_dropped_graph_is_gone_without_a_backward_pass() -> None:
    meter = BackwardMeter(held=set())
    with meter:
        outputs = torch.randn(1000, requires_grad=True).sigmoid()
    assert meter.bytes == 4000
    del outputs
    assert meter.bytes == 0


def test_a_graph_of_gradients_is_counted_too() -> None:
    inputs = torch.randn(1000, requires_grad=True)
    once, twice = BackwardMeter(held=set()), BackwardMeter(held=set())
    with once:
        torch.autograd.grad(inputs.exp().sum(), inputs)
    with twice:
        (gradient,) = torch.autograd.grad(inputs.exp().square().sum(), inputs, create_graph=True)
        gradient.sum().backward()
    assert twice.most > once.most == 4000


def test_all_storages_that_an_object_leads_to_are_found_and_each_once() -> None:
    class Holder:
        def __init__(self) -> None:
            base = torch.zeros(100)
            self.views = [base[:10], base[50:].view(5, 10)]
            self.nested = {"a": ({torch.zeros(3)}, torch.zeros(2, dtype=torch.int64)), "me": self, "text": "abc"}

    held: set[int] = set()
    holder = Holder()
    assert add_storages(holder, held) == 4 * 100 + 4 * 3 + 8 * 2
    assert len(held) == 3
    assert add_storages(holder, held) == 0
