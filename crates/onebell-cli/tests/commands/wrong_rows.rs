//! Rows that give no message: all of them or none, told with the row's own place, and nothing is lost when they are mended.

use crate::site::{Mail, Place, Site};

/// A job whose rows come from `source`.
fn jobs(mail: &Mail, source: &str, text: &str) -> String {
    format!(
        "{}[jobs.remind]\n[[jobs.remind.steps]]\nname = \"remind\"\nfor_each = {{ {source} }}\n[jobs.remind.steps.message]\n\
         channel = \"mail\"\nkey = \"reminder/{{{{ row.id }}}}\"\nto = \"{{{{ row.email }}}}\"\nsubject = \"{{{{ row.subject }}}}\"\n\
         text = \"{text}\"\n",
        mail.channel()
    )
}

/// With `wrong` in the file the run fails with these words and nothing is sent; with `right` in it a retry sends everything once.
async fn refused_whole_and_whole_after_it_was_mended(place: Place, file: (&str, &str), wrong: &str, right: &str, words: &[&str]) {
    let (kind, text) = file;
    let mail = Mail::new().await;
    let site = Site::new(place, &jobs(&mail, &format!("{kind} = \"rows.{kind}\""), text)).await;
    let rows = format!("rows.{kind}");
    if !wrong.is_empty() {
        site.write(&rows, wrong);
    }
    let run = site.run_once("remind", "k");
    site.onebell(&["trigger", "remind", "--key", "k", "--wait"]).ended(1).complains(&["the run failed"]);
    site.onebell(&["show", &run]).ended(0).says(words);
    assert!(mail.got().is_empty() && site.status()["outbox"].as_object().unwrap().values().all(|count| count == 0));
    site.write(&rows, right);
    site.onebell(&["retry", &run]).ended(0);
    site.until_idle();
    assert_eq!(site.the_run()["status"], "succeeded");
    assert_eq!(mail.got(), [("a@example.com".to_owned(), 1), ("b@example.com".to_owned(), 1)]);
}

async fn a_csv_file_without_the_named_column_sends_nothing_and_everything_after_it_was_mended(place: Place) {
    let wrong = "id,mail,subject\n1,a@example.com,A\n2,b@example.com,B\n";
    let words = [
        "row 1 (line 2 of ",
        "rows.csv): template \"to\": there is no column \"email\" in ",
        "its columns are id, mail, subject; nothing was sent",
    ];
    refused_whole_and_whole_after_it_was_mended(place, ("csv", "x"), wrong, &wrong.replace("mail,s", "email,s"), &words).await;
}

async fn a_line_break_in_a_mail_header_sends_nothing_not_even_the_rows_before_it(place: Place) {
    let wrong = "{\"id\":1,\"email\":\"a@example.com\",\"subject\":\"A\"}\n\
                 {\"id\":2,\"email\":\"b@example.com\",\"subject\":\"B\\r\\nBcc: c@example.com\"}\n";
    let words = ["row 2 (line 2 of ", "rows.ndjson): subject", "line break", "nothing was sent"];
    refused_whole_and_whole_after_it_was_mended(
        place,
        ("ndjson", "x"),
        wrong,
        &wrong.replace("\\r\\nBcc: c@example.com", ""),
        &words,
    )
    .await;
}

async fn a_template_that_names_a_missing_field_sends_nothing_and_names_the_fields_that_are_there(place: Place) {
    let wrong = "{\"id\":1,\"email\":\"a@example.com\",\"subject\":\"A\",\"sum\":1}\n{\"id\":2,\"email\":\"b@example.com\",\"subject\":\"B\"}\n";
    let right = wrong.replace("\"B\"}", "\"B\",\"sum\":2}");
    let words = ["row 2 (line 2 of ", "template \"text\": row.sum does not exist; row has email, id, subject; nothing was sent"];
    refused_whole_and_whole_after_it_was_mended(place, ("ndjson", "{{ row.sum }}"), wrong, &right, &words).await;
}

async fn a_file_of_rows_that_is_not_there_is_named_and_nothing_is_lost(place: Place) {
    let right = "id,email,subject\n1,a@example.com,A\n2,b@example.com,B\n";
    refused_whole_and_whole_after_it_was_mended(place, ("csv", "x"), "", right, &["cannot read ", "rows.csv: No such file"])
        .await;
}

crate::everywhere!(
    a_csv_file_without_the_named_column_sends_nothing_and_everything_after_it_was_mended,
    a_line_break_in_a_mail_header_sends_nothing_not_even_the_rows_before_it,
    a_template_that_names_a_missing_field_sends_nothing_and_names_the_fields_that_are_there,
    a_file_of_rows_that_is_not_there_is_named_and_nothing_is_lost,
);
