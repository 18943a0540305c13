//! When a job is due.

use super::super::finding::Code;
use super::super::finding::Severity::{Error, Note, Warning};

pub(in super::super) static SCHEDULE_REFUSED: Code = Code {
    word: "schedule-refused",
    severity: Error,
    why: "the schedule cannot be read by its platform, so the job does not run",
    fix: "correct the expression",
};

pub(in super::super) static SCHEDULE_MISSING: Code =
    Code { word: "schedule-missing", severity: Error, why: "without a schedule it never runs", fix: "write one" };

pub(in super::super) static SCHEDULE_SURPRISE: Code = Code {
    word: "schedule-surprise",
    severity: Warning,
    why: "the expression means something else than it seems to say",
    fix: "write what is meant",
};

pub(in super::super) static STAR_STEP: Code = Code {
    word: "star-step",
    severity: Warning,
    why: "a day field such as */2 beside a weekday means *or* for Kubernetes and *and* for cron",
    fix: "leave one of the two fields *",
};

pub(in super::super) static ZONE_IN_SCHEDULE: Code = Code {
    word: "zone-in-schedule",
    severity: Error,
    why: "TZ= or CRON_TZ= inside a schedule is refused by current API servers",
    fix: "write spec.timeZone",
};

pub(in super::super) static ZONE_UNKNOWN: Code = Code {
    word: "zone-unknown",
    severity: Error,
    why: "there is no time zone of that name, letter by letter",
    fix: "write the IANA name",
};

pub(in super::super) static ZONE_CONTROLLER: Code = Code {
    word: "zone-controller",
    severity: Warning,
    why: "without timeZone the controller's own zone counts, which is UTC nearly everywhere",
    fix: "write spec.timeZone",
};

pub(in super::super) static ZONE_HOST: Code = Code {
    word: "zone-host",
    severity: Note,
    why: "the host's own zone counts, which the file does not tell",
    fix: "name it: --time-zone ZONE",
};

pub(in super::super) static ZONE_IGNORED: Code = Code {
    word: "zone-ignored",
    severity: Note,
    why: "CRON_TZ is a word of cronie; Debian's cron reads the times in the host's zone whatever it says",
    fix: "look which cron reads the file",
};

pub(in super::super) static CLOCK_CHANGE: Code = Code {
    word: "clock-change",
    severity: Note,
    why: "a change of the zone's clock falls on a slot: its local time comes twice or not at all",
    fix: "choose a time outside the changed hour, or a zone without changes",
};

pub(in super::super) static AT_BOOT: Code = Code {
    word: "at-boot",
    severity: Warning,
    why: "it runs when a host starts, so as often as there are hosts and restarts",
    fix: "trigger it on deployment: onebell trigger JOB --key VERSION",
};

pub(in super::super) static COUNTED: Code = Code {
    word: "counted",
    severity: Note,
    why: "its slots are counted from something that happened, so the file does not tell them",
    fix: "import it: every is counted from a fixed instant",
};

pub(in super::super) static DRAWN: Code = Code {
    word: "drawn",
    severity: Note,
    why: "cron draws the time anew whenever it loads the file, on each host another one",
    fix: "H in Onebell is drawn from the job's name, alike everywhere",
};

pub(in super::super) static SPREAD: Code = Code {
    word: "spread",
    severity: Note,
    why: "the start is put off by a random time",
    fix: "nothing to do; Onebell starts at the slot",
};

pub(in super::super) static CALENDAR_UNSAID: Code = Code {
    word: "calendar-unsaid",
    severity: Warning,
    why: "neither a cron expression nor a recurrence rule says the same, so there are no slots and no schedule to import",
    fix: "write it in several simpler ones",
};

pub(in super::super) static PAUSED: Code =
    Code { word: "paused", severity: Warning, why: "it is switched off and does not run", fix: "switch it on, or remove it" };

pub(in super::super) static DEADLINE_SHORT: Code = Code {
    word: "deadline-short",
    severity: Warning,
    why: "the controller looks about every 10 s: with a shorter startingDeadlineSeconds it may never run",
    fix: "write 60 or more",
};

pub(in super::super) static MISSED_STOP: Code = Code {
    word: "missed-stop",
    severity: Warning,
    why: "without startingDeadlineSeconds, older clusters stop for good after more than 100 missed starts",
    fix: "write startingDeadlineSeconds",
};

pub(in super::super) static MISSED_LOST: Code = Code {
    word: "missed-lost",
    severity: Note,
    why: "slots that come while the host is off are lost",
    fix: "write Persistent=true",
};
