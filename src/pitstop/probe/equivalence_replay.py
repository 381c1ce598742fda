"""One step computed again from a recording: same weights, batches, random states; other code or other arithmetic.

In `plain` arithmetic the optimizer is given the recorded gradients and memory, with this program's own settings of the same
step, so that its update is checked apart from the gradients. In every other arithmetic the optimizer finds no gradients.
"""

import math
import os

from . import equivalence_compare, equivalence_data, equivalence_seeds
from .equivalence_arithmetic import Arithmetic
from .equivalence_capture import _gradient, trained_by, weights_of
from .equivalence_state import hyperparameters, set_hyperparameters

__all__ = ["Replay"]


class Replay:
    """The window of one replayed step; `entry` is what is written down."""

    def __init__(self, torch, folder, number, variant, *, settings, references, idle=False):
        self.torch, self.references, self.number = torch, references, number
        self.variant, self.idle = variant, idle  # idle: only to bring the program to where the next replay can begin
        self.settings = (
            settings  # hyperparameters of this program, per step and optimizer step; short: the current ones are right
        )
        self.arithmetic = Arithmetic(torch, variant)
        self.data = torch.load(os.path.join(folder, "capture-%d.pt" % number), weights_only=False)
        self.fetched = self.updated = 0
        self.ahead = self.data.get("ahead") or {}  # loader -> what the recorded step used, which others may fetch
        self.drawn = dict.fromkeys(self.ahead, 0)
        self.used = dict.fromkeys(self.ahead, 0)
        self.in_order = True
        self.losses, self.gradients = [], []
        self.weights = []
        self.comparable = False
        self.restore = None
        self.entry = {
            "capture": number,
            "step": self.data["step"],
            "variant": variant,
            "errors": [],
            "extra_fetches": 0,
        }

    def begin(self, state, optimizers):
        """Put the recorded state in place and switch arithmetic."""
        state.force(self.data["state"], self.arithmetic.dtype, self.arithmetic.weights)
        equivalence_seeds.RandomState.put(self.torch, self.data["random"])
        self.weights = [weights_of(optimizer) for optimizer in optimizers]
        self.arithmetic.enter()

    def fetch(self, loader):
        """Return (batch,) to hand over in place of what `loader` delivered, or None to leave it alone."""
        expected = self.data["fetches"][self.fetched] if self.fetched < len(self.data["fetches"]) else None
        if expected is None or expected["loader"] != loader:
            self.entry["extra_fetches"] += 1
            return None
        self.fetched += 1
        batch = equivalence_data.copied(self.torch, expected["batch"])
        if not self.arithmetic.exact:
            batch = equivalence_data.mapped(self.torch, batch, self.arithmetic.batch)
        equivalence_seeds.RandomState.put(self.torch, expected["random"])
        return (batch,)

    def fetch_ahead(self, loader):
        """Put the random streams to where they stood when this step's recording had asked a loader that looks ahead for so many batches."""
        draws = self.data["draws"].get(loader, ())
        if self.drawn.get(loader, 0) < len(draws):
            equivalence_seeds.RandomState.put(self.torch, draws[self.drawn[loader]])
            self.drawn[loader] += 1

    def use(self, loader, place):
        """Take in that a module is about to be called with batch number `place` of this step, of a loader that looks ahead."""
        used = self.ahead.get(loader, ())
        if loader in self.used:
            self.in_order = self.in_order and place == self.used[loader]
            if self.used[loader] < len(used):
                equivalence_seeds.RandomState.put(self.torch, used[self.used[loader]]["random"])
            self.used[loader] += 1

    def has_all(self):
        """Whether the step used the batches of loaders that look ahead which were meant for it: an epoch may have ended, or one been dropped."""
        return self.in_order and all(self.used[loader] == len(used) for loader, used in self.ahead.items())

    def loss(self, value):
        """Keep a loss that went backward."""
        self.losses.append(value)

    def before(self, number, optimizer):
        """Keep the gradients that an optimizer is about to use, and set the stage for its update."""
        tensors = trained_by(optimizer)
        self.gradients.extend(_gradient(p) for p in tensors)
        self.comparable = False
        recorded = self._update(number)
        if number >= len(self.weights):
            self.weights.append(weights_of(optimizer))
        if not self.arithmetic.exact or recorded is None:
            if getattr(optimizer, "by_hand", False):
                optimizer.withhold()
            else:
                for p in tensors:
                    p.grad = None
            return
        for p, gradient in zip(tensors, recorded["gradients"]):
            p.grad = None if gradient is None else self.torch.empty_like(p, requires_grad=False).copy_(gradient)
        try:
            _put_memory(optimizer, recorded["memory"])
        except ValueError as error:
            self.entry["errors"].append("optimizer: %s" % error)
            return
        of_step = self.settings[self.data["step"]] if self.data["step"] < len(self.settings) else []
        if self.updated < len(of_step) and of_step[self.updated][0] == number:
            now = hyperparameters(optimizer)
            set_hyperparameters(optimizer, of_step[self.updated][1])
            self.restore = (optimizer, now)
        self.comparable = True

    def after(self, number, optimizer, *, last):
        """Compare the update, and put the weights to where the recording went on."""
        recorded = self._update(number)
        if recorded is None:
            self.entry["errors"].append("other order of optimizers")
            return
        tensors = trained_by(optimizer)
        if self.comparable:
            changes = [new - old for new, old in zip(weights_of(optimizer), self.weights[number])]
            eps = max(self.torch.finfo(p.dtype).eps for p in tensors)
            error, floor = equivalence_compare.update_apart(changes, recorded["change"], self.weights[number], eps)
            self.entry.setdefault("updates", []).append({"error": error, "floor": floor, "finite": error is not None})
        if self.restore:
            set_hyperparameters(*self.restore)
            self.restore = None
        if not last and recorded["after"] is not None:
            with self.torch.no_grad():
                for p, value in zip(tensors, recorded["after"]):
                    p.data.copy_(self.arithmetic.weights(value))
            self.weights[number] = weights_of(optimizer)
        self.updated += 1

    def _update(self, number):
        updates = self.data["updates"]
        ours = updates[self.updated] if self.updated < len(updates) else None
        return ours if ours is not None and ours["optimizer"] == number else None

    def end(self, out_folder):
        """Switch back and return the entry: this step against the recording, and against fp64 where that exists."""
        self.arithmetic.leave()
        recorded = [g for update in self.data["updates"] for g in update["gradients"]]
        entry = self.entry
        entry["losses"] = [value if math.isfinite(value) else None for value in self.losses]
        entry["finite"] = None not in entry["losses"] and all(
            g is None or bool(self.torch.isfinite(g).all()) for g in self.gradients
        )
        entry["missing_fetches"] = len(self.data["fetches"]) - self.fetched
        if not self.in_order:
            entry["errors"].append("batches are used in another order")
        for loader, used in self.ahead.items():
            entry["missing_fetches"] += max(0, len(used) - self.used[loader])
            entry["extra_fetches"] += max(0, self.used[loader] - len(used))
        entry["backwards"] = [len(self.data["losses"]), len(self.losses)]
        entry["to_capture"] = equivalence_compare.apart(self.losses, self.gradients, self.data["losses"], recorded)
        path = "reference-%d.pt" % self.number
        if self.arithmetic.variant == "float64":
            reference = {"losses": self.losses, "gradients": self.gradients}
            self.torch.save(reference, os.path.join(out_folder, path))
            entry["to_float64"] = None
        elif os.path.exists(os.path.join(self.references, path)):
            reference = self.torch.load(os.path.join(self.references, path), weights_only=False)
            entry["to_float64"] = equivalence_compare.apart(
                self.losses, self.gradients, reference["losses"], reference["gradients"]
            )
        else:
            entry["to_float64"] = None
        return entry


def _put_memory(optimizer, memory):
    """Set what the optimizer remembers to the recording, in place where it is a tensor already."""
    for p, recorded in zip(trained_by(optimizer), memory):
        own = optimizer.state[p]
        missing = [key for key in own if isinstance(key, str) and key not in recorded]
        if missing and recorded:
            raise ValueError("keeps %s, which the original does not" % ", ".join(missing))
        for key, value in recorded.items():
            current = own.get(key)
            if hasattr(value, "detach") and hasattr(current, "detach") and current.shape == value.shape:
                current.copy_(value)
            elif hasattr(value, "detach"):
                own[key] = value.to(p.device, copy=True) if value.ndim else value.clone()
            else:
                own[key] = value
