//! The attack matrix (rows 1 to 120), as far as it concerns reading: each test bears the number of
//! its row. A test without a number is of the issue's own list.
//!
//! Every verb is asked each time ([`portcullis_tests::hostile::every`]): stat with and without
//! following, read, list, glob, search, and `why` for each, which must say beforehand what they
//! say. Nothing outside the root may be opened, read, changed or named while a test runs
//! ([`portcullis_tests::hostile::Arena`]). The suite is the same on every file system: `TMPDIR`
//! says where it works.
//!
//! | rows | what | where |
//! |---|---|---|
//! | 1–12, 15 | how a name may be written | `syntax` |
//! | 13 | staging names | writing: this version makes none |
//! | 14 | aliases of a denied `.git` | `syntax`; writing below `.git` with writing |
//! | 16–21, 24, 25 | links followed and not | `links` |
//! | 22, 23 | dangling links: read here, created through with writing | `links` |
//! | 26–28 | writing, deleting, changing through links | writing |
//! | 29 | a stranger's link in a sticky directory | `links` (root) |
//! | 30 | a directory swapped for a link, one step at a time | `links`; racing in `race` |
//! | 31–34, 38, 39 | races of resolution, held parents | `race`; held parents with writing |
//! | 35–37 | roots and directories that move or go | `roots`; moving while walked in `race` |
//! | 40–43, 45 | mounts, subvolumes, walks that meet them | `mounts` (root); deleting with writing |
//! | 44 | deleting and moving a mount point | writing |
//! | 46 | roots in roots: merged, by the design, not refused | `nested` |
//! | 47 | linking and moving between roots | writing; reading across in `nested` |
//! | 48, 50, 51, 53, 54 | FIFOs, sockets, devices, one kind for another | `types` (51: root) |
//! | 49, 52 | types swapped between look and open | `race` |
//! | 55 | what cannot be a root | `roots` |
//! | 56–60 | sizes, growth, crowds, depth | `sizes`; deleting with writing |
//! | 61 | directories and files without permission | `rights` |
//! | 62–68 | set-user-id, immutable, rights to write | writing |
//! | 69 | listing gives no metadata | `policy` |
//! | 70 | forged, revoked and foreign ids | `roots` |
//! | 71 | descriptors from a worker | `rights` |
//! | 72 | descriptors to a worker: there are none | `rights` |
//! | 73–110 | creating, replacing, moving, deleting | writing |
//! | 111, 114 | pages of a directory that changes | `rights`; racing in `race` |
//! | 112 | walks under attack | `race` |
//! | 113 | what a search opens | `types` |
//! | 115–118 | descriptors, other sessions, leases | `rights` |
//! | 119 | a kernel without `openat2` or Landlock | `cage`: refused at mint |
//! | 120 | signals | `race` |
//! | – | denied, hidden, narrower roots | `policy` |
//! | – | spellings of denied, hidden and granted names | `spellings` |
//! | – | denials of objects | `objects` |
//! | – | the instruments themselves | `control` |
//! | – | the built-in table | `builtin` |
//! | – | parts of a root, a git worktree | `nested` |

mod builtin;
mod control;
mod links;
mod mounts;
mod nested;
mod objects;
mod policy;
mod rights;
mod roots;
mod sizes;
mod spellings;
mod syntax;
mod types;
