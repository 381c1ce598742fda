"""The pages that are made from the code: commands, results, rules, treatments, exit codes and errors, in both languages.

A hook of MkDocs (`mkdocs.yml`): writes `docs/reference/` before each build, which is not kept in the repository. Rules
without a page of their own are named, and fail a strict build.
"""

import ast
import inspect
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pitstop import errors
from pitstop.diagnose.rules import RULES
from pitstop.messages import LANGUAGES, choose_language
from pitstop.messages.catalogue import texts
from pitstop.records import results, verdicts
from pitstop.treat import TREATMENTS

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src" / "pitstop"
OUT = HERE / "reference"
SUFFIX = {"en": ".md", "zh": ".zh.md"}
ENGLISH_ONLY = "本页目前只有英文版。"

_ELSEWHERE = re.compile(r"""https?://(?:unpkg\.com|cdn\.|fonts\.)[^"'` ]*""")
_ASSET = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?https?:[^>]*>|<link\b[^>]*\bhref=["']?https?:[^>]*>|url\(["']?https?:[^)]*\)"""
)

_LOG = logging.getLogger("mkdocs.hooks.reference")

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "made": "Made from the code by `docs/reference.py`.",
        "commands": "Commands and options",
        "option": "Option",
        "meaning": "Meaning",
        "results": "Result files",
        "results_intro": "What `--json` writes. Keys are added freely and never removed; [the flat list](../result-keys.txt) is "
        "checked by a test. Infinities are written as null. Times are nanoseconds, sizes bytes, speed-ups time before / time after.",
        "key": "Key",
        "type": "Type",
        "rules": "Rules",
        "rules_intro": "What `findings` can hold. Each has a page that says how it is detected and when it is wrong.",
        "treatments": "Treatments",
        "treatments_intro": "What a tune tries. The class says how results may differ, and decides which checks a treatment has to pass.",
        "layer": "Layer",
        "owner": "Owner",
        "catalogue": "Catalogue",
        "next": "Next action",
        "usual": "Rule of thumb",
        "picture": "In everyday words",
        "question": "Ask the team",
        "reported": "Reported",
        "numerics": "Numerics class",
        "name": "Name",
        "page": "Page",
        "errors": "Exit codes and errors",
        "errors_intro": "`pitstop profile` returns the program's own exit code (128 + signal). All others:",
        "code": "Exit code",
        "error": "Error key (`error` in JSON)",
        "text": "Text",
        "done": "Done, also where nothing was found",
        "interrupted": "Interrupted (Ctrl-C); what was measured is kept, `--resume` goes on",
        "layers": "Layers and categories",
        "default": "default",
    },
    "zh": {
        "made": "由 `docs/reference.py` 根据代码生成。",
        "commands": "命令与选项",
        "option": "选项",
        "meaning": "含义",
        "results": "结果文件",
        "results_intro": "`--json` 写出的内容。键只增不减；[平铺列表](../result-keys.txt)由测试检查。无穷大写为 null。时间单位为纳秒，"
        "大小单位为字节，加速比为之前时间 / 之后时间。字段说明取自代码，为英文。",
        "key": "键",
        "type": "类型",
        "rules": "规则",
        "rules_intro": "`findings` 中可能出现的问题。每条规则都有单独一页，说明如何检测、何时不适用。",
        "treatments": "处方",
        "treatments_intro": "tune 会尝试的改动。数值类别说明结果可能如何不同，并决定必须通过哪些检查。",
        "layer": "层",
        "owner": "负责方",
        "catalogue": "目录编号",
        "next": "下一步",
        "usual": "经验线",
        "picture": "打个比方",
        "question": "可以问团队的问题",
        "reported": "公开报告",
        "numerics": "数值类别",
        "name": "名称",
        "page": "页面",
        "errors": "退出码与错误",
        "errors_intro": "`pitstop profile` 返回程序自己的退出码（128 + 信号）。其他命令：",
        "code": "退出码",
        "error": "错误键（JSON 中的 `error`）",
        "text": "文字",
        "done": "完成，包括什么也没找到",
        "interrupted": "被中断（Ctrl-C）；已测得的内容会保留，可用 `--resume` 继续",
        "layers": "层与类别",
        "default": "默认",
    },
}
# In the place of the docstrings of `pitstop.errors`, which are English.
ERRORS_ZH = {
    "CheckFailed": "用户要求的检查没有通过",
    "WrongUse": "命令行或其中给出的文件不正确",
    "ProgramFailed": "在做任何改动之前，用户的程序自己失败了",
    "CouldNotMeasure": "程序运行了，但所要求的内容无法测量；消息说明原因",
}


def on_pre_build(**_: Any) -> None:
    """Write the pages (MkDocs calls this); those that have not changed are left alone, so that `serve` does not go round in circles."""
    write_pages(OUT)
    for problem in missing_pages():
        _LOG.warning(problem)


