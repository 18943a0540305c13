//! Expressions by chance: drawn as values and printed as text, so that nobody has to read the text back.

/// A seeded generator (splitmix64): one seed, one history.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: i64) -> i64 {
        (self.next() % bound.unsigned_abs()).cast_signed()
    }

    pub(crate) fn between(&mut self, from: i64, to: i64) -> i64 {
        from + self.below(to - from + 1)
    }

    pub(crate) fn chance(&mut self, percent: i64) -> bool {
        self.below(100) < percent
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Values from .. to by step; printed as it was drawn.
    Span {
        from: i64,
        to: i64,
        step: i64,
    },
    LastDay,
    LastWorkday,
    Nearest(i64),
    LastWeekday(i64),
    Nth(i64, i64),
}

#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub(crate) text: String,
    pub(crate) star: bool,
    pub(crate) parts: Vec<Part>,
}

impl Drawn {
    pub(crate) fn has(&self, value: i64) -> bool {
        self.parts.iter().any(
            |part| matches!(part, Part::Span { from, to, step } if (*from..=*to).contains(&value) && (value - from) % step == 0),
        )
    }
}

/// A field over `min..=max`; values are drawn near `near`, so that they meet the transition.
pub(crate) fn draw_field(draw: &mut Draw, min: i64, max: i64, near: Option<i64>, star: i64) -> Drawn {
    if draw.chance(star) {
        return Drawn { text: "*".into(), star: true, parts: vec![Part::Span { from: min, to: max, step: 1 }] };
    }
    let mut texts = Vec::new();
    let mut parts = Vec::new();
    for _ in 0..draw.between(1, 3) {
        let value = match near {
            Some(near) if draw.chance(70) => (near + draw.between(-2, 2)).clamp(min, max),
            _ => draw.between(min, max),
        };
        let (text, from, to, step) = match draw.below(5) {
            0 if texts.is_empty() => {
                let step = draw.between(1, max - min);
                (format!("*/{step}"), min, max, step)
            }
            1 => (format!("{value}-{max}"), value, max, 1),
            2 if value < max => {
                let to = draw.between(value + 1, max);
                let step = draw.between(1, to - value);
                (format!("{value}-{to}/{step}"), value, to, step)
            }
            3 if value < max => {
                let step = draw.between(1, max - value);
                (format!("{value}/{step}"), value, max, step)
            }
            _ => (format!("{value}"), value, value, 1),
        };
        texts.push(text);
        parts.push(Part::Span { from, to, step });
    }
    let text = texts.join(",");
    Drawn { star: text.starts_with('*'), text, parts }
}

/// Mostly a few minutes of the hour: dense ones only repeat themselves.
pub(crate) fn draw_minute(draw: &mut Draw) -> Drawn {
    if draw.chance(15) {
        return draw_field(draw, 0, 59, None, 15);
    }
    let minutes: Vec<i64> = (0..draw.between(1, 3)).map(|_| draw.below(60)).collect();
    let text = minutes.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let parts = minutes.into_iter().map(|minute| Part::Span { from: minute, to: minute, step: 1 }).collect();
    Drawn { star: false, text, parts }
}

pub(crate) fn draw_day(draw: &mut Draw, near: i64) -> Drawn {
    let mut field = draw_field(draw, 1, 31, Some(near), 65);
    if !field.star && draw.chance(30) {
        let (text, part) = match draw.below(3) {
            0 => ("L".to_owned(), Part::LastDay),
            1 => ("LW".to_owned(), Part::LastWorkday),
            _ => {
                let day = (near + draw.between(-2, 2)).clamp(1, 31);
                (format!("{day}W"), Part::Nearest(day))
            }
        };
        field.text = format!("{},{text}", field.text);
        field.parts.push(part);
    }
    field
}

pub(crate) fn draw_weekday(draw: &mut Draw, near: i64) -> Drawn {
    let mut field = draw_field(draw, 0, 7, Some(near), 65);
    if !field.star && draw.chance(30) {
        let day = draw.below(8);
        let (text, part) = if draw.chance(50) {
            (format!("{day}L"), Part::LastWeekday(day % 7))
        } else {
            let nth = draw.between(1, 5);
            (format!("{day}#{nth}"), Part::Nth(day % 7, nth))
        };
        field.text = format!("{},{text}", field.text);
        field.parts.push(part);
    }
    field
}
