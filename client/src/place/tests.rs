use super::rules::Parent;
use super::*;
use std::ffi::OsString;

fn variables<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
    move |name| {
        let found = set.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| OsString::from(value))
    }
}

/// `/run/user/N` belongs to N; everything else is not there.
fn look(path: &Path) -> Parent {
    match path
        .to_str()
        .and_then(|text| text.strip_prefix("/run/user/"))
    {
        Some(user) => Parent::OwnedBy(user.parse().unwrap()),
        None => Parent::Absent,
    }
}

fn runtime(set: &[(&str, &str)], user: u32) -> Result<PathBuf, PlaceError> {
    runtime_of(&variables(set), user, &look)
}

#[test]
fn the_runtime_directory_is_the_users_own() {
    let at = |set: &[(&str, &str)], user| runtime(set, user).unwrap();
    let named = [("XDG_RUNTIME_DIR", "/run/user/7")];
    assert_eq!(at(&named, 7), Path::new("/run/user/7/portcullis"));
    assert_eq!(at(&[], 8), Path::new("/run/user/8/portcullis"));
    // Empty is not set.
    let empty = [("XDG_RUNTIME_DIR", "")];
    assert_eq!(at(&empty, 8), Path::new("/run/user/8/portcullis"));
    let nowhere = |_: &Path| Parent::Absent;
    assert_eq!(
        runtime_of(&variables(&[]), 0, &nowhere).unwrap(),
        Path::new("/run/portcullis")
    );
    let none = runtime_of(&variables(&[]), 9, &nowhere).unwrap_err();
    let said = none.to_string();
    for wanted in ["XDG_RUNTIME_DIR", "/run/user/9", "--embedded"] {
        assert!(said.contains(wanted), "{said}");
    }
}

#[test]
fn a_runtime_directory_of_another_user_is_refused_and_not_passed_over() {
    let named = [("XDG_RUNTIME_DIR", "/run/user/1000")];
    assert!(matches!(
        runtime(&named, 0),
        Err(PlaceError::Unfit {
            unfit: Unfit::Foreign(1000),
            ..
        })
    ));
    let gone = [("XDG_RUNTIME_DIR", "/gone")];
    assert!(matches!(
        runtime(&gone, 7),
        Err(PlaceError::NoSuchRuntimeDirectory(_))
    ));
    let relative = [("XDG_RUNTIME_DIR", "run")];
    assert!(matches!(
        runtime(&relative, 7),
        Err(PlaceError::Relative("XDG_RUNTIME_DIR"))
    ));
}

#[test]
fn the_state_directory_follows_the_rules_of_the_desktop() {
    let at = |set: &[(&str, &str)], user| state_of(&variables(set), user);
    let home = [("HOME", "/home/a")];
    assert_eq!(
        at(&home, 7).unwrap(),
        Path::new("/home/a/.local/state/portcullis")
    );
    let both = [("HOME", "/home/a"), ("XDG_STATE_HOME", "/s")];
    assert_eq!(at(&both, 7).unwrap(), Path::new("/s/portcullis"));
    assert_eq!(at(&both, 0).unwrap(), Path::new("/s/portcullis"));
    assert_eq!(at(&home, 0).unwrap(), Path::new("/var/lib/portcullis"));
    assert!(matches!(at(&[], 7), Err(PlaceError::NoStateDirectory)));
    let relative = [("HOME", "a")];
    assert!(matches!(
        at(&relative, 7),
        Err(PlaceError::Relative("HOME"))
    ));
}

#[test]
fn a_lock_is_held_by_one_at_a_time() {
    let parent = std::env::temp_dir().join(format!("place-test-{}", std::process::id()));
    std::fs::create_dir(&parent).unwrap();
    let place = RuntimeDirectory::open(Some(&parent.join("runtime"))).unwrap();
    let now = Instant::now();
    let held = place.lock(START_LOCK, now).unwrap();
    assert!(matches!(
        place.lock(START_LOCK, now),
        Err(PlaceError::Locked(_))
    ));
    assert!(place.lock(WARDEN_LOCK, now).is_ok());
    drop(held);
    assert!(place.lock(START_LOCK, now).is_ok());
    std::fs::remove_dir_all(&parent).unwrap();
}

#[test]
fn a_socket_file_is_removed_once_and_never_another_one() {
    let parent = std::env::temp_dir().join(format!("socket-test-{}", std::process::id()));
    std::fs::create_dir(&parent).unwrap();
    let place = RuntimeDirectory::open(Some(&parent.join("runtime"))).unwrap();
    let lock = place.lock(WARDEN_LOCK, Instant::now()).unwrap();
    let first = place.listen(&lock).unwrap();
    assert!(matches!(place.knock().unwrap(), Knock::Answered(_)));
    let second = place.listen(&lock).unwrap();
    // The first one's name is the second one's by now.
    first.name.remove().unwrap();
    assert!(matches!(place.knock().unwrap(), Knock::Answered(_)));
    second.name.remove().unwrap();
    assert!(matches!(place.knock().unwrap(), Knock::Nobody));
    std::fs::remove_dir_all(&parent).unwrap();
}
