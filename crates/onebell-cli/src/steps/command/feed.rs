//! A command whose output is a source of `apply`: like any command of a step, under its claim, with the same variables and folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use onebell::handler::{Context, Outcome};

use super::super::spec::{Codes, CommandStep, OUTPUT_CAP};
use super::{CommandSettings, attend, prepare};
use crate::apply::{Feed, Plan, Records};

/// What `argv` prints. It begins when the first record is asked for.
pub(in crate::steps) async fn records(
    plan: &Plan,
    argv: &[String],
    settings: &CommandSettings,
    context: &Context,
) -> Result<Records, Box<Outcome>> {
    let step = CommandStep {
        argv: argv.to_owned(),
        cwd: None,
        env: BTreeMap::new(),
        exit_codes: Codes::default(),
        input: None,
        output_cap: OUTPUT_CAP,
    };
    let prepared = prepare::prepare(&step, settings, context).await?;
    let name = plan.source_name().map_err(|wrong| Box::new(Outcome::failed(wrong.to_string())))?;
    let (settings, context) = (settings.clone(), context.clone());
    let bring = async move |pieces| {
        let feed = Feed {
            spec: prepared.spec.clone(),
            keeper: settings.keeper.clone().unwrap_or_else(|| OsStr::new("/proc/self/exe").to_owned()),
            allowance: attend::allowance(*context.vouch().borrow(), &*settings.timer),
            secrets: prepared.secrets.clone(),
        };
        let touched = prepared.scratch.progress();
        feed.run(|kept| attend::to_the_end(kept, &settings, &context, &touched), pieces).await
    };
    Records::of_task(plan, &name, bring).map_err(|wrong| Box::new(Outcome::failed(wrong.to_string())))
}
