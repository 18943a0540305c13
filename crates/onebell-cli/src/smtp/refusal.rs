//! What an answer means that was not the expected one, before the content.

use std::fmt;

use onebell::model::message::Delivery;

use super::reply::Reply;
use super::wire::Broken;

/// How far a connection got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Greeting,
    Hello,
    StartTls,
    Login,
    Mail,
    Rcpt,
    Data,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Greeting => "the greeting",
            Self::Hello => "EHLO",
            Self::StartTls => "STARTTLS",
            Self::Login => "the login",
            Self::Mail => "MAIL",
            Self::Rcpt => "RCPT",
            Self::Data => "DATA",
        })
    }
}

impl Stage {
    /// The server's no. Only `5xx` to `MAIL`, `RCPT` and `DATA` is about the message.
    pub(super) fn refused(self, reply: &Reply) -> Delivery {
        // They ask for a login or for TLS: the settings are wrong, not the message.
        let settings = matches!(reply.code, 530 | 534 | 535 | 538);
        match self {
            Self::Login => deferred(format!("the server refused the login ({}); check username and password", reply.codes())),
            Self::Mail | Self::Rcpt | Self::Data if reply.class() == 5 && !settings => {
                Delivery::Rejected { error: format!("refused at {self}: {reply}") }
            }
            _ => deferred(format!("refused at {self}: {reply}")),
        }
    }

    /// No answer.
    pub(super) fn broke(self, broken: &Broken) -> Delivery {
        deferred(format!("at {self}: {broken}"))
    }
}

pub(super) fn deferred(error: impl Into<String>) -> Delivery {
    Delivery::Deferred { error: error.into(), after: None }
}

#[cfg(test)]
mod tests {
    use super::super::reply::ReplyLine;
    use super::*;

    fn refused(stage: Stage, line: &str) -> Delivery {
        stage.refused(&Reply::of(&[ReplyLine::read(line.as_bytes()).unwrap()]).unwrap().unwrap())
    }

    #[test]
    fn only_a_5xx_that_is_about_the_message_rejects_it() {
        use Stage::*;
        for stage in [Mail, Rcpt, Data] {
            assert!(matches!(refused(stage, "550 5.1.1 no such user"), Delivery::Rejected { .. }), "{stage}");
            for line in ["421 4.3.2 shutting down", "451 4.7.1 greylisted", "452 full", "530 5.7.0 log in first", "250 what?"] {
                assert!(matches!(refused(stage, line), Delivery::Deferred { .. }), "{stage} {line}");
            }
        }
        for stage in [Greeting, Hello, StartTls, Login] {
            assert!(matches!(refused(stage, "554 5.7.1 not you"), Delivery::Deferred { .. }), "{stage}");
        }
    }

    #[test]
    fn a_refused_login_repeats_nothing_that_the_server_said() {
        let Delivery::Deferred { error, .. } = refused(Stage::Login, "535 5.7.8 bad: AGJpbGxpbmcAczNjcmV0") else { panic!() };
        assert!(error.contains("535 5.7.8") && !error.contains("AGJp"), "{error}");
    }
}
