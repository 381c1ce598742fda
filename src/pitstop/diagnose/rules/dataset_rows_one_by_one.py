"""T12: rows of an Arrow table are taken and converted one by one."""

from pitstop.diagnose.load_stages import loading_samples
from pitstop.diagnose.rules.contract import Facts, Rule, finding
from pitstop.diagnose.rules.loading import MIN_WAIT, training_loader
from pitstop.messages import Text
from pitstop.records.results import Finding

__all__ = ["RULE"]

_FEWEST_SAMPLES = 50  # with 50 a share of 0.5 is known to within 0.14
_MIN_PART = 0.5  # more than everything else of loading together
_ARROW = ("pyarrow/", "formatting/", "datasets/")

_EVIDENCE = Text(
    en="{part:.0%} of {count} stack samples in loading are in datasets or pyarrow, most at {where}; data_wait is {wait:.1%} of the step (ledger)",
    zh="加载中的 {count} 个栈采样有 {part:.0%} 位于 datasets 或 pyarrow，最多在 {where}；data_wait 占每步 {wait:.1%}（账本）",
)


def _find(facts: Facts) -> Finding | None:
    loader, wait = training_loader(facts), facts.share("data_wait")
    if loader is None or wait < MIN_WAIT:
        return None
    loading = loading_samples(facts.stack_samples, in_workers=loader.num_workers > 0)
    rows = [
        (where, count)
        for where, stage, count in loading.places
        if stage == "read" and where.partition(" > ")[2].startswith(_ARROW)
    ]
    part = sum(count for _where, count in rows) / loading.total if loading.total else 0.0
    if loading.total < _FEWEST_SAMPLES or part < _MIN_PART:
        return None
    evidence = _EVIDENCE.say(part=part, count=loading.total, where=rows[0][0], wait=wait)
    return finding(
        RULE, share=wait * part, evidence=evidence, confidence="medium", where=rows[0][0].split(" ")[0], part=part
    )


RULE = Rule(
    fault="dataset-rows-one-by-one",
    catalogue=("T12",),
    layer="data",
    title=Text(
        en="Taking rows out of the dataset one by one keeps {share:.0%} of each step waiting",
        zh="逐行从数据集中取数据，使每步 {share:.0%} 的时间在等待",
    ),
    next_action=Text(
        en="Take a batch at once (dataset[indices], or __getitems__), in the format that is needed: dataset.with_format('torch')  # {where}",
        zh="一次取一批（dataset[indices] 或 __getitems__），并直接用所需格式：dataset.with_format('torch')  # {where}",
    ),
    find=_find,
    owner="algorithm",
    rule_of_thumb=Text(
        en="Usual line: reading rows is a small part of loading; here {part:.0%}",
        zh="经验线：读取行只占加载的一小部分；此处 {part:.0%}",
    ),
    picture=Text(
        en="Walking to the shelf for each screw, with the whole box standing there",
        zh="整盒螺丝就在架上，却每次只去拿一颗",
    ),
    question=Text(
        en="Are columns read that the model never sees, or Python lists converted to tensors row by row?",
        zh="是否读取了模型用不到的列，或逐行把 Python 列表转换为张量？",
    ),
    reference=Text(
        en="People reported 25 % up to a thousand times (datasets#2498, datasets#6637, datasets#7753)",
        zh="公开报告：从快 25% 到快上千倍（datasets#2498、datasets#6637、datasets#7753）",
    ),
)
