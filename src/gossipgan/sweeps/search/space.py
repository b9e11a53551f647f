"""The search space: from choices to settings, in an order in which every condition and tie is known when asked."""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gossipgan.errors import UserError
from gossipgan.sweeps.search.parameter import Parameter, Scalar

#: Proposals at random that a space is tried out with, and for each end of each setting.
_DRAWS, _DRAWS_AN_END = 64, 4

#: Picks the value of a setting that is searched.
Choose = Callable[[str, Parameter], Scalar]


class Space:
    """Parameters by dotted setting, over the settings of a base experiment.

    Args:
        parameters: by dotted setting.
        base: the base experiment's settings by dotted key, for conditions, ties and ratios on what is not searched.

    Raises:
        UserError: parameters that wait for one another.
    """

    def __init__(self, parameters: Mapping[str, Parameter], base: Mapping[str, Any]) -> None:
        self._base = base
        self._parameters: dict[str, Parameter] = {}
        left = dict(parameters)
        while left:
            free = [name for name, one in left.items() if not any(needed in left for needed in one.needs)]
            if not free:
                raise UserError(f"space: {', '.join(left)} wait for one another; untie one of them")
            for name in free:
                self._parameters[name] = left.pop(name)

    def resolve(self, choose: Choose) -> dict[str, Scalar]:
        """Settings of one proposal, by dotted key; a setting whose condition does not hold is not in it.

        Args:
            choose: asked for each setting that is searched, in an order that depends on the space alone.
        """
        found: dict[str, Scalar] = {}

        def value(name: str) -> Any:
            return found[name] if name in found else self._base[name]

        for name, one in self._parameters.items():
            if not all(_among(value(other), wanted) for other, wanted in one.when.items()):
                continue
            if one.same_as is not None:
                found[name] = value(one.same_as)
            elif one.ratio_of is not None:
                ratio = choose(name, one)
                assert isinstance(ratio, int | float)
                found[name] = ratio * value(one.ratio_of)
            else:
                found[name] = choose(name, one) if one.searched else one.value
        return found

    def draw(self, chance: random.Random) -> dict[str, Scalar]:
        """A proposal at random."""
        return self.resolve(lambda _, one: one.draw(chance))

    def tries(self) -> Iterator[dict[str, Scalar]]:
        """Many proposals, always the same, to try the space out with: each end of each setting, and at random."""
        chance = random.Random(0)
        for name, searched in self.searched.items():
            for end in [] if searched.ratio_of else searched.ends():

                def choose(other: str, one: Parameter, name: str = name, end: Scalar = end) -> Scalar:
                    return end if other == name else one.draw(chance)

                for _ in range(_DRAWS_AN_END):
                    yield self.resolve(choose)
        for _ in range(_DRAWS):
            yield self.draw(chance)

    def grid(self) -> Iterator[dict[str, Scalar]] | None:
        """Every proposal as Optuna's parameters, conditions heeded; None where there are infinitely many."""
        if any(one.searched and one.options() is None for one in self._parameters.values()):
            return None
        return self._grid()

    def _grid(self) -> Iterator[dict[str, Scalar]]:
        prefix: list[int] = []
        while True:
            taken: list[int] = []
            counts: list[int] = []
            params: dict[str, Scalar] = {}

            def choose(
                name: str,
                one: Parameter,
                prefix: list[int] = prefix,
                taken: list[int] = taken,
                counts: list[int] = counts,
                params: dict[str, Scalar] = params,
            ) -> Scalar:
                options = one.options()
                assert options is not None
                taken.append(prefix[len(taken)] if len(taken) < len(prefix) else 0)
                counts.append(len(options))
                params[one.key(name)] = options[taken[-1]]
                return options[taken[-1]]

            self.resolve(choose)
            yield params
            while taken and taken[-1] + 1 == counts[len(taken) - 1]:
                taken.pop()
            if not taken:
                return
            prefix = [*taken[:-1], taken[-1] + 1]

    def params_of(self, settings: Mapping[str, Any]) -> dict[str, Scalar]:
        """Optuna's parameters that give these settings.

        Args:
            settings: by dotted key; the base experiment's values stand for those that are left out.

        Raises:
            UserError: a value lies outside the space.
        """
        wanted = {**self._base, **settings}
        params: dict[str, Scalar] = {}

        def choose(name: str, one: Parameter) -> Scalar:
            value = wanted[name] if one.ratio_of is None else wanted[name] / wanted[one.ratio_of]
            if not one.holds(value):
                raise UserError(f"{one.key(name)}: {value!r} lies outside the space")
            params[one.key(name)] = value
            return value  # type: ignore[no-any-return]

        self.resolve(choose)
        return params

    def holds(self, params: Mapping[str, Any]) -> bool:
        """Whether Optuna's parameters are a whole proposal of this space, and nothing beside it."""
        asked: set[str] = set()

        def choose(name: str, one: Parameter) -> Scalar:
            key = one.key(name)
            if key not in params or not one.holds(params[key]):
                raise KeyError(key)
            asked.add(key)
            return params[key]  # type: ignore[no-any-return]

        try:
            self.resolve(choose)
        except KeyError:
            return False
        return asked == set(params)

    def distributions(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Optuna's distributions of some of its parameters."""
        return {
            one.key(name): one.distribution()
            for name, one in self._parameters.items()
            if one.searched and one.key(name) in params
        }

    @property
    def searched(self) -> dict[str, Parameter]:
        """The settings that there is something to choose of."""
        return {name: one for name, one in self._parameters.items() if one.searched}


def _among(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list | tuple) else bool(value == wanted)
