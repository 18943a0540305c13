"""Second opinion for recurrence rules: random rules and what python-dateutil says they name.

    python3 crates/onebell/tests/data/recurrence.py [SEED [COUNT]] > crates/onebell/tests/data/recurrence.tsv

Lines of RULE, START, and the next times after START, with tabs between them. Needs python-dateutil 2.9.0.
"""

import itertools
import random
import signal
import sys
import warnings
from datetime import datetime, timedelta

from dateutil.rrule import rrulestr

DAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


def some(draw, values, most=4):
    return ",".join(str(value) for value in draw.sample(values, draw.randint(1, min(most, len(values)))))


def signed(draw, most, count=3):
    return some(draw, [n for n in range(-most, most + 1) if n], count)


def rule(draw):
    freq = draw.choice(["YEARLY", "YEARLY", "MONTHLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"])
    parts = ["FREQ=" + freq]
    maybe = lambda odds: draw.random() < odds
    if maybe(0.5):
        parts.append("INTERVAL=%d" % draw.choice([1, 2, 3, 5, 7, 13, 25, 90]))
    if maybe(0.2):
        parts.append("COUNT=%d" % draw.randint(1, 7))
    elif maybe(0.15):
        parts.append("UNTIL=%d%02d28T120000" % (draw.randint(2026, 2032), draw.randint(1, 12)))
    if maybe(0.3):
        parts.append("WKST=" + draw.choice(DAYS))
    if maybe(0.3):
        parts.append("BYMONTH=" + some(draw, range(1, 13)))
    weeks = freq == "YEARLY" and maybe(0.25)
    if weeks:
        # The weeks at the turn of the year it takes for another year's now and then.
        parts.append("BYWEEKNO=" + some(draw, [n for n in range(-51, 52) if abs(n) > 1], 3))
    if freq in ("YEARLY", "HOURLY", "MINUTELY") and maybe(0.15):
        parts.append("BYYEARDAY=" + signed(draw, 366))
    if freq != "WEEKLY" and maybe(0.25):
        parts.append("BYMONTHDAY=" + signed(draw, 31))
    # A week alone is all of its days to that library, and the start's weekday to the specification.
    if weeks or maybe(0.4):
        days = draw.sample(DAYS, draw.randint(1, 3))
        if freq in ("MONTHLY", "YEARLY") and not weeks and maybe(0.5):
            most = 5 if freq == "MONTHLY" or "BYMONTH" in "".join(parts) else 53
            days = [str(draw.choice([n for n in range(-most, most + 1) if n])) + day for day in days]
        parts.append("BYDAY=" + ",".join(days))
    if maybe(0.3):
        parts.append("BYHOUR=" + some(draw, range(24)))
    if maybe(0.3):
        parts.append("BYMINUTE=" + some(draw, range(60)))
    if maybe(0.1):
        parts.append("BYSECOND=" + some(draw, range(60)))
    # Not within weeks: that library's first week begins at the start, not on its first day.
    if freq in ("YEARLY", "MONTHLY", "DAILY") and len(parts) > 3 and "BY" in "".join(parts[1:]) and maybe(0.3):
        parts.append("BYSETPOS=" + signed(draw, 6))
    head, rest = parts[0], parts[1:]
    draw.shuffle(rest)
    return ";".join([head] + rest)


def stop(*_):
    raise TimeoutError


def main():
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    draw = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    left = int(sys.argv[2]) if len(sys.argv) > 2 else 600
    while left:
        text = rule(draw)
        start = datetime(2026, 1, 1) + timedelta(days=draw.randint(0, 700), minutes=draw.randint(0, 1439))
        # That library looks until the year 9999 for what never comes, or refuses it.
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            named = list(itertools.takewhile(lambda at: at.year < 2060, itertools.islice(rrulestr(text, dtstart=start), 6)))
        except (TimeoutError, ValueError):
            continue
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        print(text, start.isoformat(), *(at.isoformat() for at in named), sep="\t")
        left -= 1


main()
