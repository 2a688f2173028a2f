"""Backends with a mind of their own about what is valid, and what a probe of them finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

from dmlcts.conformance.backends.backend import BackendFault, BackendInfo, Dispatch, Rejected
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.probing.measured import measurement_of, write_measurements
from dmlcts.conformance.probing.probe import Probed, probe
from dmlcts.spec.model.measurement import Measurement
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, with_measurements
from dmlcts.spec.rules.rules import violations

ROUND, SHIFT, COUNT = "ELEMENT_WISE_ROUND", "ELEMENT_WISE_BIT_SHIFT_RIGHT", "ELEMENT_WISE_BIT_COUNT"
# The first operators; then attributes of every kind, and tensors of several types, one of which may be absent.
SAMPLE = (
    *(COUNT, "ELEMENT_WISE_BIT_OR", SHIFT, "ELEMENT_WISE_BIT_XOR", ROUND),
    *("ELEMENT_WISE_CLIP1", "ELEMENT_WISE_QUANTIZE_LINEAR"),
)
LEVEL = "6_4"
MEASURED = Measurement(
    "DirectML 9.9", "2026-11-20", "6_4", 500, 36, 36, "a device", "0.0", f"dmlcts probe {ROUND}", {"create": 9, "read back": 1}
)


class Taught(ReferenceBackend):
    """The reference as DirectML, with another mind about some dispatches: ``mind`` raises, or says True for "accepted"."""

    def __init__(self, mind: Callable[[Dispatch], bool] = lambda dispatch: False, **changes: Any) -> None:
        super().__init__()
        self.mind = mind
        self.info = replace(self.info, name="DirectML", version="9.9", device="a device", **changes)

    def run(self, dispatch: Dispatch) -> None:
        if not self.mind(dispatch):
            super().run(dispatch)


def broken(dispatch: Dispatch) -> set[str]:
    return {violation.label for violation in violations(load(dispatch.desc.type), dispatch.desc)}


def types_of(dispatch: Dispatch) -> list[str]:
    return [tensor.data_type for _, tensor in dispatch.desc.tensors()]


def takes_int8(dispatch: Dispatch) -> bool:
    return set(types_of(dispatch)) == {"INT8"} and all(label.endswith("/data-type") for label in broken(dispatch))


def takes_odd_totals(dispatch: Dispatch) -> bool:
    """As DirectML.dll: a total that is no multiple of 4 is taken, and one that is too small is not."""
    enough = all(tensor.bytes >= tensor.least_bytes for _, tensor in dispatch.desc.tensors() if tensor.data_type != "UNKNOWN")
    return enough and bool(broken(dispatch)) and all(label.endswith("/total-size") for label in broken(dispatch))


def takes_any_mode(dispatch: Dispatch) -> bool:
    return broken(dispatch) == {"enum/RoundingMode"}


def takes_other_halves(dispatch: Dispatch) -> bool:
    return broken(dispatch) == {"constraint/same-sizes"} and types_of(dispatch)[0] == "FLOAT16"


def refuses(test: Callable[[Dispatch], bool], stage: str = "compile", code: str = "E_NO") -> Callable[[Dispatch], bool]:
    def mind(dispatch: Dispatch) -> bool:
        if test(dispatch) and not broken(dispatch):
            raise Rejected("not here", stage, code)
        return False

    return mind


def probed(name: str, mind: Callable[[Dispatch], bool] = lambda dispatch: False, level: str = LEVEL) -> Probed:
    return probe(load(name), Taught(mind, feature_level=level), level)


def recorded(found: Probed, backend: str = "directml", **info: Any) -> Measurement:
    """The measurement, as if it had been made on one fixed day by one version."""
    measurement = measurement_of(found, BackendInfo("DirectML", "9.9", **{"device": "a device", **info}), backend)
    assert (measurement.suite, len(measurement.date)) == (metadata.version("directml-conformance"), len("2026-11-20"))
    return replace(measurement, date="2026-11-20", suite="0.0")


def once(dispatch: Dispatch) -> bool:
    """Crashes on one probe of all."""
    output = dispatch.desc.tensor("OutputTensor") if "OutputTensor" in dict(dispatch.desc.tensors()) else None
    if output and output.data_type == "FLOAT16" and output.total_size == output.least_bytes + 64 and not broken(dispatch):
        raise BackendFault("the host ended", "exit code 7")
    return False


def measured_in(folder: Path, name: str) -> Operator:
    """The operator with the measurements of a folder in place of the package's."""
    return with_measurements(load(name), folder)


def write(folder: Path, *measurements: Measurement, name: str = ROUND) -> int:
    """Writes what was measured of an operator into the files of a folder."""
    return write_measurements(folder, [(load(name), measurement) for measurement in measurements])