def on_config(config: Any, **_: Any) -> Any:
    """Put decisions, rules, treatments, and pages at the top that the navigation does not name, where they belong (MkDocs calls this)."""
    named = set(_named(config.nav))
    for section in config.nav:
        if "Decisions" in section:
            section["Decisions"] = [f"adr/{path.name}" for path in sorted((HERE / "adr").glob("*.md"))]
        if "Explanation" in section:
            others = [path.name for path in sorted(HERE.glob("*.md")) if not path.name.endswith(".zh.md")]
            section["Explanation"] += [name for name in others if name not in named]
        for item in section.get("Reference", ()):
            for name in ("Rules", "Treatments"):
                if isinstance(item.get(name), str):  # not yet; each language is a build of its own
                    pages = sorted(path for path in (HERE / name.lower()).glob("*.md") if ".zh." not in path.name)
                    item[name] = [item[name], *(f"{name.lower()}/{path.name}" for path in pages)]
    return config


def on_post_build(config: Any, **_: Any) -> None:
    """Take out what would be fetched from elsewhere, and name what still would be (MkDocs calls this)."""
    site = Path(config.site_dir)
    for path in site.rglob("*.js"):
        text = path.read_text("utf-8")
        if _ELSEWHERE.search(text):  # the theme's: for drawings that we have not, and browsers of long ago
            path.write_text(_ELSEWHERE.sub("", text), "utf-8")
    for path in (*site.rglob("*.html"), *site.rglob("*.css")):
        for found in _ASSET.findall(path.read_text("utf-8")):
            _LOG.warning("%s would be fetched from elsewhere by %s", found, path)


def _named(nav: Any) -> Iterator[str]:
    for item in nav:
        if isinstance(item, str):
            yield item
        else:
            for value in item.values():
                yield from _named([value] if isinstance(value, str) else value)


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Say of a page without a Chinese version that it is in English (MkDocs calls this)."""
    if config.theme["language"] == "zh" and not re.search(r"[\u4e00-\u9fff]", markdown):
        return f'!!! note "{ENGLISH_ONLY}"\n\n{markdown}'
    return markdown


def write_pages(folder: Path) -> None:
    """Write every page in every language below `folder`."""
    folder.mkdir(exist_ok=True)
    for lang in LANGUAGES:
        choose_language(lang)
        for name, make in PAGES.items():
            text = "\n\n".join(make(WORDS[lang], lang)) + "\n"
            path = folder / f"{name}{SUFFIX[lang]}"
            if not path.exists() or path.read_text("utf-8") != text:
                path.write_text(text, "utf-8")
    choose_language("en")


def missing_pages() -> list[str]:
    """Return what has no page yet, each with what to write."""
    wanted = [HERE / "rules" / f"{rule.fault}{suffix}" for rule in RULES for suffix in SUFFIX.values()]
    wanted += [HERE / "treatments" / f"{treatment.name}.md" for treatment in TREATMENTS]
    return [
        f"docs/{path.relative_to(HERE)} is missing: write it with the headings of its neighbours"
        for path in wanted
        if not path.exists()
    ]


def commands_page(words: dict[str, str], lang: str) -> Iterator[str]:
    """Yield the page of all commands, as typer builds them in this language."""
    yield f"# {words['commands']}"
    yield words["made"]
    program = _cli()
    yield _options(program, words)
    for name, command in _commands(program):
        usage = " ".join(_argument(param) for param in command.params if param.param_type_name == "argument")
        yield f"## pitstop {name}"
        yield f"```console\n$ pitstop {name} [OPTIONS] {usage}\n```"
        yield command.help or ""
        yield _options(command, words)
    del lang


def results_page(words: dict[str, str], lang: str) -> Iterator[str]:
    """Yield the page of the structures behind `--json`, their fields with the comments beside them."""
    yield f"# {words['results']}"
    yield words["made"]
    yield words["results_intro"]
    for module in (results, verdicts):
        for structure in _structures(module):
            if module is verdicts and structure.__name__ != "Gate":
                continue
            yield f"## {structure.__name__}"
            yield inspect.cleandoc(structure.__doc__ or "")
            yield _table((words["key"], words["type"], words["meaning"]), _fields(structure))
    del lang


def rules_page(words: dict[str, str], lang: str) -> Iterator[str]:
    """Yield the page of all rules with all their texts."""
    yield f"# {words['rules']}"
    yield words["made"]
    yield words["rules_intro"]
    yield _table(
        (words["name"], words["layer"], words["owner"], words["catalogue"]),
        (
            (
                f"[{rule.fault}](../rules/{rule.fault}.md)",
                _label("layer", rule.layer),
                _label("owner", rule.owner),
                ", ".join(rule.catalogue),
            )
            for rule in RULES
        ),
    )
    for rule in RULES:
        yield f"## {rule.fault}"
        yield f"**{_open(getattr(rule.title, lang))}**"
        rows = (
            ("next", rule.next_action),
            ("usual", rule.rule_of_thumb),
            ("picture", rule.picture),
            ("question", rule.question),
            ("reported", rule.reference),
        )
        yield "\n".join(f"- {words[key]}: {_open(getattr(text, lang))}" for key, text in rows if text is not None)


def treatments_page(words: dict[str, str], lang: str) -> Iterator[str]:
    """Yield the page of all treatments with their texts and numerics classes."""
    yield f"# {words['treatments']}"
    yield words["made"]
    yield words["treatments_intro"]
    yield "\n".join(f"- **{_label('numerics', kind)}**: {_label('numerics-words', kind)}" for kind in _classes())
    for treatment in TREATMENTS:
        yield f"## {treatment.name}"
        yield f"**{_open(getattr(treatment.title, lang))}**"
        yield _open(getattr(treatment.explanation, lang))
        kinds = ", ".join(_label("numerics", kind) for kind in _numerics(treatment))
        yield f"- {words['layer']}: {_label('layer', treatment.layer)}\n- {words['numerics']}: {kinds}\n" + (
            f"- {words['page']}: [{treatment.name}](../treatments/{treatment.name}.md)"
        )


def errors_page(words: dict[str, str], lang: str) -> Iterator[str]:
    """Yield the page of exit codes, and of every error that a command can end with."""
    kinds = {kind.__name__: kind for kind in errors.PitstopError.__subclasses__()}
    yield f"# {words['errors']}"
    yield words["made"]
    yield words["errors_intro"]
    said = ERRORS_ZH if lang == "zh" else {name: inspect.cleandoc(kind.__doc__ or "") for name, kind in kinds.items()}
    codes = [("0", words["done"]), *((str(kind.exit_code), said[name]) for name, kind in kinds.items())]
    yield _table((words["code"], words["meaning"]), [*codes, ("130", words["interrupted"])])
    known = texts(lang)
    yield _table(
        (words["error"], words["code"], words["text"]),
        ((f"`{key}`", str(kinds[kind].exit_code), _open(known[key])) for key, kind in sorted(_raised(kinds))),
    )


PAGES = {
    "commands": commands_page,
    "results": results_page,
    "rules": rules_page,
    "treatments": treatments_page,
    "errors": errors_page,
}


def _cli() -> Any:
    """Return the command line, built anew: its help texts are read in the chosen language when it is imported."""
    import typer  # noqa: PLC0415

    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("pitstop.cli")}
    try:
        from pitstop.cli.app import _app  # noqa: PLC0415

        return typer.main.get_command(_app())
    finally:
        sys.modules.update(before)


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each command with its whole name, those of groups included."""
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _options(command: Any, words: dict[str, str]) -> str:
    rows = []
    for param in command.params:
        if param.param_type_name == "argument":
            rows.append((f"`{_argument(param)}`", param.help or ""))
        elif "--help" not in param.opts:
            kind = "NUMBER" if isinstance(param.default, int | float) else "TEXT"
            value = "" if getattr(param, "is_flag", False) else f" {param.metavar or kind}"
            names = ", ".join(f"`{name}{value}`" for name in param.opts)
            default = param.default
            shown = isinstance(default, int | float | str) and not isinstance(default, bool)
            rows.append((names, (param.help or "") + (f" ({words['default']}: {default})" if shown else "")))
    return _table((words["option"], words["meaning"]), rows)


