"""The official Python SDK's client drives the server on standard input and output, as both
generations of the protocol."""

import asyncio
import json
import os
import sys
import traceback

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from offered import CALLS, REFERENCE
from workspace import Transcript, Workspace

GENERATIONS = {"2025-11-25": "legacy", "2026-07-28": "auto"}
# Far longer than any of these calls takes: what hangs is told as a failure.
PATIENCE = 60

def check(holds, what):
    if not holds:
        raise AssertionError(what)


def wire(result):
    """A result as it was on the wire."""
    return json.loads(result.model_dump_json(by_alias=True, exclude_none=True))


def parameters(command):
    return StdioServerParameters(command=command[0], args=command[1:])


def client(command, generation, **more):
    mode = GENERATIONS[generation]
    return Client(parameters(command), mode=mode, read_timeout_seconds=PATIENCE, **more)


async def tools(connected, generation):
    """What is offered: small, said once, the same each time."""
    check(connected.protocol_version == generation, connected.protocol_version)
    check(connected.server_info.name == "portcullis", connected.server_info)
    check(connected.instructions, "no instructions")
    listed = await connected.list_tools(cache_mode="refresh")
    again = await connected.list_tools(cache_mode="refresh")
    check(listed.next_cursor is None, "the list has a second page")
    check(wire(listed)["tools"] == wire(again)["tools"], "the list changes")
    size = len(json.dumps(wire(listed)["tools"], separators=(",", ":")).encode())
    check(size < 10_000 and len(listed.tools) <= 12, f"{len(listed.tools)} tools, {size} bytes")
    for tool in listed.tools:
        check(tool.annotations.open_world_hint is False, tool.name)
        check(tool.annotations.read_only_hint is not None, tool.name)
        check(tool.output_schema is not None, tool.name)
        called = any(name == tool.name for name, _ in CALLS)
        check(called, f"{tool.name} is not called by this test")
    return listed


async def schemas_hold(connected, listed):
    """That the client holds answers to the schemas is seen by one that does not fit."""
    for tool in listed.tools:
        wrong = types.CallToolResult(content=[], structured_content={"none": "of it"})
        try:
            await connected.session.validate_tool_result(tool.name, wrong)
        except RuntimeError:
            continue
        raise AssertionError(f"{tool.name} takes any object for an answer")


async def calls(generation):
    """Every tool, its answers held to its schema by the client."""
    workspace = Workspace()
    transcript = Transcript("calls.txt")
    async with client(workspace.server(), generation) as connected:
        listed = await tools(connected, generation)
        await schemas_hold(connected, listed)
        offered = Transcript("tools.txt")
        for tool in wire(listed)["tools"]:
            offered.put(json.dumps(tool, sort_keys=True))
        offered.held()
        for tool, arguments in CALLS:
            result = wire(await connected.call_tool(tool, arguments))
            transcript.call(tool, arguments, result)
            check(str(workspace.place) not in json.dumps(result), f"{tool} tells a path of the host")
    transcript.held()
    check(workspace.read("notes/crlf.txt") == b"a\r\nB\r\nc\r\n", "line ends")
    check(workspace.read("README.md") == b"Portcullis\nkeeps all files\n", "README.md")
    check(workspace.read("src/lib.rs") == b"pub fn one() -> u32 {\n    2\n}\n", "lib.rs")
    check(workspace.read("new/deep/file.txt") == b"new\n", "new file")
    check(not (workspace.root / "made").exists(), "made is not deleted")
    check((workspace.root / "pipe").exists(), "pipe")
    workspace.gone()


async def reference(generation):
    """All tools of the reference server, with its arguments and absolute paths."""
    workspace = Workspace()
    transcript = Transcript("reference.txt")

    def absolute(arguments):
        places = {"path", "source", "destination"}
        whole = {
            key: str(workspace.root / value) if key in places else value
            for key, value in arguments.items()
        }
        if "paths" in whole:
            whole["paths"] = [str(workspace.root / path) for path in whole["paths"]]
        return whole

    def plain(value):
        return json.loads(json.dumps(value).replace(str(workspace.place), "<place>"))

    async with client(workspace.server("--compat", "reference"), generation) as connected:
        listed = await connected.list_tools()
        called = {tool for tool, _ in REFERENCE}
        check({tool.name for tool in listed.tools} == called, [tool.name for tool in listed.tools])
        check(all(tool.output_schema for tool in listed.tools), "no output schema")
        await schemas_hold(connected, listed)
        for tool, arguments in REFERENCE:
            whole = absolute(arguments)
            result = wire(await connected.call_tool(tool, whole))
            transcript.call(tool, plain(whole), plain(result))
    transcript.held()
    check(workspace.read("made/new.txt") == b"newer\n", "made/new.txt")
    workspace.gone()


