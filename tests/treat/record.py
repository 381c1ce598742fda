"""Runs a training program and prints the `Evidence` of it as JSON: python record.py OUT SCRIPT [ARG...].

A stand-in for the probe that does only what the cases of these tests need: it stops at nothing and hooks everything,
so that the recorded positions are those of real frames.
"""

import gc
import json
import runpy
import sys
from pathlib import Path

import torch
from torch import nn
from torch.utils import data

OUT, SCRIPT = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
ROOT = SCRIPT.parent
KEYS: dict[str, list] = {
    "loaders": [],
    "optimizers": [],
    "forwards": [],
    "backwards": [],
    "anomalies": [],
    "calls": [],
    "options": [],
}
SEEN: set = set()
MODULES: dict[int, int] = {}
KEPT: list = []  # objects and frames whose id must stay theirs
DEPTH = [0]
CALLS: dict[tuple, dict] = {}
STEPS = [0]


def site(frame) -> dict:
    code = frame.f_code
    line, end_line, column, end_column = list(code.co_positions())[frame.f_lasti // 2]
    KEPT.append(frame)
    return {
        "path": "/case/" + Path(code.co_filename).relative_to(ROOT).as_posix(),
        "line": line,
        "end_line": end_line,
        "column": column,
        "end_column": end_column,
        "function": code.co_qualname,
        "frame": id(frame),
    }


def stack() -> list[dict]:
    frame, found = sys._getframe(2), []
    while frame is not None:
        if Path(frame.f_code.co_filename).is_relative_to(ROOT):
            found.append(site(frame))
        frame = frame.f_back
    return found[::-1]


def class_name(thing) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def loader_init(self, *args, **kwargs):
    plain_loader(self, *args, **kwargs)
    KEYS["loaders"].append(
        {
            "kind": "loader",
            "id": len(KEYS["loaders"]) + 1,
            "stack": stack(),
            "num_workers": self.num_workers,
            "batch_size": self.batch_size,
            "prefetch_factor": self.prefetch_factor,
            "persistent_workers": self.persistent_workers,
            "pin_memory": self.pin_memory,
            "multiprocessing_context": None,
            "dataset_class": class_name(self.dataset),
            "dataset_len": len(self.dataset) if hasattr(self.dataset, "__len__") else None,
            "iterable": isinstance(self.dataset, data.IterableDataset),
            "sampler_class": class_name(self.sampler),
            "loader_class": class_name(self),
        }
    )


def optimizer_init(self, params, defaults):
    plain_optimizer(self, params, defaults)
    frame = sys._getframe(1)
    while not Path(frame.f_code.co_filename).is_relative_to(ROOT):
        frame = frame.f_back
    tensors = [tensor for group in self.param_groups for tensor in group["params"]]
    KEYS["optimizers"].append(
        {
            "kind": "optimizer",
            "id": len(KEYS["optimizers"]) + 1,
            "stack": stack(),
            "optimizer_class": class_name(self),
            "num_tensors": len(tensors),
            "num_elements": sum(tensor.numel() for tensor in tensors),
            "fused": defaults.get("fused"),
            "foreach": defaults.get("foreach"),
            "modules": frame,
            "devices": sorted({str(tensor.device) for tensor in tensors}),
        }
    )


def module_call(self, *args, **kwargs):
    if DEPTH[0] or torch.compiler.is_compiling():
        return plain_call(self, *args, **kwargs)
    where = stack()
    if where:
        key = (
            where[-1]["path"],
            where[-1]["line"],
            where[-1]["column"],
            self.training,
            torch.is_grad_enabled(),
            id(self),
        )
        if key not in SEEN:
            SEEN.add(key)
            forward_seen(self, where, args)
    DEPTH[0] += 1
    try:
        return plain_call(self, *args, **kwargs)
    finally:
        DEPTH[0] -= 1


def forward_seen(module, where, args):
    KEPT.append(module)
    parts = list(module.modules())
    parameters = list(module.parameters())
    KEYS["forwards"].append(
        {
            "kind": "forward",
            "id": MODULES.setdefault(id(module), len(MODULES) + 1),
            "stack": where,
            "module_class": class_name(module),
            "training": module.training,
            "grad_enabled": torch.is_grad_enabled(),
            "forward_in_torch": type(module).forward.__module__.startswith("torch."),
            "num_parameters": sum(parameter.numel() for parameter in parameters),
            "parameter_dtypes": sorted({str(parameter.dtype) for parameter in parameters}),
            "device": str(parameters[0].device) if parameters else "cpu",
            "num_conv": sum(isinstance(part, nn.modules.conv._ConvNd) for part in parts),
            "num_batchnorm": sum(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in parts),
            "num_dropout": sum(isinstance(part, nn.modules.dropout._DropoutNd) for part in parts),
            "num_rnn": sum(isinstance(part, nn.RNNBase) for part in parts),
            "sparse_embedding": any(isinstance(part, nn.Embedding) and part.sparse for part in parts),
            "input_shapes": [list(arg.shape) for arg in args if isinstance(arg, torch.Tensor)],
            "channels_last": False,
            "compiled": False,
            "autocast": str(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else None,
            "traced": isinstance(module, torch.jit.ScriptModule),
        }
    )


def backward(self, *args, **kwargs):
    STEPS[0] += 1
    where = stack()
    key = (where[-1]["path"], where[-1]["line"], where[-1]["column"])
    if key not in SEEN:
        SEEN.add(key)
        KEYS["backwards"].append(
            {
                "kind": "backward",
                "id": len(KEYS["backwards"]) + 1,
                "stack": where,
                "create_graph": bool(kwargs.get("create_graph", False)),
                "retain_graph": bool(kwargs.get("retain_graph", False)),
            }
        )
    return plain_backward(self, *args, **kwargs)


def watch_anomalies(name):
    switch = getattr(torch.autograd, name)
    plain = switch.__init__

    def switched(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        where = stack()
        key = name, where[-1]["line"]
        if key not in SEEN:
            SEEN.add(key)
            found = KEYS["anomalies"]
            found.append({"kind": "anomaly", "id": len(found) + 1, "stack": where, "function": name})

    switch.__init__ = switched


def watch_calls(owner, name, function):
    plain = getattr(owner, name)

    def counted(*args, **kwargs):
        where = stack()
        if where and STEPS[0]:
            key = function, where[-1]["line"], where[-1]["column"]
            if key not in CALLS:
                CALLS[key] = {"kind": "calls", "id": len(CALLS) + 1, "function": function, "stack": where, "calls": 0}
                KEYS["calls"].append(CALLS[key])
            CALLS[key]["calls"] += 1
        return plain(*args, **kwargs)

    setattr(owner, name, counted)


def parse_known_args(self, args=None, namespace=None):
    found, rest = plain_parse(self, args, namespace)
    for action in self._actions:
        if action.dest != "help" and hasattr(found, action.dest):
            value = getattr(found, action.dest)
            KEYS["options"].append(
                {
                    "kind": "argparse",
                    "dest": action.dest,
                    "flags": list(action.option_strings),
                    "value": value if isinstance(value, int | float | str | None) else str(value),
                    "takes_value": action.nargs != 0,
                }
            )
    return found, rest


def names_in(frame) -> dict[str, int]:
    """Expressions of outermost modules in a frame: plain names, and attributes of self."""
    places = {name: value for name, value in frame.f_locals.items() if not name.startswith("_")}
    owner = frame.f_locals.get("self")
    if owner is not None:
        attributes = {**vars(owner), **getattr(owner, "_modules", {})}
        places |= {f"self.{name}": value for name, value in attributes.items()}
    return {
        name: MODULES[id(value)]
        for name, value in places.items()
        if isinstance(value, nn.Module) and id(value) in MODULES
    }


watch_anomalies("set_detect_anomaly")
watch_anomalies("detect_anomaly")
watch_calls(gc, "collect", "gc.collect")
watch_calls(torch.cuda, "empty_cache", "torch.cuda.empty_cache")
plain_loader, data.DataLoader.__init__ = data.DataLoader.__init__, loader_init
plain_optimizer, torch.optim.Optimizer.__init__ = torch.optim.Optimizer.__init__, optimizer_init
plain_call, nn.Module.__call__ = nn.Module.__call__, module_call
plain_backward, torch.Tensor.backward = torch.Tensor.backward, backward
import argparse  # noqa: E402

plain_parse, argparse.ArgumentParser.parse_known_args = argparse.ArgumentParser.parse_known_args, parse_known_args

sys.argv = sys.argv[2:]
sys.path[0] = str(ROOT)
runpy.run_path(str(SCRIPT), run_name="__main__")

for called in KEYS["calls"]:  # each call takes a tenth of a step of the ledger that the cases get
    called |= {"total_ns": called["calls"], "steps": STEPS[0]}
numbers: dict[int, int] = {}
for optimizer in KEYS["optimizers"]:
    optimizer["modules"] = names_in(optimizer["modules"])
for thing in (thing for kind, things in KEYS.items() if kind != "options" for thing in things):
    for place in thing["stack"]:
        place["frame"] = numbers.setdefault(place["frame"], len(numbers) + 1)
KEYS["project_root"] = "/case"
KEYS["environment"] = {
    "kind": "environment",
    "pid": 1,
    "python": "3.11.7",
    "executable": "/usr/bin/python3",
    "argv": [f"/case/{SCRIPT.name}", *sys.argv[1:]],
    "script": f"/case/{SCRIPT.name}",
    "main_guard": "__main__" in SCRIPT.read_text("utf-8-sig"),
    "torch": "2.13.0+cpu",
    "cuda": False,
    "device_names": [],
    "intra_op_threads": torch.get_num_threads(),
    "inter_op_threads": 1,
    "affinity_cpus": 2,
    "cpu_capability": "AVX512",
    "start_method": "fork",
    "allocator": "glibc 2.36",
}
OUT.write_text(json.dumps(KEYS, ensure_ascii=False, indent=1) + "\n", "utf-8")
