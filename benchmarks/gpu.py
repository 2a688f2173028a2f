"""The reference on a GPU: ``python benchmarks/gpu.py [--seconds N] [--only SECTION]... [--out FILE]``.

Needs CuPy and a GPU. Sections, the most important first; each line of FILE is a result as JSON, written as it comes, and printed in words:

- ``core``: level core of all operators with ``dmlcts run --backend reference:cuda``, judged as any implementation: the statuses, and each case that does not pass.
- ``same``: 2^20 random inputs of each element-wise operator with one input, on CuPy and on NumPy: the largest difference of the two float64 values, in
  ULP of the output's type. Another libm may differ in the last bits of float64, and in nothing else.
- ``times``: products, convolutions, attention and reductions of the size of networks, on CuPy and on NumPy: seconds of both, and their ratio.
- ``float32``: every one of the 2^32 FLOAT32 values as the input of CuPy's own FLOAT32 functions, against the reference: the largest error in ULP and
  where it is, beside what the operator's spec allows. It shows what a GPU's own functions need, and that the reference holds for each input.

Sections that the time does not reach are named at the end. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from dmlcts.reference.answer import host
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, operator_names

DMLCTS = (sys.executable, "-c", "from dmlcts.conformance.commands.cli import main; main()")
CHUNK = 1 << 26
"""So many inputs at once: half a gigabyte as float64."""

FUNCTIONS = {
    **{f"ELEMENT_WISE_{name}": name.lower() for name in ("ABS", "SIN", "COS", "TAN", "SINH", "COSH", "TANH", "EXP", "LOG", "SQRT", "CEIL", "FLOOR")},
    "ELEMENT_WISE_ASIN": "arcsin",
    "ELEMENT_WISE_ACOS": "arccos",
    "ELEMENT_WISE_ATAN": "arctan",
    "ELEMENT_WISE_ASINH": "arcsinh",
    "ELEMENT_WISE_ACOSH": "arccosh",
    "ELEMENT_WISE_ATANH": "arctanh",
    "ELEMENT_WISE_RECIP": "reciprocal",
    "ACTIVATION_TANH": "tanh",
}  # fmt: skip
"""CuPy's own functions in FLOAT32, by operator."""

_OF_ROWS = ("ACTIVATION_SOFTMAX", "ACTIVATION_LOG_SOFTMAX", "ACTIVATION_HARDMAX")
"""Each output element depends on its whole row."""

SIZES = {
    "product 4096 x 4096 x 4096": ("GEMM", {"ATensor": (1, 1, 4096, 4096), "BTensor": (1, 1, 4096, 4096), "OutputTensor": (1, 1, 4096, 4096)}),
    "convolution 64 to 64 channels, 3 x 3, 56 x 56": ("CONVOLUTION", {"InputTensor": (1, 64, 56, 56), "FilterTensor": (64, 64, 3, 3), "OutputTensor": (1, 64, 54, 54)}),
    "sum of 2^26": ("REDUCE", {"InputTensor": (1, 1, 1, 1 << 26), "OutputTensor": (1, 1, 1, 1)}),
    "softmax of 4,096 rows of 4,096": ("ACTIVATION_SOFTMAX", {"InputTensor": (1, 1, 4096, 4096), "OutputTensor": (1, 1, 4096, 4096)}),
}  # fmt: skip

Result = dict[str, Any]


