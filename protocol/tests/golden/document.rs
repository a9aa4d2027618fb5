//! `docs/PROTOCOL.md` says what the code does: its quoted frames, codes, limits and tables.

use crate::values::Case;
use crate::{files, parse_hex, replies, requests, trusted};
use portcullis_protocol::approval::{Approver, ProposalState};
use portcullis_protocol::authority::{
    Budget, DenialTarget, DurableField, Effect, FileSystem, Inputs, Scope,
};
use portcullis_protocol::control::{
    Deciding, Decision, DenialOrderTarget, OverCause, Proof, Sharing, Whose, Witness,
};
use portcullis_protocol::frame::Message;
use portcullis_protocol::ledger::{
    ASKED_BYTES_MAX, Claimed, Duty, NOTES_MAX, SessionEnd, TreeLock,
};
use portcullis_protocol::limits as l;
use portcullis_protocol::refusal::{Code, Refusal};
use portcullis_protocol::session as s;
use portcullis_protocol::verb::{Mode, ModeSet, Verb, VerbSet};
use portcullis_protocol::view::{Kind, PathState, Role};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

fn document() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/PROTOCOL.md");
    std::fs::read_to_string(path).unwrap()
}

/// The cells of every row of every table, without back quotes.
pub(crate) fn rows() -> Vec<Vec<String>> {
    document()
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|row| row.split(" | ").map(|cell| cell.replace('`', "")).collect())
        .collect()
}

#[test]
fn quoted_frames_are_the_golden_files() {
    let files = files();
    let document = document();
    let mut quoted = BTreeSet::new();
    for block in document.split("```golden ").skip(1) {
        let (name, rest) = block.split_once('\n').unwrap();
        let (block, _) = rest.split_once("```").unwrap();
        let bytes: String = block
            .lines()
            .map(|line| line.split(';').next().unwrap_or_default())
            .collect();
        assert_eq!(Some(&parse_hex(&bytes)), files.get(name), "{name}");
        quoted.insert(name.to_owned());
    }
    assert!(quoted.len() >= 3, "only {quoted:?} quoted");
}

/// Tag, code, name, and whether it carries content.
type MessageRow = (u8, u16, String, bool);

fn of<M: Message + Debug>(cases: &[Case<M>]) -> BTreeSet<MessageRow> {
    cases
        .iter()
        .map(|case| {
            let shown = format!("{:?}", case.message);
            let name = shown.split('(').next().unwrap_or_default().to_owned();
            (
                M::TAG,
                case.message.code(),
                name,
                case.message.carries_content(),
            )
        })
        .collect()
}

#[test]
fn message_tables_are_the_messages() {
    let mut real = of(&requests::cases());
    real.extend(of(&replies::cases()));
    real.extend(of(&trusted::orders()));
    real.extend(of(&trusted::answers()));
    real.extend(of(&trusted::commands()));
    real.extend(of(&trusted::events()));
    let mut told = BTreeSet::new();
    for row in rows() {
        let Some(tag) = row[0].strip_prefix("0x").filter(|_| row.len() == 6) else {
            continue;
        };
        let tag = u8::from_str_radix(tag, 16).unwrap();
        let content = match row[4].as_str() {
            "yes" => true,
            "no" => false,
            other => panic!("content: {other}"),
        };
        let message = (tag, row[1].parse().unwrap(), row[2].clone(), content);
        assert!(told.insert(message), "{row:?} stands twice");
    }
    assert_eq!(told, real);
}

#[test]
fn the_table_of_refusals_is_the_codes() {
    let start = rows().iter().position(|row| row[0] == "number").unwrap() + 1;
    let rows: Vec<_> = rows().into_iter().skip(start).collect();
    for number in 0..=u8::MAX {
        let Ok(code) = postcard::from_bytes::<Code>(&[number]) else {
            assert!(number > 53, "code {number} is gone");
            let next = rows.get(usize::from(number)).map(|row| row[0].as_str());
            assert_ne!(next, Some(number.to_string().as_str()), "a row too many");
            break;
        };
        let row = &rows[usize::from(number)];
        assert_eq!(row[0], number.to_string());
        assert_eq!(row[1], code.name());
        assert_eq!(
            row[3],
            if code.is_retryable() { "yes" } else { "no" },
            "{code:?}"
        );
        let said = Refusal::new(code).to_string().replace('`', "");
        let remedy = match row[4].as_str() {
            "—" => String::new(),
            remedy => format!("; {remedy}"),
        };
        assert_eq!(said, format!("nothing was changed: {}{remedy}", row[2]));
    }
}

macro_rules! constants {
    ($($name:ident)*) => { [$((stringify!($name), l::$name.to_string()),)*] };
}

