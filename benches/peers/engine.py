"""Runs one forebay scenario, given as JSON on the command line, and prints its measurement."""

import json
import sys

from forebay import _engine

document = json.loads(sys.argv[1])
mtu, headers = 1500, 52 if document["tcp"].get("timestamps") else 40
output = _engine.run(sys.argv[1], ".")
summary = json.loads(output.summary)
[users] = summary["classes"].values()
link = summary["links"]["bottleneck"]
queue = summary["queues"]["bottleneck"]
span = summary["duration_s"] - summary["warmup_s"]
segments = users["goodput_bps"] * span / 8 / (mtu - headers)
measured = {
    "queue": queue["mean_packets"],
    "utilization": link["utilization"],
    "loss": queue["loss"],
    "once": segments / link["sent_packets"],
    "segments": round(segments),
    "run_cpu": summary["cpu_seconds"],
}
print(json.dumps(measured))
