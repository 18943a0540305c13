-- read_mark: whether the transaction is still the one that was begun for the user's statements
SELECT coalesce(current_setting('onebell.settling', true), '') = 'on' AS marked
