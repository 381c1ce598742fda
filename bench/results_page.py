"""From the JSON files of run_programs.py to docs/results.md."""

import json
from pathlib import Path

from programs.checkout import COMMIT
from programs.outside import Outside

from pitstop.report import numbers

__all__ = ["page"]

HEAD = f"""# Outside programs

Written by `bench/run_programs.py`; do not edit. Programs of pytorch/examples at commit `{COMMIT[:12]}`, unmodified, on data made by
`bench/programs` (no download), each tuned once by `pitstop tune` on PROCESSORS without a GPU. The speed-up is original time / patched
time: of whole programs with nothing of pitstop in them ("whole"), or by the step clock where these did not fit the budget; brackets hold
the 95 % interval. "Patched" is what would be handed over: where nothing is confirmed, the program stays as it is. Where the interval of
whole programs includes 1, only the steps are shown to be faster: start-up and compiling, which short programs do not earn back, may
take it all. The whole results: `bench/recorded/outside-xeon`. What helps depends on the processor: the same programs on another one, with an
earlier search, are in [results of an EPYC](results-epyc.md); there bf16 paid, here it mostly costs.

"torch.compile alone" and "bf16 alone" are what the one change that is tried first by hand gave in the same tune, by the step clock:
screened in a run or a few unless an interval is shown, so no claims; where one was not tried alone, the cell says so. "Unknown" is the
share of the step that the ledger cannot name, "per trial" the tuning time over the trials. A dash: not in that result.
"""
OWN_HEAD = """
# Our own programs

Written for this page (`bench/own`), because pytorch/examples has none of their kind: small, but on real data, and not made to be slow. Nothing in
pitstop knows them. Read as above.
"""
NOT_RUN = "not run yet"
LEAST_SHARE = 0.03  # of the step; smaller categories are not listed
COLUMNS = (
    *("program", "patched, whole", "by the step clock, or why nothing", "changes", "torch.compile alone", "bf16 alone"),
    *("unknown", "--budget", "tuning time", "trials", "per trial"),
)


def page(programs: tuple[Outside, ...], results: Path, *, own: tuple[Outside, ...] = ()) -> str:
    """Return the page as Markdown; programs without a result are listed as such."""
    head = HEAD.replace("PROCESSORS", _processors(results))
    return "\n".join([head, *_part(programs, results), *([OWN_HEAD, *_part(own, results)] if own else []), ""])


def _processors(results: Path) -> str:
    """Return the processors that the results are of, with the number of cores that could be used."""
    found = set()
    for path in results.glob("*.json"):
        tune = json.loads(path.read_text())["tune"]
        environment = tune["baseline"].get("environment") if tune else None
        if environment and environment["processor"]:
            found.add(f"{environment['cpus']} cores of an {environment['processor']}")
    return " and ".join(sorted(found)) or "two cores"


def _part(programs: tuple[Outside, ...], results: Path) -> list[str]:
    """Return a table of all, then a section of each that has a result."""
    read = {
        one.name: json.loads(path.read_text()) for one in programs if (path := results / f"{one.name}.json").exists()
    }
    rows = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    rows += [_row(program, read.get(program.name)) for program in programs]
    return [*rows, *(_section(one, read[one.name]) for one in programs if one.name in read)]


def _line(*cells: str) -> str:
    return f"| {' | '.join([*cells, *[''] * (len(COLUMNS) - len(cells))])} |"


def _row(program: Outside, result: dict | None) -> str:
    if result is None:
        return _line(program.name, NOT_RUN)
    tune = result["tune"]
    if tune is None:
        none = f"none: exit code {result['exit_code']}"
        return _line(program.name, none, "", "", "", "", "", result["budget"], f"{result['wall_s']:.0f} s")
    prescription = tune["prescription"]
    chosen = ", ".join(prescription["treatments"])
    patched = prescription["patched"]
    if not chosen:
        whole, clock, chosen = "nothing confirmed", _undecided(tune) or tune["reason"], "none"
    else:
        clock = _interval(prescription["speedup"], prescription["ci"])
        end_to_end = patched is not None and patched["how"] == "end-to-end"
        whole = _interval(patched["speedup"], patched["ci"]) if end_to_end else "did not fit the budget"
    unknown = tune["baseline"]["ledger"].get("unknown")
    return _line(
        *(program.name, whole, clock, chosen, _alone(tune, "compile"), _alone(tune, "bf16-autocast")),
        *("-" if unknown is None else f"{unknown:.0%}", result["budget"], f"{tune['wall_s']:.0f} s"),
        *(str(tune["trials"]), f"{tune['wall_s'] / tune['trials']:.0f} s" if tune["trials"] else "-"),
    )


def _alone(tune: dict, treatment: str) -> str:
    """Return what one change by itself gave; of several modes of it (`compile=...`), the fastest."""
    cannot = tune.get("cannot_apply", {}).get(treatment)
    if cannot is not None:
        return f"cannot be applied: {' '.join(cannot.replace('|', '/').split())}"
    mine = [
        one
        for one in tune["verdicts"]
        if len(one["treatments"]) == 1 and one["treatments"][0].partition("=")[0] == treatment
    ]
    measured = [one for one in mine if one["speedup"] is not None]
    if not measured:
        reasons = " ".join(mine[0]["reason"].replace("|", "/").split()) if mine else "not proposed"
        return f"none: {reasons}"
    best = max(measured, key=lambda one: one["speedup"])
    unsafe = ", results changed" if best["verdict"] == "unsafe" else ""
    return f"{_interval(best['speedup'], best['ci'])}{unsafe}"


def _undecided(tune: dict) -> str:
    """Return the finalists that were measured in pairs and not decided."""
    found = [one for one in tune["verdicts"] if one["stage"] == "confirm" and one["verdict"] == "undecided"]
    return "; ".join(f"{' + '.join(one['treatments'])} {_interval(one['speedup'], one['ci'])}" for one in found)


def _interval(value: float | None, ci: list[float] | None) -> str:
    if value is None:
        return "not measured"
    return numbers.ratio(value, (ci[0], ci[1]) if ci else None)


def _section(program: Outside, result: dict) -> str:
    where = f"bench/own/{program.folder}" if program.own else program.folder
    lines = [f"\n## {program.name}\n", f"`{where}`: `python {' '.join(program.arguments)}`", ""]
    lines += [f"{program.note[:1].upper()}{program.note[1:]}.", ""] if program.note else []
    if not result["clean"]:
        lines.append("**The program's files were changed by tuning.**\n")
    tune = result["tune"]
    if tune is None:
        return "\n".join([*lines, f"No result: `pitstop tune` ended with exit code {result['exit_code']}."])
    shares = sorted(tune["baseline"]["ledger"].items(), key=lambda item: -item[1])
    lines.append("Ledger: " + ", ".join(f"{name} {share:.0%}" for name, share in shares if share >= LEAST_SHARE) + ".")
    lines += [
        f"- {finding['fault']}" + (f": {finding['share']:.0%} of the step" if finding["share"] else "")
        for finding in tune["baseline"]["findings"]
    ]
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
