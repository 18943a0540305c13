//! What a command line tells: a limit, a lock, `onebell once`, the background, and what to call it. It is read, never run; what it
//! does not say plainly counts as not said.

mod words;
mod wrapper;

use std::time::Duration;

use super::found::{Step, Work};
use words::Text;
use wrapper::Piece;

/// What a command line says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// It ends itself after so long, all of its parts together.
    pub(super) bound: Option<Duration>,
    /// It holds a lock of this host.
    pub(super) lock: Option<Lock>,
    /// `onebell once` stands in front.
    pub(super) once: bool,
    /// Nobody waits for it.
    pub(super) background: bool,
    /// The program or script, in letters, digits, `-` and `_`; empty where nothing tells.
    pub(super) name: String,
}

/// What happens while somebody else holds the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// It leaves.
    Leaves,
    /// It waits, and so do all that come after it.
    Waits,
}

/// Shells inside of shells are followed so far.
const DEPTH_MAX: usize = 4;

/// Of several, which run one after the other.
pub(super) fn told(steps: &[Step]) -> Told {
    let each = steps.iter().map(|step| match &step.work {
        Work::Shell { text, .. } => of_text(text, DEPTH_MAX),
        Work::Argv(argv) => {
            let piece = wrapper::read(argv, DEPTH_MAX);
            Told { background: false, ..joined(std::slice::from_ref(&piece)) }
        }
        Work::Elsewhere(_) => Told::default(),
    });
    each.reduce(|one, two| Told {
        bound: one.bound.zip(two.bound).map(|(one, two)| one.saturating_add(two)),
        lock: one.lock.filter(|lock| two.lock == Some(*lock)),
        once: one.once && two.once,
        background: one.background || two.background,
        name: one.name,
    })
    .unwrap_or_default()
}

fn of_text(text: &str, depth: usize) -> Told {
    let Text { commands, background } = words::read(text);
    let pieces: Vec<Piece> = commands.iter().map(|words| wrapper::read(words, depth)).collect();
    Told { background, ..joined(&pieces) }
}

fn joined(pieces: &[Piece]) -> Told {
    let works: Vec<&Piece> = pieces.iter().filter(|piece| !piece.trivial).collect();
    let named = works.first().copied().or(pieces.first());
    Told {
        bound: works
            .iter()
            .map(|piece| piece.bound)
            .try_fold(Duration::ZERO, |sum, bound| Some(sum.saturating_add(bound?)))
            .filter(|_| !works.is_empty()),
        // Within one line the lock in front is what a second line meets first.
        lock: works.first().and_then(|piece| piece.lock),
        once: !works.is_empty() && works.iter().all(|piece| piece.once),
        background: false,
        name: named.map(|piece| piece.name.clone()).unwrap_or_default(),
    }
}

/// Letters, digits, `-` and `_`, at most 60 of them.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 60 {
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Told {
        of_text(text, DEPTH_MAX)
    }

    fn seconds(text: &str) -> Option<u64> {
        of(text).bound.map(|bound| bound.as_secs())
    }

    #[test]
    fn a_limit_counts_when_it_is_one_for_all_of_the_line() {
        for (text, expected) in [
            ("timeout 30m /usr/bin/report", Some(1800)),
            ("cd /srv && timeout -k 5 --signal=KILL 90 ./x > /dev/null 2>&1", Some(90)),
            ("nice -n 19 ionice -c3 timeout 1.5h rsync a b | logger", Some(5400)),
            ("timeout 10 a; timeout 20 b", Some(30)),
            ("timeout 10 a; b", None),
            ("timeout 0 a", None),
            ("bash -c 'timeout 5m x'", Some(300)),
            ("flock -n /run/x timeout 1h y", Some(3600)),
            ("flock -n /run/x -c 'timeout 2h y'", Some(7200)),
            ("echo timeout 30m", None),
            ("/x 'timeout 5 y'", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }

    #[test]
    fn locks_of_the_host_and_of_onebell_are_told_apart() {
        assert_eq!(of("flock -n /run/x cmd").lock, Some(Lock::Leaves));
        assert_eq!(of("/usr/bin/flock -w 0 /run/x cmd").lock, Some(Lock::Leaves));
        assert_eq!(of("flock /run/x cmd").lock, Some(Lock::Waits));
        assert_eq!(of("flock -xn 9 && cmd").lock, Some(Lock::Leaves));
        let once = of("onebell once --key report --slot '*/5 * * * *' -- timeout 5m /x/report.sh --mail");
        assert!(once.once && once.lock.is_none() && once.bound == Some(Duration::from_secs(300)));
        assert_eq!(once.name, "report");
        assert!(!of("echo onebell once -- x").once);
    }

    #[test]
    fn a_job_is_called_by_its_program_or_script() {
        for (text, expected) in [
            ("/usr/local/bin/backup.sh --all", "backup"),
            ("MAILTO=x PATH=/bin:$PATH sudo -u www-data php /srv/app/artisan schedule:run", "artisan"),
            ("cd / && run-parts --report /etc/cron.hourly", "cron-hourly"),
            ("test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }", "cron-daily"),
            ("[ -x /x ] && python3 -u /opt/jobs/close_day.py", "close_day"),
            ("python3 -m app.jobs", "app-jobs"),
            ("pg_dump app > /b/app-$(date +", "pg_dump"),
            ("", ""),
            ("'", ""),
            ("tee /x & ", "tee"),
        ] {
            assert_eq!(of(text).name, expected, "{text}");
        }
        assert!(of("sleep 5 &").background && of("a 2>&1 &").background);
        assert!(!of("a >& b").background && !of("a && b").background && !of("a &> b").background);
    }
}
