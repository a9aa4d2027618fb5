//! temporary smoke with the real gate and client-less worker
use portcullis_protocol::authority::{RootId, Scope};
use portcullis_protocol::bounded::{Bytes, Few, Text};
use portcullis_protocol::control::*;
use portcullis_protocol::frame::RequestId;
use portcullis_protocol::path::{Label, RelPath};
use portcullis_protocol::session::{self, Range, Request, Selector, Survey};
use portcullis_protocol::verb::VerbSet;
use portcullis_transport::{Buffer, Endpoint, RuntimeSide, WorkerSide};
use portcullis_warden::*;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

fn ask(
    c: &Endpoint<RuntimeSide>,
    b: &mut Buffer,
    o: Order,
    fds: &[BorrowedFd<'_>],
) -> (Answer, Vec<OwnedFd>) {
    c.send_with(RequestId(1), &o, fds).unwrap();
    let (f, d) = c.receive(b).unwrap().decode().unwrap();
    (f.message, d)
}

#[test]
fn smoke() {
    let dir = std::env::temp_dir().join("warden-smoke-tree");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(dir.join("services/a")).unwrap();
    std::fs::write(dir.join("services/a/x.txt"), "hello").unwrap();
    std::fs::write(dir.join("services/a/.env.local"), "SECRET").unwrap();
    std::fs::write(dir.join("services/a/.env.example"), "EXAMPLE").unwrap();
    if rustix::process::geteuid().is_root() {
        let own = std::env::var("OWN").ok().map(|o| o.parse::<u32>().unwrap());
        std::os::unix::fs::chown(&dir, own, own).unwrap();
        std::os::unix::fs::chown(dir.join("services/a"), own, own).unwrap();
    }
    let warden = Embedded::start(Config {
        gate: GateExecutable::At("/tmp/target-warden/smoke/debug/portcullis-gate".into()),
        ..Config::default()
    })
    .unwrap();
    let c = Endpoint::<RuntimeSide>::new(warden.connect().unwrap()).unwrap();
    let mut b = Buffer::new();
    println!(
        "{:?}",
        ask(
            &c,
            &mut b,
            Order::Hello(Hello {
                version: 1,
                incarnation: None,
                client: Text::default()
            }),
            &[]
        )
        .0
    );
    let mut ids: Vec<RootId> = Vec::new();
    for d in [dir.join("services/a"), dir.clone()] {
        let f = std::fs::File::open(&d).unwrap();
        let Answer::Sealed(s) = ask(
            &c,
            &mut b,
            Order::Seal(Seal {
                label: Label::new(format!("r{}", ids.len())).unwrap(),
                scope: Scope::Workspace,
            }),
            &[f.as_fd()],
        )
        .0
        else {
            panic!()
        };
        println!("{s:?}");
        ids.push(s.root);
    }
    let order = || {
        Order::Mint(Mint {
            request: Text::default(),
            owner: Text::default(),
            roots: Few::new(
                ids.iter()
                    .map(|r| RootOrder {
                        root: *r,
                        label: None,
                    })
                    .collect(),
            )
            .unwrap(),
            grants: Few::new(
                ids.iter()
                    .map(|r| GrantOrder {
                        root: *r,
                        prefix: RelPath::root(),
                        verbs: VerbSet::READING,
                    })
                    .collect(),
            )
            .unwrap(),
            denials: Few::default(),
            exceptions: Few::default(),
            expires_ms: None,
            within: None,
        })
    };
    let (a, d) = ask(&c, &mut b, order(), &[]);
    println!("{a:?}");
    std::thread::sleep(std::time::Duration::from_millis(300));
    rustix::io::ioctl_fionbio(&c, true).unwrap();
    if let Ok(p) = c.receive(&mut b) {
        println!("{:?}", p.decode().unwrap().0.message);
    }
    rustix::io::ioctl_fionbio(&c, false).unwrap();
    let w = Endpoint::<WorkerSide>::new(d.into_iter().next().unwrap()).unwrap();
    let mut wb = Buffer::new();
    let mut say = |r: Request| {
        w.send_with(RequestId(9), &r, &[]).unwrap();
        let (f, _) = w.receive(&mut wb).unwrap().decode().unwrap();
        println!("{:?} {:?}", f.message, String::from_utf8_lossy(f.content));
    };
    say(Request::Hello(session::Hello {
        version: 1,
        limits: default_limits(),
        incarnation: None,
        client: Text::default(),
    }));
    for p in [
        "services/a/x.txt",
        "services/a/.env.local",
        "services/a/.env.example",
    ] {
        say(Request::Read(session::Read {
            selectors: Few::new(vec![Selector {
                root: None,
                path: Bytes::new(p).unwrap(),
            }])
            .unwrap(),
            range: Range::Bytes {
                offset: 0,
                length: u64::MAX,
            },
            survey: Survey::None,
        }));
    }
    drop(w);
    let (f, _) = c.receive(&mut b).unwrap().decode().unwrap();
    println!("{:?}", f.message);
    let t = std::time::Instant::now();
    let mut keep = Vec::new();
    for _ in 0..200 {
        let (a, d) = ask(&c, &mut b, order(), &[]);
        assert!(matches!(a, Answer::Minted(_)), "{a:?}");
        keep.push(d);
    }
    println!("mint {:?}", t.elapsed() / 200);
    let t = std::time::Instant::now();
    drop(warden);
    println!("drop with 200 gates {:?}", t.elapsed());
}
