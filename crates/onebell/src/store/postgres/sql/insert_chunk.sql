-- insert_chunk: the relation that the user's statements read
INSERT INTO pg_temp.chunk (key, amount, payload, line, byte)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[])
