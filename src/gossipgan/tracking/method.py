"""A run's method in a few words."""

from gossipgan.config import LookaheadSettings, MixingSettings, Settings


def describe_method(settings: Settings) -> str:
    """Base optimizer, Lookahead and mixing, such as ``alternating adam + lookahead joint k=5 alpha=0.5``."""
    optimizer = settings.optimizer
    parts = [f"{optimizer.update} {optimizer.name}"]
    if optimizer.d_steps > 1:
        parts[0] += f" d_steps={optimizer.d_steps}"
    if settings.lookahead.kind != "none":
        parts.append(_lookahead(settings.lookahead))
    if settings.mixing.kind != "none":
        parts.append(_mixing(settings.mixing))
    return " + ".join(parts)


def _lookahead(lookahead: LookaheadSettings) -> str:
    k = f"{lookahead.k}" if lookahead.k_max is None else f"{lookahead.k}..{lookahead.k_max}"
    own = f" discriminator k={lookahead.discriminator_k}" if lookahead.discriminator_k is not None else ""
    outer = f" super k={lookahead.super_k} alpha={lookahead.super_alpha:g}" if lookahead.kind == "nested" else ""
    return f"lookahead {lookahead.kind} k={k}{own} alpha={lookahead.alpha:g}{outer}"


def _mixing(mixing: MixingSettings) -> str:
    if not mixing.gossips:
        return f"{mixing.kind}, {mixing.learners} learners"
    rounds = "" if mixing.rounds == 1 else f" {mixing.rounds} rounds"
    period = "" if mixing.period == 1 else f" every {mixing.period} iterations"
    wire = "" if mixing.wire == "float32" else f" in {mixing.wire}"
    return f"{mixing.kind} {mixing.topology}{rounds}{period}{wire}, {mixing.learners} learners"
