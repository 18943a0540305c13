//! The rows that a step takes from those before it.

use onebell::handler::{Context, Outcome};

/// Rows of the step that is named, else of the only step before it that has any.
pub(super) async fn rows(named: Option<&str>, context: &Context) -> Result<Option<String>, Box<Outcome>> {
    let of = async |name: &str| {
        context.rows_of(name).await.map_err(|error| super::of_store(&format!("rows of step {name:?}"), &error))
    };
    if let Some(named) = named {
        // Asked for by name, it is there: empty when that step wrote nothing.
        return Ok(Some(of(named).await?.unwrap_or_else(|| "[]".to_owned())));
    }
    let mut found = None;
    for name in &context.step().after {
        if let Some(rows) = of(name).await?
            && found.replace(rows).is_some()
        {
            // Two have rows: which of them is meant, only the job file can say.
            return Ok(None);
        }
    }
    Ok(found)
}
