//! `onebell.fingerprint` and its kin: what any driver computes in SQL is what Rust computes, or both refuse.

use onebell::model::fingerprint::{Refusal, canonical};
use onebell::model::{Effect, Fingerprint, Key};
use onebell::store::postgres::PostgresStore;
use onebell_testkit::{Database, VERSIONS, fresh_database, server};
use serde_json::Value;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::given::client;

/// What our functions raise: too deep, out of range or too many digits, a duplicate key.
const OURS: [&str; 3] = ["22023", "22003", "22030"];
/// What PostgreSQL raises itself: no JSON, no character, U+0000.
const POSTGRES: [&str; 2] = ["22P02", "22P05"];

async fn migrated(version: u32) -> (Database, Client) {
    let database = fresh_database(version).await;
    PostgresStore::builder(&database.url).connect_and_migrate().await.unwrap();
    let client = client(&database.url).await;
    (database, client)
}

/// The canonical form and its fingerprint.
async fn in_sql(client: &Client, json: &str) -> Result<(String, String), Error> {
    const ASKED: &str = "SELECT onebell.canonical($1::text::json), onebell.fingerprint($1::text::json)";
    let rows = client.query_typed(ASKED, &[(&json, Type::TEXT)]).await?;
    Ok((rows[0].get(0), rows[0].get(1)))
}

/// The same form and fingerprint, or a refusal on both sides. Answers whether there is a form.
async fn agrees(client: &Client, json: &str) -> bool {
    match (canonical(json), in_sql(client, json).await) {
        (Ok(form), Ok(found)) => {
            assert_eq!(found, (form, Fingerprint::of_json(json).unwrap().to_string()), "{json:?}");
            true
        }
        (Err(_), Err(error)) => {
            let code = error.code().unwrap_or_else(|| panic!("{json:?}: {error}")).code();
            assert!(OURS.contains(&code) || POSTGRES.contains(&code), "{json:?}: {error}");
            false
        }
        (rust, sql) => panic!("{json:?}: Rust says {rust:?}, SQL says {sql:?}"),
    }
}

/// Both refuse it for one reason. Of several they may name different ones: PostgreSQL reads the whole text first, then by key.
async fn refuse_alike(client: &Client, json: &str) {
    let refused = canonical(json).expect_err(json).refusal;
    let error = in_sql(client, json).await.expect_err(json);
    let error = error.as_db_error().unwrap_or_else(|| panic!("{json:?}: {error}"));
    let by_us = match refused {
        Refusal::TooDeep => Some(("22023", refused.to_string())),
        Refusal::TooManyDigits | Refusal::OutOfRange => Some(("22003", refused.to_string())),
        // The key as JSON writes it.
        Refusal::DuplicateKey(key) => Some(("22030", format!("the key {} is there twice; remove one", Value::from(key)))),
        _ => None,
    };
    match by_us {
        Some((code, message)) => assert_eq!((error.code().code(), error.message()), (code, message.as_str()), "{json:?}"),
        None => assert!(POSTGRES.contains(&error.code().code()), "{json:?}: {error}"),
    }
}

#[tokio::test]
async fn the_sql_function_agrees_with_rust_on_every_vector() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("../data/fingerprints.json")).unwrap();
    for version in VERSIONS {
        let (_database, client) = migrated(version).await;
        for vector in &vectors {
            let (name, input) = (vector["name"].as_str().unwrap(), vector["input"].as_str().unwrap());
            match vector["canonical"].as_str() {
                Some(form) => {
                    let sha256 = vector["sha256"].as_str().unwrap();
                    assert_eq!(in_sql(&client, input).await.unwrap(), (form.to_owned(), sha256.to_owned()), "{name}");
                }
                None => refuse_alike(&client, input).await,
            }
        }
    }
}

