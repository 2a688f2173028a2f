"""What a Python backend may leave behind by mistake, or do at an odd time.

A row is a name, the places where the mischief happens, and what a right backend with it must be: ``green``, ``red`` or ``either``. A wrong one must
never be green. Each is tried as ``python:`` and as ``inprocess:``.
"""

from __future__ import annotations

from collections.abc import Iterator

from attack import Attack, Must, Run
from expect import WRONG, costs_only, exits, green, never_green, no_claim
from suspects import run_of, suspect

GREEN, RED, EITHER = "green", "red", "either"

BEFORE_OR_AFTER = ("before", "after")

ROWS: tuple[tuple[str, dict[str, str], str], ...] = (
    # Settings of NumPy and of Python
    ("numpy raises on floating-point errors", {"made": "np.seterr(all='raise')"}, GREEN),
    ("numpy raises, set in each run", {"after": "np.seterr(all='raise')"}, GREEN),
    ("numpy calls a handler that raises", {"made": "np.seterrcall(lambda *_: 1/0); np.seterr(all='call')"}, GREEN),
    ("numpy buffer of 16", {"made": "np.setbufsize(16)"}, GREEN),
    ("numpy prints with a threshold of 0", {"made": "np.set_printoptions(threshold=0, precision=0, suppress=True)"}, GREEN),
    ("numpy's old printing", {"made": "np.set_printoptions(legacy='1.13')"}, GREEN),
    ("numpy's random seed", {"after": "np.random.seed(0); random.seed(0)"}, GREEN),
    ("warnings are errors", {"made": "warnings.simplefilter('error')"}, GREEN),
    ("warnings are errors after the first case", {"after": "warnings.simplefilter('error')"}, GREEN),
    ("warnings are ignored", {"made": "warnings.simplefilter('ignore')"}, GREEN),
    ("warnings are shown by a function that raises", {"made": "warnings.showwarning = None"}, GREEN),
    ("locale of the environment", {"made": "import locale; locale.setlocale(locale.LC_ALL, '')"}, GREEN),
    ("recursion limit of 100", {"after": "sys.setrecursionlimit(100)"}, EITHER),
    ("recursion limit of 100 before describe", {"describe": "sys.setrecursionlimit(100)"}, EITHER),
    ("integers of 640 digits at most", {"made": "sys.set_int_max_str_digits(640)"}, GREEN),
    ("switch interval of 10 s", {"made": "sys.setswitchinterval(10.0)"}, GREEN),
    ("switch interval of 1 microsecond", {"made": "sys.setswitchinterval(1e-6)"}, GREEN),
    ("garbage collection off", {"made": "gc.disable()"}, GREEN),
    ("garbage collection at each object", {"made": "gc.set_threshold(1)"}, GREEN),
    ("garbage collection debugged", {"made": "gc.set_debug(gc.DEBUG_SAVEALL)"}, GREEN),
    ("frozen garbage", {"after": "gc.freeze()"}, GREEN),
    ("decimal context of 1 digit", {"made": "import decimal; decimal.getcontext().prec = 1"}, GREEN),
    ("default decimal traps", {"made": "import decimal; decimal.DefaultContext.prec = 1"}, GREEN),
    ("tracing function", {"made": "sys.settrace(lambda *_: None)"}, GREEN),
    ("profile function that raises in the suite", {"after": "sys.setprofile(lambda frame, event, arg: 1/0 if frame.f_code.co_name == 'judged' else None)"}, EITHER),
    ("tracemalloc", {"made": "import tracemalloc; tracemalloc.start()"}, GREEN),
    ("faulthandler ends the process after a second", {"made": "import faulthandler; faulthandler.dump_traceback_later(0.2, exit=True)", "before": "time.sleep(0.05)"}, EITHER),
    ("logging of everything", {"made": "import logging; logging.basicConfig(level=1, force=True)"}, GREEN),
    ("logging into a closed stream", {"made": "import logging, io; s = io.StringIO(); logging.basicConfig(stream=s, level=1, force=True); s.close()"}, GREEN),
    ("excepthook that exits with 0", {"made": "sys.excepthook = lambda *_: os._exit(0)"}, GREEN),
    ("excepthook and an exception in close", {"made": "sys.excepthook = lambda *_: os._exit(0)", "close": "raise RuntimeError('bye')"}, RED),
    ("unraisable hook that exits with 0", {"made": "sys.unraisablehook = lambda *_: os._exit(0)"}, GREEN),
    ("displayhook", {"made": "sys.displayhook = None"}, GREEN),
    # The process
    ("folder is the root", {"made": "os.chdir('/')"}, GREEN),
    ("folder that is gone", {"made": "import tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)"}, GREEN),
    ("folder changes with each run", {"after": "os.chdir('/tmp'); os.chdir('/')"}, GREEN),
    ("empty environment", {"made": "os.environ.clear()"}, GREEN),
    ("folder of cases in the environment", {"made": "os.environ['DMLCTS_CASES'] = '/tmp'"}, EITHER),
    ("folder of cases in the environment, set in a run", {"after": "os.environ['DMLCTS_CASES'] = os.getcwd()"}, GREEN),
    ("hash seed in the environment", {"made": "os.environ['PYTHONHASHSEED'] = 'nonsense'"}, GREEN),
    ("empty module path", {"made": "sys.path.clear()"}, EITHER),
    ("module path without strings", {"made": "sys.path.insert(0, None)"}, EITHER),
    ("umask of nothing", {"made": "os.umask(0o777)"}, GREEN),
    ("session of its own", {"made": "os.setsid() if os.getpid() != os.getsid(0) else None"}, EITHER),
    ("lowest priority", {"made": "os.nice(19)"}, GREEN),
    ("one processor", {"made": "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"}, GREEN),
    ("memory limit", {"made": "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))"}, EITHER),
    ("file size limit", {"made": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"}, EITHER),
    ("file size limit in a run", {"after": "import resource\nif chosen(dispatch): resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"}, EITHER),
    ("no more open files", {"after": "import resource\nif chosen(dispatch): resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))"}, EITHER),
    ("no more processes", {"made": "import resource; resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))"}, EITHER),
    ("a processor second", {"made": "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 1))", "before": "t = time.process_time()\nwhile time.process_time() - t < 0.4: pass"}, RED),
    ("core dumps off", {"made": "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))"}, GREEN),
    # Streams
    ("standard output closed", {"made": "sys.stdout.close()"}, GREEN),
    ("standard error closed", {"made": "sys.stderr.close()"}, GREEN),
    ("standard input closed", {"made": "sys.stdin.close()"}, GREEN),
    ("standard streams are None", {"made": "sys.stdout = sys.stderr = sys.stdin = None"}, GREEN),
    ("standard output is a list", {"made": "sys.stdout = []"}, GREEN),
    ("descriptor 0 closed", {"after": "os.close(0) if chosen(dispatch) else None"}, EITHER),
    ("descriptor 1 closed", {"made": "os.close(1)"}, GREEN),
    ("descriptor 2 closed", {"made": "os.close(2)"}, GREEN),
    ("all descriptors closed, as daemons do", {"made": "os.closerange(0, 256)"}, EITHER),
    ("descriptors from 3 on closed", {"made": "os.closerange(3, 256)"}, EITHER),
    ("descriptors from 3 on closed in a run", {"after": "os.closerange(3, 256) if chosen(dispatch) else None"}, EITHER),
    ("descriptors from 3 on closed at close", {"close": "os.closerange(3, 256)"}, EITHER),
    ("prints the words of a worker", {"after": "print('[\"ran\", \"pass\"]', flush=True); os.write(1, b'[\"ran\", \"pass\"]\\n')"}, GREEN),
    ("prints the words of a worker on the original stream", {"after": "sys.__stdout__.write('[\"ran\",\"pass\"]\\n'); sys.__stdout__.flush()"}, GREEN),
    ("writes to every descriptor", {"after": "[os.write(n, b'[\"ran\", \"pass\"]\\n') for n in range(3, 12) if os.path.exists(f'/proc/self/fd/{n}') and os.get_blocking(n) and not os.readlink(f'/proc/self/fd/{n}').startswith('/')] if chosen(dispatch) else None"}, EITHER),
    ("prints a megabyte a case", {"after": "print('x' * 1000000); print('y' * 1000000, file=sys.stderr)"}, GREEN),
    ("prints bytes that are no text", {"after": "os.write(2, bytes(range(256)))"}, GREEN),
    # Ends at odd places
    *((f"{what} {where}", {where: f"raise {what}"}, RED)
      for where in ("describe", "before", "after", "close") for what in
      ("SystemExit(0)", "SystemExit(None)", "KeyboardInterrupt", "GeneratorExit", "StopIteration", "MemoryError", "RecursionError('deep')", "EOFError", "BrokenPipeError", "AssertionError")),
    ("SystemExit(0) in module", {"module": "raise SystemExit(0)"}, RED),
    ("KeyboardInterrupt in module", {"module": "raise KeyboardInterrupt"}, RED),
    ("SystemExit(0) when made", {"made": "raise SystemExit(0)"}, RED),
    ("KeyboardInterrupt when made", {"made": "raise KeyboardInterrupt"}, RED),
    ("ends at once in module", {"module": "os._exit(0)"}, RED),
    ("ends at once when made", {"made": "os._exit(0)"}, RED),
    ("ends at once in describe", {"describe": "os._exit(0)"}, RED),
    ("ends at once after a run", {"after": "os._exit(0) if chosen(dispatch) else None"}, RED),
    ("ends at once when closed", {"close": "os._exit(0)"}, EITHER),
    ("ends a second after the start", {"made": "threading.Timer(0.05, os._exit, (0,)).start()", "before": "time.sleep(0.02)"}, RED),
    ("kills itself", {"after": "os.kill(os.getpid(), signal.SIGKILL) if chosen(dispatch) else None"}, RED),
    ("terminates itself", {"after": "os.kill(os.getpid(), signal.SIGTERM) if chosen(dispatch) else None"}, EITHER),
    ("interrupts itself", {"after": "os.kill(os.getpid(), signal.SIGINT) if chosen(dispatch) else None"}, EITHER),
    ("interrupts its group", {"after": "os.kill(0, signal.SIGINT) if chosen(dispatch) else None"}, EITHER),
    ("terminates its group", {"after": "os.kill(0, signal.SIGTERM) if chosen(dispatch) else None"}, RED),
    ("aborts at exit", {"made": "import atexit; atexit.register(os.abort)"}, EITHER),
    ("raises at exit", {"made": "import atexit; atexit.register(lambda: 1/0)"}, EITHER),
    ("ends at once in a finalizer", {"module": "class End:\n    def __del__(self): os._exit(0)", "made": "self.end = End()"}, EITHER),
    ("terminates its parent", {"after": "os.kill(os.getppid(), signal.SIGTERM) if chosen(dispatch) else None"}, RED),
    ("hangs up its parent", {"after": "os.kill(os.getppid(), signal.SIGHUP) if chosen(dispatch) else None"}, RED),
    ("interrupts its parent", {"after": "os.kill(os.getppid(), signal.SIGINT) if chosen(dispatch) else None"}, RED),
    ("kills its parent", {"after": "os.kill(os.getppid(), signal.SIGKILL) if chosen(dispatch) else None"}, RED),
    # Signals
    ("ignores every signal", {"made": "[signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)]"}, GREEN),
    ("children are reaped by nobody", {"made": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"}, GREEN),
    ("alarm without a handler", {"made": "signal.alarm(1)", "before": "time.sleep(0.15)"}, RED),
    ("alarm whose handler raises anywhere", {"made": "signal.signal(signal.SIGALRM, lambda *_: 1/0); signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)"}, EITHER),
    ("alarm whose handler exits with 0", {"made": "signal.signal(signal.SIGALRM, lambda *_: sys.exit(0)); signal.setitimer(signal.ITIMER_REAL, 0.05, 0.02)", "before": "time.sleep(0.01)"}, EITHER),
    ("blocked signals", {"made": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))"}, GREEN),
    ("wakeup descriptor", {"made": "signal.set_wakeup_fd(-1)"}, GREEN),
    # Threads and processes
    ("thread that never ends", {"made": "threading.Thread(target=time.sleep, args=(600,)).start()"}, EITHER),
    ("daemon that never ends", {"made": "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()"}, GREEN),
    ("a hundred threads", {"made": "[threading.Thread(target=time.sleep, args=(600,), daemon=True).start() for _ in range(100)]"}, GREEN),
    ("thread that raises", {"after": "threading.Thread(target=lambda: 1/0).start()"}, GREEN),
    ("thread excepthook that ends at once", {"made": "threading.excepthook = lambda *_: os._exit(0)"}, GREEN),
    ("busy threads", {"made": "[threading.Thread(target=lambda: [x for x in iter(int, 1)], daemon=True).start() for _ in range(2)]"}, EITHER),
    ("raises in the main thread from another", {"made": "main = threading.main_thread().ident\ndef wait():\n    time.sleep(0.1)\n    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(SystemExit))\nthreading.Thread(target=wait, daemon=True).start()", "before": "time.sleep(0.02)"}, EITHER),
    ("forks, and the child exits with 0", {"after": "if os.fork() == 0: os._exit(0)"}, GREEN),
    ("forks, and the child raises SystemExit", {"after": "if os.fork() == 0: sys.exit(0)"}, GREEN),
    ("forks, and the parent exits with 0", {"after": "if chosen(dispatch) and os.fork(): os._exit(0)"}, RED),
    ("forks when it is made", {"made": "os.fork()"}, EITHER),
    ("pool of processes", {"made": "import multiprocessing; self.pool = multiprocessing.get_context('fork').Pool(2)"}, EITHER),
    ("event loop left open", {"made": "import asyncio; self.loop = asyncio.new_event_loop(); asyncio.set_event_loop(self.loop)"}, GREEN),
    # Clocks
    ("time stands still", {"made": "time.time = lambda: 0.0"}, GREEN),
    ("monotonic clock stands still", {"made": "time.monotonic = lambda: 0.0"}, GREEN),
    ("performance counter runs back", {"made": "n = iter(range(10**9, 0, -1)); time.perf_counter = lambda: float(next(n))"}, GREEN),
    ("performance counter is not a number", {"made": "time.perf_counter = lambda: float('nan')"}, GREEN),
    ("sleep does nothing", {"made": "time.sleep = lambda _: None"}, GREEN),
    ("another zone", {"made": "os.environ['TZ'] = 'Pacific/Kiritimati'; time.tzset()"}, GREEN),
    # Modules of others
    ("json without separators", {"made": "d = json.dumps; json.dumps = lambda x, **_: d(x)"}, GREEN),
    ("json.dumps returns bytes, as other libraries' do", {"made": "d = json.dumps; json.dumps = lambda x, **k: d(x, **k).encode()"}, EITHER),
    ("json writes nan as null", {"made": "json.encoder.FLOAT_REPR = repr"}, GREEN),
    ("imports raise", {"after": "class No:\n    def find_spec(self, *_): raise ImportError('no')\nsys.meta_path.insert(0, No())"}, EITHER),
    ("no module is loaded any more", {"after": "sys.modules.clear()"}, EITHER),
    ("numpy is another module", {"after": "import types; sys.modules['numpy'] = types.ModuleType('numpy')"}, EITHER),
    ("print is another function", {"made": "import builtins; builtins.print = None"}, GREEN),
    ("sorted, sum and max are other functions", {"made": "import builtins; s = builtins.sum; builtins.sum = lambda *a: s(*a)"}, GREEN),
    ("open is another function", {"after": "import builtins; builtins.open = None"}, EITHER),
    ("numpy.array_equal is always true", {"made": "np.array_equal = lambda *_, **__: True"}, EITHER),
    ("numpy.asarray makes lists", {"made": "np.asarray = lambda x, *_, **__: list(x)"}, EITHER),
    ("Path.exists is always false", {"made": "import pathlib; pathlib.Path.exists = lambda *_, **__: False"}, EITHER),
    ("shutil.rmtree is always successful", {"made": "import shutil; shutil.rmtree = lambda *_, **__: None"}, EITHER),
    ("os.getpid is 1", {"made": "os.getpid = lambda: 1"}, EITHER),
    ("os.replace does nothing", {"made": "os.replace = lambda *_, **__: None"}, EITHER),
    ("flush does nothing", {"made": "import io"}, GREEN),
)  # fmt: skip

PARENT_IS_THE_SUITE = ("its parent", "its group")
LEAVES = ("forks", "thread that never", "pool of", "kills its parent", "session of its own")


def attacks() -> Iterator[Attack]:
    """A mischief that must change nothing, or may, is tried with a wrong backend; one that must be an error, with a right one."""
    for name, places, expected in ROWS:
        for kind in ("python", "inprocess"):
            must: tuple[Must, ...] = {
                GREEN: (never_green, costs_only(WRONG)),
                RED: (no_claim,),
                EITHER: (never_green, exits(1, 2, 3, 130, 143)),
            }[expected]
            run = Run(run_of(kind), must, seconds=90, leaves=any(word in name for word in LEAVES))
            yield Attack(f"{name}, {kind}", (run,), {"mine.py": suspect(expected != RED, **places)})
    for kind in ("python", "inprocess"):
        yield Attack(
            f"a right backend is no wrong one, {kind}",
            (Run(run_of(kind), (never_green,)),),
            {"mine.py": suspect(False)},
            self_check=True,
            quick=kind == "python",
        )
        yield Attack(
            f"a wrong backend is no right one, {kind}", (Run(run_of(kind), (green,)),), {"mine.py": suspect(True)}, self_check=True
        )


ATTACKS = tuple(attacks())
