//! Help that teaches by example.

pub(super) const MAIN: &str = "\
Paths are relative to the session's first root. `/label/path` names another root by its label
(`whoami` lists them), and so does `--root label`. A host path beneath a root works as well.

Examples:
  portcullis-tool whoami                      what may I do here?
  portcullis-tool list --depth 2              names, two levels deep
  portcullis-tool read src/main.rs            a file, byte for byte
  portcullis-tool search TODO src             lines that hold TODO
  portcullis-tool write notes.txt < draft     make a file, or replace it
  portcullis-tool edit a.rs --old 'foo(' --new 'bar('
  portcullis-tool read a.rs --labels          each line behind a label that an edit can name
  portcullis-tool patch < fix.diff            all changes of a patch, or none
  portcullis-tool why read .env               which rule decides, and what would allow it
  portcullis-tool delegate --grant read:src -- CMD    CMD with less than this session has

Exit codes:
  0   done; for search: something was found
  1   not done; for search: nothing was found
  2   wrong usage
  75  conflict: a file is not as expected or was not seen whole, exists already, does not hold the
      text as often, or a label is not current; what is there now comes with it
  76  needs an approval: nothing was changed; the number of the proposal is said, and once a person
      has approved it, the very same command does it
  77  denied: a rule, a missing grant, or a path outside every root
  78  no session: PORTCULLIS_SOCKET_FD holds no session socket
  79  uncertain: it is not known whether the change was made; look at the files

A change is made whole or not at all, and says its receipt. Every error begins with whether anything
was changed. With --dry-run (-n) the difference is shown and nothing is changed.

What is cut or passed over is said on standard error, with its number and reason. With --json each
line of standard output is one document, refusals too; the last one of a stream is its summary.";

pub(super) const WHOAMI: &str = "\
Examples:
  portcullis-tool whoami
  portcullis-tool whoami --json

What needs an approval for each use is listed apart. Rules that hide are not listed: what they cover is
absent.";

pub(super) const STAT: &str = "\
Examples:
  portcullis-tool stat Cargo.toml src         with the stamp of this version, for --expect
  portcullis-tool stat --no-follow link       the link itself, and where it points
  portcullis-tool stat --json Cargo.toml      with inode, times and version stamp";

pub(super) const READ: &str = "\
Examples:
  portcullis-tool read README.md
  portcullis-tool read --lines 10:20 src/lib.rs     lines 10 to 20, both included
  portcullis-tool read --lines 10: --number a.rs    from line 10 on, with numbers
  portcullis-tool read --head 5 a.log b.log         the first lines of each
  portcullis-tool read --tail 20 a.log              the last lines
  portcullis-tool read --bytes 4096:512 data.bin    512 bytes from offset 4096
  portcullis-tool read --labels --lines 10:20 a.rs  12:k3f9q|text, for `edit --lines 12:k3f9q`
  portcullis-tool read --stamp a.txt                its version too (stderr), for --expect
  portcullis-tool read --survey --digest a.txt      lines, terminators, encoding, blake3 (stderr)

Content is written as it is. Of several files each has a header line; a file that is refused does
not keep the others from being read. A label is of one line of one version of the file: when anything
in it has changed, the label is refused and fresh ones are shown. Files over 64 MiB, and those with
zero bytes, have none.";

pub(super) const LIST: &str = "\
Examples:
  portcullis-tool list                        the root's own entries, names with a dot too
  portcullis-tool list src --depth 3 --long   type, mode, size, time, name
  portcullis-tool list -R -t f                all files, at any depth
  portcullis-tool list -R --skip-ignored --skip-hidden    without what .gitignore names
  portcullis-tool list -R -t f --sort newest --limit 10 -l    what was changed last
  portcullis-tool list --depth 9 -0 | xargs -0 …    raw names, for programs
  portcullis-tool list --limit 100 --cursor HEX     go on where a listing was cut

Directories end in a slash. Names are shown escaped (\\xNN) where they could confuse a terminal;
-0 and --json give their bytes.";

pub(super) const GLOB: &str = "\
Examples:
  portcullis-tool glob '*.rs'                 at any depth: no slash in the pattern
  portcullis-tool glob 'src/**/*.rs'          below src
  portcullis-tool glob '*.{png,svg}' docs     below docs
  portcullis-tool glob '*' -t f               every file of a project
  portcullis-tool glob '*.rs' -E target --sort newest --limit 5
  portcullis-tool glob '.github/**'           a dot that is written matches
  portcullis-tool glob -uu '*.pyc'            what is ignored as well, and names with a dot
  portcullis-tool glob 'Cargo.*' -0 | xargs -0 portcullis-tool stat

