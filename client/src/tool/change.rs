//! What changes files: `write`, `edit`, `patch`, `mkdir`, `move`, `delete`, `chmod` and `link`.

use super::ahead::{Ahead, unreadable};
use super::args::{
    ChmodArgs, Deeds, DeleteArgs, EditArgs, ExpectArgs, LinkArgs, MkdirArgs, MoveArgs, PatchArgs,
    PatchFormat, WriteArgs,
};
use super::edit::{around, edit};
use super::patience::patiently;
use super::place::Place;
use super::report::{Form, Outcome, Report};
use crate::change::{self, Changes, Content, Eol, Item, Made, Plan, TextEdit};
use crate::error::Error;
use crate::json;
use crate::label;
use crate::patch::{self, Format};
use crate::read::FileContent;
use crate::session::Session;
use crate::told;
use portcullis_protocol::limits::CONTENT_BYTES_MAX;
use portcullis_protocol::session::{
    Changed, Deed, Expect, Guarantee, RootView, Selector, Touched, UploadId,
};
use portcullis_protocol::view::RootIndex;
use std::ffi::{OsStr, OsString};
use std::io::Read;

/// Where a command works and what it says.
pub(super) struct Job<'a> {
    pub(super) place: &'a Place,
    pub(super) session: &'a mut Session,
    pub(super) report: &'a Report,
    pub(super) ahead: &'a Ahead,
}

