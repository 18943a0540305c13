//! Every path that a crate's source names, resolved through `use`, re-exports, globs and inline modules to
//! where it leads. What is left unresolved are local names and types that a glob brings: they name no room by themselves.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::{self, File};
use crate::tokens::{Kind, Token, tokens};

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Inside the crate, from its root.
    Inside(Vec<String>),
    /// Another crate's name, then the rest.
    Outside(Vec<String>),
    Unknown,
}

/// A path as written.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) file: String,
    pub(crate) line: usize,
    /// The module that names it.
    pub(crate) module: Vec<String>,
    pub(crate) segments: Vec<String>,
    pub(crate) test: bool,
    /// A `use`: the name that it gives; `*` for a glob.
    alias: Option<String>,
}

/// A crate's source: its modules and every path in them.
#[derive(Debug)]
pub(crate) struct Crate {
    modules: BTreeSet<Vec<String>>,
    outside: BTreeSet<String>,
    uses: BTreeMap<Vec<String>, Vec<Named>>,
    pub(crate) named: Vec<Named>,
    /// File, its module, its tokens.
    pub(crate) sources: Vec<(String, Vec<String>, Vec<Token>)>,
}

impl Crate {
    /// A crate of this workspace; an empty one if it is not there.
    pub(crate) fn of_folder(package: &str) -> Self {
        let source = format!("crates/{package}/src/");
        let manifest = files::all(&format!("crates/{package}")).into_iter().find(|(path, _)| path.ends_with("/Cargo.toml"));
        let found = files::all(&source).into_iter().filter(|(path, _)| path.ends_with(".rs"));
        let local = found.map(|(path, text)| (path[source.len()..].to_owned(), text)).collect::<Vec<_>>();
        Self::new(&local, &dependencies(&manifest.map(|(_, text)| text).unwrap_or_default()))
    }

    /// From files named as below `src/`.
    pub(crate) fn new(files: &[File], dependencies: &[String]) -> Self {
        let mut outside: BTreeSet<String> = ["std", "core", "alloc"].map(str::to_owned).into();
        outside.extend(dependencies.iter().cloned());
        let mut made = Self { modules: BTreeSet::from([vec![]]), outside, uses: BTreeMap::new(), named: vec![], sources: vec![] };
        for (file, text) in files {
            let module = module_of(file);
            let tokens = tokens(text);
            for depth in 1..=module.len() {
                made.modules.insert(module[..depth].to_vec());
            }
            for token in &tokens {
                made.modules.insert([&module[..], &token.modules].concat());
            }
            let in_tests = module.last().is_some_and(|name| name == "tests");
            for mut named in paths(&tokens) {
                named.file.clone_from(file);
                named.module = [&module[..], &named.module].concat();
                named.test |= in_tests;
                if named.alias.is_some() {
                    made.uses.entry(named.module.clone()).or_default().push(named.clone());
                }
                made.named.push(named);
            }
            made.sources.push((file.clone(), module, tokens));
        }
        made
    }

    /// Whether the crate has that module.
    pub(crate) fn has(&self, module: &[String]) -> bool {
        self.modules.contains(module)
    }

    /// Where `named` leads.
    pub(crate) fn place(&self, named: &Named) -> Place {
        // A `use` never resolves through the name that itself gives.
        self.resolve(&named.module, &named.segments, 0)
    }

    fn resolve(&self, module: &[String], segments: &[String], depth: usize) -> Place {
        let Some(first) = segments.first().filter(|_| depth < 12) else { return Place::Unknown };
        let up = segments.iter().take_while(|segment| *segment == "super").count();
        match first.as_str() {
            "" => Place::Outside(segments[1..].to_vec()),
            "crate" => self.descend(&[], &segments[1..], depth),
            "self" => {
                let further = segments[1..].iter().take_while(|segment| *segment == "super").count();
                self.descend(&module[..module.len().saturating_sub(further)], &segments[1 + further..], depth)
            }
            "super" => self.descend(&module[..module.len().saturating_sub(up)], &segments[up..], depth),
            _ => self.by_name(module, segments, depth),
        }
    }

    /// A path that begins with a plain name: a module here, an imported name, another crate, or what a glob brings.
    fn by_name(&self, module: &[String], segments: &[String], depth: usize) -> Place {
        let first = &segments[0];
        if self.has(&[module, std::slice::from_ref(first)].concat()) {
            return self.descend(module, segments, depth);
        }
        if let Some(target) = self.alias(module, first, segments) {
            return self.resolve(module, &[&target.segments, &segments[1..]].concat(), depth + 1);
        }
        if self.outside.contains(first) {
            return Place::Outside(segments.to_vec());
        }
        let globs = self.uses.get(module).into_iter().flatten().filter(|named| named.alias.as_deref() == Some("*"));
        for glob in globs {
            match self.resolve(module, &glob.segments, depth + 1) {
                Place::Inside(target)
                    if self.has(&[&target[..], std::slice::from_ref(first)].concat())
                        || self.alias(&target, first, segments).is_some() =>
                {
                    return self.descend(&target, segments, depth + 1);
                }
                _ => {}
            }
        }
        Place::Unknown
    }

