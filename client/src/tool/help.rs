//! Help that teaches by example.

pub(super) const MAIN: &str = "\
Paths are relative to the session's first root. `/label/path` names another root by its label
(`whoami` lists them), and so does `--root label`. A host path beneath a root works as well.

Examples:
  portcullis-tool whoami                      what may I do here?
  portcullis-tool list --depth 2              names, two levels deep
  portcullis-tool read src/main.rs            a file, byte for byte
  portcullis-tool search TODO src             lines that hold TODO
  portcullis-tool why read .env               which rule decides, and what would allow it

Exit codes:
  0   done; for search: something was found
  1   not done; for search: nothing was found
  2   wrong usage
  76  needs approval (kept for later)
  77  denied: a rule, a missing grant, or a path outside every root
  78  no session: PORTCULLIS_SOCKET_FD holds no session socket

What is cut or passed over is said on standard error, with its number and reason. With --json each
line of standard output is one document, refusals too; the last one of a stream is its summary.";

pub(super) const WHOAMI: &str = "\
Examples:
  portcullis-tool whoami
  portcullis-tool whoami --json

Rules that hide are not listed: what they cover is absent.";

pub(super) const STAT: &str = "\
Examples:
  portcullis-tool stat Cargo.toml src
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
  portcullis-tool read --survey --digest a.txt      lines, terminators, encoding, blake3 (stderr)

Content is written as it is. Of several files each has a header line; a file that is refused does
not keep the others from being read.";

pub(super) const LIST: &str = "\
Examples:
  portcullis-tool list                        the root's own entries
  portcullis-tool list src --depth 3 --long   type, mode, size, time, name
  portcullis-tool list --depth 9 -0 | xargs -0 …    raw names, for programs
  portcullis-tool list --limit 100 --cursor HEX     go on where a listing was cut

Directories end in a slash. Names are shown escaped (\\xNN) where they could confuse a terminal;
-0 and --json give their bytes.";

pub(super) const GLOB: &str = "\
Examples:
  portcullis-tool glob '*.rs'                 at any depth: no slash in the pattern
  portcullis-tool glob 'src/**/*.rs'          below src
  portcullis-tool glob '*.{png,svg}' docs     below docs
  portcullis-tool glob 'Cargo.*' -0 | xargs -0 portcullis-tool stat

`*` and `?` match no slash, `**` any number of directories; case counts; a leading dot is nothing
special. Quote the pattern, or the shell expands it.";

pub(super) const SEARCH: &str = "\
Examples:
  portcullis-tool search 'fn main()'          those bytes, anywhere below the root
  portcullis-tool search -e 'fn \\w+\\(' src    a regular expression, below src
  portcullis-tool search -i -w error -C 2     any case, whole words, two lines around
  portcullis-tool search TODO -g '*.rs' --exclude target
  portcullis-tool search TODO -l              only the names of files
  portcullis-tool search TODO -c              how many lines in each file

The pattern is taken literally unless -e is given; a pattern that begins with `-` comes after `--`.
Exit code 0 when something was found, 1 when nothing was. Files with zero bytes, large ones, and
directories of version control are passed over and counted on standard error.";

pub(super) const WHY: &str = "\
Examples:
  portcullis-tool why read .env               the rule that refuses it, by name
  portcullis-tool why list src                the grant that allows it
  portcullis-tool why search /etc/passwd      a path outside every root

Nothing is opened for content. The exit code is 0 when there is an answer, whatever it is.";

pub(super) const COMPLETIONS: &str = "\
Examples:
  portcullis-tool completions bash > ~/.local/share/bash-completion/completions/portcullis-tool
  portcullis-tool completions zsh > ~/.zfunc/_portcullis-tool
  portcullis-tool completions fish > ~/.config/fish/completions/portcullis-tool.fish";
