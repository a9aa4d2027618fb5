//! A file as it is: a picture or a sound as such, anything else as a resource.

use crate::answer::Answer;
use crate::failure::Failure;
use crate::name::Names;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portcullis_client::{Session, ask, stamp};
use rmcp::model::{ContentBlock, ResourceContents};

/// Bytes of a file that is given whole, at most.
const MEDIA_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// What a file is by the end of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Image(&'static str),
    Audio(&'static str),
    Other,
}

impl Media {
    /// Judged by the name alone, as those who show it will.
    pub(crate) fn of(path: &[u8]) -> Self {
        let end = path.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        match end.to_ascii_lowercase().as_slice() {
            b"png" => Self::Image("image/png"),
            b"jpg" | b"jpeg" => Self::Image("image/jpeg"),
            b"gif" => Self::Image("image/gif"),
            b"webp" => Self::Image("image/webp"),
            b"bmp" => Self::Image("image/bmp"),
            b"svg" => Self::Image("image/svg+xml"),
            b"mp3" => Self::Audio("audio/mpeg"),
            b"wav" => Self::Audio("audio/wav"),
            b"ogg" => Self::Audio("audio/ogg"),
            b"flac" => Self::Audio("audio/flac"),
            _ => Self::Other,
        }
    }

    pub(crate) const fn mime(self) -> &'static str {
        match self {
            Self::Image(mime) | Self::Audio(mime) => mime,
            Self::Other => "application/octet-stream",
        }
    }

    /// The block that carries this content.
    pub(crate) fn block(self, data: String, uri: String) -> ContentBlock {
        match self {
            Self::Image(mime) => ContentBlock::image(data, mime),
            Self::Audio(mime) => ContentBlock::audio(data, mime),
            Self::Other => {
                let content = ResourceContents::blob(data, uri).with_mime_type(self.mime());
                ContentBlock::resource(content)
            }
        }
    }
}

pub(super) fn read(path: &str, session: &mut Session, names: &Names) -> Result<Answer, Failure> {
    let selector = names.selector(path)?;
    let seen = session.stat(&ask::stat(selector.clone()))?;
    let size = seen.observation.stamp.size;
    if size > MEDIA_BYTES_MAX {
        return Err(Failure::Unshown {
            code: "too_large",
            what: format!(
                "it has {size} bytes, and a file is given whole up to {MEDIA_BYTES_MAX}: `as: \
                 base64` gives it in parts"
            ),
        });
    }
    let content = session.read_file(selector)?;
    let shown = names.bound(&content.binding);
    let media = Media::of(content.binding.path.as_kernel_bytes());
    let mut answer = Answer::line(format!("{shown}: {size} bytes, {}", media.mime()));
    answer.fact("path", shown.as_str());
    answer.fact("version", stamp::show(&content.binding.observation.stamp));
    answer.fact("size", size);
    answer.fact("encoding", media.mime());
    answer.fact("complete", true);
    super::read::steady(&mut answer, &content.end);
    answer
        .media
        .push(media.block(STANDARD.encode(&content.bytes), address(&shown)));
    Ok(answer)
}

/// An address of a name, every byte that is not plain as its percent code.
pub(crate) fn address(path: impl AsRef<[u8]>) -> String {
    let path = path.as_ref();
    let mut uri = String::from("file://");
    if !path.starts_with(b"/") {
        uri.push('/');
    }
    for byte in path {
        match *byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_file_is_and_addresses_hold_any_name() {
        assert_eq!(Media::of(b"a/b.PNG"), Media::Image("image/png"));
        assert_eq!(Media::of(b"x.flac"), Media::Audio("audio/flac"));
        assert_eq!(Media::of(b"png"), Media::Image("image/png"));
        assert_eq!(Media::of(b"a.rs"), Media::Other);
        assert_eq!(address("a b#c/\u{e4}"), "file:///a%20b%23c/%C3%A4");
        assert_eq!(address("/docs/x"), "file:///docs/x");
    }
}
