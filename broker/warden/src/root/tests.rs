//! What becomes a root, and what it is known by.

use super::*;
use crate::testing::TempDir;
use std::fs::File;

fn seal(descriptors: Vec<OwnedFd>) -> Result<SealedRoot, SealError> {
    SealedRoot::seal(
        RootId(1),
        Label::new("r").unwrap(),
        Scope::External,
        descriptors,
    )
}

fn open(path: &std::path::Path) -> OwnedFd {
    File::open(path).unwrap().into()
}

#[test]
fn a_directory_is_sealed_with_its_location_and_identity() {
    let dir = TempDir::new();
    let sealed = seal(vec![open(dir.path())]).unwrap();
    let location = dir.path().canonicalize().unwrap();
    assert_eq!(
        format!("/{}", sealed.root().location),
        location.to_str().unwrap()
    );
    assert_eq!(observe(sealed.directory()).unwrap(), sealed.root().identity);
    let flags = rustix::fs::fcntl_getfl(sealed.directory()).unwrap();
    assert!(flags.contains(OFlags::PATH), "what is kept cannot be read");
}

#[test]
fn a_root_is_found_again_only_where_it_is_the_same() {
    let dir = TempDir::new();
    let place = dir.make("root");
    let sealed = seal(vec![open(&place)]).unwrap();
    assert!(!sealed.is_gone());
    let again = SealedRoot::again(sealed.root()).unwrap();
    assert_eq!(observe(again.directory()).unwrap(), sealed.root().identity);
    std::fs::rename(&place, dir.path().join("moved")).unwrap();
    assert!(matches!(
        SealedRoot::again(sealed.root()),
        Err(SealError::Kernel { .. })
    ));
    std::os::unix::fs::symlink("moved", &place).unwrap();
    assert!(matches!(
        SealedRoot::again(sealed.root()),
        Err(SealError::Kernel { .. })
    ));
    std::fs::remove_file(&place).unwrap();
    dir.make("root");
    assert!(matches!(
        SealedRoot::again(sealed.root()),
        Err(SealError::Another(_))
    ));
    std::fs::remove_dir(dir.path().join("moved")).unwrap();
    assert!(sealed.is_gone());
}

#[test]
fn what_shows_no_right_to_read_is_refused() {
    let dir = TempDir::new();
    let named = rustix::fs::open(dir.path(), PATH_ONLY, Mode::empty()).unwrap();
    assert!(matches!(seal(vec![named]), Err(SealError::NotReadable)));
}

#[test]
fn one_descriptor_exactly_is_wanted() {
    let dir = TempDir::new();
    assert!(matches!(seal(Vec::new()), Err(SealError::Descriptors(0))));
    let two = vec![open(dir.path()), open(dir.path())];
    assert!(matches!(seal(two), Err(SealError::Descriptors(2))));
}

#[test]
fn files_the_whole_tree_and_deleted_directories_are_refused() {
    let dir = TempDir::new();
    let file = dir.path().join("file");
    std::fs::write(&file, "x").unwrap();
    assert!(matches!(
        seal(vec![open(&file)]),
        Err(SealError::NotADirectory)
    ));
    assert!(matches!(
        seal(vec![open("/".as_ref())]),
        Err(SealError::WholeTree | SealError::FileSystem(_))
    ));
    let gone = dir.path().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let held = open(&gone);
    std::fs::remove_dir(&gone).unwrap();
    assert!(matches!(seal(vec![held]), Err(SealError::Deleted)));
}

#[test]
fn unknown_file_systems_are_refused_by_name() {
    for (path, name) in [("/proc/self", "proc"), ("/sys", "sysfs")] {
        match seal(vec![open(path.as_ref())]) {
            Err(SealError::FileSystem(said)) => assert_eq!(said, name),
            other => panic!("{path}: {other:?}"),
        }
    }
    assert_eq!(known(0x0bad_cafe), Err("of type 0xbadcafe".to_owned()));
}

#[test]
fn the_mount_table_tells_devtmpfs_from_tmpfs() {
    let table = b"24 27 0:6 / /dev rw shared:2 - devtmpfs devtmpfs rw\n\
                  25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw\n";
    assert_eq!(mount_type(table, 24), Some(&b"devtmpfs"[..]));
    assert_eq!(mount_type(table, 25), Some(&b"tmpfs"[..]));
    assert_eq!(mount_type(table, 2), None);
}

#[test]
fn a_directory_is_known_for_good_by_what_its_file_system_says_of_it() {
    let dir = TempDir::new();
    let place = dir.make("root");
    let first = seal(vec![open(&place)]).unwrap().root().durable.clone();
    let again = seal(vec![open(&place)]).unwrap().root().durable.clone();
    assert_eq!(first.difference(&again), None);
    let other = seal(vec![open(&dir.make("other"))]).unwrap();
    assert_eq!(
        first.difference(&other.root().durable),
        Some(DurableField::Inode)
    );
    let stat = rustix::fs::statvfs(&place).unwrap();
    assert_eq!(first.file_system, stat.f_fsid);
    // Of a type and some bytes, where there is one.
    assert!(
        first
            .handle
            .is_none_or(|handle| handle.as_slice().len() > 4)
    );
}

#[test]
fn an_inode_number_that_is_used_again_is_told_by_birth_or_handle() {
    let dir = TempDir::new();
    let place = dir.path().join("root");
    for _ in 0..64 {
        std::fs::create_dir(&place).unwrap();
        let old = seal(vec![open(&place)]).unwrap().root().durable.clone();
        std::fs::remove_dir(&place).unwrap();
        std::fs::create_dir(&place).unwrap();
        let new = seal(vec![open(&place)]).unwrap().root().durable.clone();
        std::fs::remove_dir(&place).unwrap();
        let differs = old.difference(&new);
        assert!(differs.is_some(), "{old:?}");
        if differs == Some(DurableField::Born) {
            // The number was used again: the case that is meant. Elsewhere it may never be.
            assert!(old.handle.is_none() || old.handle != new.handle);
            return;
        }
    }
}

#[test]
fn a_root_stands_while_its_place_leads_to_it_through_no_link() {
    let dir = TempDir::new();
    let place = dir.make("on/root");
    let sealed = seal(vec![open(&place)]).unwrap();
    assert!(sealed.stands());
    std::fs::rename(&place, dir.path().join("away")).unwrap();
    assert!(!sealed.stands(), "nothing is there");
    std::fs::create_dir(&place).unwrap();
    assert!(!sealed.stands(), "another directory is there");
    std::fs::remove_dir(&place).unwrap();
    std::os::unix::fs::symlink(dir.path().join("away"), &place).unwrap();
    assert!(!sealed.stands(), "a link to it is there");
    std::fs::remove_file(&place).unwrap();
    std::fs::rename(dir.path().join("away"), &place).unwrap();
    assert!(sealed.stands(), "it is there again, the same");
    std::fs::rename(dir.path().join("on"), dir.path().join("off")).unwrap();
    std::os::unix::fs::symlink("off", dir.path().join("on")).unwrap();
    assert!(!sealed.stands(), "a link leads to where it is");
    std::fs::remove_file(dir.path().join("on")).unwrap();
    std::fs::remove_dir_all(dir.path().join("off")).unwrap();
    assert!(!sealed.stands() && sealed.is_gone());
}
