//! What changes files: `write`, `edit`, `patch`, `mkdir`, `move`, `delete`, `chmod` and `link`.

use super::args::{
    ChmodArgs, Deeds, DeleteArgs, EditArgs, ExpectArgs, LinkArgs, MkdirArgs, MoveArgs, Pair,
    PatchArgs, PatchFormat, Text, WriteArgs,
};
use super::patience::patiently;
use super::place::Place;
use super::report::{Form, Outcome, Report};
use super::touched;
use crate::change::{self, Changes, Content, Edit, Item, Plan, Replace, TextEdit, Tiers};
use crate::error::{Error, ErrorCode};
use crate::json;
use crate::patch::{self, Format};
use crate::session::Session;
use portcullis_protocol::limits::CONTENT_BYTES_MAX;
use portcullis_protocol::session::{
    Changed, Deed, Expect, Guarantee, RootView, Selector, Touched, UploadId,
};
use portcullis_protocol::view::RootIndex;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;

/// Where a command works and what it says.
pub(super) struct Job<'a> {
    pub(super) place: &'a Place,
    pub(super) session: &'a mut Session,
    pub(super) report: &'a Report,
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
            let (content, upload) = self.content(&args.from, &selector)?;
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
        let ended = edit(args, self.place)
            .and_then(|edit| self.run(&Changes::new().with(edit), args.dry_run.deed()));
        self.say(ended)
    }

    fn patch(mut self, args: &PatchArgs) -> Outcome {
        let ended = whole(&args.file).and_then(|text| {
            let root = self.place.root();
            let changes = match args.format {
                PatchFormat::Auto => patch::parse_any(&text, root),
                PatchFormat::V4a => patch::parse(&text, Format::V4a, root),
                PatchFormat::Unified => patch::parse(&text, Format::Unified, root),
            };
            self.run(&changes?, args.dry_run.deed())
        });
        self.say(ended)
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
                let changed = patiently(|| self.session.change(changes))?;
                Ok(Ended::Changed(changed))
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
        let mut source = open(from)?;
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

    /// Drops an upload that was not used up. An error here has ended the connection.
    fn forget(&mut self, upload: Option<UploadId>, deed: Deed, ended: &Result<Ended, Error>) {
        if let Some(upload) = upload
            && (ended.is_err() || deed == Deed::DryRun)
        {
            self.session.drop_upload(upload).ok();
        }
    }

    fn say(mut self, ended: Result<Ended, Error>) -> Outcome {
        match ended {
            Ok(Ended::Changed(changed)) => {
                self.report.changed();
                self.say_changed(&changed);
                Outcome::Done
            }
            Ok(Ended::Planned(plan)) => {
                self.say_planned(&plan);
                Outcome::Done
            }
            Err(error) => {
                let outcome = self.report.error(&error);
                if let Some(changed) = error.receipt() {
                    let roots = self.roots(changed.touched.as_slice());
                    for line in touched::states(changed.touched.as_slice(), &roots) {
                        self.report.note(&line);
                    }
                }
                outcome
            }
        }
    }

    // Output that nobody reads is no failure: what is done is done.
    fn say_changed(&mut self, changed: &Changed) {
        let report = self.report;
        match report.form() {
            Form::Json => drop(report.document("changed", json::changed(changed))),
            Form::Text => {
                let names = changed.touched.as_slice();
                let mut text = touched::done(names, &self.roots(names));
                text.push(receipt(changed));
                drop(report.put(text.join("\n") + "\n"));
            }
        }
        if changed.left > 0 {
            report.note(&format!(
                "{} temporary files could not be removed; nobody can name them, and the broker \
                 knows of them",
                changed.left
            ));
        }
    }

    fn say_planned(&mut self, plan: &Plan) {
        let report = self.report;
        match report.form() {
            Form::Json => drop(report.document("planned", json::planned(plan))),
            Form::Text => {
                drop(report.put(plan.diff.as_slice()));
                let names = plan.planned.touched.as_slice();
                report.note("nothing was changed; this would be done:");
                for line in touched::done(names, &self.roots(names)) {
                    report.note(&line);
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
    Changed(Changed),
    Planned(Plan),
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

fn edit(args: &EditArgs, place: &Place) -> Result<Edit, Error> {
    let mut edits = Vec::new();
    for Pair { old, new } in &args.pairs.0 {
        let (old, new) = (text(old)?, text(new)?);
        if old.is_empty() {
            return Err(Error::invalid(
                "the old text is empty: give what stands there now; a whole file is made by \
                 `write`",
            ));
        }
        edits.push(TextEdit::Replace(Replace {
            old,
            new,
            count: args.count(),
        }));
    }
    Ok(Edit {
        selector: place.selector(&args.path)?,
        expect: args.expect.expect(),
        edits,
        tiers: Tiers::DEFAULT,
        mode: None,
    })
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

fn text(text: &Text) -> Result<Vec<u8>, Error> {
    match text {
        Text::Given(text) => Ok(text.as_bytes().to_vec()),
        Text::In(file) => whole(file),
    }
}

/// All bytes of a file of this program's, or of standard input.
fn whole(file: &OsStr) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = open(file)?.read_to_end(&mut bytes);
    read.map_err(|error| unreadable(file, &error))?;
    Ok(bytes)
}

fn open(file: &OsStr) -> Result<Box<dyn Read>, Error> {
    if file == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    match File::open(file) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(unreadable(file, &error)),
    }
}

fn unreadable(file: &OsStr, error: &io::Error) -> Error {
    let number = error.raw_os_error().unwrap_or_default();
    Error::new(ErrorCode::CannotOpen(file.into(), number))
}
