"""The small classifier whose features are the default ruler, and its training."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from gossipgan.config import ExtractorSettings
from gossipgan.data import Store
from gossipgan.errors import UserError
from gossipgan.runs import atomic, sha256, write_atomic

WEIGHTS = "extractor.safetensors"
SUMMARY = "extractor.json"

#: Convolutions go on, halving the picture each time, until it is at most so many pixels high.
_SMALLEST_MAP = 8
_EVALUATION_BATCH = 500


class Architecture(NamedTuple):
    """What a classifier's weights fit: it travels with them, in the header of their file."""

    channels: int
    size: int
    classes: int
    width: int
    features: int


class Classifier(nn.Module):
    """A convolutional classifier of small pictures.

    3 x 3 convolutions, each but the last followed by max pooling, then batch norm and ReLU: the picture is halved
    until it is at most 8 pixels high (28 to 7, 32 and 64 to 8), while channels go from ``width`` to
    ``2 * width``. What is left is mapped linearly to the feature vector, which is normalised (batch norm);
    a ReLU and a linear layer make the logits.

    The features that metrics are computed from are those before that last ReLU: none of them is ever
    constantly zero, and on the training pictures each has a variance near one.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        channels, size, classes, width, features = architecture
        self.architecture = architecture
        layers: list[nn.Module] = []
        before, after = channels, width
        while size > _SMALLEST_MAP:
            layers += _convolution(before, after, nn.MaxPool2d(2))
            before, after = after, 2 * width
            size //= 2
        layers += _convolution(before, after)
        self.trunk = nn.Sequential(*layers)
        self.embedding = nn.Linear(after * size * size, features, bias=False)
        self.norm = nn.BatchNorm1d(features)
        self.head = nn.Linear(features, classes)

    def forward(self, pictures: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Features ``(N, features)`` and logits ``(N, classes)`` of uint8 pictures ``(N, C, H, W)``."""
        scaled = pictures.float() / 127.5 - 1.0
        features = self.norm(self.embedding(self.trunk(scaled).flatten(1)))
        return features, self.head(F.relu(features))

    def save(self, path: Path) -> None:
        """Write the weights, with the architecture in the file's header, atomically."""
        # One entry only: the order of several would differ from one writing to the next, and the hash with it.
        header = {"architecture": json.dumps(self.architecture._asdict())}
        state = {name: tensor.contiguous() for name, tensor in self.state_dict().items()}
        with atomic(path) as temporary:
            save_file(state, temporary, metadata=header)

    @classmethod
    def load(cls, path: Path) -> "Classifier":
        """A classifier from a file of weights, in eval mode, on the CPU, laid out for fast convolutions.

        Raises:
            UserError: the file is missing, damaged, or not an extractor's.
        """
        if not path.exists():
            raise UserError(f"{path}: no such file; run the extractor stage to train it")
        try:
            with safe_open(path, framework="pt") as file:
                header = file.metadata() or {}
            classifier = cls(Architecture(**json.loads(header["architecture"])))
            classifier.load_state_dict(load_file(path))
        except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError):
            raise UserError(
                f"{path}: damaged, or not the weights of an extractor; run the extractor stage again"
            ) from None
        return classifier.eval().requires_grad_(False).to(memory_format=torch.channels_last)