def main() -> None:
    """Runs the sections in order, each as long as time allows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=480, help="begin nothing after so many")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="a section; all by default")
    parser.add_argument("--out", type=Path, default=Path("gpu.jsonl"))
    parser.add_argument("--processes", type=int, default=4, help="of the section core")
    options = parser.parse_args()
    import cupy

    print(f"CuPy {cupy.__version__} on {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}", flush=True)
    ends, left = perf_counter() + options.seconds, []
    with options.out.open("a", encoding="utf-8") as file:
        for section in options.only or SECTIONS:
            begun = perf_counter()
            try:
                for result in SECTIONS[section](cupy, options.processes):
                    file.write(json.dumps({"section": section, **result}) + "\n")
                    file.flush()
                    print(f"{section}: {json.dumps(result)}", flush=True)
                    if perf_counter() > ends:
                        left.append(f"the rest of {section}")
                        break
            except Exception as error:  # one section's failure leaves the others their time
                print(f"{section}: {type(error).__name__}: {error}", flush=True)
                file.write(json.dumps({"section": section, "error": f"{type(error).__name__}: {error}"}) + "\n")
            print(f"{section}: {perf_counter() - begun:.1f} s", flush=True)
    if left:
        print(f"not reached: {', '.join(left)}")


# Level core


def core(xp: Any, processes: int) -> Iterator[Result]:
    """The statuses of level core, and the cases that do not pass."""
    with tempfile.TemporaryDirectory() as folder:
        command = (
            "run",
            "--backend",
            "reference:cuda",
            "--level",
            "core",
            "--basis",
            "measured",
            "-n",
            str(processes),
            "-q",
            "--out",
            folder,
        )
        begun = perf_counter()
        ended = subprocess.run([*DMLCTS, *command], capture_output=True, text=True, encoding="utf-8", check=False)
        record = Path(folder) / "results.jsonl"
        counts: dict[str, int] = {}
        wrong = []
        for line in record.read_text(encoding="utf-8").splitlines() if record.exists() else ():
            entry = json.loads(line).get("result")
            if entry is not None:
                counts[entry["status"]] = counts.get(entry["status"], 0) + 1
                if entry["status"] in ("fail", "error"):
                    wrong.append({"case": entry["case"], "message": entry.get("message", "")[:300]})
        yield {"exit": ended.returncode, "seconds": round(perf_counter() - begun, 1), **counts, "errors": ended.stderr[-1000:]}
        yield from wrong[:200]


# Element by element


def unary() -> Iterator[tuple[Operator, OperatorDesc]]:
    """The operators with one FLOAT32 input and one output of its sizes, with their default attributes, for tensors of CHUNK elements."""
    from dmlcts.generator.plan.plan import plan_of

    for name in operator_names():
        operator = load(name)
        tensors = [field.name for field in operator.fields if field.is_tensor and not field.optional]
        if (
            name not in _OF_ROWS
            and tensors == ["InputTensor", "OutputTensor"]
            and name.startswith(("ELEMENT_WISE_", "ACTIVATION_"))
            and plan_of(operator).uniform
        ):
            choice = next((choice for choice in plan_of(operator).choices if choice.main == "FLOAT32"), None)
            if choice is not None:
                yield operator, choice.desc((1, 1, 1, 2), choice.attributes[0])


def sized(desc: OperatorDesc, count: int) -> OperatorDesc:
    """The desc with tensors of so many elements in a row."""
    return desc.with_tensors({name: TensorDesc(tensor.data_type, (1, 1, 1, count)) for name, tensor in desc.tensors()})


def same(xp: Any, processes: int) -> Iterator[Result]:
    """The largest difference between the reference on CuPy and on NumPy."""
    bits = np.random.default_rng(1).integers(0, 1 << 32, 1 << 20, np.uint32)
    x = bits.view(np.float32).reshape(1, 1, 1, -1)
    for operator, desc in unary():
        one = sized(desc, x.size)
        with np.errstate(all="ignore"):
            ours = np.asarray(compute(one, {"InputTensor": x})["OutputTensor"].value, np.float64)
            theirs = np.asarray(host(compute(one, {"InputTensor": xp.asarray(x)})["OutputTensor"].value), np.float64)
            both = np.isfinite(ours.astype(np.float32)) & np.isfinite(theirs.astype(np.float32))
            apart = np.where(both, abs(ours - theirs) / np.spacing(np.abs(ours).astype(np.float32)), 0)
        other = int((~both & ~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))).sum())
        yield {
            "operator": operator.name,
            "most_ulp": float(apart.max()),
            "at": hex(int(bits[int(apart.argmax())])),
            "other_specials": other,
        }


def float32(xp: Any, processes: int) -> Iterator[Result]:
    """The largest error of CuPy's own FLOAT32 functions over all inputs."""
    for operator, desc in unary():
        if operator.name in FUNCTIONS:
            yield largest_error(xp, operator, desc, getattr(xp, FUNCTIONS[operator.name]))