    fn descend(&self, base: &[String], rest: &[String], depth: usize) -> Place {
        let mut here = base.to_vec();
        for (index, segment) in rest.iter().enumerate() {
            let next = [&here[..], std::slice::from_ref(segment)].concat();
            if self.has(&next) {
                here = next;
            } else if let Some(target) = self.alias(&here, segment, rest)
                && depth < 12
            {
                return match self.resolve(&here, &[&target.segments, &rest[index + 1..]].concat(), depth + 1) {
                    Place::Unknown => Place::Inside([&here[..], &rest[index..]].concat()),
                    place => place,
                };
            } else {
                return Place::Inside([&here[..], &rest[index..]].concat());
            }
        }
        Place::Inside(here)
    }

    fn alias(&self, module: &[String], name: &str, not: &[String]) -> Option<&Named> {
        self.uses.get(module)?.iter().find(|named| named.alias.as_deref() == Some(name) && named.segments != not)
    }
}

fn module_of(file: &str) -> Vec<String> {
    let name = file.trim_end_matches(".rs").trim_end_matches("/mod");
    if matches!(name, "lib" | "main") { vec![] } else { name.split('/').map(str::to_owned).collect() }
}

/// Names under `[dependencies]` of a manifest, as paths write them.
fn dependencies(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    let names = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split(['=', '.']).next());
    names.map(|name| name.trim().replace('-', "_")).filter(|name| !name.is_empty()).collect()
}

/// Paths of two segments or more, and every `use`; the module is the inline one only.
fn paths(tokens: &[Token]) -> Vec<Named> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].is_word("use") && !tokens.get(at + 1).is_some_and(|next| next.is('<')) {
            at = use_tree(tokens, at + 1, &[], &mut found);
        } else if continues(tokens, at) || tokens[at].word().is_some_and(|word| KEYWORDS.contains(&word)) {
            at += 1;
        } else {
            let (segments, next) = joined(tokens, at);
            if segments.len() > 1 {
                found.push(named(&tokens[at], segments, None));
            }
            at = next.max(at + 1);
        }
    }
    found
}

/// Whether the token goes on with something before it: a field or method, or the rest of `<T as Trait>::f`; the `::` of
/// `-> ::std::x` and the name after `..` begin a path.
fn continues(tokens: &[Token], at: usize) -> bool {
    let back = |steps: usize| at.checked_sub(steps).map(|index| &tokens[index]);
    let is = |steps: usize, mark: char| back(steps).is_some_and(|token| token.is(mark));
    let after_word = back(1).and_then(Token::word).is_some_and(|word| !KEYWORDS.contains(&word));
    match tokens[at].kind {
        Kind::Joint => after_word || (is(1, '>') && !is(2, '-') && !is(2, '=')),
        _ => back(1).is_some_and(|token| token.kind == Kind::Joint) || (is(1, '.') && !is(2, '.')),
    }
}

/// Words that may stand before a path, never in one.
const KEYWORDS: &[&str] = &["as", "dyn", "else", "for", "if", "impl", "in", "match", "mut", "return", "where", "while"];

fn named(token: &Token, segments: Vec<String>, alias: Option<String>) -> Named {
    Named { file: String::new(), line: token.line, module: token.modules.clone(), segments, test: token.test, alias }
}

/// `a::b::c` from `at`; a leading `::` is an empty first segment. Stops before `::{`, `::*` and `::<`.
fn joined(tokens: &[Token], mut at: usize) -> (Vec<String>, usize) {
    let mut segments = Vec::new();
    let is_joint = |index: usize| tokens.get(index).is_some_and(|t| t.kind == Kind::Joint);
    if is_joint(at) {
        segments.push(String::new());
        at += 1;
    }
    while let Some(word) = tokens.get(at).and_then(Token::word) {
        segments.push(word.to_owned());
        at += 1;
        if !is_joint(at) || tokens.get(at + 1).and_then(Token::word).is_none() {
            break;
        }
        at += 1;
    }
    (segments, at)
}

