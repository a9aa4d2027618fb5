//! What users of other file tools reported, of the kinds that concern reading: names, sizes,
//! special files, escapes and over-blocking. Each test bears the number of its row in the table
//! of reports; the quoted words are what was seen there.
//!
//! | row | report | test |
//! |---|---|---|
//! | 82 | a name with a no-break space cannot be opened | `names::bug_82_*` |
//! | 84 | a name that is not UTF-8 crashes or cannot be reached | `names::bug_84_*` |
//! | 85 | Unicode names are refused | `names::bug_85_*` |
//! | 86 | reading a large file fails instead of giving a part | `sizes::bug_86_*` |
//! | 87 | a file over 1 GiB takes all memory | `sizes::bug_87_*` |
//! | 88 | reading a FIFO or device hangs the server | `sizes::bug_88_*` |
//! | 90 | links, dangling links and "does not exist yet" lead out | `escapes::bug_90_*` |
//! | 91 | denials by spelling are bypassed | `escapes::bug_91_*` |
//! | 92 | legitimate things are blocked | `blocking::bug_92_*` |

mod blocking;
mod escapes;
mod names;
mod sizes;
