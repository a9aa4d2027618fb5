//! Every number that bounds a peer, each with its reason.

/// Largest frame, in bytes, header included. Two fit an unprivileged socket buffer.
pub const FRAME_BYTES_MAX: usize = 128 * 1024;
/// Largest file content carried by one frame, in bytes.
pub const CONTENT_BYTES_MAX: usize = 64 * 1024;
/// Bytes of a frame before its body.
pub const HEADER_BYTES: usize = 12;
/// Largest body, in bytes: what is left of a frame when it carries no content.
pub const BODY_BYTES_MAX: usize = FRAME_BYTES_MAX - HEADER_BYTES;

/// Longest name of one file, in bytes (the kernel's `NAME_MAX`).
pub const NAME_BYTES_MAX: usize = 255;
/// Longest path below a root, in bytes: `PATH_MAX` less the final zero byte, so that every path
/// is resolved by one system call.
pub const PATH_BYTES_MAX: usize = 4095;
/// Longest selector as a worker wrote it, in bytes. Longer than a path so that `a/../b` forms of
/// a legal path are still read, then judged.
pub const SELECTOR_BYTES_MAX: usize = 8192;
/// Longest label of a root, in bytes.
pub const LABEL_BYTES_MAX: usize = 64;
/// Longest glob or denial pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 1024;
/// Longest search pattern, in bytes.
pub const SEARCH_PATTERN_BYTES_MAX: usize = 4096;
/// Longest reason or note given by a runtime, in bytes.
pub const REASON_BYTES_MAX: usize = 256;
/// Longest cursor, in bytes: a path and a few numbers.
pub const CURSOR_BYTES_MAX: usize = PATH_BYTES_MAX + 64;

/// Roots in one authority.
pub const ROOTS_MAX: usize = 64;
/// Grants in one authority.
pub const GRANTS_MAX: usize = 256;
/// Denials in one authority, built-in ones included.
pub const DENIALS_MAX: usize = 512;
/// Exact inputs of one grant.
pub const INPUTS_MAX: usize = 64;
/// Longest file handle, in bytes, its type included (the kernel's `MAX_HANDLE_SZ` and 4).
pub const HANDLE_BYTES_MAX: usize = 132;
/// Sessions made within one another: a runtime's, and what was delegated from it step by step.
pub const LINEAGE_MAX: usize = 8;
/// Delegated sessions of one session that run at once.
pub const CHILDREN_MAX: usize = 32;
/// Proposals of one session that wait for a decision, or for their use.
pub const PROPOSALS_MAX: usize = 16;
/// Proposals of all sessions of one warden; each is a process that holds what it is about.
pub const PROPOSALS_ALL_MAX: usize = 256;
/// How long a proposal waits for its decision and its use, in milliseconds.
pub const PROPOSAL_TIME_MS: u64 = 24 * 60 * 60 * 1000;
/// Proposals in one page.
pub const PROPOSALS_PAGE_MAX: usize = 16;
/// Refusals in one page of their log.
pub const REFUSALS_PAGE_MAX: usize = 64;
/// Refusals kept in the log of them; the oldest go first.
pub const REFUSALS_KEPT: u64 = 10_000;
/// Sessions in one page of their records.
pub const SESSIONS_PAGE_MAX: usize = 64;
/// Longest secret a decider shows, in bytes.
pub const SECRET_BYTES_MAX: usize = 1024;
/// Encoded size of one authority, in bytes, so that it and its views fit one frame.
pub const AUTHORITY_BYTES_MAX: usize = 96 * 1024;

/// Files in one `read`.
pub const READ_FILES_MAX: usize = 64;
/// Include and exclude globs in one `search`.
pub const SEARCH_GLOBS_MAX: usize = 32;
/// Globs of file types in one `search`: of each direction.
pub const SEARCH_TYPE_GLOBS_MAX: usize = 256;
/// Types of objects in one request.
pub const KINDS_MAX: usize = 7;
/// Longest text of ignore rules that a runtime passes to a session, in bytes.
pub const IGNORE_BYTES_MAX: usize = 16 * 1024;
/// Largest ignore file that is read, in bytes; of a larger one no rule holds, and that is counted.
pub const IGNORE_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Rules of ignore files in force in one directory; further ones are counted.
pub const IGNORE_RULES_MAX: usize = 100_000;
/// Requests a worker may have unanswered. Kept by the client: a gate reads one at a time, so that
/// more of them wait in the socket, whose size bounds them.
pub const IN_FLIGHT_MAX: u16 = 64;
/// Streaming requests (list, glob, search) running at once in one session.
pub const STREAMS_MAX: u16 = 4;
/// Bytes of one frame of a stream, before it is sent.
pub const STREAM_FRAME_BYTES: usize = 60 * 1024;
/// How often a walk that sends nothing else says how far it is, in milliseconds.
pub const PROGRESS_MS: u32 = 500;
/// How long a peer may leave its socket full before its session is closed, in milliseconds.
pub const SEND_DEADLINE_MS: u32 = 10_000;

