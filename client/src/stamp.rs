//! Version stamps as text, to be shown, kept and given back.

use portcullis_protocol::view::{Stamp, Timestamp};

/// Nanoseconds of a timestamp are below this.
const NANOS_END: u32 = 1_000_000_000;

/// A stamp as text: hexadecimal numbers joined by dots (device, inode, size, seconds and
/// nanoseconds of the last change, then of the birth where it is known). No two stamps have one
/// text. To be copied, not to be read.
pub fn show(stamp: &Stamp) -> String {
    let mut text = format!(
        "{:x}.{:x}.{:x}.{}",
        stamp.device,
        stamp.inode,
        stamp.size,
        show_time(stamp.changed)
    );
    if let Some(born) = stamp.born {
        text.push('.');
        text.push_str(&show_time(born));
    }
    text
}

/// Seconds before 1970 are shown as the two's complement of 64 bits.
fn show_time(time: Timestamp) -> String {
    format!("{:x}.{:x}", time.seconds.cast_unsigned(), time.nanos)
}

/// Reads what [`show`] wrote; nothing else is a stamp.
pub fn parse(text: &str) -> Option<Stamp> {
    let mut numbers = Vec::with_capacity(7);
    for number in text.split('.') {
        numbers.push(u64::from_str_radix(number, 16).ok()?);
    }
    let (born, device, inode, size, changed) = match numbers.as_slice() {
        [device, inode, size, s, n] => (None, device, inode, size, time(*s, *n)?),
        [device, inode, size, s, n, born_s, born_n] => {
            let born = time(*born_s, *born_n)?;
            (Some(born), device, inode, size, time(*s, *n)?)
        }
        _ => return None,
    };
    let stamp = Stamp {
        device: *device,
        inode: *inode,
        changed,
        born,
        size: *size,
    };
    (show(&stamp) == text).then_some(stamp)
}

fn time(seconds: u64, nanos: u64) -> Option<Timestamp> {
    let nanos = u32::try_from(nanos).ok().filter(|n| *n < NANOS_END)?;
    Some(Timestamp {
        seconds: seconds.cast_signed(),
        nanos,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_time() -> impl Strategy<Value = Timestamp> {
        (any::<i64>(), 0..NANOS_END).prop_map(|(seconds, nanos)| Timestamp { seconds, nanos })
    }

    proptest! {
        #[test]
        fn a_shown_stamp_can_be_given_back(
            device: u64,
            inode: u64,
            size: u64,
            changed in any_time(),
            born in prop::option::of(any_time()),
        ) {
            let stamp = Stamp { device, inode, changed, born, size };
            let text = show(&stamp);
            prop_assert!(text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'.'));
            prop_assert_eq!(parse(&text), Some(stamp));
        }

        #[test]
        fn what_is_read_is_what_would_be_shown(text in "[0-9a-fA-F.+]{0,40}") {
            if let Some(stamp) = parse(&text) {
                prop_assert_eq!(show(&stamp), text);
            }
        }
    }

    #[test]
    fn what_is_no_stamp_is_not_taken() {
        for bad in [
            "",
            "1.2.3.4",
            "1.2.3.4.3b9aca00",
            "1.2.3.4.5.6",
            "01.2.3.4.5",
            "A.2.3.4.5",
            "+1.2.3.4.5",
            "1.2.3.4.5.6.7.8",
            "1.2.3.4.5 ",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert!(parse("1.2.3.4.3b9ac9ff").is_some());
    }
}
