//! The example job, as `init` writes it and `demo` runs it.

/// Name and text of each file of `examples/debt-reminders`.
pub const FILES: [(&str, &str); 5] = [
    ("onebell.toml", include_str!("../../../examples/debt-reminders/onebell.toml")),
    ("pull.sql", include_str!("../../../examples/debt-reminders/pull.sql")),
    ("compute.sh", include_str!("../../../examples/debt-reminders/compute.sh")),
    ("customers.csv", include_str!("../../../examples/debt-reminders/customers.csv")),
    ("reminder.txt", include_str!("../../../examples/debt-reminders/reminder.txt")),
];