#[test]
fn the_table_of_limits_is_the_constants() {
    let mut real: BTreeMap<&str, String> = constants! {
        FRAME_BYTES_MAX CONTENT_BYTES_MAX HEADER_BYTES BODY_BYTES_MAX NAME_BYTES_MAX
        PATH_BYTES_MAX SELECTOR_BYTES_MAX LABEL_BYTES_MAX PATTERN_BYTES_MAX
        SEARCH_PATTERN_BYTES_MAX REASON_BYTES_MAX CURSOR_BYTES_MAX ROOTS_MAX GRANTS_MAX
        DENIALS_MAX AUTHORITY_BYTES_MAX READ_FILES_MAX SEARCH_GLOBS_MAX SEARCH_TYPE_GLOBS_MAX
        KINDS_MAX IGNORE_BYTES_MAX IGNORE_FILE_BYTES_MAX IGNORE_RULES_MAX IN_FLIGHT_MAX STREAMS_MAX
        STREAM_FRAME_BYTES PROGRESS_MS SEND_DEADLINE_MS SCAN_BYTES_MAX LIST_ENTRIES_MAX
        SORTED_ENTRIES_MAX WALK_DEPTH_MAX
        SEARCH_FILE_BYTES_DEFAULT SEARCH_FILE_BYTES_MAX SEARCH_MATCHES_MAX SEARCH_LINE_BYTES_MAX
        SEARCH_CONTEXT_MAX STREAM_TIME_MS_MAX SEARCH_HEAP_BYTES_MAX LINKS_MAX RESOLVE_TRIES_MAX
        DESCRIPTORS_MAX SESSIONS_MAX CHANGES_MAX EDITS_MAX PARTS_MAX LEADS_MAX MATCHED_MAX
        REGION_BYTES_MAX COMPOSED_BYTES_MAX SET_BYTES_MAX WRITE_BYTES_MAX
        EDIT_BYTES_MAX UPLOADS_MAX PARENTS_MAX TREE_ENTRIES_MAX TREE_DEPTH_MAX LOCK_WAIT_MS_MAX
        LOCK_HOLD_MS_MAX EFFECT_BYTES_MAX DIFF_BYTES_MAX LOG_PAGE_MAX RUNS_PAGE_MAX
        GATE_DESCRIPTORS WORKER_DESCRIPTORS INPUTS_MAX HANDLE_BYTES_MAX LINEAGE_MAX CHILDREN_MAX PROPOSALS_MAX PROPOSALS_ALL_MAX PROPOSAL_TIME_MS PROPOSALS_PAGE_MAX REFUSALS_PAGE_MAX REFUSALS_KEPT SESSIONS_PAGE_MAX SECRET_BYTES_MAX
    }
    .into();
    real.extend([
        ("TOUCHED_MAX", s::TOUCHED_MAX.to_string()),
        ("NOTES_MAX", NOTES_MAX.to_string()),
        ("ASKED_BYTES_MAX", ASKED_BYTES_MAX.to_string()),
    ]);
    let declared = include_str!("../../src/limits.rs").lines();
    for line in declared.filter_map(|line| line.strip_prefix("pub const ")) {
        let (name, _) = line.split_once(':').unwrap();
        assert!(real.contains_key(name), "{name} is not in this test");
    }
    let told: BTreeMap<String, String> = rows()
        .into_iter()
        .filter(|row| row.len() == 3 && real.contains_key(row[0].as_str()))
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    for (name, value) in &real {
        assert_eq!(told.get(*name), Some(value), "{name}");
    }
}

/// The row of one enum without fields, as it should be.
fn arms<E: DeserializeOwned + Debug>(name: &'static str) -> (&'static str, String) {
    let decoded = (0..=u8::MAX).map_while(|n| postcard::from_bytes::<E>(&[n]).ok());
    let arms: Vec<_> = decoded
        .enumerate()
        .map(|(n, arm)| format!("{n} {arm:?}"))
        .collect();
    (name, arms.join(", "))
}

#[test]
fn the_table_of_enums_is_the_enums() {
    let real = [
        arms::<Verb>("Verb"),
        arms::<Kind>("Kind"),
        arms::<Role>("Role"),
        arms::<Scope>("Scope"),
        arms::<FileSystem>("FileSystem"),
        arms::<Effect>("Effect"),
        arms::<s::Links>("Links"),
        arms::<s::Survey>("Survey"),
        arms::<s::FinalNewline>("FinalNewline"),
        arms::<s::Encoding>("Encoding"),
        arms::<s::More>("More"),
        arms::<s::Rest>("Rest"),
        arms::<s::Steadiness>("Steadiness"),
        arms::<s::Detail>("Detail"),
        arms::<s::Ignored>("Ignored"),
        arms::<s::DotNames>("DotNames"),
        arms::<s::Order>("Order"),
        arms::<s::Syntax>("Syntax"),
        arms::<s::Case>("Case"),
        arms::<s::Boundaries>("Boundaries"),
        arms::<s::MultiLine>("MultiLine"),
        arms::<s::Sense>("Sense"),
        arms::<s::Binary>("Binary"),
        arms::<s::TextEncoding>("TextEncoding"),
        arms::<s::LineRole>("LineRole"),
        arms::<s::VersionControl>("VersionControl"),
        arms::<s::CutReason>("CutReason"),
        arms::<s::Closing>("Closing"),
        arms::<OverCause>("OverCause"),
        arms::<SessionEnd>("SessionEnd"),
        arms::<s::Deed>("Deed"),
        arms::<s::Parents>("Parents"),
        arms::<s::Deletion>("Deletion"),
        arms::<s::Edges>("Edges"),
        arms::<s::Tier>("Tier"),
        arms::<s::Outcome>("Outcome"),
        arms::<s::Guarantee>("Guarantee"),
        arms::<TreeLock>("TreeLock"),
        arms::<Witness>("Witness"),
        arms::<Sharing>("Sharing"),
        arms::<Budget>("Budget"),
        arms::<DurableField>("DurableField"),
        arms::<ProposalState>("ProposalState"),
        arms::<Deciding>("Deciding"),
        arms::<Whose>("Whose"),
        arms::<Decision>("Decision"),
        arms::<Claimed>("Claimed"),
    ];
    let rows = rows();
    for (name, arms) in real {
        let row = rows.iter().find(|row| row.len() == 2 && row[0] == name);
        assert_eq!(
            row.map(|row| row[1].as_str()),
            Some(arms.as_str()),
            "{name}"
        );
    }
}

