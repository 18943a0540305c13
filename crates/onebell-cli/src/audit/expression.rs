//! Cron expressions of others, turned into ours. What ours refuses although theirs means something is written as what it means.

/// What a field may hold, and where its values begin and end.
const FIELDS: [(u64, u64); 5] = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)];

/// The same expression with steps past the end of their field written as the one value they name, and with single spaces.
///
/// `*/60` in the minute field means minute 0 everywhere; ours refuses it, because nobody means that.
pub(super) fn plain(expression: &str) -> String {
    let fields: Vec<&str> = words(expression).collect();
    if fields.len() != FIELDS.len() {
        return fields.join(" ");
    }
    let fields = fields.iter().zip(FIELDS).map(|(field, (least, most))| {
        let parts = field.split(',').map(|part| single(part, least, most).unwrap_or_else(|| part.to_owned()));
        parts.collect::<Vec<_>>().join(",")
    });
    fields.collect::<Vec<_>>().join(" ")
}

/// What a name such as `@daily` stands for. Upper case is another word for cron and for Kubernetes.
pub(super) fn named(word: &str) -> Option<&'static str> {
    match word {
        "@hourly" => Some("0 * * * *"),
        "@daily" | "@midnight" => Some("0 0 * * *"),
        "@weekly" => Some("0 0 * * 0"),
        "@monthly" => Some("0 0 1 * *"),
        "@yearly" | "@annually" => Some("0 0 1 1 *"),
        _ => None,
    }
}

/// The fields of an expression: only space and tab separate them.
pub(super) fn words(expression: &str) -> impl Iterator<Item = &str> {
    expression.split([' ', '\t']).filter(|field| !field.is_empty())
}

/// The one value that a step past the end names; nothing for any other part.
fn single(part: &str, least: u64, most: u64) -> Option<String> {
    let (base, step) = part.split_once('/')?;
    let step: u64 = step.parse().ok()?;
    let (from, to) = match base.split_once('-') {
        Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
        None if base == "*" || base == "?" => (least, most),
        None => (base.parse().ok()?, most),
    };
    (from <= to && to <= most && step > to - from).then(|| from.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_past_the_end_is_the_value_it_names_and_everything_else_stays() {
        assert_eq!(plain("*/60  */25\t*/40 * 1-5/9"), "0 0 1 * 1");
        for same in
            ["*/15 0 1,15 * mon", "5/10 * * * *", "*/0 * * * *", "a/b * * * *", "", "1 2 3", "*/99999999999999999999 * * * *"]
        {
            assert_eq!(plain(same), same);
        }
    }
}
