"""The official Inspector's command line lists and calls every tool. Each line is a process and a
session of its own."""

import concurrent.futures
import json
import os
import subprocess
import sys

from workspace import Transcript, Workspace

GENERATIONS = {"2025-11-25": "legacy", "2026-07-28": "modern"}

# In order: what changes files is by what can be seen of it.
READING = [
    ("read_text_file", {"path": "README.md"}),
    ("list_directory", {"path": "src", "details": True}),
    ("directory_tree", {"path": "src"}),
    ("search_files", {"path": ".", "pattern": "*.rs"}),
    ("search_content", {"pattern": "one", "path": "src"}),
    ("get_file_info", {"path": "README.md"}),
    ("read_text_file", {"path": ".env"}),
]
CHANGING = [
    ("write_file", {"path": "new.txt", "content": "one\n"}),
    ("edit_file", {"path": "new.txt", "edits": [{"oldText": "one", "newText": "two"}]}),
    ("apply_patch", {"patch": "--- a/new.txt\n+++ b/new.txt\n@@ -1 +1 @@\n-two\n+three\n"}),
    ("create_directory", {"path": "made"}),
    ("move_file", {"source": "new.txt", "destination": "made/new.txt"}),
    ("delete_file", {"path": "made", "recursive": True}),
]


def inspect(server, era, *method):
    """One line of the Inspector: its exit code, and what it wrote."""
    home = os.path.join(os.path.dirname(server[-1]), "home")
    os.makedirs(home, exist_ok=True)
    command = [os.environ["NODE"], os.environ["INSPECTOR"], "--cli", "--format", "json", "--quiet"]
    command += ["--protocol-era", era, *method, "--", *server]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        env={"PATH": os.environ["PATH"], "HOME": home},
    )
    return done.returncode, done.stdout, done.stderr


def call(workspace, era, tool, arguments):
    method = ["--method", "tools/call", "--tool-name", tool]
    method += ["--tool-args-json", json.dumps(arguments)]
    code, out, err = inspect(workspace.server(), era, *method)
    try:
        result = json.loads(out)["result"]
    except (ValueError, KeyError):
        raise AssertionError(f"{tool}: exit code {code}\n{out}\n{err}") from None
    return code, result


def main():
    tools, calls = Transcript("tools.txt"), Transcript("inspector.txt")
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        runs = list(pool.map(lambda generation: run(*generation), GENERATIONS.items()))
    for (offered, listed, said), generation in zip(runs, GENERATIONS):
        tools.lines, calls.lines = listed, said
        tools.held()
        calls.held()
        called = {tool for tool, _ in READING + CHANGING}
        if called != offered:
            raise AssertionError(f"offered and not called, or the other way: {called ^ offered}")
        print(f"ok {generation} inspector: {len(READING + CHANGING)} calls of {len(offered)} tools")


def run(generation, era):
    workspace = Workspace()
    tools, calls = Transcript("tools.txt"), Transcript("inspector.txt")
    code, out, err = inspect(workspace.server(), era, "--strict", "--method", "tools/list")
    if code != 0:
        raise AssertionError(f"{generation} tools/list: exit code {code}\n{out}\n{err}")
    listed = json.loads(out)["result"]["tools"]
    for tool in listed:
        tools.put(json.dumps(tool, sort_keys=True))
    for tool, arguments in READING + CHANGING:
        code, result = call(workspace, era, tool, arguments)
        calls.put(f"# exit code {code}")
        calls.call(tool, arguments, result)
    if (workspace.root / "made").exists() or (workspace.root / "new.txt").exists():
        raise AssertionError("what was made is not gone")
    workspace.gone()
    return {tool["name"] for tool in listed}, tools.lines, calls.lines


if __name__ == "__main__":
    try:
        main()
    except AssertionError as error:
        print(f"FAILED inspector: {error}")
        sys.exit(1)
