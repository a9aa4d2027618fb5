//! Session endpoint: what a worker asks, and what its gate answers.

use crate::authority::AuthorityId;
use crate::bounded::{Bytes, Few, Text};
use crate::frame::messages;
use crate::limits::{
    CURSOR_BYTES_MAX, DENIALS_MAX, GRANTS_MAX, PATH_BYTES_MAX, PATTERN_BYTES_MAX, READ_FILES_MAX,
    REASON_BYTES_MAX, ROOTS_MAX, SEARCH_GLOBS_MAX, SEARCH_LINE_BYTES_MAX, SEARCH_PATTERN_BYTES_MAX,
    SELECTOR_BYTES_MAX,
};
use crate::path::{Label, RelPath};
use crate::refusal::{Refusal, Rule};
use crate::verb::{Verb, VerbSet};
use crate::view::{Binding, Kind, RootIndex, Timestamp};
use serde::{Deserialize, Serialize};

messages! {
    /// Worker to gate.
    pub enum Request: tag 0x51, canonical true, content [Ping] {
        /// First message; again from each further program that takes its turn on the socket.
        0 = Hello(Hello),
        /// What may I do?
        1 = Whoami(Whoami),
        /// Look at one object.
        2 = Stat(Stat),
        /// Read files.
        3 = Read(Read),
        /// List a directory.
        4 = List(List),
        /// Find names.
        5 = Glob(Glob),
        /// Find lines.
        6 = Search(Search),
        /// Why would this be refused?
        7 = Why(Why),
        /// Stop a streaming request.
        8 = Cancel(Cancel),
        /// Send the content back.
        9 = Ping(Ping),
    }
}

messages! {
    /// Gate to worker. Every request ends in exactly one of: `Refused`, the reply of its verb, or
    /// (for `Read`, `List`, `Glob` and `Search`) `Done` after zero or more parts.
    pub enum Reply: tag 0x52, canonical false, content [ReadPart, Pong] {
        /// Answers `Hello`.
        0 = Welcome(Welcome),
        /// Nothing happened, and why.
        1 = Refused(Refusal),
        /// Answers `Whoami`.
        2 = Whoami(Identity),
        /// Answers `Stat`.
        3 = Stat(Binding),
        /// A part of one file, its bytes in the content.
        4 = ReadPart(ReadPart),
        /// Entries of a listing or glob.
        5 = Entries(Entries),
        /// Results of a search.
        6 = Matches(Matches),
        /// Ends a streaming request.
        7 = Done(Done),
        /// Answers `Why`.
        8 = Why(Verdict),
        /// Answers `Ping`.
        9 = Pong(Ping),
        /// The session ends now; belongs to no request.
        10 = Closing(Closing),
    }
}

/// Distinguishes one life of a broker from the next: 128 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Incarnation(pub [u8; 16]);

/// A session, unique in one incarnation; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub u64);

/// What bounds one peer, fixed for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// Largest frame, in bytes.
    pub frame_bytes: u32,
    /// Most content in one frame, in bytes.
    pub content_bytes: u32,
    /// Requests unanswered at once.
    pub in_flight: u16,
    /// Streaming requests at once.
    pub streams: u16,
    /// Bytes of requests waiting in the socket at most.
    pub in_flight_bytes: u32,
    /// How long the peer may leave its socket full, in milliseconds.
    pub send_deadline_ms: u32,
}

/// The client's hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`crate::VERSION`].
    pub version: u16,
    /// What the client can take. Frames smaller than the gate's are refused; for the numbers of
    /// requests and streams the smaller of both holds.
    pub limits: Limits,
    /// The incarnation the client expects, when it was told one; another refuses the session.
    pub incarnation: Option<Incarnation>,
    /// Name and version of the client, for logs.
    pub client: Text<64>,
}

/// The gate's hello.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// [`crate::VERSION`].
    pub version: u16,
    /// What holds from now on.
    pub limits: Limits,
    /// This broker.
    pub incarnation: Incarnation,
    /// This session.
    pub session: SessionId,
}

/// A name as the worker wrote it, in a root or in the session's first one. See
/// [`crate::path::parse_selector`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Selector {
    /// The root's label; none is the first root, or what an absolute path says.
    pub root: Option<Label>,
    /// The bytes.
    pub path: Bytes<SELECTOR_BYTES_MAX>,
}

/// Asks what the session may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whoami {}

/// Whether a link in the last component is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Links {
    /// Followed, as long as it stays below the root.
    Follow,
    /// Looked at as a link.
    Keep,
}

