"""A run's method in a few words."""

from gossipgan.config import Settings


def describe_method(settings: Settings) -> str:
    """Base optimizer, Lookahead and mixing, such as ``alternating adam + lookahead joint k=5 alpha=0.5``."""
    optimizer, lookahead, mixing = settings.optimizer, settings.lookahead, settings.mixing
    parts = [f"{optimizer.update} {optimizer.name}"]
    if optimizer.d_steps > 1:
        parts[0] += f" d_steps={optimizer.d_steps}"
    if lookahead.kind != "none":
        parts.append(f"lookahead {lookahead.kind} k={lookahead.k} alpha={lookahead.alpha:g}")
    if str(mixing.kind) != "none":
        parts.append(f"{mixing.kind} of {mixing.learners} learners")
    return " + ".join(parts)