def train_classifier(
    settings: ExtractorSettings, store: Store, out: Path, threads: int, device: torch.device | None = None
) -> dict[str, Any]:
    """Train the classifier on the training split; write its weights and a summary.

    Adam with decoupled weight decay and a one-cycle learning rate; each picture of a batch is shifted at random. On a
    CPU the weights are the same to the last bit for equal settings, data and threads.

    Args:
        settings: width, features, epochs, batch, lr, shift and seed are read.
        store: the prepared pictures, with labels.
        out: folder for ``extractor.safetensors`` and ``extractor.json``.
        threads: CPU threads to train with.
        device: where to train; None: the CPU.

    Returns:
        What is in ``extractor.json``: kind, name, held_out_accuracy (fraction of the held-out split), counts,
        parameters, sha256 of the weights.

    Raises:
        UserError: the data have no labels or a single class, or training diverged.
    """
    classes = len(store.manifest.classes)
    if not store.manifest.has_labels or classes < 2:
        raise UserError(
            "extractor.kind: classifier needs pictures of at least two labelled classes, and the prepared data have "
            f"{'one class' if store.manifest.has_labels else 'no labels'}; use extractor.kind: inception"
        )
    device = device or torch.device("cpu")
    images, labels = store.images("train"), torch.from_numpy(np.array(store.labels("train")))
    _, channels, size, _ = images.shape
    architecture = Architecture(channels, size, classes, settings.width, settings.features)
    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            classifier = Classifier(architecture).to(device).to(memory_format=torch.channels_last)
        _fit(classifier, images, labels, settings, device)
        classifier.to(memory_format=torch.contiguous_format)
        accuracy = _accuracy(classifier, store.images("held_out"), store.labels("held_out"), device)
    finally:
        torch.set_num_threads(threads_before)
    if not all(torch.isfinite(tensor).all() for tensor in classifier.state_dict().values()):
        raise UserError(
            f"extractor.lr: the extractor's training diverged at {settings.lr:g}; a smaller rate would be right"
        )
    classifier.cpu().save(out / WEIGHTS)
    summary = {
        "kind": "classifier",
        "name": settings.name,
        "held_out_accuracy": accuracy,
        "train": len(images),
        "held_out": len(store.images("held_out")),
        "classes": classes,
        "parameters": sum(parameter.numel() for parameter in classifier.parameters()),
        "sha256": sha256(out / WEIGHTS),
    }
    write_atomic(out / SUMMARY, json.dumps(summary, indent=2) + "\n")
    return summary


def _convolution(before: int, after: int, *pooling: nn.Module) -> list[nn.Module]:
    # Pooling comes before the batch norm, which then has a quarter of the numbers to go through.
    return [
        nn.Conv2d(before, after, 3, padding=1, bias=False),
        *pooling,
        nn.BatchNorm2d(after),
        nn.ReLU(inplace=True),
    ]


def _fit(
    classifier: Classifier,
    images: np.ndarray[Any, np.dtype[np.uint8]],
    labels: torch.Tensor,
    settings: ExtractorSettings,
    device: torch.device,
) -> None:
    batch = min(settings.batch, len(images))
    steps = len(images) // batch  # whole batches: a batch norm cannot do with a single picture
    optimizer = torch.optim.AdamW(classifier.parameters(), lr=settings.lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=settings.lr, total_steps=settings.epochs * steps)
    stream = torch.Generator().manual_seed(settings.seed)
    classifier.train()
    for _ in range(settings.epochs):
        order = torch.randperm(len(images), generator=stream)
        for chosen in torch.split(order[: steps * batch], batch):
            pictures = torch.from_numpy(images[chosen.numpy()])
            pictures = shifted(pictures, settings.shift, stream).to(device)
            _, logits = classifier(pictures.contiguous(memory_format=torch.channels_last))
            loss = F.cross_entropy(logits, labels[chosen].to(device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    classifier.eval()


def shifted(pictures: torch.Tensor, most: int, stream: torch.Generator) -> torch.Tensor:
    """Each picture moved by its own whole numbers of pixels in [-most, most], down and right; edges repeat.

    Args:
        pictures: ``(N, C, H, W)``.
        most: the largest shift, in pixels.
        stream: where the shifts come from.
    """
    count, _, height, width = pictures.shape
    down, right = torch.randint(-most, most + 1, (2, count, 1), generator=stream)
    rows = (torch.arange(height) - down).clamp_(0, height - 1)
    columns = (torch.arange(width) - right).clamp_(0, width - 1)
    picture = torch.arange(count)[:, None, None]
    # The slice between advanced indices puts the channels last: bring them back.
    return pictures[picture, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def _accuracy(
    classifier: Classifier,
    images: np.ndarray[Any, np.dtype[np.uint8]],
    labels: np.ndarray[Any, np.dtype[np.int64]],
    device: torch.device,
) -> float:
    right = 0
    with torch.no_grad():
        for start in range(0, len(images), _EVALUATION_BATCH):
            pictures = torch.from_numpy(np.array(images[start : start + _EVALUATION_BATCH])).to(device)
            answers = classifier(pictures)[1].argmax(1).cpu().numpy()
            right += int((answers == labels[start : start + _EVALUATION_BATCH]).sum())
    return right / len(images)
