//! What is never written: a lint allowed without a reason, a test that is skipped, work left undone, `unsafe`.

use crate::files::File;
use crate::tokens::{Token, attribute, tokens};

pub(crate) fn violations(files: &[File]) -> Vec<String> {
    files.iter().flat_map(|(path, text)| of_file(path, text)).collect()
}

fn of_file(path: &str, text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let wrong = attribute(&tokens, index).and_then(|inside| in_attribute(&tokens[inside])).or_else(|| {
            let called = tokens.get(index + 1).is_some_and(|next| next.is('!'));
            match token.word()? {
                "unsafe" => Some("unsafe code is forbidden"),
                "todo" | "unimplemented" if called => Some("finish it, or return an error that says what is missing"),
                "dbg" if called => Some("use tracing"),
                _ => None,
            }
        });
        found.extend(wrong.map(|wrong| format!("{path}:{}: {wrong}", token.line)));
    }
    let skipped = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        line.starts_with("//") && line.contains("```ignore")
    });
    found.extend(skipped.map(|(index, _)| format!("{path}:{}: an example that nobody runs: make it run, or `text`", index + 1)));
    found
}

fn in_attribute(inside: &[Token]) -> Option<&'static str> {
    let first = inside.first()?.word()?;
    let conditional = first == "cfg_attr";
    let has = |word: &str| first == word || (conditional && inside.iter().any(|token| token.is_word(word)));
    if has("allow") {
        Some("write #[expect(lint, reason = \"…\")]: it says why, and ends with its cause")
    } else if has("ignore") {
        Some("no test is skipped: make it run, or remove it")
    } else if first == "expect" && !inside.iter().any(|token| token.is_word("reason")) {
        Some("an expected lint needs its reason = \"…\"")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ban_is_found_and_its_likeness_is_not() {
        for wrong in [
            "#[allow(dead_code)] fn f() {}",
            "#![allow(unused)]",
            "#[cfg_attr(test, allow(unused))] fn f() {}",
            "#[expect(unused)] fn f() {}",
            "#[test]\n#[ignore = \"slow\"]\nfn f() {}",
            "#[cfg_attr(slow, ignore)] fn f() {}",
            "fn f() { todo!() }",
            "fn f() { unimplemented!(\"later\") }",
            "fn f() { dbg!(1); }",
            "fn f() { unsafe { g() } }",
            "unsafe impl Send for X {}",
            "/// ```ignore\n/// x\n/// ```\nfn f() {}",
        ] {
            assert_eq!(of_file("a.rs", wrong).len(), 1, "{wrong}");
        }
        for right in [
            "#[expect(unused, reason = \"the macro needs it\")] fn f() {}",
            "#![forbid(unsafe_code)]",
            "// todo!() and unsafe\nconst X: &str = \"#[allow(x)] dbg!()\";",
            "fn allow(todo: u8) { policy.allow(ignore); }",
            "#[serde(rename = \"ignore\")] struct X;",
        ] {
            assert_eq!(of_file("a.rs", right), Vec::<String>::new(), "{right}");
        }
    }
}
