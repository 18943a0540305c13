//! The shape of a state machine written as data: who may move what, from where, to where.

/// One line of a transition table. What is not listed does not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition<S: 'static, E: 'static> {
    /// States that the line leaves.
    pub from: &'static [S],
    /// What happened.
    pub event: E,
    /// The state that it enters.
    pub to: S,
    /// Who may make it.
    pub by: &'static [By],
}

/// Who makes a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Opens, admits, grants, closes deliveries.
    Scheduler,
    /// Claims steps and settles them.
    Agent,
    /// Delivers messages.
    Relay,
    /// A person, or a program that acts for one.
    Operator,
    /// Whoever commits the transition that made this one due, in the same transaction.
    Consequence,
}

/// Looks `event` up in `table`: the state entered from `from`, or nothing if no line allows it.
pub fn next<S: PartialEq + Copy, E: PartialEq + Copy>(table: &[Transition<S, E>], from: S, event: E) -> Option<S> {
    table.iter().find(|line| line.event == event && line.from.contains(&from)).map(|line| line.to)
}

/// A status enum with the one place where each of its words is written.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// Every value, in the order of the documents.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word in the store and in answers.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value that `word` names.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;
