"""What a result depends on beside its settings: the machine and the libraries."""

import functools
import hashlib
import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

#: Packages whose code has a say in what a run computes.
_COMPUTES = ("data", "evaluation", "games", "mixing", "optimizers", "training")


def describe_environment(threads: int, device: "torch.device") -> dict[str, str | int]:
    """Processor, device, versions and threads: two runs are bitwise equal only where these are."""
    import torch  # here, as whoever only reads run directories need not wait for it

    return {
        "processor": _processor(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": threads,
        "python": platform.python_version(),
        # Not the package's metadata, which leaves out the build: +cpu, +cu130.
        "torch": str(torch.__version__),
        **{package: version(package) for package in ("numpy", "torch-fidelity")},
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        fields: dict[str, str] = {}
        for line in cpuinfo.read_text().splitlines():
            name, colon, value = line.partition(":")
            if colon:
                fields[name.strip()] = value.strip()
        if "model name" in fields:
            model = fields.get("model", "")
            return f"{fields['model name']} (model {model})" if model else fields["model name"]
    return platform.processor() or platform.machine()


@functools.cache
def code_digest() -> str:
    """SHA-256 of gossipgan's own source: a run is not gone on with by other code than began it."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        if file.relative_to(package).parts[0] in _COMPUTES:
            digest.update(f"{file.relative_to(package)}\0".encode() + file.read_bytes())
    return digest.hexdigest()