/// Asks for one object's observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// Which object.
    pub selector: Selector,
    /// What a link in the last component means.
    pub links: Links,
}

/// Which part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Range {
    /// `length` bytes from `offset`; `u64::MAX` reads to the end.
    Bytes {
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// `count` lines from line `first`, which counts from 1.
    Lines {
        /// First line.
        first: u64,
        /// How many.
        count: u64,
    },
    /// The first lines.
    Head {
        /// How many.
        count: u64,
    },
    /// The last lines; a final newline does not start another.
    Tail {
        /// How many.
        count: u64,
    },
}

/// What is computed over the whole file beside the part asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Survey {
    /// Nothing: only the part is read.
    None,
    /// Lines, terminators, encoding.
    Text,
    /// The same and the blake3 digest.
    TextAndDigest,
}

/// Asks for content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Read {
    /// The files, answered in this order.
    pub selectors: Few<Selector, READ_FILES_MAX>,
    /// Which part of each.
    pub range: Range,
    /// What else to compute.
    pub survey: Survey,
}

/// Terminators and encoding of a whole file, or of what was read of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TextSurvey {
    /// Lines; a last one without a terminator counts.
    pub lines: u64,
    /// Lines that end in `\n` alone.
    pub lf: u64,
    /// Lines that end in `\r\n`.
    pub crlf: u64,
    /// Lone `\r`.
    pub cr: u64,
    /// Whether the last line has a terminator.
    pub final_newline: FinalNewline,
    /// A guess from the bytes.
    pub encoding: Encoding,
}

/// Whether a file's last line has a terminator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FinalNewline {
    /// It has.
    Present,
    /// It has not.
    Absent,
    /// There is no line.
    Empty,
}

/// What the bytes look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Encoding {
    /// All bytes below 128, none zero.
    Ascii,
    /// Valid UTF-8.
    Utf8,
    /// Valid UTF-8 after a byte order mark.
    Utf8Bom,
    /// A UTF-16 byte order mark, little endian.
    Utf16Le,
    /// A UTF-16 byte order mark, big endian.
    Utf16Be,
    /// A zero byte: not text.
    Binary,
    /// No zero byte, but not UTF-8 either: an eight-bit encoding.
    Other,
}

impl Encoding {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ascii => "ascii",
            Self::Utf8 => "utf-8",
            Self::Utf8Bom => "utf-8-bom",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Binary => "binary",
            Self::Other => "other-8-bit",
        }
    }
}

/// A part of one file. A file has one part or more; the first has `head`, the last has `tail`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadPart {
    /// Which selector of the request.
    pub file: u16,
    /// Offset in the file of the first byte of the content.
    pub offset: u64,
    /// With the first part: what the selector was bound to.
    pub head: Option<Binding>,
    /// With the last part: how it ended.
    pub tail: Option<ReadTail>,
    /// Whether `Done` or another part follows, or this is the end of the whole request.
    pub more: More,
}

/// Whether a frame ends its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum More {
    /// Further frames follow.
    Follows,
    /// This is the last frame of the request.
    Last,
}

/// How the reading of one file ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadTail {
    /// The part asked for was read.
    Read(ReadEnd),
    /// Nothing of this file was read.
    Refused(Refusal),
}

/// The end of one file's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReadEnd {
    /// Number of the first line sent, for line ranges; 0 for byte ranges.
    pub first_line: u64,
    /// First byte after what was sent: where the next read goes on.
    pub next_offset: u64,
    /// Whether the file goes on after what was sent.
    pub rest: Rest,
    /// Lines and encoding of the whole file, when asked for.
    pub text: Option<TextSurvey>,
    /// blake3 of the whole file, when asked for.
    pub digest: Option<[u8; 32]>,
    /// How sure this is.
    pub steadiness: Steadiness,
}

/// What lies after the part that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Rest {
    /// Nothing: the file ends there.
    End,
    /// More bytes, not asked for.
    More,
    /// More bytes that were asked for, not sent because the scan limit was reached; text and
    /// digest cover only what was scanned and are absent.
    CutAtScanLimit,
}

/// Whether the file stood still while it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Steadiness {
    /// Its stamp was the same before and after.
    Steady,
    /// Its stamp moved: the bytes may be of two versions.
    Torn,
}

/// Which fields a listing has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Detail {
    /// Name and type.
    Names,
    /// Also size, mode, time and the text of links: one system call for each entry.
    Full,
}

/// A place in a listing, to go on from. Opaque; made by the gate, checked when it comes back.
pub type Cursor = Bytes<CURSOR_BYTES_MAX>;

