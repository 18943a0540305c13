-- A row for each step: what a claim and its fence need, and nothing else. Each page has room for what both write.
DROP TABLE IF EXISTS public.steps;
CREATE TABLE public.steps (
    id bigint PRIMARY KEY,
    status text NOT NULL DEFAULT 'pending',
    attempt bigint NOT NULL DEFAULT 0,
    locked_by text
) WITH (fillfactor = 30)