def largest_error(
    xp: Any, operator: Operator, desc: OperatorDesc, function: Callable[[Any], Any], most: int = 1 << 32, chunk: int = CHUNK
) -> Result:
    """The largest error of a function in ULP of FLOAT32, and the bits of the input where it is; where only one of both is finite is counted."""
    begun, worst, where, differ = perf_counter(), 0.0, 0, 0
    one = sized(desc, chunk)
    for start in range(0, most, chunk):
        x = (xp.arange(chunk, dtype=xp.uint32) + xp.uint32(start)).view(xp.float32).reshape(1, 1, 1, -1)
        value = compute(one, {"InputTensor": x})["OutputTensor"].value.astype(xp.float64)
        found = function(x)
        rounded = value.astype(xp.float32)
        finite = xp.isfinite(rounded) & xp.isfinite(found)
        differ += int(((~finite) & ~((rounded == found) | (xp.isnan(rounded) & xp.isnan(found)))).sum())
        _, exponent = xp.frexp(xp.abs(rounded))
        step = xp.ldexp(xp.ones_like(value), xp.maximum(exponent, -125) - 24)
        error = xp.where(finite, xp.abs(found.astype(xp.float64) - value) / step, 0.0)
        at = int(error.argmax())
        if float(error.reshape(-1)[at]) > worst:
            worst, where = float(error.reshape(-1)[at]), start + at
    allowed = dict(operator.tolerance.parameters)
    return {
        "operator": operator.name,
        "most_ulp": worst,
        "at": f"0x{where:08x}",
        "other_specials": differ,
        "allowed": f"{operator.tolerance.judge} {json.dumps(allowed, default=dict)}",
        "seconds": round(perf_counter() - begun, 2),
    }


# Times


def times(xp: Any, processes: int) -> Iterator[Result]:
    """Seconds on the GPU and on the host. The first run on the GPU, which compiles kernels, does not count."""
    from dmlcts.generator.plan.plan import plan_of

    random = np.random.default_rng(1)
    for label, (name, sizes) in SIZES.items():
        plan = plan_of(load(name))
        choice = next(choice for choice in plan.choices if choice.main == "FLOAT32")
        usual = choice.desc((2,) * choice.usual_count, plan.usual)
        fields = {tensor: TensorDesc("FLOAT32", of) for tensor, of in sizes.items()}
        absent = {field.name: None for field in plan.operator.fields if field.is_tensor and field.name not in sizes}
        desc = usual.with_fields(**{**fields, **absent, **_attributes(name)})
        arrays = {tensor: random.random(of, np.float32) for tensor, of in sizes.items() if tensor != "OutputTensor"}
        on_gpu = {tensor: xp.asarray(array) for tensor, array in arrays.items()}
        gpu = partial(_ended, xp, desc, on_gpu)
        gpu()
        found = {"gpu": _seconds(gpu), "host": _seconds(partial(compute, desc, arrays))}
        yield {
            "what": label,
            **{where: round(seconds, 4) for where, seconds in found.items()},
            "ratio": round(found["host"] / found["gpu"], 1),
        }


def _attributes(name: str) -> dict[str, object]:
    """Attributes that the sizes need."""
    if name == "CONVOLUTION":
        ones, zeros = (1, 1), (0, 0)
        return {
            "Strides": ones,
            "Dilations": ones,
            "StartPadding": zeros,
            "EndPadding": zeros,
            "OutputPadding": zeros,
            "GroupCount": 1,
            "Direction": "FORWARD",
        }
    return {"Axes": (0, 1, 2, 3), "Function": "SUM", "AxisCount": 4} if name == "REDUCE" else {}


def _ended(xp: Any, desc: OperatorDesc, arrays: dict[str, Any]) -> None:
    compute(desc, arrays)
    xp.cuda.Device().synchronize()


def _seconds(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun


SECTIONS: dict[str, Callable[[Any, int], Iterator[Result]]] = {"core": core, "same": same, "times": times, "float32": float32}

if __name__ == "__main__":
    main()
