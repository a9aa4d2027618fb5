//! The attack matrix (rows 1 to 120): each test bears the number of its row. A test without a
//! number is of the issue's own list. What concerns reading is here; what changes files is in
//! `effects`, whose modules are named `effects::…` below.
//!
//! Every verb is asked each time. Reading ([`portcullis_tests::hostile::every`]): stat with and
//! without following, read, list, glob, search, and `why` for each, which must say beforehand what
//! they say. Writing (`Deed` of `effects`): write, create, edit, mkdir, move from, to and onto,
//! delete, delete-tree, chmod, link, dry and done, and an upload. Nothing outside the root may be
//! opened, read, changed or named while a test runs ([`portcullis_tests::hostile::Arena`]). The
//! suites are the same on every file system: `TMPDIR` says where they work.
//!
//! | rows | what | where |
//! |---|---|---|
//! | 1–12, 15 | how a name may be written | `syntax`; `effects::names`, 10 also `effects::limits` |
//! | 13 | names of the broker's temporaries | `effects::names` |
//! | 14 | aliases of a denied `.git` | `syntax`; `effects::denied` with the table for writing |
//! | 16–21, 24, 25 | links followed and not | `links`; 16 to 21 `effects::links` |
//! | 22, 23 | dangling links | `links`; `effects::links`, 23 also `effects::mkdir` |
//! | 26–28 | writing, deleting, changing through links | `effects::links` |
//! | 29 | a stranger's link in a sticky directory | `links`, `effects::links` (root) |
//! | 30 | a directory swapped for a link, one step at a time | `links`; racing in `race` |
//! | 31–34, 38, 39 | races of resolution, held parents | `race` |
//! | 35–37 | roots and directories that move or go | `roots`; moving while walked in `race` |
//! | 40–43, 45 | mounts, subvolumes, walks that meet them | `mounts` (root) |
//! | 44, 45 | deleting and moving a mount point, or a tree with one | `effects::rename` (root) |
//! | 46 | roots in roots: merged, by the design, not refused | `nested` |
//! | 47 | linking and moving between roots | `effects::rename`; reading across in `nested` |
//! | 48, 50, 51, 53, 54 | FIFOs, sockets, devices, one kind for another | `types`, `effects::types` (51: root) |
//! | 49, 52 | types swapped between look and open | `effects::types` by steps; `race` |
//! | 55 | what cannot be a root | `roots` |
//! | 56–60 | sizes, growth, crowds, depth | `sizes`; 56 `effects::types`, 60 `effects::delete` |
//! | 61 | directories and files without permission | `rights`, `effects::metadata` |
//! | 62, 63 | set-id, capabilities, immutable, append-only | `effects::metadata` (63: root) |
//! | 64, 65, 67, 68 | rights to read only; no verb gives another | `effects::policy` |
//! | 66 | what may be written beside what may be read | `effects::policy`, `effects::rename` |
//! | 69 | listing gives no metadata | `policy` |
//! | 70 | forged, revoked and foreign ids | `roots`, `effects::policy` |
//! | 71 | descriptors from a worker | `rights` |
//! | 72 | descriptors to a worker: there are none | `rights` |
//! | 73–75, 77 | creating | `effects::create` |
//! | 76, 90 | no reader sees a part of a version, or none | `effects::replace` |
//! | 78, 96 | the end of a gate or warden in the middle | not here: settling |
//! | 79 | no `AT_EMPTY_PATH` after a change of credentials: a gate changes none once it serves | – |
//! | 80–83, 86, 87, 91, 92 | replacing | `effects::replace` |
//! | 84, 85, 88, 89 | replacing against writers outside the broker | `race` |
//! | 93, 110 | metadata kept and refused | `effects::metadata` |
//! | 94 | full disks, size limits | `effects::limits`; at each call: faults on purpose |
//! | 95 | a set that fails at any place | `effects::changeset` |
//! | 97 | errors of the disk | faults on purpose |
//! | 98–101 | moving | `effects::rename`; 98, 101 racing in `race` |
//! | 102–104, 106 | deleting | `effects::delete`; 102, 104, 105 racing in `race` |
//! | 107, 108 | making directories | `effects::mkdir`; 109 in `race` |
//! | 111, 114 | pages of a directory that changes | `rights`; racing in `race` |
//! | 112 | walks under attack | `race` |
//! | 113 | what a search opens | `types` |
//! | 115, 116, 118 | descriptors, leases | `rights`, `effects::limits` |
//! | 117 | other sessions | `rights` |
//! | 119 | a kernel without `openat2` or Landlock | `cage`: refused at mint |
//! | 120 | signals | `race`, `effects::limits` |
//! | – | uploads | `effects::uploads` |
//! | – | dry runs | `effects::dry` |
//! | – | denied, hidden, narrower roots | `policy`, `effects::policy` |
//! | – | spellings of denied, hidden and granted names | `spellings` |
//! | – | denials of objects | `objects` |
//! | – | the instruments themselves | `control` |
//! | – | the built-in table | `builtin`, `effects::denied` |
//! | – | parts of a root, a git worktree | `nested` |
//! | – | the kernel's own refusals, with verbs that change files | `cage` |

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
