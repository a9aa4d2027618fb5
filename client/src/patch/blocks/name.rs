//! The name of a file before a block.

use super::{PatchError, shown};

/// The name in a line, out of what Markdown puts around it: `## `, `**`, back-ticks, a colon
/// behind it.
pub(super) fn of(number: usize, line: &[u8]) -> Result<Vec<u8>, PatchError> {
    let mut name = line.trim_ascii();
    let hashes = name.iter().take_while(|byte| **byte == b'#').count();
    if let Some(rest @ [b' ' | b'\t', ..]) = name.get(hashes..)
        && hashes > 0
    {
        name = rest.trim_ascii();
    }
    let mut set_off = false;
    for _ in 0..2 {
        name = name.strip_suffix(b":").unwrap_or(name);
        for around in [&b"**"[..], b"`"] {
            let inner = name.strip_prefix(around);
            if let Some(inner) = inner.and_then(|inner| inner.strip_suffix(around)) {
                name = inner;
                set_off = true;
            }
        }
    }
    let plain = |byte: &u8| !byte.is_ascii_control() && *byte != b'`';
    let blank = name.iter().any(u8::is_ascii_whitespace);
    if name.is_empty() || !name.iter().all(plain) || (blank && !set_off) {
        return Err(PatchError::new(
            number,
            format!(
                "`{}` stands where the name of a file is expected: write the name alone on the \
                 line before `<<<<<<< SEARCH`, in back-ticks if there are blanks in it",
                shown(line)
            ),
        ));
    }
    Ok(name.to_vec())
}

/// The name in the line of a code fence, where there is no other: only one that can be nothing
/// else is taken.
pub(super) fn of_info(number: usize, info: &[u8]) -> Result<Vec<u8>, PatchError> {
    let odd = |byte: &u8| byte.is_ascii_whitespace() || byte.is_ascii_control() || *byte == b':';
    if info.contains(&b'/') && !info.iter().any(odd) {
        return Ok(info.to_vec());
    }
    Err(PatchError::new(
        number,
        format!(
            "is `{}` behind the fence the name of the file? Write the name alone on the line \
             before `<<<<<<< SEARCH`",
            shown(info)
        ),
    ))
}
