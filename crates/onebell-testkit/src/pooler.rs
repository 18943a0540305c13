//! PgBouncer in transaction mode, before a server of this kit.

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use crate::cluster::server_user;
use crate::database::from_script;
use crate::wait::until;

/// A pooler of its own: servers are handed from client to client between any two transactions. Ended when dropped.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Pooler {
    /// Before the server of `url`, with `servers` connections per database, on a free port of loopback.
    ///
    /// # Panics
    /// When there is no PgBouncer (the message names the remedy), or it ends at once.
    pub fn before(url: &str, servers: u32) -> Self {
        let config: Config = url.parse().expect("a URL");
        let Some(Host::Unix(socket)) = config.get_hosts().first() else { panic!("{url} names no socket") };
        let program = from_script("ONEBELL_TEST_PGBOUNCER");
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let folder = tempfile::Builder::new().prefix("ob-pb-").tempdir_in("/tmp").expect("a folder in /tmp");
        let (users, settings) = (folder.path().join("users"), folder.path().join("ini"));
        std::fs::write(&users, "\"postgres\" \"\"\n").expect("a list of users");
        let text = format!(
            "[databases]\n* = user=postgres host={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = any\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = {servers}\n\
             max_client_conn = 200\nserver_login_retry = 1\nignore_startup_parameters = extra_float_digits\n",
            socket.display(),
            users.display()
        );
        std::fs::write(&settings, text).expect("settings");
        let mut command = Command::new(program);
        command.arg("-q").arg(&settings).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some((user, group)) = server_user() {
            chown(folder.path(), Some(user), Some(group)).expect("a folder of the servers' user");
            command.uid(user).gid(group);
        }
        let mut child = command.spawn().expect("pgbouncer");
        until("PgBouncer takes connections", Duration::from_secs(20), || {
            assert!(child.try_wait().expect("its state").is_none(), "PgBouncer ended at once");
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self { child, port, _folder: folder }
    }

    /// A database of that server, through here.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }
}
