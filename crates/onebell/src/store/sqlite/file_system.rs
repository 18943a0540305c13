//! A database file must not lie on a network: SQLite's log needs shared memory, which ends at the host.

use std::path::Path;

use crate::store::StoreError;

/// What kind of file system a database file lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FsKind {
    /// A disk of this host, or its memory.
    Local,
    /// A network file system, by name.
    Network(&'static str),
    /// Served by a program or a virtual machine's host: only they know what is behind it.
    Served(&'static str),
}

const NETWORK: [(u32, &str); 12] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x564c, "NCP"),
    (0x5346_414f, "AFS"),
    (0x7375_7245, "Coda"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x7461_636f, "OCFS2"),
    (0x0116_1970, "GFS2"),
];
const SERVED: [(u32, &str); 2] = [(0x6573_5546, "FUSE"), (0x0102_1997, "9P")];
/// tmpfs and ramfs.
const MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

impl FsKind {
    /// Of the folder or file at `path`. An unanswered question counts as local.
    pub fn of(path: &Path) -> Self {
        magic(path).map_or(Self::Local, Self::of_magic)
    }

    /// Whether what is written at `path` is in memory alone: gone with the host's power, however it is synced.
    pub fn is_memory(path: &Path) -> bool {
        magic(path).is_some_and(|magic| MEMORY.contains(&magic))
    }

    fn of_magic(magic: u32) -> Self {
        let named = |table: &[(u32, &'static str)]| table.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name);
        match (named(&NETWORK), named(&SERVED)) {
            (Some(name), _) => Self::Network(name),
            (None, Some(name)) => Self::Served(name),
            (None, None) => Self::Local,
        }
    }
}

/// What the system calls the file system of the file at `path`, or of its folder.
fn magic(path: &Path) -> Option<u32> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = rustix::fs::statfs(path).or_else(|_| rustix::fs::statfs(folder)).ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "magic numbers have 32 bits")]
    Some(found.f_type as u32)
}

/// Refuses a network file system; what may be one is allowed with a warning.
pub fn refuse_network_fs(kind: FsKind, file: &str) -> Result<(), StoreError> {
    match kind {
        FsKind::Local => Ok(()),
        FsKind::Served(name) => {
            tracing::warn!(file, file_system = name, "works only while all replicas run on this host and the files lie on it");
            Ok(())
        }
        FsKind::Network(name) => Err(StoreError::broken(format!(
            "{file} lies on {name}, a network file system, where SQLite cannot keep replicas apart; \
             put the file on a local disk, or use PostgreSQL (--database postgres://…) for several hosts"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_on_the_network_is_refused_with_its_remedy_and_a_local_one_is_not() {
        let refused = refuse_network_fs(FsKind::of_magic(0x6969), "jobs.db").unwrap_err().to_string();
        assert!(refused.contains("NFS") && refused.contains("PostgreSQL"), "{refused}");
        assert!(refuse_network_fs(FsKind::of_magic(0xff53_4d42), "jobs.db").is_err());
        assert!(refuse_network_fs(FsKind::of_magic(0x6573_5546), "jobs.db").is_ok());
        assert_eq!(FsKind::of_magic(0xef53), FsKind::Local);
        assert_eq!(FsKind::of(Path::new("/proc/self/no-such-file")), FsKind::Local);
    }

    #[test]
    fn a_file_in_memory_is_known() {
        assert!(FsKind::is_memory(Path::new("/dev/shm/jobs.db")) && !FsKind::is_memory(Path::new("/proc/self/jobs.db")));
    }
}
