-- What a server is, how it is set, and what is going on there
SELECT
    current_setting('server_version') AS version,
    current_setting('server_version_num')::int / 10000 AS major,
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('synchronous_standby_names') AS synchronous_standby_names,
    current_setting('server_encoding') AS encoding,
    current_setting('autovacuum') AS autovacuum,
    current_setting('default_transaction_read_only') AS read_only,
    pg_is_in_recovery() AS standby,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections_most,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
    inet_server_port() AS port,
    (
        SELECT coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0)::bigint
        FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    ) AS open_transaction_s
