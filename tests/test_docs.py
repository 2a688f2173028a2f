"""What README and the guides show is tried: each command, sample and case id. What does not work is worse than nothing.

Commands in blocks are run, with fewer cases where they would take minutes, or only parsed if they need a network, DirectML or another
package. A new command fails here until it is in one of the two tables. Commands within sentences are parsed.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import pytest

from dmlcts.conformance.commands import cli
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.gate.waivers import read_waivers
from dmlcts.reports.record.record import read_record
from dmlcts.spec.model.abi import abi
from dmlcts.spec.reading.loader import operator_names, short_form

ROOT = Path(__file__).parents[1]
GUIDES = ("README.md", "CONTRIBUTING.md", *(file.relative_to(ROOT).as_posix() for file in sorted((ROOT / "docs").rglob("*.md"))))


def text_of(guide: str) -> str:
    return (ROOT / guide).read_text(encoding="utf-8")


def samples(guide: str, language: str) -> list[str]:
    """The code blocks of a language in a guide."""
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(guide), re.MULTILINE | re.DOTALL)


def dmlcts(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


# Commands

FEWER = ["--level", "smoke", "-k", "BIT_OR or LEAKY_RELU", "-n", "0"]
MINE = ("README.md", "docs/python-backend.md")

RUN: dict[tuple[str, str], list[str]] = {
    ("README.md", "dmlcts run --backend python:mine:Mine"): FEWER,
    ("docs/python-backend.md", "dmlcts run LEAKY_RELU ADD --backend python:mine:Mine"): ["--level", "smoke"],
    ("docs/process-protocol.md", 'dmlcts run BIT_OR --backend "process:/usr/bin/python3 docs/example_host.py"'): [
        *("BIT_XOR", "-k", "BIT_OR and negative or BIT_XOR/UINT32/4d or BIT_OR/UINT8", "--basis", "measured")
    ],
    (
        "docs/process-protocol.md",
        'dmlcts run BIT_OR -k sequence --backend "process:/usr/bin/python3 docs/example_sequence_host.py"',
    ): [*("--level", "full", "-n", "0")],
    ("docs/sequences.md", "dmlcts run ADD CONVOLUTION -k sequence"): ["-n", "0"],
    ("docs/sequences.md", 'dmlcts run DEV-1 "REC-*" bindings'): ["-n", "0"],
    ("docs/sequences.md", "dmlcts spec list api"): [],
    ("docs/graphs.md", "dmlcts exec docs/measured/graphs/one-hot-values.json"): [],
    ("docs/graphs.md", "dmlcts show graphs/random/12"): [],
    ("docs/graphs.md", "dmlcts repro graphs/random/12 --out random-12"): [],
    ("docs/sequences.md", "dmlcts spec show REC-4"): [],
    ("docs/models.md", "dmlcts exec or.json"): [],
    ("docs/models.md", "dmlcts exec or.json --out outputs"): [],
    ("docs/models.md", "dmlcts judge or.json --expected outputs"): [],
    ("README.md", 'dmlcts run --backend "process:./my-host" --level core -n 2 --waivers waivers.yaml --out results'): FEWER,
    ("README.md", 'dmlcts run --backend "process:./my-host --fast"'): FEWER,
}
"""Commands that are run, by guide, with options to add."""

PARSED = {
    "dmlcts show ELEMENT_WISE_BIT_OR/UINT8/4d --frame request.bin": "tests/conformance/commands/test_show_frame.py runs it",
    ".venv/bin/dmlcts run --level smoke -n 2": "every operator: .ci/run does it",
    r".venv\Scripts\dmlcts run --level smoke -n 2": "the same on Windows",
    "dmlcts setup": "downloads DirectML.dll",
    "dmlcts exhaustive ELEMENT_WISE_SQRT": "2^32 inputs",
    "dmlcts exhaustive ELEMENT_WISE_MODULUS_FLOOR --type INT8 --backend directml": "DirectML",
    "dmlcts exhaustive ELEMENT_WISE_ADD --type FLOAT16 --device cuda --chunk 67108864 --shard 1/4": "a GPU",
    "dmlcts run --backend directml --waivers docs/waivers/DirectML-1.15.4.yaml --waivers docs/waivers/vkd3d.yaml": "DirectML",
    'dmlcts run --backend "directml:PATH/DirectML.dll --adapter 1"': "DirectML",
    "dmlcts run --backend directml --level core --basis measured -n 2": "DirectML",
    "dmlcts run --backend directml --level full --basis measured -n 2 "
    "--waivers docs/waivers/DirectML-1.15.4.yaml --waivers docs/waivers/vkd3d.yaml": "DirectML",
    "dmlcts run --backend directml --level smoke --basis measured -n 2 --out results": "DirectML",
    'dmlcts run GEMM --level smoke --backend "directml: --dump-kernels kernels"': "DirectML",
    'dmlcts run GEMM --backend "directml: --replace-kernels new"': "DirectML",
    "dmlcts run api --backend directml": "DirectML",
    "dmlcts run --profile onnxruntime --backend directml": "DirectML",
    'dmlcts run --profile first-light --backend "process:./my-host"': "a host",
    "dmlcts run --backend onnxruntime": "ONNX Runtime",
    "dmlcts run graphs --backend onnxruntime --level full": "ONNX Runtime",
    "dmlcts run --network resnet50 --backend directml": "DirectML",
    "dmlcts run --network bert-fp16 --level full --backend process:./host": "a host",
    'dmlcts run --backend "process:./build/my-host" --level core -n 2 --shard 1/4 --waivers ci/waivers.yaml --out shards/1': "a CI's files",
    r'dmlcts run --backend "process:.\build\my-host.exe" --level core -n 2 --shard 1/4 --waivers ci\waivers.yaml --out shards\1': "the same on Windows",
    "dmlcts run --level smoke --cluster tcp://127.0.0.1:8786": "a cluster; tests/conformance/runner/test_cluster.py has one",
    "dmlcts run --backend directml --cluster tls://lab:8786": "a lab",
    "dmlcts merge shards/1 shards/2 shards/3 shards/4 --out merged.jsonl": "a CI's files",
    "dmlcts report merged.jsonl --out results": "a CI's files",
    "dmlcts report run-1.12.1 run-1.15.2 run-1.15.4 --out releases": "runs of three releases; tests/reports/test_runs.py has made-up ones",
    "dmlcts releases --waivers docs/waivers/DirectML-1.15.4.yaml --waivers docs/waivers/DirectML-older.yaml "
    "--waivers docs/waivers/vkd3d.yaml": "DirectML, and hours",
    "dmlcts releases --level core -n 2 --waivers docs/waivers/DirectML-1.15.4.yaml --waivers docs/waivers/DirectML-older.yaml "
    "--waivers docs/waivers/vkd3d.yaml": "DirectML, and two hours",
    "dmlcts spec site --out site --waivers docs/waivers/DirectML-1.15.4.yaml --waivers docs/waivers/vkd3d.yaml --results releases": "runs of "
    "releases; tests/reports/test_site.py has made-up ones",
    "dmlcts releases GEMM CONVOLUTION --versions 1.12.1,1.15.4 --level full": "DirectML",
    "dmlcts submit results --out submission.zip --waivers waivers.yaml --with-outputs": "a whole run; tests/conformance/runner/test_submission.py has one",
    "dmlcts verify submission.zip": "the same",
    "dmlcts gate results --baseline baseline --waivers ci/waivers.yaml --markdown gate.md --json gate.json --github": "a CI's files",
    "dmlcts fuzz --backend directml -n 2 --minutes 60": "DirectML",
    "dmlcts fuzz --graphs --minutes 10 -n 2": "minutes; tests/conformance/sequences has seconds",
    "dmlcts fuzz GEMM --graphs --backend directml --seed 7": "ends when it is stopped",
    "dmlcts fuzz --backend directml --graph docs/measured/graphs/one-hot-values.json": "DirectML; tests/conformance/sequences runs the files on the reference",
    "dmlcts faults graphs --level full -n 2": "minutes; tests/conformance/faults has some",
    "dmlcts run graphs --backend directml --level full": "DirectML",
    "dmlcts run graphs -k family": "half a minute; tests/conformance/runner/test_run_graphs.py has some",
    'dmlcts fuzz GEMM "*CONVOLUTION*" --backend "process:./my-host" --seed 7': "ends when it is stopped",
    'dmlcts run --backend "process:./my-host" --case-file results-fuzz/examples/GEMM-FLOAT32-2d-1x5-fuzz-7-1234.json': "a search's file",
    "dmlcts merge machine-1 machine-2 machine-3 --out merged.jsonl": "searches of several machines",
    "dmlcts merge machine-1 machine-2 --out results-graphs-merged": "searches of several machines",
    "dmlcts run ELEMENT_WISE_TANH --backend torch --level full": "PyTorch",
    "dmlcts run --backend reference:cuda --level core": "a GPU",
    "dmlcts setup --client": "ONNX Runtime",
    "dmlcts client onnxruntime MODEL.onnx": "ONNX Runtime",
    "dmlcts client onnxruntime MODEL.smallest/model.onnx --inputs MODEL.smallest/test_data_set_0 --judge": "ONNX Runtime",
    "dmlcts client onnxruntime --conformance": "ONNX Runtime, and minutes",
    'dmlcts client onnxruntime --conformance -k "resize and not antialias" --dll other/DirectML.dll': "ONNX Runtime and another DLL",
    "dmlcts fuzz --backend directml --minutes 60 --corpus corpus": "DirectML.dll",
    "dmlcts fuzz --backend directml --minutes 60 --corpus merged --corpus corpus --corpus from-another-machine": "DirectML.dll",
    "dmlcts run --backend directml --level core --basis measured -n 1": "DirectML.dll",
    "dmlcts run --backend directml --level full --basis measured --shard 1/10 -n 1": "DirectML.dll",
    "dmlcts fuzz --backend directml -n 1 --minutes 10 --seed 1 --corpus corpus": "DirectML.dll",
    "dmlcts run --backend directml --level core --basis measured --no-execute --out core": "DirectML.dll",
    "dmlcts fuzz --backend directml --minutes 30 --no-execute --corpus corpus": "DirectML.dll",
    "dmlcts kernels core --known results --known corpus": "results with code paths",
    "dmlcts run --backend directml --changed-since older": "results with code paths",
    "dmlcts kernels results": "results with code paths",
    "dmlcts kernels results 3f2a9c0d1e5b7a48": "results with code paths",
    "dmlcts kernels results --json": "results with code paths",
    "dmlcts kernels results --conditions": "results with code paths",
    "dmlcts kernels results 3f2a9c0d1e5b7a48 --conditions": "results with code paths",
    "dmlcts kernels results --baseline older": "results with code paths",
    "dmlcts kernels results 3f2a9c0d1e5b7a48 --dump shaders": "DirectML.dll",
    "dmlcts faults sequences --level core": "every operator; tests/conformance/sequences has some",
    "dmlcts replay MODEL.capture": "a client's capture",
    "dmlcts census *.capture --out census.json": "captures",
    "dmlcts census MODELS/*.capture --spec spec/measured/census": "captures",
    "dmlcts capture --out game.capture -- C:\\games\\game.exe": "Windows",
    "dmlcts capture --data all --beside C:\\venv\\Lib\\site-packages\\onnxruntime\\capi -- python app.py": "Windows",
}
"""Commands that are only parsed, with what they need. The waivers of the project that they name must exist."""


def commands(guide: str) -> Iterator[str]:
    """The commands of the suite in a guide's blocks, fenced or indented, but for the list of all commands."""
    blocks = [line for language in ("sh", "powershell") for block in samples(guide, language) for line in block.splitlines()]
    indented = re.findall(r"^    (?:\$ )?(dmlcts .*)$", text_of(guide), re.MULTILINE)
    for line in (*blocks, *indented):
        for part in re.split(r"&&|;|\bif ", line):
            command = part.strip()
            if re.match(r"\S*\bdmlcts ", command) and "  " not in command:
                yield command


