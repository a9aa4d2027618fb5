"""The MCP project's conformance suite, in both its versions, against the server beside the fixtures
that its scenarios call. There is no list of expected failures: none is expected."""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys

from workspace import Transcript

# The suite, and what it is asked for; a scenario that waits for its own project runs too. What it
# calls extensions (tasks, skills) is of no generation and not offered.
RUNS = [
    ("released", "2025-11-25", ["--suite", "all"]),
    ("newest", "2025-11-25", ["--suite", "all", "--spec-version", "2025-11-25"]),
    ("newest", "2026-07-28", ["--suite", "all", "--spec-version", "2026-07-28"]),
]
# Passed, and told for people.
GOOD = {"SUCCESS", "INFO"}


def main(output):
    shutil.rmtree(output, ignore_errors=True)
    server = subprocess.Popen(
        [os.environ["MCP_TESTS"], os.environ["GATE"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    transcript = Transcript("conformance.txt")
    bad = 0
    try:
        url = server.stdout.readline().strip()
        for version, generation, options in RUNS:
            bad += suite(url, version, generation, options, output, transcript)
    finally:
        server.stdin.close()
        code = server.wait(timeout=60)
    if code != 0:
        raise AssertionError(f"the server ended with {code}")
    transcript.held()
    return bad


def suite(url, version, generation, options, output, transcript):
    place = output / f"{version}-{generation}"
    command = [os.environ["NODE"], os.environ[f"CONFORMANCE_{version.upper()}"], "server"]
    command += ["--url", url, "-o", str(place), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    bad, scenarios, passed = [], {}, 0
    for path in sorted(place.glob("server-*/checks.json")):
        # server-NAME-2026-12-01T10-32-39-359Z
        name = path.parent.name.removeprefix("server-")[:-25]
        counts = collections.Counter()
        for check in json.loads(path.read_text()):
            counts[check["status"]] += 1
            if check["status"] not in GOOD:
                bad.append(f"{name}: {check['status']} {check['id']}: {check.get('errorMessage')}")
        scenarios[name] = counts
        passed += counts["SUCCESS"]
    good = sum(1 for counts in scenarios.values() if set(counts) <= GOOD and counts["SUCCESS"])
    summary = f"{generation}, suite {version}: {good} of {len(scenarios)} scenarios, {passed} checks"
    transcript.put(f"# {summary}")
    for name, counts in scenarios.items():
        transcript.put(f"{name}: {counts['SUCCESS']}")
    transcript.put("")
    for line in bad:
        print(f"FAILED {line}")
    if done.returncode != 0 and not bad:
        bad.append("the suite itself")
        print(done.stdout[-2000:], done.stderr[-2000:])
    print(f"{'ok' if not bad else 'FAILED'} conformance {summary}", flush=True)
    return len(bad)


if __name__ == "__main__":
    sys.exit(1 if main(pathlib.Path(sys.argv[1])) else 0)
