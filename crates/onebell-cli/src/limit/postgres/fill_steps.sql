-- So many steps that may be claimed.
INSERT INTO public.steps (id) SELECT generate_series(1, $1::bigint)