`*` and `?` match no slash, `**` any number of directories; `{a,b}`, `[a-z]`; case counts. What ignore
files name (.gitignore, .ignore), names with a dot and .git are passed over and counted on standard
error, unless -u, --hidden or --include-vcs say otherwise. Quote the pattern, or the shell expands it.";

pub(super) const SEARCH: &str = "\
Examples:
  portcullis-tool search 'fn main()'          those bytes, anywhere below the root
  portcullis-tool search -e 'fn \\w+\\(' src    a regular expression, below src
  portcullis-tool search -i -w error -C 2     any case, whole words, two lines around
  portcullis-tool search TODO -t rust -g '!tests/**'    by type, without some names
  portcullis-tool search TODO -g '*.rs' --exclude target
  portcullis-tool search -uu TODO             what is ignored as well, and names with a dot
  portcullis-tool search -U -e 'struct \\w+ \\{\\n\\s*\\}'    over the ends of lines
  portcullis-tool search TODO -l              only the names of files
  portcullis-tool search TODO -c              how many lines in each file
  portcullis-tool search TODO -l0 | xargs -0 …    raw names, for programs

The pattern is taken literally unless -e is given; a pattern that begins with `-` comes after `--`.
Exit code 0 when something was found, 1 when nothing was, 2 wrong usage. Lines are in the order of
their files' names. Passed over, and counted on standard error: what ignore files name (-u), names
with a dot and .git (-uu), files with zero bytes (-a), and large ones (--max-filesize). An answer that
is cut says so, and where to go on. Those who know rg: -e is needed for a regular expression,
--hidden does not go into .git, and -o, -r, --pcre2 are not there.";

pub(super) const WRITE: &str = "\
Examples:
  portcullis-tool write notes.txt < draft.txt       make it, or replace what you read whole
  portcullis-tool write a.rs --from /tmp/new.rs     content from a file this program can open
  portcullis-tool write a.rs --force < new.rs       replace it, read or not
  portcullis-tool write a.rs --create < new.rs      only if there is nothing of that name
  portcullis-tool write a.rs --expect STAMP < new   only if it is still the version you read
  portcullis-tool write -p docs/api/index.md < x    make missing directories
  portcullis-tool write run.sh --mode 755 < x       executable
  portcullis-tool write x.bat --eol crlf < x.txt    every line ends in CR LF, whatever x.txt has
  portcullis-tool write -n a.rs < new.rs            show the difference, change nothing

A file is replaced when this session read all of it, or wrote it, and it has that content still;
else nothing is changed, and the exit code is 75. --force (or --overwrite) replaces it unseen. A
replaced file keeps its mode, owner and attributes. Every byte is written as it comes unless --eol is
given, which is for text: content with zero bytes is refused with it. STAMP is what `stat` and `read --stamp` show.";

pub(super) const EDIT: &str = "\
Examples:
  portcullis-tool edit a.rs --old 'foo()' --new 'bar()'
  portcullis-tool edit a.rs --old x --new y --old 'f(1)' --new 'f(2)'    two places, together
  portcullis-tool edit a.rs --old foo --new bar --count 3       exactly three times
  portcullis-tool edit a.rs --old foo --new bar --all           every time, at least once
  portcullis-tool edit a.rs --old $'one\ntwo\n' --new ''        lines removed
  portcullis-tool edit a.rs --old-file before --new-file after  texts from files
  portcullis-tool edit a.rs --lines 12:k3f9q..14:9x2mm --new 'x' these lines, by their labels
  portcullis-tool edit a.rs --after 12:k3f9q --new 'x'          or --before; also several at once
  portcullis-tool edit a.rs --insert-after 0 --new '// first'   by number; 0 is the beginning
  portcullis-tool edit a.rs --old x --new y --match exact       byte for byte only
  portcullis-tool edit a.rs --old x --new y --allow indentation further in or out as well
  portcullis-tool edit -n a.rs --old x --new y                  show the difference

All edits are found in the file as it was before, and an old text must occur exactly once unless
--count or --all says otherwise. Texts are found byte for byte first; where they are not, line ends
(LF, CRLF) and then blanks at the ends of lines do not count; with --allow, then indentation, and
dashes, quotes and spaces of one kind. The first of these that finds it decides, and is said. Nothing
is ever taken because it is similar. Everything else keeps its bytes.

Labels come from `read --labels`, and after an edit by labels from its answer. One that is not current
changes nothing, and the lines as they are now are shown with fresh labels.";

