//! Manifests that mean something else than they say, or cannot be read.

use super::super::finding::Code;
use super::super::finding::Severity::{Error, Note, Warning};

pub(in super::super) static UNREADABLE: Code =
    Code { word: "unreadable", severity: Error, why: "it cannot be read, so nothing of it was judged", fix: "make it readable" };

pub(in super::super) static YAML_REFUSED: Code = Code {
    word: "yaml-refused",
    severity: Error,
    why: "it is no YAML: neither kubectl nor anybody else reads it",
    fix: "correct it at that line",
};

pub(in super::super) static TEMPLATE: Code = Code {
    word: "template",
    severity: Error,
    why: "it is a template, and what it becomes is not in the file",
    fix: "render it first: helm template CHART | onebell audit -",
};

pub(in super::super) static KEY_TWICE: Code = Code {
    word: "key-twice",
    severity: Error,
    why: "of two values for a key one is lost, and readers differ in which",
    fix: "keep one of them",
};

pub(in super::super) static TYPE_WRONG: Code = Code {
    word: "type-wrong",
    severity: Error,
    why: "the API server refuses a value of another type",
    fix: "write a value of that type",
};

pub(in super::super) static NUMBER_OCTAL: Code = Code {
    word: "number-octal",
    severity: Warning,
    why: "a number that begins with 0 is octal in YAML 1.1, which Kubernetes reads, and decimal in YAML 1.2",
    fix: "write it without the 0",
};

pub(in super::super) static WORD_FLAG: Code = Code {
    word: "word-flag",
    severity: Note,
    why: "yes, no, on and off are true and false for YAML 1.1 and words for YAML 1.2",
    fix: "write true or false",
};

pub(in super::super) static VALUE_EMPTY: Code = Code {
    word: "value-empty",
    severity: Note,
    why: "a key without a value is null, as if it were not written",
    fix: "write a value, or remove the key",
};

pub(in super::super) static BLOCK_TEXT: Code = Code {
    word: "block-text",
    severity: Note,
    why: "the value is a block with a line end, which was cut off to read it",
    fix: "write it on the key's line, in quotes",
};

pub(in super::super) static FIELD_MISPLACED: Code = Code {
    word: "field-misplaced",
    severity: Error,
    why: "the field belongs somewhere else; where it is, it does nothing or is refused",
    fix: "move it",
};

pub(in super::super) static FIELD_UNKNOWN: Code = Code {
    word: "field-unknown",
    severity: Warning,
    why: "there is no such field; it is dropped, or the manifest is refused",
    fix: "correct the name",
};

pub(in super::super) static FIELD_MISSING: Code =
    Code { word: "field-missing", severity: Error, why: "the API server refuses a CronJob without it", fix: "write it" };

pub(in super::super) static KIND_REFUSED: Code = Code {
    word: "kind-refused",
    severity: Error,
    why: "kinds and versions are compared letter by letter",
    fix: "write apiVersion: batch/v1 and kind: CronJob",
};

pub(in super::super) static KIND_FOREIGN: Code = Code {
    word: "kind-foreign",
    severity: Note,
    why: "it has a schedule and is no CronJob; this kind was not judged",
    fix: "look at it by hand",
};

pub(in super::super) static API_REMOVED: Code = Code {
    word: "api-removed",
    severity: Error,
    why: "the version was removed from Kubernetes (batch/v1beta1 in 1.25)",
    fix: "write apiVersion: batch/v1",
};

pub(in super::super) static NAME_REFUSED: Code = Code {
    word: "name-refused",
    severity: Error,
    why: "a CronJob's name has at most 52 characters: lower-case letters, digits, - and .",
    fix: "choose another name",
};