async def pages(generation):
    """Long answers come in parts that join without a gap."""
    workspace = Workspace()
    async with client(workspace.server(), generation) as connected:
        for tool, arguments in [
            ("list_directory", {"path": "many"}),
            ("search_files", {"path": "many", "pattern": "*.txt"}),
            ("directory_tree", {"path": "many"}),
        ]:
            seen, cursor, turns = [], None, 0
            while turns < 10:
                more = {} if cursor is None else {"cursor": cursor}
                result = await connected.call_tool(tool, arguments | {"limit": 10} | more)
                check(not result.is_error, result)
                text = result.content[0].text
                seen += [line.strip() for line in text.split("\n") if line.endswith(".txt")]
                turns += 1
                cursor = result.structured_content.get("cursor")
                check((cursor is None) == result.structured_content["complete"], result)
                if cursor is None:
                    break
            names = [os.path.basename(name) for name in seen]
            check(names == [f"{n:02}.txt" for n in range(1, 26)], f"{tool}: {names}")
            check(turns == 3, f"{tool}: {turns} parts")
        wrong = await connected.call_tool("list_directory", {"path": "many", "cursor": "00ff"})
        check(wrong.is_error, wrong)
        result = await connected.call_tool("read_text_file", {"path": "many/01.txt"})
        check(not result.is_error, result)
    workspace.gone()


async def errors(generation):
    """What is no call of a tool is an error of the protocol, and the next call is served."""
    workspace = Workspace()
    async with client(workspace.server(), generation) as connected:
        try:
            await connected.call_tool("no_such_tool", {})
        except MCPError as error:
            check(error.error.code == -32602, error)
            check("read_text_file" in error.error.message, error)
        else:
            raise AssertionError("a tool that is not there was called")
        for missing in [connected.list_prompts, connected.list_resources]:
            try:
                await missing()
            except MCPError as error:
                check(error.error.code == -32601, error)
            else:
                raise AssertionError("prompts or resources are served and not declared")
        result = await connected.call_tool("read_text_file", {"path": "README.md"})
        check(not result.is_error, result)
    workspace.gone()


