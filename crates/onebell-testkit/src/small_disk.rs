//! A disk that can be filled up: a small tmpfs.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::cluster::server_user;

/// A mounted tmpfs, owned by the servers' user; unmounted and removed when dropped. Whoever has files open there must be
/// dropped first.
#[derive(Debug)]
pub struct SmallDisk {
    folder: TempDir,
    mounted: bool,
}

impl SmallDisk {
    /// Mounts one of so many bytes.
    ///
    /// # Panics
    /// Unless this is root with the right to mount: the message says so. A test of a full disk never skips.
    pub fn mount(bytes: u64) -> Self {
        let root = rustix::process::geteuid().is_root();
        assert!(root, "this test needs root: it mounts a small tmpfs to fill it up. Run it as root, or in a container as root");
        let folder = tempfile::Builder::new().prefix("ob-disk-").tempdir_in("/tmp").expect("a folder in /tmp");
        let mut disk = Self { folder, mounted: false };
        let made = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes},mode=0755"), "onebell-test"])
            .arg(disk.path())
            .output()
            .expect("the program `mount`");
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(made.status.success(), "this test needs the right to mount a tmpfs (CAP_SYS_ADMIN), and was refused: {said}");
        disk.mounted = true;
        if let Some((user, group)) = server_user() {
            chown(disk.path(), Some(user), Some(group)).expect("a disk of the servers' user");
        }
        disk
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    fn filler(&self) -> PathBuf {
        self.path().join("filler")
    }

    /// Fills it to the last page.
    ///
    /// # Panics
    /// When that fails otherwise than by being full.
    pub fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.filler()).expect("a file to fill the disk with");
        loop {
            match file.write_all(&[1; 4096]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("the disk cannot be filled: {error}"),
            }
        }
    }

    /// Gives the space back.
    ///
    /// # Panics
    /// When it was not filled.
    pub fn free(&self) {
        fs::remove_file(self.filler()).expect("the file that fills the disk");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if self.mounted {
            // Lazily as well: a server that is still ending must not keep the mount in the list for ever.
            let ended = Command::new("umount").arg("--lazy").arg(self.path()).status();
            if !ended.is_ok_and(|status| status.success()) {
                eprintln!("{} could not be unmounted", self.path().display());
            }
        }
    }
}
