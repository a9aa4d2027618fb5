//! Labels of roots, from the names of their directories.

use portcullis_protocol::limits::LABEL_BYTES_MAX;
use portcullis_protocol::path::{Label, escape};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name of a directory, for its label.
pub(super) fn name_of(path: &Path) -> String {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    real.file_name()
        .map_or_else(|| "root".to_owned(), |name| escape(name.as_bytes()))
}

/// `wanted`, shortened and numbered until it is a label that is not taken.
pub(super) fn free_label(wanted: &str, taken: &mut BTreeSet<String>) -> Label {
    let mut number = 1_u32;
    loop {
        let tail = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        let mut text = String::new();
        for c in wanted.chars() {
            if text.len() + c.len_utf8() + tail.len() > LABEL_BYTES_MAX {
                break;
            }
            text.push(c);
        }
        text.push_str(&tail);
        number = number.saturating_add(1);
        if taken.contains(&text) {
            continue;
        }
        // What `escape` gives is printable and a file name has no slash: only `.` and `..` are
        // no labels, and no directory's real name is one of them.
        if let Ok(label) = Label::new(text.clone()) {
            taken.insert(text);
            return label;
        }
    }
}
