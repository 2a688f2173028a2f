from collections.abc import Callable

BUILT: dict = {}