pub(super) const PATCH: &str = "\
Examples:
  portcullis-tool patch < fix.diff                  a unified diff, as of `git diff` or `diff -u`
  portcullis-tool patch -n fix.diff                 show what it would do
  portcullis-tool patch --eol crlf < fix.diff       new files get CR LF at every line
  portcullis-tool patch <<'EOF'                     or like this
  *** Begin Patch
  *** Update File: src/a.rs
  @@ fn main() {
  -    foo();
  +    bar();
  *** Add File: notes.txt
  +one line
  *** End Patch
  EOF
  portcullis-tool patch <<'EOF'                     or as arguments of editing tools, one or a list
  [{\"path\": \"a.rs\", \"old_string\": \"foo()\", \"new_string\": \"bar()\", \"replace_all\": true},
   {\"path\": \"b.rs\", \"edits\": [{\"op\": \"delete\", \"at\": \"12:k3f9q\", \"last\": \"14:9x2mm\"}]}]
  EOF

All changes are made or none. Line numbers only say where to look first. A new file never replaces
one, a move neither. Texts match as those of `edit` do, but for diffs of `git`, which match byte for
byte; --match and --allow say otherwise for the whole patch. Lines put into a file take its line ends; --eol
is for the files that a patch gives whole. Names are below the root, or as for every
other command.";

pub(super) const MKDIR: &str = "\
Examples:
  portcullis-tool mkdir src/bin
  portcullis-tool mkdir -p docs/api/v2        with those on the way; no error when it is there
  portcullis-tool mkdir a b c                 all of them or none";

pub(super) const MOVE: &str = "\
Examples:
  portcullis-tool move a.rs b.rs              refused when b.rs exists
  portcullis-tool move a.rs src/a.rs -p       make missing directories
  portcullis-tool move new.rs a.rs --replace            replace a file or link
  portcullis-tool move new.rs a.rs --replace=STAMP      only that version of it
  portcullis-tool move -n old new             show what it would do

The second name is the whole new name, not a directory to put it in. Links are moved as links, and
both names are in one root.";

pub(super) const DELETE: &str = "\
Examples:
  portcullis-tool delete a.txt b.txt          both or none
  portcullis-tool delete --expect STAMP a.txt           only the version you read
  portcullis-tool delete --dir empty          an empty directory
  portcullis-tool delete --tree build         a directory with everything below it
  portcullis-tool delete -n --tree build      show what it would do

Links are removed as links. --tree needs a verb of its own, delete-tree (`whoami` lists yours).";

pub(super) const CHMOD: &str = "\
Examples:
  portcullis-tool chmod 755 run.sh
  portcullis-tool chmod 600 a b               both or none

Bits are octal, at most 777: set-id bits are never set.";

pub(super) const LINK: &str = "\
Examples:
  portcullis-tool link start.md docs/index.md        leads to docs/start.md
  portcullis-tool link ../README.md docs/index.md    leads to the file above docs
  portcullis-tool link -p v2 docs/api/latest         make missing directories

The text is relative to the directory of the link and leads to a place below the root; `..` stands
only at its beginning. A link never replaces anything.";

pub(super) const WHY: &str = "\
Examples:
  portcullis-tool why read .env               the rule that refuses it, by name
  portcullis-tool why list src                the grant that allows it
  portcullis-tool why write src/a.rs          may I change it?
  portcullis-tool why search /etc/passwd      a path outside every root

Nothing is opened for content. The exit code is 0 when there is an answer, whatever it is.";

pub(super) const DELEGATE: &str = "\
Examples:
  portcullis-tool delegate --grant reading:src -- ./check    read src, and nothing else
  portcullis-tool delegate --grant read,write:new:out -- ./make    new files in out, none replaced
  portcullis-tool delegate --grant reading:. --ask write:. --expires 10m -- ./helper
  portcullis-tool delegate --grant reading:. --budget operations=100 -- ./helper

The command gets a session of its own in place of this one. It may do what is named here as far as
this session may, and is told of no more; what `whoami` says in it is what it got. Rules that deny
hold in it as well. It is over when the command ends, or this session. VERBS are verbs joined by
commas, write:new and the like for a mode of one, or reading, writing, all.

The exit code is the command's; 126 or 127 when it cannot be run. Budgets are taken from this
session's for good.";

pub(super) const COMPLETIONS: &str = "\
Examples:
  portcullis-tool completions bash > ~/.local/share/bash-completion/completions/portcullis-tool
  portcullis-tool completions zsh > ~/.zfunc/_portcullis-tool
  portcullis-tool completions fish > ~/.config/fish/completions/portcullis-tool.fish";