#[tokio::test]
async fn the_sql_function_agrees_with_rust_on_values_by_chance() {
    for version in VERSIONS {
        let (_database, client) = migrated(version).await;
        let mut draw = Draw(u64::from(version));
        let (mut taken, mut refused) = (0, 0);
        for round in 0..4000 {
            let mut json = String::new();
            draw.value(&mut json, 0);
            if round % 4 == 0 {
                draw.damage(&mut json);
            }
            *(if agrees(&client, &json).await { &mut taken } else { &mut refused }) += 1;
        }
        assert!(taken > 1500 && refused > 500, "{taken} and {refused}");
    }
}

#[tokio::test]
async fn the_sql_function_agrees_with_rust_at_every_bound_of_a_number() {
    for version in VERSIONS {
        let (_database, client) = migrated(version).await;
        let (nines, zeros) = ("9".repeat(499), "0".repeat(499));
        for taken in
            ["1e308", "9.9e308", "0.1e309", "-1E+308", "1e-324", "100e-326", "0e999", "0.0e-999", "-0e0", "0E+0999", "1e0000"]
        {
            assert!(agrees(&client, taken).await, "{taken}");
        }
        for taken in [format!("0.{zeros}"), format!("{nines}0e-324"), format!("{nines}1e-191"), format!("1{zeros}e-400")] {
            assert!(agrees(&client, &taken).await, "{taken}");
        }
        for refused in ["1e309", "0.1e310", "-10e308", "1e-325", "0.1e-324", "1.1e-324", "0e1000", "0e-1000", "1e00001000"] {
            refuse_alike(&client, refused).await;
        }
        for refused in [format!("0.0{zeros}"), format!("1{nines}0"), format!("{nines}1e-325"), format!("1{zeros}e-825")] {
            refuse_alike(&client, &refused).await;
        }
    }
}

