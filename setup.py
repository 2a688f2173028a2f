"""The packages: every folder of a room that has an ``__init__.py``. All else is in pyproject.toml, which cannot find packages below another name."""

from setuptools import find_packages, setup

ROOMS = ("spec", "generator", "reference", "conformance", "reports")

setup(
    packages=[f"dmlcts.{name}" for room in ROOMS for name in (room, *(f"{room}.{inner}" for inner in find_packages(room)))],
    package_dir={f"dmlcts.{room}": room for room in ROOMS},
)