def _argument(param: Any) -> str:
    return str(param.metavar or param.name.upper())


def _structures(module: Any) -> Iterator[Any]:
    for name in module.__all__:
        if hasattr(getattr(module, name), "__struct_fields__"):
            yield getattr(module, name)


def _fields(structure: Any) -> Iterator[tuple[str, str, str]]:
    """Yield each field with its type as written and the comment beside it."""
    source = inspect.getsource(structure)
    lines = source.splitlines()
    for node in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            # The last line of the field; the formatter may have put a comment there or behind a bracket.
            comment = re.search(r"#\s*(.+)$", " ".join(lines[node.lineno - 1 : node.end_lineno]))
            kind = ast.unparse(node.annotation).replace(" | ", " or ")
            yield node.target.id, f"`{kind}`", comment[1] if comment else ""


def _numerics(treatment: Any) -> list[str]:
    """Return the classes that the treatment's own source names, in the order of `Numerics`."""
    tree = ast.parse(inspect.getsource(inspect.getmodule(type(treatment)) or treatment))
    named = {
        node.attr.lower().replace("_", "-")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Numerics"
    }
    return [kind for kind in _classes() if kind in named]


def _classes() -> list[str]:
    from pitstop.records import Numerics  # noqa: PLC0415

    return [kind.value for kind in Numerics]


def _raised(kinds: Iterable[str]) -> set[tuple[str, str]]:
    """Return (key, class) of every error that the source makes with a literal key."""
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds and node.args:
                key = node.args[0]
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found.add((key.value, node.func.id))
    return found


def _label(group: str, name: str) -> str:
    from pitstop.report.content.labels import label  # noqa: PLC0415

    return label(group, name) if name else ""


def _open(text: str) -> str:
    """Return a text with its fields as they are, "{share:.0%}" as "{share}"; what HTML would take for a tag is escaped."""
    text = re.sub(r"{(\w+)[^}]*}", r"{\1}", text)
    return re.sub(r"([<>*_\[\]|`])", r"\\\1", text)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    cells = [[re.sub(r"(?<!\\)\|", r"\\|", " ".join(cell.split())) for cell in row] for row in (head, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * len(head), *lines[1:]])