#[tokio::test]
async fn two_spellings_of_one_number_have_one_fingerprint_in_sql() {
    for version in VERSIONS {
        let (_database, client) = migrated(version).await;
        let (_, one) = in_sql(&client, r#"{"amount":1.0}"#).await.unwrap();
        for same in [r#"{"amount":1.00}"#, r#"{ "amount" : 10e-1 }"#, r#"{"\u0061mount":1}"#] {
            assert_eq!(in_sql(&client, same).await.unwrap().1, one, "{same}");
        }
        assert_ne!(in_sql(&client, r#"{"amount":1.01}"#).await.unwrap().1, one);
    }
}

#[tokio::test]
async fn duplicate_keys_are_refused_in_sql_and_jsonb_that_drops_them_is_not_taken() {
    for version in VERSIONS {
        let (_database, client) = migrated(version).await;
        for twice in [
            r#"{"a":[{"k":1,"\u006b":1}]}"#,
            r#"{"z":1,"\"b":1,"z":1,"\"b":2}"#,
            r#"{"\u0001":1,"\u0001":1}"#,
            r#"{"":{},"":{}}"#,
        ] {
            refuse_alike(&client, twice).await;
        }
        let error = client.query("SELECT onebell.fingerprint('{\"a\":1}'::jsonb)", &[]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "42883", "{error}");
    }
}

/// A database created with these options, which sorts `unlike_bytes`, gives `json` this form.
async fn sorts_by_code_point(version: u32, options: &str, unlike_bytes: &str, json: &str, form: &str) {
    let database = fresh_database(version).await;
    let (beside, name) = (client(&server(version)).await, database.name());
    beside.batch_execute(&format!("DROP DATABASE {name}")).await.unwrap();
    beside.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0 {options}")).await.unwrap();
    PostgresStore::builder(&database.url).connect_and_migrate().await.unwrap();
    let client = client(&database.url).await;
    let unlike: bool = client.query_one(&format!("SELECT {unlike_bytes}"), &[]).await.unwrap().get(0);
    assert!(unlike, "this database sorts as UTF-8 does: the test proves nothing");
    assert_eq!(in_sql(&client, json).await.unwrap().0, form);
    assert!(agrees(&client, json).await);
    assert!(!agrees(&client, r#"{"é":1,"z":2,"\u00e9":3}"#).await);
}

#[tokio::test]
async fn keys_are_in_the_order_of_code_points_whatever_the_databases_language() {
    // On 15 alone: the builds of 18 that the tests get have no ICU.
    sorts_by_code_point(
        15,
        "ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'da'",
        "'a' < 'B' AND 'é' < 'z' AND 'z' < 'aa'",
        r#"{"\ud800\udc00":1,"￮":2,"é":3,"z":4,"B":5,"a":6,"":7,"aa":8,"å":9,"Z":[{"b":1,"A":2}],"e\u0301":0}"#,
        r#"{"":7,"B":5,"Z":[{"A":2,"b":1}],"a":6,"aa":8,"é":0,"z":4,"å":9,"é":3,"￮":2,"𐀀":1}"#,
    )
    .await;
}

#[tokio::test]
async fn keys_are_in_the_order_of_code_points_whatever_the_databases_encoding() {
    for version in VERSIONS {
        sorts_by_code_point(
            version,
            "ENCODING 'EUC_JP' LOCALE 'C'",
            "'亜' < '一'",
            r#"{"亜":"é","\u4e00":2,"a":[{"ア":1.50}]}"#,
            r#"{"a":[{"ア":1.5}],"一":2,"亜":"é"}"#,
        )
        .await;
    }
}

#[tokio::test]
async fn an_effect_has_one_identity_in_rust_and_in_sql() {
    const ASKED: &str = "SELECT onebell.effect_fingerprint($1, $2::text::json)";
    let deep = format!("{}1{}", "[".repeat(128), "]".repeat(128));
    let payloads = ["{}", " {\"b\":1.50,\"a\":[null]}\n", "1", "null", "\"x\"", r#"{"a":1,"a":1}"#, "1e309", "", &deep];
    for version in VERSIONS {
        let (_database, client) = migrated(version).await;
        for payload in payloads {
            for amount in [None, Some(0), Some(4200), Some(i64::MIN), Some(i64::MAX)] {
                let rust = Effect::new(Key::new("s").unwrap(), Key::new("k").unwrap(), amount, payload);
                let sql = client.query_typed(ASKED, &[(&amount, Type::INT8), (&payload, Type::TEXT)]).await;
                let sql = sql.map(|rows| rows[0].get::<_, String>(0));
                assert_eq!(rust.map(|effect| effect.fingerprint.to_string()).ok(), sql.ok(), "{amount:?} {payload:?}");
            }
        }
        let nothing: Option<&str> = None;
        for amount in [None, Some(1_i64)] {
            let rows = client.query_typed(ASKED, &[(&amount, Type::INT8), (&nothing, Type::TEXT)]).await.unwrap();
            assert_eq!(rows[0].get::<_, Option<String>>(0), None);
        }
    }
}

#[tokio::test]
async fn no_search_path_changes_a_fingerprint_and_a_role_needs_nothing_but_the_schema() {
    const FALSE_FRIENDS: &str = "CREATE SCHEMA evil;
        CREATE FUNCTION evil.json_typeof(json) RETURNS text LANGUAGE sql AS $$ SELECT 'null' $$;
        CREATE FUNCTION evil.trim_scale(numeric) RETURNS numeric LANGUAGE sql AS $$ SELECT 7.0 $$;
        CREATE FUNCTION evil.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT $1 $$;
        CREATE FUNCTION evil.get(json, text[]) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$;
        CREATE OPERATOR evil.#>> (FUNCTION = evil.get, LEFTARG = json, RIGHTARG = text[]);
        GRANT USAGE ON SCHEMA evil TO pg_monitor;";
    for version in VERSIONS {
        let (_database, client) = migrated(version).await;
        client.batch_execute(FALSE_FRIENDS).await.unwrap();
        client.batch_execute("SET search_path = evil, pg_catalog; SET ROLE pg_monitor").await.unwrap();
        let error = in_sql(&client, "{}").await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "42501", "{error}");
        client.batch_execute("RESET ROLE; GRANT USAGE ON SCHEMA onebell TO pg_monitor; SET ROLE pg_monitor").await.unwrap();
        assert!(agrees(&client, r#"{"b":[1.0,"x",true],"a":null}"#).await);
        assert!(!agrees(&client, r#"{"a":1,"a":1}"#).await);
    }
}

/// JSON texts by chance, spelled in many ways, from a seed (Knuth's linear congruential generator).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn space(&mut self, out: &mut String) {
        out.push_str(self.one(&["", "", "", "", " ", "\n", "\t\r "]));
    }

    fn value(&mut self, out: &mut String, depth: usize) {
        self.space(out);
        match self.below(if depth < 5 { 9 } else { 5 }) {
            0 => out.push_str(self.one(&["true", "false", "null"])),
            1 | 2 => self.number(out),
            3 | 4 => self.string(out, 12),
            5 | 6 => self.list(out, '[', ']', |draw, out| draw.value(out, depth + 1)),
            _ => self.list(out, '{', '}', |draw, out| {
                draw.space(out);
                // Short ones, so that some are there twice.
                draw.string(out, 3);
                draw.space(out);
                out.push(':');
                draw.value(out, depth + 1);
            }),
        }
        self.space(out);
    }

    fn list(&mut self, out: &mut String, open: char, close: char, member: impl Fn(&mut Self, &mut String)) {
        out.push(open);
        for index in 0..self.below(5) {
            if index > 0 {
                out.push(',');
            }
            member(self, out);
        }
        self.space(out);
        out.push(close);
    }

    fn digits(&mut self, out: &mut String, most: usize) {
        for _ in 0..=self.below(most) {
            out.push_str(self.one(&["0", "0", "1", "2", "5", "9"]));
        }
    }

    fn number(&mut self, out: &mut String) {
        out.push_str(self.one(&["", "", "-"]));
        if self.below(3) == 0 {
            out.push('0');
        } else {
            out.push_str(self.one(&["1", "7", "9"]));
            let most = self.one(&["1", "1", "9", "30", "320"]).parse().unwrap();
            self.digits(out, most);
        }
        if self.below(2) == 0 {
            out.push('.');
            let most = self.one(&["2", "2", "9", "330"]).parse().unwrap();
            self.digits(out, most);
        }
        if self.below(4) == 0 {
            out.push_str(self.one(&["e", "E", "e+", "E-", "e-"]));
            let exponent = self.one(&["4", "4", "20", "310", "1010"]).parse().unwrap();
            out.push_str(&self.below(exponent).to_string());
        }
    }

    fn string(&mut self, out: &mut String, most: usize) {
        const PLAIN: &[&str] = &["a", "b", "B", "é", "e\u{301}", "z", "￮", "𐀀", "😀", "\u{7f}", "\u{2028}", "/", "'", "{", " "];
        const ESCAPED: &[&str] = &[
            "\\\"",
            "\\\\",
            "\\/",
            "\\b",
            "\\f",
            "\\n",
            "\\r",
            "\\t",
            "\\u0061",
            "\\u00E9",
            "\\u00e9",
            "\\u0001",
            "\\u001F",
            "\\uffee",
            "\\ud800\\udc00",
            "\\uD83D\\uDE00",
            "\\u007f",
        ];
        out.push('"');
        for _ in 0..self.below(most) {
            out.push_str(match self.below(200) {
                0 => self.one(&["\\u0000", "\\ud800", "\\udc00", "\t", "\\x", "\\u12"]),
                1..60 => self.one(ESCAPED),
                _ => self.one(PLAIN),
            });
        }
        out.push('"');
    }

    /// Takes a character away, or puts one in.
    fn damage(&mut self, json: &mut String) {
        let place = self.below(json.chars().count());
        let (at, found) = json.char_indices().nth(place).unwrap();
        if self.below(2) == 0 {
            json.replace_range(at..at + found.len_utf8(), "");
        } else {
            json.insert_str(at, self.one(&["0", "-", ".", "e", "\"", "\\", ",", ":", "[", "}", "\u{a0}", "\u{1}", "n", "\\u"]));
        }
    }
}