#[test]
fn the_table_of_sets_is_their_bits() {
    let rows = rows();
    let bits = Verb::ALL.map(|verb| format!("{} {verb}", u32::from(VerbSet::of(&[verb]))));
    let row = rows.iter().find(|row| row[0] == "VerbSet").unwrap();
    assert_eq!(row[2], format!("bits {}; no other", bits.join(", ")));
    let bits = Mode::ALL.map(|mode| format!("{} {}", u32::from(ModeSet::of(&[mode])), mode.name()));
    let row = rows.iter().find(|row| row[0] == "ModeSet").unwrap();
    assert_eq!(row[2], format!("bits {}; no other", bits.join(", ")));
    let bit = |tier| u8::from(s::Tiers::EXACT.with(tier)) & !(u8::from(tier != s::Tier::Exact));
    let bits = s::Tier::ALL.map(|tier| format!("{} {tier}", bit(tier)));
    let row = rows.iter().find(|row| row[0] == "Tiers").unwrap();
    let told = format!("bits {}; no other, and exact always", bits.join(", "));
    assert_eq!(row[2], told);
}

/// The arm of this number, decoded from zero bytes, or from such with one that is not: a set of
/// tiers is never empty.
fn arm<E: DeserializeOwned>(number: u8) -> Option<E> {
    let mut bodies = (0..128).map(|at| {
        let mut body = [0; 128];
        body[at] = u8::from(at > 0);
        body[0] = number;
        body
    });
    bodies.find_map(|body| Some(postcard::take_from_bytes(&body).ok()?.0))
}

/// The arms of one enum with fields.
fn arms_with_fields<E: DeserializeOwned + Debug>(name: &'static str) -> (&'static str, String) {
    let arms: Vec<_> = (0..=u8::MAX)
        .map_while(|number| {
            let arm = arm::<E>(number)?;
            let shown = format!("{arm:?}");
            let name = shown.split(|c: char| !c.is_alphanumeric()).next();
            Some(format!("{number} {}", name.unwrap_or_default()))
        })
        .collect();
    (name, arms.join("; "))
}

#[test]
fn the_table_of_enums_with_fields_is_the_enums() {
    let real = [
        arms_with_fields::<s::Range>("Range"),
        arms_with_fields::<s::SearchMode>("SearchMode"),
        arms_with_fields::<s::ReadTail>("ReadTail"),
        arms_with_fields::<s::Found>("Found"),
        arms_with_fields::<s::Completeness>("Completeness"),
        arms_with_fields::<s::Verdict>("Verdict"),
        arms_with_fields::<DenialTarget>("DenialTarget"),
        arms_with_fields::<DenialOrderTarget>("DenialOrderTarget"),
        arms_with_fields::<s::Change>("Change"),
        arms_with_fields::<s::Source>("Source"),
        arms_with_fields::<s::Expect>("Expect"),
        arms_with_fields::<s::TextEdit>("TextEdit"),
        arms_with_fields::<s::Count>("Count"),
        arms_with_fields::<s::Part>("Part"),
        arms_with_fields::<s::AnchoredDeed>("AnchoredDeed"),
        arms_with_fields::<s::Onto>("Onto"),
        arms_with_fields::<PathState>("PathState"),
        arms_with_fields::<Duty>("Duty"),
        arms_with_fields::<Inputs>("Inputs"),
        arms_with_fields::<Approver>("Approver"),
        arms_with_fields::<Proof>("Proof"),
    ];
    let rows = rows();
    for (name, arms) in real {
        let row = rows.iter().find(|row| row.len() == 2 && row[0] == name);
        let told = row.map(|row| {
            let words = |arm: &str| arm.split(' ').take(2).collect::<Vec<_>>().join(" ");
            row[1].split("; ").map(words).collect::<Vec<_>>().join("; ")
        });
        assert_eq!(told, Some(arms), "{name}");
    }
}

#[test]
fn the_version_is_told() {
    let line = format!("Protocol version: {}.", portcullis_protocol::VERSION);
    assert!(document().lines().any(|l| l == line), "{line}");
}
