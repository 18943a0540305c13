-- What the library is, and how the file is kept
SELECT
    sqlite_version() AS version,
    (SELECT journal_mode FROM pragma_journal_mode) AS journal_mode,
    (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size) AS bytes,
    (SELECT freelist_count FROM pragma_freelist_count) * (SELECT page_size FROM pragma_page_size) AS free_bytes