/// Asks for the names below a directory, sorted by the bytes of each name, a directory right before
/// its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// The directory.
    pub selector: Selector,
    /// Levels below it: 1 is its own entries.
    pub depth: u32,
    /// Which fields.
    pub detail: Detail,
    /// Entries at most, up to [`crate::limits::LIST_ENTRIES_MAX`].
    pub limit: u32,
    /// Where to go on.
    pub cursor: Option<Cursor>,
}

/// Asks for the names below a directory that match a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Glob {
    /// The directory.
    pub selector: Selector,
    /// `*` and `?` do not match a slash, `**` any number of directories, `{a,b}`, `[a-z]`; case
    /// counts; a leading dot is nothing special; a pattern without a slash matches at any depth.
    pub pattern: Bytes<PATTERN_BYTES_MAX>,
    /// Which fields.
    pub detail: Detail,
    /// Entries at most.
    pub limit: u32,
    /// Where to go on.
    pub cursor: Option<Cursor>,
}

/// How a search pattern is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Syntax {
    /// Byte for byte.
    Literal,
    /// A regular expression of the `regex` engine: linear time, no look-around, no
    /// back-references.
    Regex,
}

/// Whether letter case counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Case {
    /// It counts.
    Sensitive,
    /// It does not.
    Insensitive,
    /// It counts when the pattern has an upper-case letter.
    Smart,
}

/// Where a match may begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Boundaries {
    /// Anywhere.
    Anywhere,
    /// Only at the ends of words.
    Word,
}

/// What a search returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SearchMode {
    /// Matching lines.
    Content {
        /// Lines before each.
        before: u8,
        /// Lines after each.
        after: u8,
    },
    /// Names of files with a match.
    Files,
    /// Matching lines counted for each file.
    Count,
}

/// Directories of version control (`.git`, `.hg`, `.svn`, `.jj`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum VersionControl {
    /// Passed over, and counted.
    Skip,
    /// Searched like any other.
    Include,
}

/// Asks for lines that match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// A directory, or one file.
    pub selector: Selector,
    /// What to look for.
    pub pattern: Bytes<SEARCH_PATTERN_BYTES_MAX>,
    /// How it is read.
    pub syntax: Syntax,
    /// Whether letter case counts.
    pub case: Case,
    /// Where a match may begin and end.
    pub boundaries: Boundaries,
    /// What comes back.
    pub mode: SearchMode,
    /// Only files that match one of these; none is all.
    pub include: Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_GLOBS_MAX>,
    /// No file or directory that matches one of these.
    pub exclude: Few<Bytes<PATTERN_BYTES_MAX>, SEARCH_GLOBS_MAX>,
    /// Directories of version control.
    pub version_control: VersionControl,
    /// Matching lines at most, in all.
    pub limit: u32,
    /// Matching lines at most in one file; more are counted in the statistics.
    pub limit_per_file: u32,
    /// Larger files are passed over, and counted.
    pub file_bytes_max: u64,
    /// Longest run, in milliseconds.
    pub time_ms: u32,
}

/// Asks why a verb on an object is allowed or refused. The object is reached exactly as the verb
/// would reach it; nothing of it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// The verb.
    pub verb: Verb,
    /// The object.
    pub selector: Selector,
}

/// Stops the streaming request with this id; it still ends in `Done`. Has no answer of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// The request to stop.
    pub request: u32,
}

/// Sends the content back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ping {}

/// What a session may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The session.
    pub session: SessionId,
    /// Its authority.
    pub authority: AuthorityId,
    /// The end user on whose behalf it acts.
    pub owner: Text<REASON_BYTES_MAX>,
    /// When it expires, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
    /// Its roots; the first is the default.
    pub roots: Few<RootView, ROOTS_MAX>,
    /// Its grants.
    pub grants: Few<GrantView, GRANTS_MAX>,
    /// Its denials that can be seen. Hiding ones are absent.
    pub denials: Few<DenialView, DENIALS_MAX>,
    /// What bounds it.
    pub limits: Limits,
}

/// A root as its worker knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootView {
    /// Its name: `/label/…` is a path in it.
    pub label: Label,
    /// What it is for.
    pub scope: crate::authority::Scope,
}

/// A grant as its worker knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantView {
    /// The root.
    pub root: RootIndex,
    /// The subtree.
    pub prefix: RelPath,
    /// The verbs.
    pub verbs: VerbSet,
}

