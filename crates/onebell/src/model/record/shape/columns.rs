//! The columns of a table of texts: what the header tells once, so that no row has to ask again.

use super::Shape;
use crate::model::fingerprint::write_json_string;

/// Columns by name, in the order of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    names: Vec<String>,
    /// By the order of the canonical object: which column, and `"name":` as it is written there.
    members: Vec<(usize, String)>,
}

/// Why names are no columns of a shape.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ColumnsError {
    /// A field that the shape needs is not among them.
    #[error("no column {0:?}")]
    Missing(String),
    /// Two have one name.
    #[error("column {0:?} is there twice")]
    Twice(String),
}

impl Columns {
    /// For rows with these columns.
    ///
    /// # Errors
    /// [`ColumnsError`]: a field that `shape` needs is missing, or a name is there twice.
    pub fn new(names: Vec<String>, shape: &Shape) -> Result<Self, ColumnsError> {
        if let Some(missing) = shape.fields().into_iter().find(|wanted| !names.iter().any(|name| name == wanted)) {
            return Err(ColumnsError::Missing(missing.to_owned()));
        }
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|one, two| names[*one].cmp(&names[*two]));
        if let Some([one, _]) = order.array_windows().find(|[one, two]| names[*one] == names[*two]) {
            return Err(ColumnsError::Twice(names[*one].clone()));
        }
        let member = |at: usize| {
            let mut text = String::new();
            write_json_string(&names[at], &mut text);
            text.push(':');
            (at, text)
        };
        Ok(Self { members: order.into_iter().map(member).collect(), names })
    }

    /// In the order of the rows.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Which column has that name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The canonical object of one row; as many values as there are columns.
    pub(super) fn object<T: AsRef<str>>(&self, values: &[T]) -> String {
        let len: usize = values.iter().map(|value| value.as_ref().len() + 3).sum();
        let mut object = String::with_capacity(len + self.members.iter().map(|(_, name)| name.len()).sum::<usize>() + 2);
        object.push('{');
        for (index, (at, name)) in self.members.iter().enumerate() {
            if index > 0 {
                object.push(',');
            }
            object.push_str(name);
            write_json_string(values[*at].as_ref(), &mut object);
        }
        object.push('}');
        object
    }
}
