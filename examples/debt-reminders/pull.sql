-- The same text on SQLite and on PostgreSQL. In a real installation this reads the ledger; here it makes one up: 120 customers,
-- each with a debt that is due on the 15th of the current month. Running it again changes nothing.

CREATE TABLE IF NOT EXISTS debts (
    customer_id  INTEGER PRIMARY KEY,
    name         TEXT NOT NULL,
    email        TEXT NOT NULL,
    amount_cents BIGINT NOT NULL,
    due_date     TEXT NOT NULL
);

WITH RECURSIVE
    n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120),
    family(k, word) AS (VALUES
        (0, 'Nguyễn'), (1, 'Trần'), (2, 'Lê'), (3, 'Phạm'), (4, 'Hoàng'), (5, 'Huỳnh'),
        (6, 'Phan'), (7, 'Vũ'), (8, 'Đặng'), (9, 'Bùi'), (10, 'Đỗ')),
    middle(k, word) AS (VALUES
        (0, 'Thị'), (1, 'Văn'), (2, 'Minh'), (3, 'Ngọc'), (4, 'Quốc'), (5, 'Thanh'), (6, 'Đức')),
    given(k, word) AS (VALUES
        (0, 'An'), (1, 'Bình'), (2, 'Châu'), (3, 'Dũng'), (4, 'Giang'), (5, 'Hạnh'), (6, 'Khánh'),
        (7, 'Linh'), (8, 'Mỹ'), (9, 'Phượng'), (10, 'Quỳnh'), (11, 'Tuấn'), (12, 'Yến'))
INSERT INTO debts (customer_id, name, email, amount_cents, due_date)
SELECT
    1000 + n.i,
    family.word || ' ' || middle.word || ' ' || given.word,
    'khach' || CAST(1000 + n.i AS TEXT) || CASE WHEN n.i % 3 = 0 THEN '@example.org' ELSE '@example.com' END,
    5000 + (n.i * 7919) % 90000,
    substr(CAST(CURRENT_DATE AS TEXT), 1, 8) || '15'
FROM n
JOIN family ON family.k = n.i % 11
JOIN middle ON middle.k = n.i % 7
JOIN given ON given.k = n.i % 13
WHERE 1 = 1 -- SQLite reads ON CONFLICT after a join as a part of the join without it
ON CONFLICT (customer_id) DO UPDATE SET due_date = excluded.due_date;

SELECT customer_id, name, email, amount_cents, due_date FROM debts WHERE customer_id <= 1120 ORDER BY customer_id;
