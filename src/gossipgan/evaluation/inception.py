"""Where the weights of torch-fidelity's Inception come from: a file, or its own download."""

from pathlib import Path

import torch

from gossipgan.config import ExtractorSettings
from gossipgan.errors import UserError
from gossipgan.runs import sha256

#: torch-fidelity's name for it: the network of the original TensorFlow FID.
REGISTERED = "inception-v3-compat"
FEATURES = "2048"
LOGITS = "logits_unbiased"


def inception_weights(settings: ExtractorSettings) -> Path:
    """The file of Inception's weights: ``extractor.weights``, or torch-fidelity's, downloaded if need be.

    A downloaded file lies in torch's hub folder, where torch-fidelity itself looks for it.

    Raises:
        UserError: no such file, not the hash that ``extractor.sha256`` gives, not such weights, or no network.
    """
    path = Path(settings.weights) if settings.weights is not None else _downloaded()
    if not path.is_file():
        raise UserError(f"extractor.weights: {path}: no such file; name torch-fidelity's Inception weights")
    if settings.sha256 is not None and (found := sha256(path)) != settings.sha256:
        raise UserError(
            f"extractor.sha256: {path} hashes to {found}, not to {settings.sha256}; use the file that was meant"
        )
    _check(path)
    return path


def _downloaded() -> Path:
    from torch_fidelity.feature_extractor_inceptionv3 import URL_INCEPTION_V3

    name: str = URL_INCEPTION_V3.rsplit("/", 1)[-1]
    path: Path = Path(torch.hub.get_dir()) / "checkpoints" / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        hash_start = Path(name).stem.rsplit("-", 1)[-1]
        try:
            torch.hub.download_url_to_file(URL_INCEPTION_V3, str(path), hash_start, progress=False)
        except (OSError, RuntimeError) as error:  # URLError is an OSError; RuntimeError: another hash
            raise UserError(
                f"extractor.weights: the Inception weights could not be downloaded from {URL_INCEPTION_V3} "
                f"({error}); download them elsewhere and give the file's path here"
            ) from None
    return path


def _check(path: Path) -> None:
    """Refuse anything but plain tensors, since torch-fidelity would unpickle whatever is in the file."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        fits = state["fc.weight"].shape == (1008, int(FEATURES))
    except Exception:  # noqa: BLE001 (the unpickler raises whatever the bytes of a wrong file lead it to)
        fits = False
    if not fits:
        raise UserError(wrong_weights(path))


def wrong_weights(path: Path) -> str:
    """What to say of a file that holds something else."""
    return f"extractor.weights: {path} does not hold the weights of {REGISTERED}; give torch-fidelity's file"
