//! TLS towards the server: what each `sslmode` accepts and refuses.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use onebell::store::postgres::PostgresStore;
use onebell::store::{AgentStore as _, StoreError};
use onebell_testkit::Cluster;
use tempfile::TempDir;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name)
}

/// A cluster that speaks TLS on a loopback address of its own (the certificate names 127.83.12.1 to 32).
struct Encrypted {
    _cluster: Cluster,
    _keys: TempDir,
    address: String,
}

impl Encrypted {
    fn start() -> Self {
        let keys = tempfile::Builder::new().prefix("ob-tls-").tempdir_in("/tmp").unwrap();
        let number = |variable: &str| std::env::var(variable).ok().and_then(|text| text.parse::<u32>().ok());
        let owner = (number("ONEBELL_TEST_SERVER_UID"), number("ONEBELL_TEST_SERVER_GID"));
        for name in ["server.pem", "server.key"] {
            let copy = keys.path().join(name);
            std::fs::copy(data(name), &copy).unwrap();
            std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o600)).unwrap();
            chown(&copy, owner.0, owner.1).unwrap();
        }
        std::fs::set_permissions(keys.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let address = format!("127.83.12.{}", 1 + std::process::id() % 32);
        let file = |name: &str| keys.path().join(name).display().to_string();
        let settings = [
            format!("listen_addresses={address}"),
            "ssl=on".to_owned(),
            format!("ssl_cert_file={}", file("server.pem")),
            format!("ssl_key_file={}", file("server.key")),
        ];
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        Self { _cluster: Cluster::start_with(15, &settings), _keys: keys, address }
    }

    /// Whether a connection with these parameters is encrypted; or why there is none.
    async fn connects(&self, parameters: &str) -> Result<bool, StoreError> {
        let url = format!("postgres://postgres@{}:5432/postgres?{parameters}", self.address);
        let store = PostgresStore::builder(url).connect_and_migrate().await?;
        let rows = store.query_rows("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").await?;
        Ok(rows.contains("true"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_encrypted_and_trusts_as_far_as_its_url_says() {
    // The wheel of 18 is built without TLS.
    let server = Encrypted::start();
    let (ca, other) = (data("ca.pem"), data("other-ca.pem"));
    let (ca, other) = (ca.display(), other.display());
    assert_eq!(server.connects("sslmode=disable").await, Ok(false));
    for good in [
        String::new(),
        "sslmode=prefer".to_owned(),
        "sslmode=require".to_owned(),
        format!("sslmode=require&sslrootcert={ca}"),
        format!("sslmode=verify-ca&sslrootcert={ca}"),
        format!("sslmode=verify-full&sslrootcert={ca}"),
    ] {
        assert_eq!(server.connects(&good).await, Ok(true), "{good}");
    }
    for bad in ["require", "verify-ca", "verify-full"] {
        let refused = server.connects(&format!("sslmode={bad}&sslrootcert={other}")).await;
        assert!(matches!(&refused, Err(StoreError::Broken { message }) if message.contains("certificate")), "{bad}: {refused:?}");
    }
    // The certificate does not name this host: only verify-full asks for the name.
    let named = |mode: &str| format!("sslmode={mode}&sslrootcert={ca}&hostaddr={}&host=elsewhere.test", server.address);
    let reach = async |mode: &str| {
        let url = format!("postgres:///postgres?user=postgres&{}", named(mode));
        PostgresStore::builder(url).connect().await.map(drop)
    };
    assert_eq!(reach("verify-ca").await, Ok(()));
    assert!(matches!(reach("verify-full").await, Err(StoreError::Broken { .. })));
}
