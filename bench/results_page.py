"""From the JSON files of run_programs.py to docs/results.md."""

import json
from pathlib import Path

from programs.checkout import COMMIT
from programs.outside import Outside

from pitstop.report import numbers

__all__ = ["page"]

HEAD = f"""# Outside programs

Written by `bench/run_programs.py`; do not edit. Programs of pytorch/examples at commit `{COMMIT[:12]}`, unmodified, on data made by
`bench/programs` (no download), each tuned once by `pitstop tune` on two cores without a GPU. The speed-up is original time / patched
time: of whole programs with nothing of pitstop in them ("whole"), or by the step clock where these did not fit the budget; brackets hold
the 95 % interval. "Patched" is what would be handed over: where nothing is confirmed, the program stays as it is. Where the interval of
whole programs includes 1, only the steps are shown to be faster: start-up and compiling, which short programs do not earn back, may
take it all. The whole results: `bench/recorded/outside`.
"""
NOT_RUN = "not run yet"
LEAST_SHARE = 0.03  # of the step; smaller categories are not listed


def page(programs: tuple[Outside, ...], results: Path) -> str:
    """Return the page as Markdown; programs without a result are listed as such."""
    read = {
        one.name: json.loads(path.read_text()) for one in programs if (path := results / f"{one.name}.json").exists()
    }
    rows = [
        "| program | patched, whole | by the step clock, or why nothing | changes | --budget | tuning time | trials |",
        "|---|---|---|---|---|---|---|",
    ]
    rows += [_row(program, read.get(program.name)) for program in programs]
    return "\n".join([HEAD, *rows, *(_section(one, read[one.name]) for one in programs if one.name in read), ""])


def _row(program: Outside, result: dict | None) -> str:
    if result is None:
        return f"| {program.name} | {NOT_RUN} | | | | | |"
    tune = result["tune"]
    if tune is None:
        return f"| {program.name} | none: exit code {result['exit_code']} | | | {result['budget']} | {result['wall_s']:.0f} s | |"
    prescription = tune["prescription"]
    chosen = ", ".join(prescription["treatments"])
    patched = prescription["patched"]
    if not chosen:
        whole, clock, chosen = "nothing confirmed", _undecided(tune) or tune["reason"], "none"
    else:
        clock = _interval(prescription["speedup"], prescription["ci"])
        end_to_end = patched is not None and patched["how"] == "end-to-end"
        whole = _interval(patched["speedup"], patched["ci"]) if end_to_end else "did not fit the budget"
    return f"| {program.name} | {whole} | {clock} | {chosen} | {result['budget']} | {tune['wall_s']:.0f} s | {tune['trials']} |"


def _undecided(tune: dict) -> str:
    """Return the finalists that were measured in pairs and not decided."""
    found = [one for one in tune["verdicts"] if one["stage"] == "confirm" and one["verdict"] == "undecided"]
    return "; ".join(f"{' + '.join(one['treatments'])} {_interval(one['speedup'], one['ci'])}" for one in found)


def _interval(value: float | None, ci: list[float] | None) -> str:
    if value is None:
        return "not measured"
    return numbers.ratio(value, (ci[0], ci[1]) if ci else None)


def _section(program: Outside, result: dict) -> str:
    lines = [f"\n## {program.name}\n", f"`{program.folder}`: `python {' '.join(program.arguments)}`", ""]
    lines += [f"{program.note[:1].upper()}{program.note[1:]}.", ""] if program.note else []
    if not result["clean"]:
        lines.append("**The program's files were changed by tuning.**\n")
    tune = result["tune"]
    if tune is None:
        return "\n".join([*lines, f"No result: `pitstop tune` ended with exit code {result['exit_code']}."])
    shares = sorted(tune["baseline"]["ledger"].items(), key=lambda item: -item[1])
    lines.append("Ledger: " + ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= LEAST_SHARE) + ".")
    lines += [f"- {finding['fault']}: {finding['share']:.0%} of the step" for finding in tune["baseline"]["findings"]]
    lines += ["", "| tried | verdict | speed-up | stage | why |", "|---|---|---|---|---|"]
    for verdict in tune["verdicts"]:
        cells = (" + ".join(verdict["treatments"]), verdict["verdict"], _interval(verdict["speedup"], verdict["ci"]))
        cells += (verdict.get("stage", ""), " ".join(verdict["reason"].replace("|", "\\|").split()))
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    gates = tune["prescription"]["equivalence"]
    lines += [f"What it says at the end: {' '.join(tune['reason'].split())}.", ""] if tune.get("reason") else []
    lines += [f"- gate {gate['name']}: {_PASSED[gate['passed']]}; {_limits(gate)}" for gate in gates]
    return "\n".join(lines)


_PASSED = {True: "passed", False: "failed", None: "could not be made"}


def _limits(gate: dict) -> str:
    return f"measured {numbers.measured(gate.get('measured'))}, limit {numbers.measured(gate.get('limit'))}"
