"""Closures given to `Optimizer.step`: most optimizers evaluate them once, before their update; L-BFGS as often as it likes."""

__all__ = ["watched"]


class Watched:
    """`arguments` for the optimizer, the closure in them watched; `times`: how often it has been evaluated."""

    def __init__(self, args, kwargs, position, key, on_evaluated):
        self.times = 0
        self._real = kwargs[key] if key is not None else args[position]
        self._on_evaluated = on_evaluated
        if key is not None:
            self.arguments = args, dict(kwargs, **{key: self._evaluate})
        else:
            self.arguments = (*args[:position], self._evaluate, *args[position + 1 :]), kwargs

    def _evaluate(self, *args, **kwargs):
        result = self._real(*args, **kwargs)
        self.times += 1
        self._on_evaluated(self.times)
        return result


def watched(args, kwargs, on_evaluated):
    """Return the `Watched` closure of a call of `step` (`args`: the optimizer first), None where there is none.

    `on_evaluated(times)` is called after each evaluation, before the optimizer goes on; it must not raise.
    """
    position = next((index for index, value in enumerate(args) if index and callable(value)), None)
    key = next((name for name, value in kwargs.items() if callable(value)), None)
    if position is None and key is None:
        return None
    return Watched(args, kwargs, position, key, on_evaluated)
