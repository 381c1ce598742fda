"""Which expressions of the frame that made an optimizer are which modules, said once the modules are numbered."""

import weakref


class FrameNames:
    """Remembers names at construction (weakly) and writes `module_names` when an outermost module gets its number."""

    def __init__(self, hooked):
        self._hooked = hooked
        self._frames = []  # (optimizer number, {expression: weak reference to a module})

    def remember(self, optimizer, frame):
        """Keep the names of `frame`, which makes optimizer number `optimizer`; return those of numbered modules."""
        found = names_in(self._hooked.torch.nn.Module, frame)
        self._frames.append((optimizer, {name: weakref.ref(module) for name, module in found.items()}))
        numbers = {name: self._hooked.modules.get(module) for name, module in found.items()}
        return {name: number for name, number in numbers.items() if number}

    def name(self, module, number):
        """Say what the newly numbered `module` is called in the frames remembered."""
        for optimizer, names in self._frames:
            modules = {name: number for name, reference in names.items() if reference() is module}
            if modules:
                self._hooked.session.sightings.write("module_names", optimizer=optimizer, modules=modules)


def names_in(module_class, frame):
    """Return {expression: module} valid in `frame`: its locals, attributes of `self`, and globals that its code names."""
    local = dict(frame.f_locals)
    found = {name: value for name, value in local.items() if isinstance(value, module_class)}
    owner = local.get("self")
    if owner is not None:
        held = dict(getattr(owner, "__dict__", {}))
        if isinstance(owner, module_class):
            held.update(owner._modules.items())
        for name, value in held.items():
            if isinstance(value, module_class) and name.isidentifier():
                found["self." + name] = value
    for name in frame.f_code.co_names:
        if name not in local and isinstance(frame.f_globals.get(name), module_class):
            found[name] = frame.f_globals[name]
    return found
