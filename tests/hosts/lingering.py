"""The example host of the documentation, which does not exit when it is asked to close."""

import runpy
import sys
import time
from pathlib import Path

try:
    runpy.run_path(str(Path(__file__).parents[2] / "docs" / "example_host.py"), run_name="__main__")
finally:
    sys.stdout.flush()
    time.sleep(60)  # long past every limit
