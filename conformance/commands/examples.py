"""What stands below the options of each command's ``--help``: examples, and exit codes where the text above has none."""

from __future__ import annotations

from typing import NamedTuple

import click

_DONE = "0 done, 2 usage or input error"


_TITLE = "Examples:"


class Epilog(NamedTuple):
    """Lines for the end of a command's help. ``exit_codes`` is empty where the command's own text says them."""

    examples: tuple[str, ...]
    exit_codes: str = ""


EPILOGS: dict[str, Epilog] = {
    "ask": Epilog(("dmlcts ask ROUND InputTensor=[0.5,1.5,2.5]", "dmlcts ask ADD ATensor=[1] BTensor=[2] --backend directml")),
    "backends": Epilog(
        ("dmlcts backends", "dmlcts backends directml"),
        "0 done, 2 usage error, 3 one of the backends that were named is not usable",
    ),
    "bounds": Epilog(("dmlcts bounds results",)),
    "capture": Epilog(("dmlcts capture --out game.capture -- game.exe",)),
    "census": Epilog(("dmlcts census MODEL.capture --out census.json",)),
    "client onnxruntime": Epilog(("dmlcts client onnxruntime MODEL.onnx", "dmlcts client onnxruntime MODEL.onnx --judge")),
    "exec": Epilog(("dmlcts exec MODEL.json", "dmlcts exec MODEL.json --backend directml --out outputs")),
    "exhaustive": Epilog(("dmlcts exhaustive ABS --type FLOAT16",)),
    "explain": Epilog(("dmlcts explain results",)),
    "faults by-kind": Epilog(("dmlcts faults by-kind GEMM",), _DONE),
    "faults conditions": Epilog(("dmlcts faults conditions GEMM --count 200 -n 2",)),
    "faults graphs": Epilog(("dmlcts faults graphs -n 2",)),
    "faults hunt": Epilog(("dmlcts faults hunt GEMM", "dmlcts faults hunt --cluster tls://lab:8786")),
    "faults legal": Epilog(("dmlcts faults legal GEMM",)),
    "faults list": Epilog(("dmlcts faults list GEMM",), _DONE),
    "faults sequences": Epilog(("dmlcts faults sequences GEMM --level core",)),
    "faults subsume": Epilog(("dmlcts faults subsume GEMM",), _DONE),
    "fuzz": Epilog(
        (
            "dmlcts fuzz --backend directml --minutes 60 -n 2",
            'dmlcts fuzz GEMM "*POOLING*" --seed 7',
            "dmlcts fuzz --graphs --minutes 10",
        )
    ),
    "gate": Epilog(("dmlcts gate results --baseline baseline --markdown gate.md",)),
    "generate": Epilog(("dmlcts generate --out emitted --level smoke",), _DONE),
    "judge": Epilog(("dmlcts judge MODEL.json --expected outputs",)),
    "kernels": Epilog(("dmlcts kernels results", "dmlcts kernels results --baseline older")),
    "merge": Epilog(
        ("dmlcts merge shards/1 shards/2 --out merged.jsonl",),
        "those of the run, see `dmlcts run --help`; 2 also where a shard is missing, or one does not belong to the others",
    ),
    "probe": Epilog(("dmlcts probe --backend directml",)),
    "releases": Epilog(("dmlcts releases --versions 1.12.1,1.15.4 --level smoke", "dmlcts releases --list")),
    "replay": Epilog(("dmlcts replay MODEL.capture --backend directml",)),
    "report": Epilog(
        ("dmlcts report results --out page", "dmlcts report run-1 run-2 --out side-by-side"),
        "those of the run, see `dmlcts run --help`; of several runs 0; 2 usage or input error",
    ),
    "repro": Epilog(("dmlcts repro GEMM/FLOAT32/4d --out case",), _DONE),
    "run": Epilog(
        (
            "dmlcts run --level smoke -n 2",
            'dmlcts run GEMM "*POOLING*" --backend directml',
            'dmlcts run --backend "process:./my-host" --waivers waivers.yaml',
            "dmlcts run --cluster tls://lab:8786 --backend directml",
        )
    ),
    "setup": Epilog(("dmlcts setup", "dmlcts setup --check")),
    "show": Epilog(("dmlcts show GEMM", "dmlcts show GEMM/FLOAT32/4d"), _DONE),
    "spec arrays": Epilog(
        ("dmlcts spec arrays GEMM",), "0 done, or all are up to date; 1 with --check, some are not; 2 usage or input error"
    ),
    "spec check": Epilog(("dmlcts spec check",), "0 every file is right, 1 one is not, 2 usage or input error"),
    "spec compare": Epilog(("dmlcts spec compare PAGE.md",), "0 no page differs, 1 one does, 2 usage or input error"),
    "spec coverage": Epilog(("dmlcts spec coverage GEMM",), "0 complete, 1 something is missing or wrong, 2 usage or input error"),
    "spec factors": Epilog(("dmlcts spec factors GEMM",), _DONE),
    "spec findings": Epilog(("dmlcts spec findings",), _DONE),
    "spec list": Epilog(("dmlcts spec list", "dmlcts spec list api"), _DONE),
    "spec new": Epilog(("dmlcts spec new NAME --like GEMM",), _DONE),
    "spec pin": Epilog(("dmlcts spec pin --check",), "0 done, or all agree; 1 with --check, cases changed; 2 usage or input error"),
    "spec show": Epilog(("dmlcts spec show ROUND", "dmlcts spec show DEV-1"), _DONE),
    "spec site": Epilog(("dmlcts spec site --out site",), _DONE),
    "submit": Epilog(("dmlcts submit results --out submission.zip",)),
    "verify": Epilog(("dmlcts verify submission.zip",)),
}
"""By command, with its group where it is in one."""


def add_epilogs(command: click.Command, path: str) -> None:
    """Gives a command, or all commands of a group, what stands below their options, behind what stands there already; once."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            add_epilogs(each, f"{path} {name}")
    elif path in EPILOGS and _TITLE not in (command.epilog or ""):
        examples, exit_codes = EPILOGS[path]
        codes = f"Exit codes: {exit_codes}." if exit_codes else ""
        lines = "\n".join(("\b", _TITLE, *(f"  {line}" for line in examples)))
        command.epilog = "\n\n".join(filter(None, (command.epilog, codes, lines)))
