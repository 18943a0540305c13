use onebell::model::message::Delivery;
use onebell_cli::mailbox::Behaviour;
use onebell_cli::smtp::{Secret, SmtpConfig};

use super::script::{accept, line, listen, play, say};
use super::world::{Store, World, attempt, config, message};

/// One attempt against a server that plays `script` after its greeting; what follows goes to the mailbox.
async fn log_in(script: &[(&str, &str)]) -> (World, Delivery) {
    let world = World::new(Behaviour::default()).await;
    let (listener, address) = listen().await;
    let config = SmtpConfig { username: Some("hạnh".into()), password: Some(Secret::new("mật khẩu")), ..config(address) };
    let message = message();
    let server = async {
        let mut stream = accept(&listener).await;
        say(&mut stream, "220 scripted").await;
        play(&mut stream, script).await;
        // The mailbox wants to be greeted before it takes a message.
        let (near, far) = tokio::io::duplex(1 << 16);
        let relay = async {
            let mut far = far;
            say(&mut far, "EHLO scripted").await;
            while !line(&mut far).await.starts_with("250 ") {}
            tokio::io::copy_bidirectional(&mut far, &mut stream).await.ok();
        };
        tokio::join!(relay, world.mailbox.serve(near, false));
    };
    let (delivery, ()) = tokio::join!(attempt(config, &world.timer, &message, Store::granting(&world.log)), server);
    (world, delivery)
}

#[tokio::test]
async fn auth_plain_says_both_at_once() {
    let script =
        [("EHLO *", "250-scripted\r\n250 AUTH LOGIN PLAIN"), ("AUTH PLAIN AGjhuqFuaABt4bqtdCBraOG6qXU=", "235 2.7.0 welcome")];
    let (world, delivery) = log_in(&script).await;
    assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
    assert_eq!(world.accepted(), 1);
}

#[tokio::test]
async fn auth_login_answers_challenges_in_any_spelling() {
    let script = [
        ("EHLO *", "250-scripted\r\n250 auth login"),
        ("AUTH LOGIN", "334 QmVudXR6ZXI6"),
        ("aOG6oW5o", "334"),
        ("beG6rXQga2jhuql1", "235 2.7.0 welcome"),
    ];
    let (world, delivery) = log_in(&script).await;
    assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
    assert_eq!(world.accepted(), 1);
}

#[tokio::test]
async fn a_refused_login_is_deferred_names_the_setting_and_repeats_no_secret() {
    let script =
        [("EHLO *", "250-scripted\r\n250 AUTH PLAIN"), ("AUTH PLAIN *", "535 5.7.8 no: AGjhuqFuaABt4bqtdCBraOG6qXU= mật khẩu")];
    let (world, delivery) = log_in(&script).await;
    let Delivery::Deferred { error, .. } = delivery else { panic!("{delivery:?}") };
    assert!(error.contains("535 5.7.8") && error.contains("password"), "{error}");
    assert!(!error.contains("AGjh") && !error.contains("mật khẩu"), "{error}");
    assert_eq!(world.accepted(), 0);
}

#[tokio::test]
async fn a_server_without_a_login_we_know_gets_no_password() {
    let (world, delivery) = log_in(&[("EHLO *", "250-scripted\r\n250 AUTH CRAM-MD5"), ("QUIT", "221 bye")]).await;
    assert!(matches!(&delivery, Delivery::Deferred { error, .. } if error.contains("PLAIN, LOGIN")), "{delivery:?}");
    assert_eq!(world.accepted(), 0);
}
