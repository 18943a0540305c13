//! What is allowed and rarely meant: said by `check`, refused by nobody.

use onebell::model::alarm::AlarmKind;
use onebell::model::job::When;
use onebell::model::{JobDefinition, StepDefinition};

use crate::steps::spec::{APPLY, ApplyStep, COMMAND, CommandStep, MESSAGE, MessageStep};

/// Of a whole job, on a replica that serves `queues`.
pub fn of_job(job: &JobDefinition, queues: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let every = job.schedules.iter().any(|schedule| matches!(schedule.when, When::Every(_)));
    if every && job.schedules.len() > 1 {
        found.push("`every` adds to the other schedules: both are due; remove one of them".to_owned());
    }
    let told = |kind| job.notify.as_ref().is_some_and(|notify| notify.on.contains(&kind));
    if told(AlarmKind::Failed) && !told(AlarmKind::Parked) {
        found.push(
            "`on` has \"failed\" without \"parked\": a run whose tries are used up is parked, and nobody is told; write \
             on = [\"failed\", \"parked\"]"
                .to_owned(),
        );
    }
    for step in job.steps.iter().filter(|step| !queues.contains(&step.queue)) {
        found.push(format!(
            "queue {:?} of step {:?} is not among the replica's queues ({}): a replica with --queues {} is needed",
            step.queue,
            step.name,
            queues.join(", "),
            step.queue
        ));
    }
    found
}

/// Of one step.
pub(super) fn of_step(job: &JobDefinition, step: &StepDefinition) -> Vec<String> {
    let mut found = match step.handler.as_str() {
        COMMAND => serde_json::from_str(&step.spec).map(|spec| command(&spec)).unwrap_or_default(),
        MESSAGE => serde_json::from_str(&step.spec).map(|spec| message(job, step, &spec)).unwrap_or_default(),
        APPLY => serde_json::from_str(&step.spec).map(|spec| apply(&spec)).unwrap_or_default(),
        _ => Vec::new(),
    };
    if step.undo.is_some() && !job.steps.iter().any(|other| other.after.contains(&step.name)) {
        found.push(
            "`undo` runs when a step after this one fails for good, or the run is cancelled: no step comes after it".to_owned(),
        );
    }
    found
}

fn command(spec: &CommandStep) -> Vec<String> {
    let mut found = Vec::new();
    if let [shell, flag, text] = spec.argv.as_slice()
        && (shell.as_str(), flag.as_str()) == ("/bin/sh", "-c")
    {
        let pipe = text.replace("||", "").contains('|');
        if text.contains("pipefail") {
            found.push(
                "/bin/sh may know no pipefail; write command = [\"bash\", \"-c\", \"set -o pipefail; …\"] without shell"
                    .to_owned(),
            );
        } else if pipe {
            found.push(
                "a pipe ends as its last program does: an error before it is not seen; write \
                 command = [\"bash\", \"-c\", \"set -o pipefail; …\"] without shell"
                    .to_owned(),
            );
        }
        return found;
    }
    // A shell or an interpreter reads its text itself.
    let plain = spec.argv.get(1).is_none_or(|flag| !["-c", "-lc", "-e"].contains(&flag.as_str()));
    if let [one] = spec.argv.as_slice()
        && one.contains(' ')
    {
        found.push(format!(
            "the program's name would be {one:?}; write program and arguments apart, or one string with shell = true"
        ));
    } else if plain {
        let is_word = |word: &&String| ["|", ">", ">>", "<", "&", "&&", "||", ";"].contains(&word.as_str());
        if let Some(word) = spec.argv.iter().find(is_word) {
            found.push(format!("{word:?} is an argument like any other; write one string with shell = true"));
        }
        let expanded = |word: &&String| word.starts_with("~/") || word.starts_with('$') || word.starts_with("*.");
        if let Some(word) = spec.argv.iter().find(expanded) {
            found.push(format!("{word:?} is handed over as it stands; write one string with shell = true"));
        }
    }
    if spec.argv.iter().any(|word| word.contains("{{")) {
        found.push("a command is no template; what it may know is in its variables, such as ONEBELL_SCHEDULED_FOR".to_owned());
    }
    found
}

fn message(job: &JobDefinition, step: &StepDefinition, spec: &MessageStep) -> Vec<String> {
    let mut found = Vec::new();
    let (row, run) = (spec.key.contains("row"), spec.key.contains("run"));
    if spec.rows.is_some() && !row {
        found.push("`key` does not name the row: all rows have one key, and rows that differ are refused".to_owned());
    }
    if !job.schedules.is_empty() && !row && !run {
        found.push("`key` is the same in every run: it is sent once, for ever; add {{ run.scheduled_for }}".to_owned());
    }
    let texts = [Some(&spec.key), Some(&spec.to), Some(&spec.subject), spec.text.as_ref(), spec.html.as_ref()];
    let names_row = |text: &String| text.contains("{{ row.") || text.contains("{{row.");
    if spec.rows.is_none() && texts.into_iter().flatten().any(names_row) {
        let source = step.after.first().map_or("a step", String::as_str);
        found.push(format!("it has no row without for_each; write for_each = {{ output_of = {source:?} }}"));
    }
    if [&spec.to, &spec.subject].into_iter().chain(&spec.text).chain(&spec.html).any(|text| text.contains("${r")) {
        found.push("\"${…}\" is no template and is sent as it stands; write {{ row.name }}".to_owned());
    }
    let constant = !spec.to.is_empty() && !spec.to.contains("{{") && !spec.to.contains("{%");
    if constant && spec.to.parse::<lettre::message::Mailbox>().is_err() {
        found.push(format!("`to` is not one address: {:?}; write one, and a message for each", spec.to));
    }
    found
}

fn apply(spec: &ApplyStep) -> Vec<String> {
    let mut found = Vec::new();
    if spec.plan.amount.is_some() && spec.plan.scale == 0 {
        found.push("amounts are whole numbers: one such as 10.50 is rejected; write scale = 2 for two decimals".to_owned());
    }
    if let [one] = spec.plan.id.as_slice()
        && one.contains(',')
    {
        let fields: Vec<String> = one.split(',').map(|field| format!("{:?}", field.trim())).collect();
        found.push(format!("one field has the name {one:?}; several are written id = [{}]", fields.join(", ")));
    }
    let of_row = [spec.plan.amount.as_ref(), spec.plan.fail_if.as_ref(), spec.plan.id.first()];
    if of_row.into_iter().flatten().any(|name| name.starts_with("row.")) {
        found.push("fields are named without \"row.\"".to_owned());
    }
    found
}
