"""What holds for all tests."""

import os

from dmlcts.conformance.runner.threads import one_thread

os.environ.update(one_thread(os.environ))  # inherited by the processes that share the tests out
