"""A directory to serve, what the server is started with, and transcripts that are held to files."""

import json
import os
import pathlib
import re
import shutil
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GOLDEN = HERE / "golden"
# One red pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
OLD = 1_700_000_000


class Workspace:
    """Files as every run finds them."""

    def __init__(self):
        os.umask(0o022)
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="portcullis-mcp-"))
        self.root = self.place / "work"
        self.root.mkdir()
        self.text("README.md", "Portcullis\nkeeps files\n")
        self.text("src/main.rs", 'fn main() {\n    println!("one");\n}\n')
        self.text("src/lib.rs", "pub fn one() -> u32 {\n    1\n}\n")
        self.text("notes/crlf.txt", "a\r\nb\r\nc\r\n")
        self.text("notes/long.txt", "".join(f"line {n}\n" for n in range(1, 41)))
        self.text(".env", "TOKEN=1\n")
        self.text(".gitignore", "ignored/\n")
        self.text("ignored/one.txt", "one\n")
        self.text("deploy/site.txt", "old\n")
        for n in range(1, 26):
            self.text(f"many/{n:02}.txt", f"{n}\n")
        self.data("image.png", PNG)
        self.data(b"bad-\xff.txt", b"a name that is no text\n")
        self.data("latin.txt", b"caf\xe9\n")
        os.symlink("/etc/passwd", self.root / "out")
        os.symlink("README.md", self.root / "in")
        os.mkfifo(self.root / "pipe")
        for directory, directories, files in os.walk(os.fsencode(self.root), topdown=False):
            for name in directories + files:
                os.utime(os.path.join(directory, name), (OLD, OLD), follow_symlinks=False)

    def data(self, name, content):
        path = os.path.join(os.fsencode(self.root), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)

    def text(self, name, content):
        self.data(name, content.encode())

    def read(self, name):
        return (self.root / name).read_bytes()

    def server(self, *options):
        """The command of a server for this directory, with records of its own."""
        state = tempfile.mkdtemp(prefix="state-", dir=self.place)
        command = os.environ["PORTCULLIS"]
        return [command, "mcp", "--embedded", "--state", state, *options, str(self.root)]

    def gone(self):
        shutil.rmtree(self.place)


# What is another in every run, and what stands for it.
ANOTHER = [
    (re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b\w{3} \w{3} \d\d 20\d\d \d\d:\d\d:\d\d GMT\+0000 \(Coordinated Universal Time\)"), "<time>"),
    (re.compile(r'("receipt": ?)\d+'), r"\1<receipt>"),
    (re.compile(r"\b(\d+):[0-9a-z]{5}\|"), r"\1:<label>|"),
]


def same(text):
    for pattern, word in ANOTHER:
        text = pattern.sub(word, text)
    return text


VERSION = re.compile(r"\b[0-9a-f]+(?:\.[0-9a-f]+){6}\b")


class Transcript:
    """What was said, one golden file of it."""

    def __init__(self, name):
        self.name = name
        self.lines = []
        self.versions = {}

    def put(self, line):
        self.lines.append(VERSION.sub(self.version, same(line)))

    def version(self, found):
        """Versions are told apart by the order in which they come."""
        known = self.versions.setdefault(found[0], len(self.versions) + 1)
        return f"<version {known}>"

    def call(self, tool, arguments, result):
        """A call and its answer, as the protocol has it."""
        self.put(f"> {tool} {json.dumps(arguments, ensure_ascii=True)}")
        mark = "!" if result.get("isError") else "<"
        for block in result["content"]:
            if block["type"] == "text":
                for line in block["text"].split("\n"):
                    self.put(f"{mark} {shown(line)}".rstrip())
            else:
                self.put(f"{mark} {json.dumps(block, sort_keys=True)}")
        if "structuredContent" in result:
            self.put("= " + json.dumps(result["structuredContent"], sort_keys=True))
        self.put("")

    def text(self):
        return "\n".join(self.lines).rstrip("\n") + "\n"

    def held(self):
        """Compares with the golden file; PORTCULLIS_UPDATE=1 writes it."""
        path = GOLDEN / self.name
        if os.environ.get("PORTCULLIS_UPDATE") == "1":
            path.write_text(self.text())
        expected = path.read_text() if path.exists() else ""
        if expected != self.text():
            import difflib

            old, new = expected.splitlines(), self.text().splitlines()
            diff = difflib.unified_diff(old, new, self.name, "now", lineterm="")
            raise AssertionError("another transcript:\n" + "\n".join(diff))


def shown(line):
    """A line with its carriage returns and the like to be seen."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
