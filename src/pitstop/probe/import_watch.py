"""Tells the probe when the user's program has imported a module, without importing anything itself."""

import sys


class ImportWatch:
    """A meta path finder that finds nothing itself: it lets the others find, and calls back after the module has run."""

    def __init__(self, on_fault):
        self._callbacks = {}
        self._on_fault = on_fault

    def when(self, name, callback):
        """Call `callback(module)` once `name` is imported, now if it already is."""
        module = sys.modules.get(name)
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            self._call(callback, module)
            return
        self._callbacks.setdefault(name, []).append(callback)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        """Find `name` through the other finders, if it is watched; the import system asks for every module."""
        if name not in self._callbacks:
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                self._wrap(spec)
                return spec
        return None

    def _wrap(self, spec):
        loader = spec.loader
        original = getattr(loader, "exec_module", None)
        if original is None:
            return

        def exec_module(module):
            try:
                del loader.exec_module  # the instance attribute: the loader is as it was before the module runs
            except AttributeError:
                pass
            original(module)  # where it fails, the callbacks wait for the next try
            self._ran(spec.name, module)

        try:
            loader.exec_module = exec_module
        except Exception as error:  # a loader that takes no attributes
            self._on_fault("import watch of " + spec.name, error)

    def _ran(self, name, module):
        callbacks = self._callbacks.pop(name, [])
        if not self._callbacks and self in sys.meta_path:
            sys.meta_path.remove(self)
        for callback in callbacks:
            self._call(callback, module)

    def _call(self, callback, module):
        try:
            callback(module)
        except Exception as error:
            self._on_fault("import watch", error)
