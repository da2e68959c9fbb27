"""Swaps links, folders, files and hard links at every step of paths in a folder, as fast as it can, until it is ended.

Arguments: the folder, and the paths outside that links are to lead to. Writes how often it swapped into `swaps` beside them.
"""

import ctypes
import os
import random
import shutil
import sys
import time

folder, *targets = sys.argv[1:]
os.chdir(folder)
libc = ctypes.CDLL(None, use_errno=True)
EXCHANGE = 2
swaps = 0
told = os.open("swaps", os.O_WRONLY | os.O_CREAT, 0o644)
# What everything is meant to be, and what it becomes: names that the agent is told of.
names = ["sub", "sub/deep", "file", "line", "link", "tree", "tree/inner", "tool", "tool/a", "got", "sub/file", "sub/deep/file"]


def exchange(a, b):
    return libc.renameat2(-100, a.encode(), -100, b.encode(), EXCHANGE) == 0


def attempt(act, *args):
    try:
        act(*args)
        return True
    except OSError:
        return False


def clear(path):
    if os.path.islink(path) or not os.path.isdir(path):
        attempt(os.unlink, path)
    else:
        shutil.rmtree(path, ignore_errors=True)


def evil(path):
    """Something else than what is meant, under another name first."""
    other = f".swap-{os.getpid()}"
    clear(other)
    kind = random.randrange(6)
    target = random.choice(targets)
    if kind <= 2:
        attempt(os.symlink, target if kind else os.path.dirname(target), other)
    elif kind == 3:
        attempt(os.link, target, other)
    elif kind == 4:
        attempt(os.mkdir, other)
    else:
        attempt(lambda: open(other, "w").write("mine\n"))
    return other


end = time.monotonic() + float(os.environ.get("SWAP_SECONDS", "3600"))
while time.monotonic() < end:
    path = random.choice(names)
    # What the agent makes meanwhile is seen by its name too.
    found = [f"{where}/{name}" for where in (".", "sub", "tree", "tool") for name in (os.listdir(where) if os.path.isdir(where) and os.access(where, os.R_OK) else []) if name.startswith(".f")]
    if found and random.random() < 0.3:
        path = random.choice(found)
    other = evil(path)
    for _ in range(random.randrange(1, 60)):
        if not exchange(other, path):
            attempt(os.rename, other, path)
        swaps += 1
    if random.random() < 0.4:
        clear(path)
        attempt(os.mkdir, path) if random.random() < 0.7 else None
    os.pwrite(told, b"%020d" % swaps, 0)