/// Bytes read to count lines, digest or find the end of one file; more is cut and said.
pub const SCAN_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Entries one page of a listing holds at most.
pub const LIST_ENTRIES_MAX: u32 = 1_000_000;
/// The same in another order than by name: the gate holds them in memory.
pub const SORTED_ENTRIES_MAX: u32 = 10_000;
/// Deepest directory a walk enters below its start. A path has no more names than that.
pub const WALK_DEPTH_MAX: u32 = 2048;
/// Largest file a search reads unless the request says otherwise, in bytes.
pub const SEARCH_FILE_BYTES_DEFAULT: u64 = 16 * 1024 * 1024;
/// Largest file a search may be told to read, in bytes.
pub const SEARCH_FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Matches one search returns at most before it is cut.
pub const SEARCH_MATCHES_MAX: u32 = 10_000_000;
/// Longest line a search returns, in bytes; longer ones are cut around the match and marked.
pub const SEARCH_LINE_BYTES_MAX: usize = 1024;
/// Context lines around a match.
pub const SEARCH_CONTEXT_MAX: u8 = 50;
/// Longest run of one search or walk, in milliseconds.
pub const STREAM_TIME_MS_MAX: u32 = 120_000;
/// Heap one search may use for a single line or a compiled pattern, in bytes.
pub const SEARCH_HEAP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Symbolic links followed in one resolution, as in the kernel.
pub const LINKS_MAX: usize = 40;
/// Times a resolution starts again when links change under it, before it says *contended*.
pub const RESOLVE_TRIES_MAX: usize = 16;
/// Descriptors in one message (the kernel's `SCM_MAX_FD`).
pub const DESCRIPTORS_MAX: usize = 253;
/// Sessions one warden serves at once.
pub const SESSIONS_MAX: usize = 4096;

/// Changes in one change set, and objects one of them may touch together.
pub const CHANGES_MAX: usize = 256;
/// Edits of one file in one change.
pub const EDITS_MAX: usize = 16_384;
/// Runs of lines in one hunk.
pub const PARTS_MAX: usize = 16_384;
/// Lines that lead to one hunk.
pub const LEADS_MAX: usize = 8;
/// Places of edits that one reply tells of; more are counted.
pub const MATCHED_MAX: usize = 512;
/// Bytes of a file shown with a conflict.
pub const REGION_BYTES_MAX: usize = 4096;
/// Largest change set with its content that is composed of several frames, in bytes: the gate holds
/// it in memory.
pub const COMPOSED_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Largest encoding of the set itself, in bytes.
pub const SET_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Largest file a worker may write, and most one session may have uploaded and not committed, in
/// bytes.
pub const WRITE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Largest file an edit reads and writes, in bytes: both versions are held in memory.
pub const EDIT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Uploads one session may have open.
pub const UPLOADS_MAX: usize = 256;
/// Directories one change may make on the way to its object.
pub const PARENTS_MAX: usize = 64;
/// Entries below a directory that is moved or deleted whole: each is judged before.
pub const TREE_ENTRIES_MAX: u64 = 1_000_000;
/// Deepest directory below one that is moved or deleted whole.
pub const TREE_DEPTH_MAX: u32 = 1024;
/// How long an effect waits for the locks it needs, in milliseconds.
pub const LOCK_WAIT_MS_MAX: u32 = 30_000;
/// How long a gate may hold locks, in milliseconds; then it is ended and its effect settled.
pub const LOCK_HOLD_MS_MAX: u32 = 60_000;
/// Encoded size of one effect (its intent, or its end) in bytes, so that it fits every frame that
/// tells of it.
pub const EFFECT_BYTES_MAX: usize = 96 * 1024;
/// Bytes of the difference kept with one receipt; what is cut is counted.
pub const DIFF_BYTES_MAX: usize = CONTENT_BYTES_MAX;
/// Receipts in one page of a log.
pub const LOG_PAGE_MAX: usize = 32;
/// Runs in one page of a list of runs.
pub const RUNS_PAGE_MAX: usize = 128;

/// Descriptors a gate may have open: its roots, its sockets, its uploads, and two for each change of
/// a large change set; what needs more is refused as exhausted before it is begun. More than a worker's ([`WORKER_DESCRIPTORS`]) and fewer than a
/// warden's, so that descriptors a worker leaves in flight cannot use up what a gate may send: the
/// kernel counts them for each user and compares with the sender's own limit.
pub const GATE_DESCRIPTORS: u64 = 960;
/// Descriptors a worker that `portcullis run` starts may have open.
pub const WORKER_DESCRIPTORS: u64 = 256;