@pytest.mark.parametrize("guide", GUIDES)
def test_every_command_is_run_or_parsed(guide: str) -> None:
    assert [command for command in commands(guide) if (guide, command) not in RUN and command not in PARSED] == []


def test_no_command_is_listed_that_no_guide_has() -> None:
    found = {(guide, command) for guide in GUIDES for command in commands(guide)}
    assert RUN.keys() <= found
    assert PARSED.keys() <= {command for _, command in found}


POSIX = re.compile(r"\.venv/bin/|^export |\bpython3 |&&|\\\\$|^source |\$\(|^[A-Z_]+=")
"""What PowerShell has another form for, in a command."""


@pytest.mark.parametrize("guide", GUIDES)
def test_what_differs_in_powershell_stands_there_in_both_forms(guide: str) -> None:
    """A guide with commands that PowerShell does not take has a block of those that it does."""
    fenced = samples(guide, "sh")
    indented = re.findall(
        r"(?:^    \S.*\n)+", re.sub(r"^```.*?^```", "", text_of(guide), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    shell = [block for block in (*fenced, *indented) if any(POSIX.search(line.strip()) for line in block.splitlines())]
    assert not shell or samples(guide, "powershell"), shell


OPERATOR_BY_WORD = re.compile(r"-k \"?([A-Z][A-Z_0-9]+|\{?name\}?)\"?(?!\w)", re.IGNORECASE)
"""``-k`` with nothing but the name of an operator."""


@pytest.mark.parametrize("file", [*GUIDES, "conformance/commands/specs/spec_new.py"])
def test_operators_are_selected_by_name_and_not_by_a_word_of_the_id(file: str) -> None:
    """``-k ADD`` selects PADDING too."""
    named = {"NAME", "{NAME}", *operator_names(), *map(short_form, operator_names())}
    assert [found[0] for found in OPERATOR_BY_WORD.finditer(text_of(file)) if found[1].upper() in named] == []


@pytest.mark.parametrize("text", ["dmlcts run -k NAME --level smoke", '-k "ADD"', "-k {name} --level", "`-k ELEMENT_WISE_TANH`"])
def test_an_operator_by_word_is_found(text: str) -> None:
    assert OPERATOR_BY_WORD.search(text)


def parse(arguments: list[str]) -> None:
    """Parses a command line down to the last subcommand. Raises click.UsageError."""
    command: click.Command = cli.dmlcts
    context = None
    while True:
        name = command.name or "dmlcts"
        context = command.make_context(name, arguments, parent=context, ignore_unknown_options=False)
        if not isinstance(command, click.Group):
            return
        _, found, arguments = command.resolve_command(context, context._protected_args + context.args)
        assert found is not None
        command = found


@pytest.mark.parametrize("command", PARSED)
def test_a_command_that_is_not_run_is_parsed(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(click.Path, "convert", lambda self, value, *_: value)
    words = shlex.split(command.replace("\\", "/"))[1:]
    parse(words)
    for option, value in pairwise(words):
        if option == "--waivers" and value.startswith("docs/"):
            assert read_waivers(Path(value))


@pytest.mark.parametrize("guide", GUIDES)
def test_commands_in_sentences_can_be_parsed(guide: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Placeholders (NAME, DIR, CASE) stand for any value."""
    monkeypatch.setattr(click.Path, "convert", lambda self, value, *_: value)
    for command in re.findall(r"`dmlcts ([^`]+)`", text_of(guide)):
        words = shlex.split(re.sub(r"\b[NS]\b", "3", command.replace("...", "")))
        try:
            parse(words)
        except click.MissingParameter:
            pass  # a sentence may name a command without what it needs
        except click.UsageError as error:
            raise AssertionError(f"{guide}: `dmlcts {command}`: {error.format_message()}") from None


def test_the_list_of_commands_has_each_with_its_options() -> None:
    lines = re.sub(r"\n {10,}", " ", text_of("README.md").partition("## Commands\n")[2].partition("\n\n`")[0]).split("\n")
    listed = {match[1]: match[2] for line in lines if (match := re.match(r"    dmlcts (\S+) *(.*)", line))}
    assert set(listed) == set(cli.COMMANDS)
    for name, rest in listed.items():
        command: Any = cli.dmlcts.get_command(click.Context(cli.dmlcts), name)
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", rest)) <= known, name
    hidden = {"--backend", "--help"}
    long = {parameter.opts[0] for parameter in cli.dmlcts.get_command(None, "run").params if parameter.param_type_name == "option"}  # type: ignore[arg-type, union-attr]
    assert {option for option in long if option.startswith("--")} - hidden <= set(re.findall(r"--[a-z-]+", listed["run"]))


# What is run


@pytest.mark.parametrize("guide", MINE)
def test_the_class_in_a_guide_passes_what_it_claims(guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = next(text for text in samples(guide, "python") if "class Mine" in text)
    module = f"mine_{re.sub(r'[^a-z]', '_', guide.lower())}"  # a module is imported once
    (tmp_path / f"{module}.py").write_text(sample, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ((command, more),) = [(command, more) for (where, command), more in RUN.items() if where == guide and ":mine:" in command]
    assert dmlcts(*shlex.split(command.replace(":mine:", f":{module}:"))[1:], *more) == 0
    statuses = [result.status for result in read_record(tmp_path / "results" / "results.jsonl").results]
    assert statuses.count("pass") >= 5
    assert set(statuses) == {"pass", "unsupported"}


@pytest.mark.parametrize("key", [key for key in RUN if "process:" in key[1]], ids=lambda key: key[1][:60])
def test_the_example_host_passes_what_it_claims(key: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands for ``my-host`` too. With the waivers of the sample, which waive nothing of it."""
    monkeypatch.chdir(tmp_path)
    Path("waivers.yaml").write_text(samples("README.md", "yaml")[0].replace("2027", "2999"), encoding="utf-8")

    def example(found: re.Match[str]) -> str:
        host = ROOT / (found[2] or "docs/example_host.py")
        return f"process:{shlex.quote(Path(sys.executable).as_posix())} {shlex.quote(host.as_posix())}"

    words = shlex.split(key[1])[1:]
    words = [re.sub(r"process:(/usr/bin/python3 (docs/example_\w+.py)|\./my-host( --fast)?)", example, word) for word in words]
    assert dmlcts(*words, *RUN[key]) == 0
    found = {result.case: result.status for result in read_record(Path("results/results.jsonl")).results}
    assert {case.partition("/")[0] for case, status in found.items() if status == "pass"} == {"ELEMENT_WISE_BIT_OR"}
    assert set(found.values()) == {"pass", "unsupported"}


def test_the_model_in_the_guide_prints_what_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("or.json").write_text(samples("docs/models.md", "json")[0], encoding="utf-8")
    (printed,) = re.findall(r"^    \$ dmlcts exec or.json\n    (.*)$", text_of("docs/models.md"), re.MULTILINE)
    assert dmlcts("exec", "or.json") == 0
    assert capsys.readouterr().out.splitlines() == [printed]
    judged = text_of("docs/models.md").partition("    $ dmlcts exec or.json --out outputs\n")[2].partition("\n\n")[0].split("\n")
    judged.remove("    $ dmlcts judge or.json --expected outputs")
    assert dmlcts("exec", "or.json", "--out", "outputs") == dmlcts("judge", "or.json", "--expected", "outputs") == 0
    assert capsys.readouterr().out.replace("\\", "/").splitlines() == [line.removeprefix("    ") for line in judged]


# Ids and links


def ids_in(guide: str) -> set[str]:
    """The ids of cases in a guide, but for patterns."""
    pattern = rf"\b([A-Z][A-Z0-9_]+)(/(?:{'|'.join(abi().data_types)})[-/][^\s`|]*[^\s`|.,;:)])"
    found = re.findall(pattern, text_of(guide).replace("\\_", "_"))
    return {name + rest for name, rest in found if name in operator_names() and "*" not in rest and "/replay/" not in rest}


def test_case_ids_in_the_guides_are_cases() -> None:
    """Of the many in docs/measured/bounds.md, which a command writes, every eighth: the cases of an operator must be made to find one."""
    found = set[str]().union(*map(ids_in, GUIDES))
    bounds = sorted(found & ids_in("docs/measured/bounds.md"))
    few = [*(found - set(bounds)), *bounds[::8]]
    assert len(few) >= 3
    for case_id in few:
        assert find_case(case_id).id == case_id


CITED = re.compile(r"(?<![\w/.-])((?:spec|generator|reference|conformance|reports|docs|tests|benchmarks)/[\w./-]*\w)")
"""A path below the repository, as docstrings, messages and schemas name files; ``.py`` may be left out."""

CITING = [
    *(
        file
        for room in ("spec", "generator", "reference", "conformance", "reports")
        for ending in ("*.py", "*.schema.json")
        for file in sorted((ROOT / room).rglob(ending))
    ),
    *(ROOT / guide for guide in GUIDES),
]


def cited(text: str) -> set[str]:
    """The paths in a text that are no pattern; what is in capitals stands for any name."""
    return {path for path in CITED.findall(text) if not re.search(r"[A-Z]{3}|\.\.\.", path)}


def is_there(path: str) -> bool:
    """Whether there is such a file, folder or module, perhaps with a member's name behind it."""
    return any((ROOT / each).exists() for each in (path, f"{path}.py", re.sub(r"\.\w+$", ".py", path)))


@pytest.mark.parametrize("file", CITING, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_path_that_is_cited_is_there(file: Path) -> None:
    assert [path for path in sorted(cited(file.read_text(encoding="utf-8"))) if not is_there(path)] == []


def test_a_path_that_is_not_there_is_seen() -> None:
    text = "(conformance/judge/bounds), see spec/reading/inherit.py; spec/operators/FAMILY/name.yaml; ../generator/none"
    assert cited(text) == {"conformance/judge/bounds", "spec/reading/inherit.py"}
    assert [path for path in cited(text) if not is_there(path)] == ["conformance/judge/bounds"]


def headings(guide: str) -> list[str]:
    return re.findall(r"^#+ (.*)$", text_of(guide), re.MULTILINE)


def anchor(heading: str) -> str:
    """As GitHub makes it of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("file", CITING, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_section_that_is_cited_is_there(file: Path) -> None:
    """``docs/specs.md, "Inheritance"``."""
    for guide, section in re.findall(r'(docs/[\w/-]+\.md), \\?"([^"\\]+)', file.read_text(encoding="utf-8")):
        assert section in headings(guide), f"{guide} has no section {section!r}"


@pytest.mark.parametrize("guide", GUIDES)
def test_a_link_to_a_section_leads_somewhere(guide: str) -> None:
    for target, section in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text_of(guide)):
        other = (ROOT / guide).parent / target if target else ROOT / guide
        found = list(map(anchor, headings(other.resolve().relative_to(ROOT).as_posix())))
        assert section in found, f"{target}#{section}"


@pytest.mark.parametrize("guide", GUIDES)
def test_a_link_to_a_file_leads_somewhere(guide: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text_of(guide)):
        assert ((ROOT / guide).parent / target).exists(), target
