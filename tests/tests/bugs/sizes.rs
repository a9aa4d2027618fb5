//! Rows 86 to 88.

use portcullis_client::ask;
use portcullis_protocol::limits::SCAN_BYTES_MAX;
use portcullis_protocol::refusal::Code;
use portcullis_protocol::session::{Range, ReadTail, Rest, Survey};
use portcullis_protocol::view::Kind;
use portcullis_tests::hostile::{Arena, every, not_forever, within_bounds};
use portcullis_tests::{own, privileged, read};
use rustix::fs::{CWD, FileType, Mode, mknodat};

#[test]
fn bug_86_a_large_file_is_given_in_parts_with_the_next_offset_and_the_total() {
    let mut arena = Arena::new(own!("own-gate"));
    let lines: Vec<String> = (1..=40_000).map(|n| format!("line {n}\n")).collect();
    arena.write("large", lines.concat());
    let mut opened = arena.session();
    let session = &mut opened.session;
    let mut read = ask::read(ask::selector("large").unwrap());
    read.survey = Survey::Text;
    let (mut first, mut gathered) = (1, String::new());
    loop {
        read.range = Range::Lines {
            first,
            count: 15_000,
        };
        let part = session.read(&read).unwrap().pop().unwrap().unwrap();
        assert_eq!(part.end.first_line, first);
        assert_eq!(
            part.end.text.unwrap().lines,
            40_000,
            "the total comes with each part"
        );
        gathered.push_str(std::str::from_utf8(&part.bytes).unwrap());
        assert_eq!(part.end.next_offset, u64::try_from(gathered.len()).unwrap());
        if part.end.rest == Rest::End {
            break;
        }
        assert_eq!(part.end.rest, Rest::More);
        first += 15_000;
    }
    assert!(gathered == lines.concat());
    // By bytes, from the offset that was given.
    read.range = Range::Bytes {
        offset: 0,
        length: 1000,
    };
    let part = session.read(&read).unwrap().pop().unwrap().unwrap();
    assert_eq!((part.end.next_offset, part.end.rest), (1000, Rest::More));
}

#[test]
fn bug_87_a_file_of_2_gib_is_streamed_and_capped_and_takes_no_memory() {
    not_forever(|| {
        let mut arena = Arena::new(own!("own-gate"));
        let file = std::fs::File::create(arena.inside().join("large")).unwrap();
        file.set_len(2 << 30).unwrap();
        let mut opened = arena.session();
        let session = &mut opened.session;
        let mut stream = session
            .read_stream(&ask::read(ask::selector("large").unwrap()))
            .unwrap();
        let (mut total, mut tail) = (0, None);
        while let Some((part, bytes)) = stream.next_part().unwrap() {
            total += u64::try_from(bytes.len()).unwrap();
            tail = part.tail.or(tail);
        }
        let Some(ReadTail::Read(end)) = tail else {
            panic!("no end: {tail:?}")
        };
        assert_eq!((total, end.rest), (SCAN_BYTES_MAX, Rest::CutAtScanLimit));
        assert_eq!(
            end.next_offset, SCAN_BYTES_MAX,
            "where the next read goes on"
        );
        drop(stream);
        let gate = arena.control.status().unwrap().sessions.as_slice()[0].gate;
        let status = std::fs::read_to_string(format!("/proc/{gate}/status")).unwrap();
        let peak = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .unwrap();
        let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(kib < 64 << 10, "{peak}");
    });
}

#[test]
fn bug_88_eight_reads_of_a_fifo_or_device_leave_the_server_answering() {
    within_bounds(|| {
        let mut arena = Arena::new(own!("own-gate"));
        arena.write("file", "content\n");
        let at = arena.inside();
        mknodat(
            CWD,
            at.join("pipe"),
            FileType::Fifo,
            Mode::from_raw_mode(0o666),
            0,
        )
        .unwrap();
        let number = rustix::fs::makedev(5, 0);
        let tty = FileType::CharacterDevice;
        let made = mknodat(CWD, at.join("tty"), tty, Mode::from_raw_mode(0o666), number);
        assert_eq!(made.is_ok(), privileged(), "{made:?}");
        if !privileged() {
            println!("bug 88 with a device needs root: proven in the run as root");
        }
        let mut opened = arena.session();
        let session = &mut opened.session;
        for _ in 0..8 {
            assert_eq!(read(session, "pipe"), Err(Code::NotRegular));
        }
        every(session, "pipe").is_special(Kind::Fifo);
        if privileged() {
            every(session, "tty").is_special(Kind::Device);
        }
        every(session, "file").is_file("file", "content\n");
        let many = ["pipe", "file", "pipe"].map(|path| ask::selector(path).unwrap());
        let answers = session
            .read(&ask::read_many(many.to_vec()).unwrap())
            .unwrap();
        let codes: Vec<_> = answers
            .iter()
            .map(|a| a.as_ref().err().map(|r| r.code))
            .collect();
        let pipe = Some(Code::NotRegular);
        assert_eq!(codes, [pipe, None, pipe], "one bad file spoils no other");
    });
}
