"""Run every bench that can run here, one after another, and say which were left out and why.

make bench
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parent
DATA = BENCH.parent.parent / "shared"
OUT = BENCH / "out"


def run(*words: str) -> None:
    """Run one bench script and show what it prints."""
    print(f"\n$ python {' '.join(words)}", flush=True)
    subprocess.run([sys.executable, *words], check=True, cwd=BENCH.parent)


def main() -> None:
    """Run them all."""
    OUT.mkdir(exist_ok=True)
    run("bench/speed.py")
    run("bench/replay.py")
    for name in ("locomo", "memdaily"):
        data = DATA / "data" / ("locomo10.json" if name == "locomo" else "memdaily_dev.json")
        if not data.exists():
            print(f"\nskipped {name}: its data set is not redistributable and is not at {data}")
            continue
        ranking = str(OUT / f"{name}.json")
        run(f"bench/{name}.py", "--data", str(data), "--out", ranking)
        run(str(DATA / "eval" / f"{name}_eval.py"), ranking, "--data", str(data))


if __name__ == "__main__":
    main()