/// A visible denial as its worker knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialView {
    /// Name and reason.
    pub rule: Rule,
    /// The verbs it refuses.
    pub verbs: VerbSet,
    /// Its pattern; none for a denial of one object.
    pub pattern: Option<Bytes<PATTERN_BYTES_MAX>>,
}

/// One object of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its path below the root.
    pub path: RelPath,
    /// Its type; links are not followed.
    pub kind: Kind,
    /// The rule that denies reading it, if one does.
    pub denied: Option<Text<REASON_BYTES_MAX>>,
    /// With [`Detail::Full`], when it could be had.
    pub detail: Option<EntryDetail>,
}

/// The further fields of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryDetail {
    /// Size in bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u16,
    /// Last change of content.
    pub modified: Timestamp,
    /// The text of the link, for links.
    pub link: Option<Bytes<PATH_BYTES_MAX>>,
}

/// Some entries of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries {
    /// With the first frame: what the selector was bound to.
    pub start: Option<Binding>,
    /// The entries, in order.
    pub entries: Vec<Entry>,
}

/// Some results of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matches {
    /// With the first frame: what the selector was bound to.
    pub start: Option<Binding>,
    /// The results, in order of path, then line.
    pub found: Vec<Found>,
}

/// One result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Found {
    /// The lines after this one belong to this file.
    File {
        /// Its path below the root.
        path: RelPath,
    },
    /// A line of the last `File`.
    Line(FoundLine),
    /// A file and its number of matching lines.
    Count {
        /// Its path below the root.
        path: RelPath,
        /// Matching lines.
        lines: u64,
    },
}

/// A line of a search result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundLine {
    /// Its number, from 1.
    pub number: u64,
    /// Offset in the file of its first byte.
    pub offset: u64,
    /// First byte of the first match in the line, from 1; 0 for context.
    pub column: u32,
    /// Its bytes without terminator, or those around the match.
    pub text: Bytes<SEARCH_LINE_BYTES_MAX>,
    /// Bytes of the line before `text` that were left out.
    pub cut_before: u32,
    /// Bytes of the line after `text` that were left out.
    pub cut_after: u32,
}

/// How a streaming request ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Done {
    /// Whether everything asked for was looked at.
    pub completeness: Completeness,
    /// What was looked at and what was passed over.
    pub statistics: Statistics,
}

/// Whether an answer is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Completeness {
    /// Nothing is missing but what the statistics count.
    Complete,
    /// It stopped early.
    Cut {
        /// Why.
        reason: CutReason,
        /// Where to go on, if it can.
        cursor: Option<Cursor>,
    },
}

/// Why an answer stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CutReason {
    /// The limit of the request was reached.
    Limit,
    /// Its time was up.
    Time,
    /// It was cancelled.
    Cancelled,
    /// The start itself changed or went away.
    Changed,
}

impl CutReason {
    /// Its name, as commands spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Time => "time",
            Self::Cancelled => "cancelled",
            Self::Changed => "changed",
        }
    }
}

/// What a walk looked at, and what it passed over and why. Hidden objects are in none of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
pub struct Statistics {
    /// Directories entered.
    pub directories: u64,
    /// Entries seen, or files searched.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Entries sent, or matching lines sent.
    pub sent: u64,
    /// Matching lines not sent because of a limit on one file.
    pub over_file_limit: u64,
    /// A zero byte was met; the rest of the file was passed over.
    pub binary: u64,
    /// Passed over: larger than the limit.
    pub too_large: u64,
    /// Passed over: the file's own permissions, or an error of the disk.
    pub unreadable: u64,
    /// Passed over: a denial.
    pub denied: u64,
    /// Passed over: a link, FIFO, socket or device where a file is wanted.
    pub not_regular: u64,
    /// Passed over: another file system is mounted there.
    pub mounts: u64,
    /// Passed over: changed between being listed and being opened.
    pub changed: u64,
    /// Passed over: path over 4095 bytes or deeper than the limit.
    pub too_deep: u64,
    /// Passed over: directories of version control.
    pub version_control: u64,
    /// Passed over: excluded by the request's own globs.
    pub excluded: u64,
}

/// The answer to `Why`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// It would be admitted: by this grant, on this object.
    Allowed {
        /// The grant.
        grant: GrantView,
        /// The object.
        binding: Binding,
    },
    /// It would be refused like this.
    Refused(Refusal),
}

/// Why a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Closing {
    /// The peer sent something that is no frame.
    NotAFrame,
    /// The peer did not read in time.
    NotReading,
    /// The peer's version or expected broker is another.
    Incompatible,
}