/// One branch of a `use` from `at`; returns the index after it.
fn use_tree(tokens: &[Token], at: usize, prefix: &[String], found: &mut Vec<Named>) -> usize {
    let Some(first) = tokens.get(at) else { return at };
    let (segments, mut next) = joined(tokens, at);
    let mut whole = [prefix, &segments].concat();
    if tokens.get(next).is_some_and(|t| t.kind == Kind::Joint) {
        next += 1;
    }
    match tokens.get(next) {
        Some(open) if open.is('{') => {
            next += 1;
            while tokens.get(next).is_some_and(|t| !t.is('}')) {
                let after = use_tree(tokens, next, &whole, found);
                next = after.max(next + 1);
                if tokens.get(next).is_some_and(|t| t.is(',')) {
                    next += 1;
                }
            }
            next + 1
        }
        Some(star) if star.is('*') => {
            found.push(named(first, whole, Some("*".to_owned())));
            next + 1
        }
        other => {
            let renamed = other.is_some_and(|t| t.is_word("as"));
            if whole.len() > 1 && whole.last().is_some_and(|last| last == "self") {
                whole.pop();
            }
            let alias = if renamed { tokens.get(next + 1).and_then(Token::word) } else { whole.last().map(String::as_str) };
            let alias = alias.unwrap_or("_").to_owned();
            found.push(named(first, whole, Some(alias)));
            next + 2 * usize::from(renamed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(files: &[(&str, &str)], of: &str) -> Vec<String> {
        let files: Vec<File> = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        let made = Crate::new(&files, &["tokio".to_owned()]);
        let written = |place| match place {
            Place::Inside(path) => format!("crate::{}", path.join("::")),
            Place::Outside(path) => path.join("::"),
            Place::Unknown => "?".to_owned(),
        };
        made.named.iter().filter(|named| named.file == of).map(|named| written(made.place(named))).collect()
    }

    fn of(text: &str) -> Vec<String> {
        places(&[("a/b.rs", text), ("a/c.rs", ""), ("s/q.rs", ""), ("s.rs", "pub use q::Thing; pub use q as other;")], "a/b.rs")
    }

    #[test]
    fn a_use_is_followed_through_groups_renames_and_self() {
        assert_eq!(of("use crate::{s::{self, q::X as Y}, a};"), ["crate::s", "crate::s::q::X", "crate::a"]);
        assert_eq!(of("use std::time::{Duration, Instant as I}; fn f() { I::now(); }")[2], "std::time::Instant::now");
        assert_eq!(of("use crate::s as t; fn f() { t::q::x() }")[1], "crate::s::q::x");
        assert_eq!(of("fn f() -> impl Sized + use<'_> { tokio::spawn(x) }"), ["tokio::spawn"]);
    }

    #[test]
    fn inline_paths_are_found_in_code_types_attributes_and_macros() {
        assert_eq!(of("fn f(x: &crate::s::q::T) { super::c::g() }"), ["crate::s::q::T", "crate::a::c::g"]);
        assert_eq!(of("#[tokio::test] fn f() {}"), ["tokio::test"]);
        assert_eq!(of("macro_rules! m { () => { $crate::s::q::X } }"), ["crate::s::q::X"]);
        assert_eq!(of("fn f() { ::tokio::spawn(x.y::<Z>()) }"), ["tokio::spawn"]);
        assert_eq!(of("fn f() -> ::tokio::X { <Self as Y>::z() }"), ["tokio::X"]);
        assert_eq!(
            of("fn f() { let x = X { a, ..Self::new() }; 0..crate::s::N; return ::tokio::x(); }")[1..],
            ["crate::s::N", "tokio::x"]
        );
        assert_eq!(of("// crate::s::q::X\nconst X: &str = \"crate::s::q::X\";"), Vec::<String>::new());
    }

    #[test]
    fn a_sibling_is_seen_through_super_self_glob_and_inline_module() {
        assert_eq!(of("use super::*; fn f() { c::g() }")[1], "crate::a::c::g");
        assert_eq!(of("mod t { fn f() { super::super::c::g() } }"), ["crate::a::c::g"]);
        assert_eq!(of("fn f() { self::super::c::g() }"), ["crate::a::c::g"]);
        assert_eq!(of("mod t { use super::super::*; fn f() { c::g() } }")[1], "crate::a::c::g");
    }

    #[test]
    fn a_re_export_leads_to_where_the_thing_lives() {
        assert_eq!(of("use crate::s::Thing;"), ["crate::s::q::Thing"]);
        assert_eq!(of("use crate::s::other::X;"), ["crate::s::q::X"]);
        assert_eq!(of("use crate::s::*; fn f() { Thing::new() }")[1], "crate::s::q::Thing::new");
    }

    #[test]
    fn a_name_that_imports_itself_ends_the_search() {
        assert_eq!(
            of("macro_rules! w { () => {} } pub(crate) use w; use x as y; use y as x; fn f() { x::z() }").last().unwrap(),
            "?"
        );
    }

    #[test]
    fn dependencies_are_read_from_a_manifest() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\nasync-trait.workspace = true\nserde = \"1\"\n\n[dev-dependencies]\ninsta = \"1\"\n";
        assert_eq!(dependencies(manifest), ["async_trait", "serde"]);
    }
}
