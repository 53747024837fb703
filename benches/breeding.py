"""How much worse what breeding finds is than what a random search does, with as many runs.

    python benches/breeding.py [--most 480] [--seeds 1-2]

Four disciplines on one small network. Of each search, the worst harm is taken under six bounds on
the attack: what it pays (nothing, 10 %, 20 % of the link), on a clean path or with slow times. What
is printed is the mean share of the largest that either search found.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from forebay._scenario import Scenario
from forebay.attack.bounds import Bounds
from forebay.attack.plan import Space, Target
from forebay.attack.search import PATHS, Guide, search
from forebay.attack.trials import Trials

NETWORK = {
    "duration": "6s",
    "warmup": "1s",
    "tcp": {"congestion": "new-reno"},
    "dumbbell": {"rate": "4Mbit", "delay": "10ms", "queue": {"kind": "fifo", "limit": "30p"}},
    "traffic": [{"name": "download", "kind": "bulk"}, {"name": "call", "kind": "voice"}],
}
SEARCHES = (("p99", "codel"), ("starvation", "cake"), ("p99", "pie"), ("loss", "fq-codel"))
GUIDES: tuple[Guide, ...] = ("archive", "random")


def worst(measure: str, kind: str, guide: Guide, seed: int, most: int) -> list[float]:
    """The worst harm under each bound."""
    target = Target(Scenario.of(NETWORK, "network.toml"), None)
    space = Space(Bounds(), len(target.traffic), target.duration_s)
    with (
        tempfile.TemporaryDirectory(prefix="forebay-") as folder,
        Trials(target, measure, Path(folder), queue=kind) as trials,
    ):
        found = search(trials, space, seconds=1e9, seed=seed, most=most, guide=guide)
    return [
        max(
            (
                each.harm.mean
                for each in found.best.values()
                if each.price <= price and PATHS[each.path] <= path
            ),
            default=0.0,
        )
        for price in range(3)
        for path in range(2)
    ]


def main() -> None:
    """Search, and print the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--most", type=int, default=480)
    parser.add_argument("--seeds", default="1-2", help="first and last")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    shares: dict[str, list[float]] = {guide: [] for guide in GUIDES}
    for measure, kind in SEARCHES:
        for seed in range(int(first), int(last or first) + 1):
            found = [worst(measure, kind, guide, seed, options.most) for guide in GUIDES]
            most = np.maximum(np.max(found, axis=0), 1e-9)
            for guide, each in zip(GUIDES, found, strict=True):
                shares[guide].append(float(np.mean(np.array(each) / most)))
            told = ", ".join(f"{guide} {shares[guide][-1]:.2f}" for guide in GUIDES)
            print(f"{measure} of {kind}, seed {seed}: {told}", flush=True)
    for guide in GUIDES:
        print(f"{guide}: {np.mean(shares[guide]):.2f}")


if __name__ == "__main__":
    main()
