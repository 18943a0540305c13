-- Batches: which batch wrote an effect, and why the business refused it; the readings of sources; what they found.

ALTER TABLE onebell.effects ADD COLUMN batch_id text COLLATE "C", ADD COLUMN failed text;

CREATE TABLE onebell.batches (
    batch_id    text COLLATE "C" PRIMARY KEY,
    series      text COLLATE "C" NOT NULL,
    generation  bigint NOT NULL,
    scope       text COLLATE "C" NOT NULL,
    source      text NOT NULL,
    identity    text NOT NULL,
    settings    text NOT NULL,
    status      text NOT NULL CHECK (status IN ('pending', 'running', 'done', 'cancelled')),
    atomic      boolean NOT NULL,
    attempt     bigint NOT NULL,
    locked_by   text COLLATE "C",
    step_id     text COLLATE "C",
    complete_by timestamptz,
    timeout_us  bigint NOT NULL,
    byte        bigint,
    line        bigint,
    prefix      text,
    header      text,
    applied     bigint NOT NULL DEFAULT 0,
    already     bigint NOT NULL DEFAULT 0,
    conflicts   bigint NOT NULL DEFAULT 0,
    rejected    bigint NOT NULL DEFAULT 0,
    failed      bigint NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL,
    changed_at  timestamptz NOT NULL,
    finished_at timestamptz,
    UNIQUE (series, generation),
    CHECK ((status = 'running') = (locked_by IS NOT NULL AND complete_by IS NOT NULL)),
    CHECK ((byte IS NULL) = (line IS NULL)),
    CHECK ((status IN ('done', 'cancelled')) = (finished_at IS NOT NULL))
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
CREATE UNIQUE INDEX batches_open ON onebell.batches (series) WHERE status IN ('pending', 'running');
CREATE INDEX batches_created ON onebell.batches (created_at);
CREATE INDEX batches_finished ON onebell.batches (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE onebell.rejections (
    batch_id    text COLLATE "C" NOT NULL,
    byte        bigint NOT NULL,
    line        bigint NOT NULL,
    outcome     text NOT NULL CHECK (outcome IN ('rejected', 'conflict', 'failed')),
    key         text COLLATE "C",
    reason      text NOT NULL,
    record      bytea NOT NULL,
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (batch_id, byte)
);

-- Records of atomic batches until their end, in the order in which they become effects.
CREATE TABLE onebell.staged (
    batch_id    text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    byte        bigint NOT NULL,
    line        bigint NOT NULL,
    fingerprint text NOT NULL,
    amount      bigint,
    payload     text NOT NULL,
    failed      text,
    PRIMARY KEY (batch_id, key, byte)
);

-- The fingerprint of a payload as model/fingerprint computes it, for whoever has no Rust at hand. Of json, never of jsonb:
-- that has dropped duplicate keys. Bounds and messages are the same; what is no text at all PostgreSQL refuses in its own words.

CREATE FUNCTION onebell.canonical_number(number text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[] := regexp_match(number, '^-?([0-9.]+)(?:[eE][+-]?0*([0-9]*))?$');
    exact numeric;
BEGIN
    IF length(replace(parts[1], '.', '')) > 500 THEN
        RAISE 'a number of more than 500 digits; write it as a string' USING ERRCODE = '22003';
    END IF;
    -- Not left to numeric: it ends in other bounds, and a zero has no place that could tell.
    IF length(coalesce(parts[2], '')) <= 3 THEN
        exact := trim_scale(number::numeric);
    END IF;
    IF exact IS NULL OR abs(exact) >= 1e309 OR scale(exact) > 324 THEN
        RAISE 'a number out of range (1e-324 to 1e308); write it as a string' USING ERRCODE = '22003';
    END IF;
    RETURN exact;
END $$;

CREATE FUNCTION onebell.canonical_within(value json, depth integer) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kind text := json_typeof(value);
    form text;
    same bigint;
BEGIN
    IF kind IN ('object', 'array') AND depth >= 128 THEN
        RAISE 'nested deeper than 128 levels' USING ERRCODE = '22023';
    END IF;
    CASE kind
    WHEN 'object' THEN
        -- In UTF-8 the order of bytes is that of code points; the server's encoding may be another one.
        SELECT string_agg(to_json(key)::text || ':' || onebell.canonical_within(member, depth + 1), ','
                          ORDER BY convert_to(key, 'UTF8')),
               count(*) - count(DISTINCT key COLLATE "C")
            INTO form, same FROM json_each(value) AS each (key, member);
        IF same > 0 THEN
            SELECT to_json(key) INTO form FROM json_object_keys(value) AS each (key)
                GROUP BY key HAVING count(*) > 1 ORDER BY convert_to(key, 'UTF8') LIMIT 1;
            RAISE 'the key % is there twice; remove one', form USING ERRCODE = '22030';
        END IF;
        RETURN '{' || coalesce(form, '') || '}';
    WHEN 'array' THEN
        SELECT string_agg(onebell.canonical_within(member, depth + 1), ',' ORDER BY place)
            INTO form FROM json_array_elements(value) WITH ORDINALITY AS each (member, place);
        RETURN '[' || coalesce(form, '') || ']';
    WHEN 'string' THEN
        RETURN to_json(value #>> '{}');
    WHEN 'number' THEN
        RETURN onebell.canonical_number(btrim(value::text, E' \t\n\r'));
    ELSE
        -- Not #>>: it leaves the space before a word that stands alone.
        RETURN btrim(value::text, E' \t\n\r');
    END CASE;
END $$;

CREATE FUNCTION onebell.canonical(value json) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT onebell.canonical_within(value, 0)
$$;

CREATE FUNCTION onebell.fingerprint(value json) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT encode(sha256(convert_to(onebell.canonical(value), 'UTF8')), 'hex')
$$;

-- Of an effect: with an amount it is another one than without.
CREATE FUNCTION onebell.effect_fingerprint(amount bigint, payload json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT onebell.fingerprint(CASE WHEN amount IS NULL OR payload IS NULL THEN payload
                                    ELSE format('{"amount":%s,"payload":%s}', amount, payload)::json END)
$$;
