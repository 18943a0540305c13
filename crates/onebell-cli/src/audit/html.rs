//! What was found as a page of its own: one file without scripts, that loads nothing. Everything that came from a file is escaped,
//! and what would turn the reading direction or stay invisible is spelled out.

use super::found::Found;
use super::table::{named, sum};
use super::{Inventory, shown};

const HEAD: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Scheduled jobs</title>\n<style>\n\
    body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#1b1f24;background:#fff}\n\
    table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #d0d7de}\n\
    code,td.c{font-family:ui-monospace,monospace;font-size:.9em;overflow-wrap:anywhere;unicode-bidi:isolate}\n\
    section{border:1px solid #d0d7de;border-radius:6px;padding:0 1rem;margin:1rem 0}h2{font-size:1.05rem}\n\
    dt{font-weight:600;margin-top:.6rem}dd{margin:0 0 .6rem 1rem}dd+dd{color:#57606a}\n\
    .error{color:#a40e26}.warning{color:#7d4e00}.note{color:#57606a}\n\
    @media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th,td,section{border-color:#30363d}\
    .error{color:#ff7b72}.warning{color:#d29922}.note,dd+dd{color:#9198a1}}\n</style>\n</head>\n<body>\n";

/// The whole page.
pub fn html(inventory: &Inventory) -> String {
    let mut page = HEAD.to_owned();
    page.push_str(&format!("<h1>Scheduled jobs</h1>\n<p>{}.</p>\n", escaped(&sum(inventory))));
    page.push_str("<table>\n<tr><th>Source</th><th>Job</th><th>Schedule</th><th>Next (UTC)</th><th>Findings</th></tr>\n");
    for (index, job) in inventory.jobs.iter().enumerate() {
        page.push_str(&row(index, job));
    }
    page.push_str("</table>\n");
    for (index, job) in inventory.jobs.iter().enumerate().filter(|(_, job)| !job.findings.is_empty()) {
        page.push_str(&section(index, job));
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn row(index: usize, job: &Found) -> String {
    let next: Vec<String> = job.next.iter().map(ToString::to_string).collect();
    let paused = if job.paused { "paused; " } else { "" };
    let findings: Vec<String> = job
        .findings
        .iter()
        .map(|finding| format!("<span class=\"{}\">{}</span>", finding.severity.as_str(), escaped(finding.code)))
        .collect();
    format!(
        "<tr><td class=\"c\"><a href=\"#j{index}\">{}</a></td><td class=\"c\">{}</td><td class=\"c\">{}</td><td class=\"c\">{paused}{}</td><td>{}</td></tr>\n",
        escaped(&job.place()),
        escaped(&named(job)),
        escaped(&job.timing.text),
        next.join("<br>"),
        findings.join(", ")
    )
}

fn section(index: usize, job: &Found) -> String {
    let mut text = format!(
        "<section id=\"j{index}\">\n<h2><code>{}</code> <code>{}</code></h2>\n<dl>\n",
        escaped(&job.place()),
        escaped(&named(job))
    );
    for finding in &job.findings {
        text.push_str(&format!(
            "<dt class=\"{0}\">{0}: {1}</dt><dd>{2}</dd><dd>{3}</dd>\n",
            finding.severity.as_str(),
            escaped(finding.code),
            escaped(&finding.message),
            escaped(&finding.fix)
        ));
    }
    text.push_str("</dl>\n</section>\n");
    text
}

/// For text and for attributes in double quotes.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in shown(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_file_becomes_markup_or_turns_the_page_around() {
        assert_eq!(escaped("<b>\"a\" & 'c'\u{202e}"), "&lt;b&gt;&quot;a&quot; &amp; &#39;c&#39;\\u{202e}");
    }
}
