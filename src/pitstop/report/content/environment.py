"""Where a run took place: the machine and the versions, so that nobody compares numbers of unlike ones unawares."""

from pitstop.messages import say
from pitstop.records.results import EnvironmentResult, ProfileResult
from pitstop.report import numbers
from pitstop.report.content.facts import SEPARATOR, Fact, command_line
from pitstop.report.content.labels import label
from pitstop.report.plain import plain


def environment_facts(result: ProfileResult) -> tuple[Fact, ...]:
    """Return the facts in reading order; what is not known is left out."""
    program = result.program
    versions = (("Python", program.python), ("torch", program.torch))
    seen = result.environment or EnvironmentResult()
    found = (
        ("command", command_line(program.command)),
        ("folder", plain(program.cwd)),
        ("versions", SEPARATOR.join(f"{name} {plain(version)}" for name, version in versions if version)),
        ("interpreter", plain(seen.executable)),
        ("processor", _processor(seen)),
        ("devices", SEPARATOR.join(map(plain, seen.devices))),
        ("memory", "" if seen.memory_bytes is None else numbers.bytes_text(seen.memory_bytes)),
        ("threads", "" if seen.threads is None else numbers.count(seen.threads)),
        ("allocator", plain(seen.allocator or "")),
        ("huge_pages", plain(seen.huge_pages or "")),
        ("kernel", plain(seen.kernel or "")),
    )
    return tuple(Fact(name=label("environment", name), value=value) for name, value in found if value)


def _processor(seen: EnvironmentResult) -> str:
    cpus = "" if seen.cpus is None else say("report.fact.usable_cpus", count=numbers.count(seen.cpus))
    return SEPARATOR.join(filter(None, (plain(seen.processor or ""), cpus, plain(seen.processor_features or ""))))