def slow(workspace):
    """A search through much that finds nothing: one file under many names."""
    workspace.text("slow/0000", ("a" * 127 + "\n") * (8 * 1024 * 1024 // 128))
    for n in range(1, 4000):
        os.link(workspace.root / "slow/0000", workspace.root / f"slow/{n:04}")
    return {"path": "slow", "pattern": "(a|aa)*b", "regex": True}


async def progress(generation):
    """A long call tells how far it is, and ends when it is cancelled: what comes after it on the
    same session is answered."""
    workspace = Workspace()
    arguments = slow(workspace)
    told = []
    async with client(workspace.server(), generation) as connected:
        # So that the search is found to be the one that takes long.
        await connected.call_tool("list_directory", {"path": "src"})
        enough = anyio.Event()

        async def on_progress(progress, total, message):
            told.append(progress)
            if len(told) == 3:
                enough.set()

        async def search(group):
            await connected.call_tool(
                "search_content", arguments, progress_callback=on_progress
            )
            raise AssertionError("the search ended by itself")

        async with anyio.create_task_group() as group:
            group.start_soon(search, group)
            with anyio.fail_after(PATIENCE):
                await enough.wait()
            group.cancel_scope.cancel()
        check(told == sorted(set(told)), f"progress does not rise: {told}")
        looked_at = told[-1]
        check(looked_at < 4000, f"{looked_at} files were looked at before it was cancelled")
        for tool, arguments in [
            ("search_content", {"path": "src", "pattern": "main"}),
            ("list_directory", {"path": "src"}),
            ("read_text_file", {"path": "README.md"}),
        ]:
            result = await connected.call_tool(tool, arguments)
            check(not result.is_error, result)
        after = len(told)
        await connected.call_tool("list_directory", {"path": "src"})
        check(len(told) == after, "a call that was cancelled tells of progress")
    workspace.gone()


ANSWERS = [
    ("no elicitation", None, b"old\n"),
    ("declined", types.ElicitResult(action="decline"), b"old\n"),
    ("cancelled", types.ElicitResult(action="cancel"), b"old\n"),
    ("refused", types.ElicitResult(action="accept", content={"decision": "refuse"}), b"old\n"),
    ("approved", types.ElicitResult(action="accept", content={"decision": "approve"}), b"new\n"),
]


async def elicitation(generation):
    """What needs an approval is asked of the client, where it can ask; else the answer says how. No
    call waits for a person, and nothing but an approval lets it happen."""
    transcript = Transcript(f"elicitation-{generation}.txt")
    for word, answer, expected in ANSWERS:
        transcript.put(f"# {word}")
        await asked(generation, transcript, answer, expected)
    transcript.held()


async def asked(generation, transcript, answer, expected):
    """One call that needs an approval, and the same again."""
    workspace = Workspace()
    call = ("write_file", {"path": "deploy/site.txt", "content": "new\n", "overwrite": True})
    questions, answered = [], anyio.Event()

    async def on_elicitation(context, params):
        questions.append(params)
        answered.set()
        return answer

    more = {} if answer is None else {"elicitation_callback": on_elicitation}
    server = workspace.server("--ask", "deploy/**")
    async with client(server, generation, **more) as connected:
        first = wire(await connected.call_tool(*call))
        if answer is not None:
            with anyio.fail_after(PATIENCE):
                await answered.wait()
        transcript.call(*call, first)
        for params in questions:
            question = json.dumps(wire(params), sort_keys=True)
            transcript.put("? " + question.replace(str(workspace.place), "<place>"))
        decides = answer is not None and answer.action != "cancel"
        if decides and "needs_approval" in first["content"][0]["text"]:
            # The question came beside the result. Its answer is on its way when it is known here.
            again = first
            with anyio.fail_after(PATIENCE):
                while again == first:
                    again = wire(await connected.call_tool(*call))
            transcript.call(*call, again)
        check(len(questions) == (answer is not None), questions)
        other = await connected.call_tool("read_text_file", {"path": "README.md"})
        check(not other.is_error, other)
    content = workspace.read("deploy/site.txt")
    check(content == expected, f"{content!r}")
    workspace.gone()


async def roots(generation):
    """Roots that a client declares change nothing."""
    workspace = Workspace()

    async def on_roots(context):
        return types.ListRootsResult(roots=[types.Root(uri="file:///")])

    server = workspace.server()
    async with client(server, generation, list_roots_callback=on_roots) as connected:
        for tool, path in [("read_text_file", "/etc/passwd"), ("list_directory", "/etc")]:
            result = await connected.call_tool(tool, {"path": path})
            check(result.is_error and "no_such_root" in result.content[0].text, result)
        result = await connected.call_tool("list_directory", {"path": "/"})
        check(result.content[0].text == "/workspace/", result)
    workspace.gone()


async def read_only(generation):
    """With --read-only nothing that changes files is offered, and what is called anyway is not
    done."""
    workspace = Workspace()
    async with client(workspace.server("--read-only"), generation) as connected:
        listed = await connected.list_tools()
        for tool in listed.tools:
            check(tool.annotations.read_only_hint is True, tool.name)
        check(len(listed.tools) == 6, [tool.name for tool in listed.tools])
        result = await connected.call_tool("read_text_file", {"path": "README.md"})
        check(not result.is_error, result)
        try:
            result = await connected.call_tool("write_file", {"path": "x", "content": "x"})
        except MCPError as error:
            check(error.error.code == -32602, error)
        else:
            raise AssertionError(f"written: {result}")
    check(not (workspace.root / "x").exists(), "x is there")
    workspace.gone()


async def ends(generation):
    """The server ends by itself and well when its input does, and says nothing else."""
    workspace = Workspace()
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(
        *workspace.server(), stdin=pipe, stdout=pipe, stderr=pipe
    )
    meta = {
        "io.modelcontextprotocol/protocolVersion": generation,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    hello = {
        "2025-11-25": ("initialize", {
            "protocolVersion": generation,
            "capabilities": {},
            "clientInfo": {"name": "none", "version": "0"},
        }),
        "2026-07-28": ("server/discover", {"_meta": meta}),
    }
    method, params = hello[generation]
    line = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    out, err = await asyncio.wait_for(
        server.communicate(json.dumps(line).encode() + b"\n"), PATIENCE
    )
    check(server.returncode == 0, f"exit code {server.returncode}: {err}")
    check(err == b"", err)
    check([json.loads(line)["id"] for line in out.splitlines()] == [1], out)
    workspace.gone()


TESTS = [
    calls, reference, pages, errors, progress, roots, read_only, ends, elicitation,
]


def innermost(error):
    """What failed, without the groups that it was passed through."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


async def main(wanted):
    failed = 0
    for generation in GENERATIONS:
        for test in TESTS:
            if wanted and test.__name__ not in wanted:
                continue
            name = f"{generation} {test.__name__}"
            try:
                await test(generation)
            except Exception as error:
                failed += 1
                print(f"FAILED {name}", flush=True)
                traceback.print_exception(innermost(error))
            else:
                print(f"ok {name}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(1 if asyncio.run(main(set(sys.argv[1:]))) else 0)
