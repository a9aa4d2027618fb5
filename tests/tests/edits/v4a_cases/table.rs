//! The cases.

use super::Is::{Fifo, File, HardLink, Link};
use super::Wanted::{Done, Refused};
use super::{Case, case};
use portcullis_protocol::refusal::Code;

/// The text between the markers.
macro_rules! patch {
    ($($body:literal),*) => {
        concat!("*** Begin Patch\n", $($body),*, "\n*** End Patch")
    };
}

/// One section for the file `a`.
macro_rules! update {
    ($body:literal) => {
        patch!("*** Update File: a\n", $body)
    };
}

const DATA: u32 = 0o644;

pub(super) const CASES: &[Case] = &[
    case(
        "crlf update",
        &[("a", File(b"a\r\nb\r\nc\r\n", DATA))],
        update!("@@\n a\n-b\n+B\n c"),
        Done(&[("a", File(b"a\r\nB\r\nc\r\n", DATA))]),
    ),
    case(
        "mixed line ends",
        &[("a", File(b"a\r\nb\nc\r\n", DATA))],
        update!("@@\n-b\n+B"),
        Done(&[("a", File(b"a\r\nB\nc\r\n", DATA))]),
    )
    .unlike("gives the new line the first terminator of the file; here it gets that of the line it replaces"),
    case(
        "byte order mark, first line",
        &[("a", File(b"\xef\xbb\xbfx=1\ny\n", DATA))],
        update!("@@\n-x=1\n+x=2"),
        Done(&[("a", File(b"\xef\xbb\xbfx=2\ny\n", DATA))]),
    )
    .unlike("does not find the first line; the mark belongs to the file, not to the line"),
    case(
        "byte order mark, another line",
        &[("a", File(b"\xef\xbb\xbfx=1\ny\n", DATA))],
        update!("@@\n-y\n+z"),
        Done(&[("a", File(b"\xef\xbb\xbfx=1\nz\n", DATA))]),
    ),
    case(
        "a foreign byte elsewhere",
        &[("a", File(b"x\n\xe9\n", DATA))],
        update!("@@\n-x\n+y"),
        Done(&[("a", File(b"y\n\xe9\n", DATA))]),
    )
    .unlike("refuses a file that is not UTF-8 as a whole; what is not touched may be any bytes"),
    case(
        "no final newline, untouched end",
        &[("a", File(b"a\nb", DATA))],
        update!("@@\n-a\n+A"),
        Done(&[("a", File(b"A\nb", DATA))]),
    )
    .unlike("adds a newline at the end of the file; nobody asked for it"),
    case(
        "executable",
        &[("a", File(b"a\n", 0o755))],
        update!("@@\n-a\n+A"),
        Done(&[("a", File(b"A\n", 0o755))]),
    ),
    case(
        "executable, moved",
        &[("a", File(b"a\n", 0o755))],
        update!("*** Move to: b\n@@\n-a\n+A"),
        Done(&[("b", File(b"A\n", 0o755))]),
    )
    .unlike("writes a new file and loses the mode; a move keeps the file"),
    case(
        "through a link",
        &[("t", File(b"a\n", DATA)), ("l", Link("t"))],
        patch!("*** Update File: l\n@@\n-a\n+A"),
        Done(&[("t", File(b"A\n", DATA)), ("l", Link("t"))]),
    ),
    case(
        "a file of two names",
        &[("t", File(b"a\n", DATA)), ("h", HardLink("t"))],
        patch!("*** Update File: h\n@@\n-a\n+A"),
        Refused(Code::HardLinked),
    )
    .unlike("writes in place, which changes the file under its other name too; that name may be anywhere, so it is refused unless allowed"),
    case(
        "delete a link",
        &[("t", File(b"a\n", DATA)), ("l", Link("t"))],
        patch!("*** Delete File: l"),
        Done(&[("t", File(b"a\n", DATA))]),
    ),
    case(
        "add over a file",
        &[("a", File(b"old\n", DATA))],
        patch!("*** Add File: a\n+new"),
        Refused(Code::Exists),
    )
    .unlike("replaces the file and says it was added; to add is never to lose"),
    case(
        "move over a file",
        &[("a", File(b"a\n", DATA)), ("b", File(b"KEEP\n", DATA))],
        update!("*** Move to: b\n@@\n-a\n+A"),
        Refused(Code::Exists),
    )
    .unlike("replaces the other file; a move never does"),
    case(
        "move to itself",
        &[("a", File(b"a\n", DATA))],
        update!("*** Move to: ./a\n@@\n-a\n+A"),
        Done(&[("a", File(b"A\n", DATA))]),
    )
    .unlike("deletes the file and says it is done; both names are one, so only the text changes"),
    case(
        "move only",
        &[("a", File(b"a\n", DATA))],
        update!("*** Move to: b"),
        Done(&[("b", File(b"a\n", DATA))]),
    )
    .unlike("refuses a section without a chunk; a move is a change"),
    case(
        "second section fails, after an add",
        &[("z", File(b"z\n", DATA))],
        patch!("*** Add File: n\n+1\n*** Update File: z\n@@\n-missing\n+q"),
        Refused(Code::NotUnique),
    )
    .unlike("leaves the added file behind; all or nothing"),
    case(
        "second section fails, after a delete",
        &[("k", File(b"k\n", DATA)), ("z", File(b"z\n", DATA))],
        patch!("*** Delete File: k\n*** Update File: z\n@@\n-missing\n+q"),
        Refused(Code::NotUnique),
    )
    .unlike("the deleted file stays deleted; all or nothing"),
    case(
        "twice in the file",
        &[("a", File(b"x = 1\nfoo\nx = 1\n", DATA))],
        update!("@@\n-x = 1\n+x = 2"),
        Refused(Code::NotUnique),
    )
    .unlike("changes the first of them; which was meant is not known"),
    case(
        "alike but for blanks in front",
        &[("a", File(b"def e(p):\n\tif p:\n\t\tf()\n\t\treturn\n\ndef t(p):\n\tfor i in p:\n\t\tif i:\n\t\t\tf()\n\t\t\treturn\n", DATA))],
        update!("@@\n-            f()\n-            return"),
        Refused(Code::NotUnique),
    )
    .unlike("takes the first that looks alike, in another function; blanks in front count unless told otherwise"),
    case(
        "a lead tells which",
        &[("a", File(b"def e:\n  x\ndef t:\n  x\n", DATA))],
        update!("@@ def t:\n-  x\n+  y"),
        Done(&[("a", File(b"def e:\n  x\ndef t:\n  y\n", DATA))]),
    ),
    case(
        "a lead is a whole line",
        &[("a", File(b"class A:\n  def t(self):\n    x\n", DATA))],
        update!("@@ def t\n-    x\n+    y"),
        Refused(Code::NotUnique),
    ),
    case(
        "two leads",
        &[("a", File(b"class A:\n  def t:\n    x\nclass B:\n  def t:\n    x\n", DATA))],
        update!("@@ class B:\n@@   def t:\n-    x\n+    y"),
        Done(&[("a", File(b"class A:\n  def t:\n    x\nclass B:\n  def t:\n    y\n", DATA))]),
    )
    .unlike("refuses a second `@@`, though models are told to write it; each narrows further"),
    case(
        "another dash",
        &[("a", File(b"a \xe2\x80\x93 b\nk\n", DATA))],
        update!("@@\n-a - b\n+a - c"),
        Refused(Code::NotUnique),
    )
    .unlike("takes one dash for another without being asked; that is a tier one asks for"),
    case(
        "another dash in a line that stays",
        &[("a", File(b"a \xe2\x80\x93 b\nk\n", DATA))],
        update!("@@\n a - b\n-k\n+K"),
        Refused(Code::NotUnique),
    )
    .unlike("as above; it does leave the line as it is"),
    case(
        "blanks at the end of a line that stays",
        &[("a", File(b"one  \ntwo\n", DATA))],
        update!("@@\n one\n-two\n+TWO"),
        Done(&[("a", File(b"one  \nTWO\n", DATA))]),
    ),
    case(
        "further in than the patch says",
        &[("a", File(b"        if x:\n            y\n", DATA))],
        update!("@@\n-if x:\n+if z:"),
        Refused(Code::NotUnique),
    )
    .unlike("finds the line and puts the new one at the margin; shifting is a tier one asks for, and shifts both"),
    case(
        "only new lines",
        &[("a", File(b"a\nb\n", DATA))],
        update!("@@\n+new"),
        Done(&[("a", File(b"a\nb\nnew\n", DATA))]),
    ),
    case(
        "only new lines after a lead",
        &[("a", File(b"a\nb\nc\n", DATA))],
        update!("@@ a\n+new"),
        Done(&[("a", File(b"a\nnew\nb\nc\n", DATA))]),
    )
    .unlike("appends them to the file whatever `@@` says; they go where it says"),
    case(
        "at the end of the file",
        &[("a", File(b"x\ny\nx\n", DATA))],
        update!("@@\n-x\n+z\n*** End of File"),
        Done(&[("a", File(b"x\ny\nz\n", DATA))]),
    ),
    case(
        "chunks in another order",
        &[("a", File(b"a\nb\nc\n", DATA))],
        update!("@@\n-c\n+C\n@@\n-a\n+A"),
        Done(&[("a", File(b"A\nb\nC\n", DATA))]),
    )
    .unlike("looks only behind the chunk before, and refuses; each is in one place, so the order says nothing"),
    case(
        "two sections for one file",
        &[("a", File(b"a\nb\n", DATA))],
        update!("@@\n-a\n+A\n*** Update File: a\n@@\n-b\n+B"),
        Done(&[("a", File(b"A\nB\n", DATA))]),
    ),
    case(
        "delete and add",
        &[("a", File(b"old\n", 0o755))],
        patch!("*** Delete File: a\n*** Add File: a\n+new"),
        Done(&[("a", File(b"new\n", 0o755))]),
    )
    .unlike("makes another file; together the two replace the content of one, which keeps its mode"),
    case(
        "add and update",
        &[],
        patch!("*** Add File: a\n+1\n*** Update File: a\n@@\n-1\n+2"),
        Done(&[("a", File(b"2\n", DATA))]),
    ),
    case(
        "an empty file",
        &[("a", File(b"", DATA))],
        update!("@@\n+x"),
        Done(&[("a", File(b"x\n", DATA))]),
    ),
    case(
        "every line goes",
        &[("a", File(b"a\n", DATA))],
        update!("@@\n-a"),
        Done(&[("a", File(b"", DATA))]),
    ),
    case(
        "an empty new file",
        &[],
        patch!("*** Add File: a"),
        Done(&[("a", File(b"", DATA))]),
    ),
    case(
        "an absolute name",
        &[],
        patch!("*** Add File: /tmp/portcullis_abs_test\n+x"),
        Refused(Code::NoSuchRoot),
    )
    .unlike("makes it, and leaves containment to a sandbox around it; no root reaches there"),
    case(
        "a name that leads out",
        &[],
        patch!("*** Add File: ../esc_test\n+x"),
        Refused(Code::Escape),
    )
    .unlike("makes it, as above"),
    case(
        "a here-document around it",
        &[],
        "<<'EOF'\n*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF",
        Done(&[("a", File(b"x\n", DATA))]),
    ),
    case(
        "blanks in and after a name",
        &[("a b", File(b"a\n", DATA))],
        patch!("*** Update File: a b \n@@\n-a\n+A"),
        Done(&[("a b", File(b"A\n", DATA))]),
    ),
    case(
        "a patch with Windows line ends",
        &[("a", File(b"a\nb\n", DATA))],
        "*** Begin Patch\r\n*** Update File: a\r\n@@\r\n-a\r\n+A\r\n*** End Patch",
        Done(&[("a", File(b"A\nb\n", DATA))]),
    ),
    case(
        "the header of a unified diff",
        &[("a", File(b"a\nb\n", DATA))],
        update!("@@ -1,2 +1,2 @@\n-a\n+A"),
        Done(&[("a", File(b"A\nb\n", DATA))]),
    )
    .unlike("refuses it; its line is a hint like any other"),
    case(
        "no newline at the end",
        &[("a", File(b"a", DATA))],
        update!("@@\n-a\n+A\n\\ No newline at end of file"),
        Done(&[("a", File(b"A", DATA))]),
    )
    .unlike("refuses the line; it says what it says in every other format"),
    case(
        "an environment",
        &[("a", File(b"a\n", DATA))],
        patch!("*** Environment ID: x\n*** Update File: a\n@@\n-a\n+A"),
        Done(&[("a", File(b"A\n", DATA))]),
    ),
    case(
        "a pipe",
        &[("a", Fifo)],
        patch!("*** Delete File: a"),
        Refused(Code::NotRegular),
    )
    .unlike("deletes it; only files, links and directories are this session's to remove"),
];
