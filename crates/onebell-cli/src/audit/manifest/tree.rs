//! YAML as a tree whose nodes know their lines. Keys that come twice are refused, aliases are counted each time they are used, and
//! depth and size have limits, so that no small file becomes a large tree.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle};

/// Manifests are nested some fifteen deep.
const DEPTH_MAX: usize = 64;
/// With what aliases repeat; a long text counts as many.
const NODES_MAX: usize = 200_000;
/// Characters of a text that count as one node.
const NODE_TEXT: usize = 32;

#[derive(Debug)]
pub(super) struct Node {
    /// In the file, from 1.
    pub(super) line: usize,
    pub(super) value: Value,
    /// Nodes under it, itself counted.
    size: usize,
    depth: usize,
}

#[derive(Debug)]
pub(super) enum Value {
    Scalar(Scalar),
    List(Vec<Rc<Node>>),
    Map(Vec<(Key, Rc<Node>)>),
}

#[derive(Debug)]
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Its type follows from how it looks.
    Plain,
    /// A text.
    Quoted,
    /// A text of lines.
    Block,
}

#[derive(Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) line: usize,
}

/// Why a document is no tree.
#[derive(Debug)]
pub(super) struct Problem {
    /// In the file, from 1.
    pub(super) line: usize,
    pub(super) kind: ProblemKind,
    pub(super) message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProblemKind {
    Syntax,
    KeyTwice,
    /// A key that is a map or a list.
    KeyComposed,
    /// An alias inside of what it names, or more nodes than anybody writes.
    Limit,
}

/// A list or map whose end has not come.
struct Open {
    line: usize,
    anchor: usize,
    value: Value,
    /// The key that waits for its value.
    key: Option<Key>,
    seen: BTreeSet<String>,
}

struct Builder {
    open: Vec<Open>,
    named: BTreeMap<usize, Rc<Node>>,
    root: Option<Rc<Node>>,
}

/// The document in `text`, whose first line is `first_line` of the file; nothing: it is empty.
pub(super) fn read(text: &str, first_line: usize) -> Result<Option<Rc<Node>>, Problem> {
    let mut builder = Builder { open: Vec::new(), named: BTreeMap::new(), root: None };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| Problem {
            line: first_line + error.marker().line().saturating_sub(1),
            kind: ProblemKind::Syntax,
            message: error.info(),
        })?;
        builder.take(event, first_line + span.start.line().saturating_sub(1))?;
    }
    Ok(builder.root)
}

impl Builder {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), Problem> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.is_some_and(|tag| tag.suffix() == "str");
                let style = match style {
                    ScalarStyle::Plain if !is_text => Style::Plain,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                    _ => Style::Quoted,
                };
                let size = 1 + text.len() / NODE_TEXT;
                let value = Value::Scalar(Scalar { text: text.into_owned(), style });
                self.done(Node { line, value, size, depth: 1 }, anchor)
            }
            Event::Alias(anchor) => match self.named.get(&anchor) {
                Some(node) => {
                    let node = Rc::clone(node);
                    self.attach(node, line)
                }
                None => Err(limit(line, "an alias inside of what it names")),
            },
            Event::SequenceStart(.., anchor, _) => self.begin(line, anchor, Value::List(Vec::new())),
            Event::MappingStart(.., anchor, _) => self.begin(line, anchor, Value::Map(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => self.end(line),
            _ => Ok(()),
        }
    }

    fn begin(&mut self, line: usize, anchor: usize, value: Value) -> Result<(), Problem> {
        if self.open.len() >= DEPTH_MAX {
            return Err(limit(line, "lists and maps more than 64 deep"));
        }
        self.open.push(Open { line, anchor, value, key: None, seen: BTreeSet::new() });
        Ok(())
    }

    fn end(&mut self, line: usize) -> Result<(), Problem> {
        let Some(Open { line, anchor, mut value, .. }) = self.open.pop() else {
            return Err(limit(line, "an end without a beginning"));
        };
        if let Value::Map(entries) = &mut value {
            merge(entries);
        }
        let below = || {
            let (items, entries) = match &value {
                Value::List(items) => (items.as_slice(), [].as_slice()),
                Value::Map(entries) => ([].as_slice(), entries.as_slice()),
                Value::Scalar(_) => ([].as_slice(), [].as_slice()),
            };
            items.iter().chain(entries.iter().map(|(_, node)| node))
        };
        let size = below().fold(1, |size: usize, node| size.saturating_add(node.size));
        let depth = below().map(|node| node.depth).max().unwrap_or(0) + 1;
        if size > NODES_MAX || depth > DEPTH_MAX {
            return Err(limit(line, "with its aliases written out it is larger than any manifest"));
        }
        self.done(Node { line, value, size, depth }, anchor)
    }

    fn done(&mut self, node: Node, anchor: usize) -> Result<(), Problem> {
        let line = node.line;
        let node = Rc::new(node);
        if anchor > 0 {
            self.named.insert(anchor, Rc::clone(&node));
        }
        self.attach(node, line)
    }

    fn attach(&mut self, node: Rc<Node>, line: usize) -> Result<(), Problem> {
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return Ok(());
        };
        match (&mut open.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(entries), Some(key)) => entries.push((key, node)),
            (Value::Map(_), None) => {
                let Value::Scalar(Scalar { text, .. }) = &node.value else {
                    return Err(Problem {
                        line,
                        kind: ProblemKind::KeyComposed,
                        message: "a key that is a list or a map".to_owned(),
                    });
                };
                if !open.seen.insert(text.clone()) {
                    let message = format!("the key {text:?} comes twice");
                    return Err(Problem { line, kind: ProblemKind::KeyTwice, message });
                }
                open.key = Some(Key { text: text.clone(), line });
            }
            (Value::Scalar(_), _) => {}
        }
        Ok(())
    }
}

/// `<<: *other`: what is written itself goes before what is merged.
fn merge(entries: &mut Vec<(Key, Rc<Node>)>) {
    let Some(at) = entries.iter().position(|(key, _)| key.text == "<<") else { return };
    let (_, merged) = entries.remove(at);
    let one = [Rc::clone(&merged)];
    let sources: &[Rc<Node>] = match &merged.value {
        Value::List(items) => items,
        _ => &one,
    };
    for source in sources {
        let Value::Map(more) = &source.value else { continue };
        for (key, node) in more {
            if !entries.iter().any(|(known, _)| known.text == key.text) {
                entries.push((Key { text: key.text.clone(), line: key.line }, Rc::clone(node)));
            }
        }
    }
}

fn limit(line: usize, message: &str) -> Problem {
    Problem { line, kind: ProblemKind::Limit, message: message.to_owned() }
}