impl Job<'_> {
    pub(super) fn run_task(self, task: &Deeds) -> Outcome {
        match task {
            Deeds::Write(args) => self.write(args),
            Deeds::Edit(args) => self.edit(args),
            Deeds::Patch(args) => self.patch(args),
            Deeds::Mkdir(args) => self.mkdir(args),
            Deeds::Move(args) => self.rename(args),
            Deeds::Delete(args) => self.delete(args),
            Deeds::Chmod(args) => self.chmod(args),
            Deeds::Link(args) => self.link(args),
        }
    }

    fn write(mut self, args: &WriteArgs) -> Outcome {
        let deed = args.dry_run.deed();
        let ended = self.place.selector(&args.path).and_then(|selector| {
            let (content, upload) = match args.eol {
                None => self.content(&args.from, &selector)?,
                // Looked at whole: what is no text is refused before anything is sent.
                Some(ends) => (self.converted(&args.from, ends.eol())?, None),
            };
            let write = change::Write {
                selector,
                content,
                expect: args.expect(),
                parents: args.parents.parents(),
                mode: args.mode,
            };
            let ended = self.run(&Changes::new().with(write), deed);
            self.forget(upload, deed, &ended);
            ended
        });
        self.say(ended)
    }

    fn edit(mut self, args: &EditArgs) -> Outcome {
        let ended = edit(args, self.place, self.ahead).and_then(|edit| {
            let labelled = edit.edits.iter().any(TextEdit::is_anchored);
            let selector = edit.selector.clone();
            let changes = Changes::new().with(edit);
            let ended = self.run(&changes, args.dry_run.deed())?;
            let fresh = match &ended {
                Ended::Made(made) if labelled => self.fresh(&selector, made),
                Ended::Made(_) | Ended::Planned(_) => Vec::new(),
            };
            Ok((ended, Telling { changes, fresh }))
        });
        match ended {
            Ok((ended, telling)) => self.tell(ended, Some(&telling)),
            Err(error) => self.say(Err(error)),
        }
    }

    fn patch(mut self, args: &PatchArgs) -> Outcome {
        let ended = self.ahead.whole(&args.file).and_then(|text| {
            let root = self.place.root();
            let changes = match args.format {
                PatchFormat::Auto => patch::parse_any(&text, root),
                PatchFormat::V4a => patch::parse(&text, Format::V4a, root),
                PatchFormat::Unified => patch::parse(&text, Format::Unified, root),
                PatchFormat::Blocks => patch::parse(&text, Format::Blocks, root),
                PatchFormat::Edits => patch::parse(&text, Format::Edits, root),
            };
            let mut changes = changes?.with_tiers(|own| args.tiers.over(own));
            if let Some(eol) = args.eol.eol() {
                changes = changes.with_line_ends(eol)?;
            }
            let ended = self.run(&changes, args.dry_run.deed())?;
            let fresh = Vec::new();
            Ok((ended, Telling { changes, fresh }))
        });
        match ended {
            Ok((ended, telling)) => self.tell(ended, Some(&telling)),
            Err(error) => self.say(Err(error)),
        }
    }

    /// The lines around what was changed by labels, with those they have now. A session that may
    /// not read them edits by other means.
    fn fresh(&mut self, selector: &Selector, made: &Made) -> Vec<FileContent> {
        let parts = around(made.changed.matched.as_slice());
        let read = |range| self.session.read_labelled(selector.clone(), range).ok();
        parts.into_iter().filter_map(read).collect()
    }

    fn mkdir(self, args: &MkdirArgs) -> Outcome {
        let make = |selector| {
            let mut mkdir = change::mkdir(selector);
            mkdir.parents = args.parents();
            Item::Mkdir(mkdir)
        };
        self.each(&args.paths, args.dry_run.deed(), make)
    }

    fn rename(mut self, args: &MoveArgs) -> Outcome {
        let source = self.place.selector(&args.source);
        let ended = source.and_then(|source| {
            let mut rename = change::rename(source, self.place.selector(&args.destination)?);
            rename.expect = args.expect.expect();
            rename.onto = args.onto();
            rename.parents = args.parents.parents();
            self.run(&Changes::new().with(rename), args.dry_run.deed())
        });
        self.say(ended)
    }

    fn delete(self, args: &DeleteArgs) -> Outcome {
        if let Err(error) = one_expected(&args.expect, &args.paths) {
            return self.report.error(&error);
        }
        let gone = |selector| {
            let mut delete = change::delete(selector);
            delete.expect = args.expect.expect();
            delete.what = args.what();
            Item::Delete(delete)
        };
        self.each(&args.paths, args.dry_run.deed(), gone)
    }

    fn chmod(self, args: &ChmodArgs) -> Outcome {
        if let Err(error) = one_expected(&args.expect, &args.paths) {
            return self.report.error(&error);
        }
        let set = |selector| {
            let mut chmod = change::chmod(selector, args.mode);
            chmod.expect = args.expect.expect();
            Item::Chmod(chmod)
        };
        self.each(&args.paths, args.dry_run.deed(), set)
    }

    fn link(mut self, args: &LinkArgs) -> Outcome {
        let selector = self.place.selector(&args.path);
        let ended = selector.and_then(|selector| {
            let mut link = change::link(selector, self.place.named(&args.text)?)?;
            link.parents = args.parents.parents();
            self.run(&Changes::new().with(link), args.dry_run.deed())
        });
        self.say(ended)
    }

    /// The same change of every path, all of them or none.
    fn each(mut self, paths: &[OsString], deed: Deed, item: impl Fn(Selector) -> Item) -> Outcome {
        let changes = paths.iter().try_fold(Changes::new(), |changes, path| {
            Ok(changes.with(item(self.place.selector(path)?)))
        });
        let ended = changes.and_then(|changes| self.run(&changes, deed));
        self.say(ended)
    }

    fn run(&mut self, changes: &Changes, deed: Deed) -> Result<Ended, Error> {
        match deed {
            Deed::Commit => {
                let made = patiently(|| self.session.change(changes))?;
                Ok(Ended::Made(Box::new(made)))
            }
            Deed::DryRun => {
                let plan = patiently(|| self.session.plan(changes))?;
                Ok(Ended::Planned(plan))
            }
        }
    }

    /// The content of a file to be written: in memory when it is small, else uploaded as it is
    /// read.
    fn content(
        &mut self,
        from: &OsStr,
        selector: &Selector,
    ) -> Result<(Content, Option<UploadId>), Error> {
        let mut source = self.ahead.open(from)?;
        let mut first = Vec::new();
        let small = u64::try_from(CONTENT_BYTES_MAX).unwrap_or(u64::MAX);
        source
            .by_ref()
            .take(small)
            .read_to_end(&mut first)
            .map_err(|error| unreadable(from, &error))?;
        if first.len() < CONTENT_BYTES_MAX {
            return Ok((Content::Bytes(first), None));
        }
        let mut all = first.as_slice().chain(source);
        let (upload, _) = self.session.upload(selector, &mut all)?;
        Ok((Content::Upload(upload), Some(upload)))
    }

    /// The content of a file to be written, with these line ends.
    fn converted(&self, from: &OsStr, eol: Eol) -> Result<Content, Error> {
        let text = self.ahead.whole(from)?;
        eol.convert(&text)
            .map(Content::Bytes)
            .map_err(Error::invalid)
    }

    /// Drops an upload that was not used up. An error here has ended the connection.
    fn forget(&mut self, upload: Option<UploadId>, deed: Deed, ended: &Result<Ended, Error>) {
        if let Some(upload) = upload
            && (ended.is_err() || deed == Deed::DryRun)
        {
            self.session.drop_upload(upload).ok();
        }
    }

    fn tell(mut self, ended: Ended, telling: Option<&Telling>) -> Outcome {
        match ended {
            Ended::Made(made) => {
                self.report.changed();
                self.say_made(&made, telling);
            }
            Ended::Planned(plan) => self.say_planned(&plan, telling),
        }
        Outcome::Done
    }

    fn say(mut self, ended: Result<Ended, Error>) -> Outcome {
        match ended {
            Ok(ended) => self.tell(ended, None),
            Err(error) => {
                let outcome = self.report.error(&error);
                if let Some(changed) = error.receipt() {
                    let roots = self.roots(changed.touched.as_slice());
                    for line in told::states(changed.touched.as_slice(), &roots) {
                        self.report.note(&line);
                    }
                }
                outcome
            }
        }
    }

    // Output that nobody reads is no failure: what is done is done.
    fn say_made(&mut self, made: &Made, telling: Option<&Telling>) {
        let report = self.report;
        let changed = &made.changed;
        let fresh = telling.map_or(&[][..], |telling| &telling.fresh);
        // A file that changed meanwhile has no labels to be shown; its next read has.
        let fresh = fresh.iter().filter_map(|part| part.labelled().ok());
        match report.form() {
            Form::Json => {
                let mut document = json::made(made);
                if let Some(fields) = document.as_object_mut() {
                    let parts: Vec<_> = fresh.map(json::labelled).collect();
                    fields.insert("fresh".to_owned(), parts.into());
                }
                drop(report.document("changed", document));
            }
            Form::Text => {
                let names = changed.touched.as_slice();
                let mut text = told::done(names, &self.roots(names));
                if let Some(Telling { changes, .. }) = telling {
                    let places = changed.matched.as_slice();
                    text.extend(told::matched(changes, places, changed.matched_cut));
                }
                text.push(receipt(changed));
                let mut text = (text.join("\n") + "\n").into_bytes();
                if telling.is_some() {
                    text.extend_from_slice(&made.diff);
                }
                for part in fresh {
                    text.extend_from_slice(b"with fresh labels:\n");
                    text.extend(label::shown(part));
                    if !text.ends_with(b"\n") {
                        text.push(b'\n');
                    }
                }
                drop(report.put(text));
            }
        }
        if telling.is_some() && changed.diff_cut > 0 {
            report.note(&format!(
                "the difference is cut: {} bytes more",
                changed.diff_cut
            ));
        }
        if changed.left > 0 {
            report.note(&format!(
                "{} temporary files could not be removed; nobody can name them, and the broker \
                 knows of them",
                changed.left
            ));
        }
    }

    fn say_planned(&mut self, plan: &Plan, telling: Option<&Telling>) {
        let report = self.report;
        match report.form() {
            Form::Json => drop(report.document("planned", json::planned(plan))),
            Form::Text => {
                drop(report.put(plan.diff.as_slice()));
                let names = plan.planned.touched.as_slice();
                report.note("nothing was changed; this would be done:");
                for line in told::done(names, &self.roots(names)) {
                    report.note(&line);
                }
                if let Some(Telling { changes, .. }) = telling {
                    let places = plan.planned.matched.as_slice();
                    for line in told::matched(changes, places, plan.planned.matched_cut) {
                        report.note(&line);
                    }
                }
            }
        }
        if plan.planned.diff_cut > 0 {
            report.note(&format!(
                "the difference is cut: {} bytes more",
                plan.planned.diff_cut
            ));
        }
    }

    /// The roots of the session, asked for only when a name lies in another than the first.
    fn roots(&mut self, touched: &[Touched]) -> Vec<RootView> {
        if touched.iter().all(|one| one.root == RootIndex(0)) {
            return Vec::new();
        }
        // Without labels the roots are shown by their numbers.
        let identity = self.session.whoami();
        identity.map_or_else(|_| Vec::new(), |identity| identity.roots.into_vec())
    }
}

/// How a change ended well.
enum Ended {
    Made(Box<Made>),
    Planned(Plan),
}

/// What `edit` and `patch` say besides what was done: where it matched, with the difference.
struct Telling {
    changes: Changes,
    /// The lines around what was changed, for their labels.
    fresh: Vec<FileContent>,
}

fn receipt(changed: &Changed) -> String {
    let number = changed.receipt.number;
    match changed.guarantee {
        Guarantee::Exact => format!("receipt {number}"),
        Guarantee::Detected | Guarantee::BestEffort => {
            format!("receipt {number}, guarantee {}", changed.guarantee.name())
        }
    }
}

/// One version or content is that of one object.
fn one_expected(expect: &ExpectArgs, paths: &[OsString]) -> Result<(), Error> {
    match expect.expect() {
        Expect::Version(_) | Expect::Content(_) if paths.len() > 1 => Err(Error::invalid(
            "an expectation is of one object: name one path, or leave it out",
        )),
        Expect::Any | Expect::Seen | Expect::Absent | Expect::Version(_) | Expect::Content(_) => {
            Ok(())
        }
    }
}
