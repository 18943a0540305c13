//! Crontabs that mean something else than they say, or cannot be read.

use super::super::finding::Code;
use super::super::finding::Severity::{Error, Note, Warning};

pub(in super::super) static PERCENT: Code = Code {
    word: "percent",
    severity: Warning,
    why: "cron ends the command at the first % and gives the rest to its standard input; \\% is a percent sign",
    fix: "write \\% for every % that is meant",
};

pub(in super::super) static USER_COLUMN: Code = Code {
    word: "user-column",
    severity: Warning,
    why: "a user's crontab has no user column: the word is run as a program",
    fix: "remove it, or read the file as a system crontab: --as system-crontab",
};

pub(in super::super) static USER_MISSING: Code = Code {
    word: "user-missing",
    severity: Error,
    why: "in /etc/crontab and /etc/cron.d a user stands between the times and the command",
    fix: "write the user there",
};

pub(in super::super) static COMMAND_MISSING: Code = Code {
    word: "command-missing",
    severity: Error,
    why: "a line without a command does nothing, and may make cron refuse the file",
    fix: "write the command",
};

pub(in super::super) static LINE_REFUSED: Code = Code {
    word: "line-refused",
    severity: Error,
    why: "the line is neither a comment nor a variable nor a job; cron refuses it, and some crons the whole file with it",
    fix: "correct it, or put # in front",
};

pub(in super::super) static NO_FINAL_NEWLINE: Code = Code {
    word: "no-final-newline",
    severity: Error,
    why: "cron ignores a last line that does not end, Debian's the whole file",
    fix: "end the last line",
};

pub(in super::super) static CRLF: Code = Code {
    word: "crlf",
    severity: Error,
    why: "each line ends with a carriage return that cron takes for a part of the command",
    fix: "convert the line ends: dos2unix, or sed -i 's/\\r$//'",
};

pub(in super::super) static BOM: Code = Code {
    word: "bom",
    severity: Error,
    why: "the file begins with a byte order mark that cron takes for a part of the first line",
    fix: "save it as UTF-8 without a byte order mark",
};

pub(in super::super) static LINE_TOO_LONG: Code = Code {
    word: "line-too-long",
    severity: Warning,
    why: "the longest command that every cron takes has 998 characters",
    fix: "put the command into a script",
};

pub(in super::super) static NOT_UTF8: Code = Code {
    word: "not-utf8",
    severity: Warning,
    why: "bytes that are no UTF-8: what is shown and imported has a substitute in their place",
    fix: "convert the file to UTF-8",
};

pub(in super::super) static MAILTO_EMPTY: Code = Code {
    word: "mailto-empty",
    severity: Warning,
    why: "some builds of cron take MAILTO= for a broken line and not for nobody",
    fix: "write MAILTO=\"\"",
};

pub(in super::super) static VARIABLE_LITERAL: Code = Code {
    word: "variable-literal",
    severity: Warning,
    why: "cron puts no variables into values: $ stays as it is",
    fix: "write the value out",
};

pub(in super::super) static VARIABLE_COMMENT: Code = Code {
    word: "variable-comment",
    severity: Warning,
    why: "there is no comment behind a value: # and what follows are part of it",
    fix: "put the comment on a line of its own",
};

pub(in super::super) static FILE_IGNORED: Code = Code {
    word: "file-ignored",
    severity: Warning,
    why: "cron reads no files of such names in /etc/cron.d",
    fix: "rename the file to letters, digits, - and _",
};

pub(in super::super) static NOTHING_FOUND: Code =
    Code { word: "nothing-found", severity: Note, why: "the file has no job", fix: "if it has, name its format with --as" };
