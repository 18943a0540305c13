//! The world of one history: three replicas, people, one database, and chance that says who moves next.
//!
//! A history is a list of draws: each turn takes everything that it decides from one of them. So the same list gives the
//! same history, and a shorter list is a history too.

mod rest;

use std::sync::Arc;
use std::time::Duration;

use onebell::model::Moment;
use onebell::store::StoreError;

use crate::dice::Dice;
use crate::ground::{Ground, Trouble, Violation};
use crate::hour::Hour;
use crate::jobs::{Versions, jobs};
use crate::loaders::Loaders;
use crate::people::People;
use crate::place::Ended;
use crate::replica::{Carries, Less, Replica};
use crate::tally::Tally;

/// For so long at least nobody is there when everybody is gone: longer than a lease.
const HALT: Duration = Duration::from_secs(14);
/// How many processes there are.
const REPLICAS: usize = 3;

/// What a history is made of.
#[derive(Debug, Clone)]
pub struct Story {
    /// Chooses the jobs and how much goes wrong.
    pub seed: u64,
    /// One for each turn.
    pub draws: Vec<u64>,
    /// Statements put in place of the store's own.
    pub mutants: Vec<(String, String)>,
    /// Whether to write down what happens.
    pub traced: bool,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Told {
    /// The first promise that was broken.
    pub violation: Option<Violation>,
    /// The history as a number.
    pub digest: u64,
    /// Turns taken before the end or the violation.
    pub turns: usize,
    /// Commits that were checked.
    pub commits: u64,
    /// What it was made of.
    pub tally: Tally,
    /// What happened, if it was wanted.
    pub trace: Vec<String>,
}

enum Process {
    Up(Box<Replica>),
    Down { until: Duration },
}

/// How often something happens to the processes, in a thousand turns.
#[derive(Debug, Clone, Copy)]
struct Fates {
    crash: u64,
    pause: u64,
    jump: u64,
    away: u64,
    people: u64,
    drain: u64,
    restart: u64,
    loaders: u64,
    halt: u64,
}

/// Everything there is.
pub struct World {
    ground: Arc<Ground>,
    processes: Vec<Process>,
    frozen: [Duration; REPLICAS],
    skew: [u64; REPLICAS],
    people: People,
    loaders: Option<Loaders>,
    jobs: Vec<Versions>,
    fates: Fates,
    elapsed: Duration,
    away_until: Duration,
    latest: Moment,
    hour: Hour,
    less: Less,
    /// Whoever begins now brings everything.
    complete: bool,
}

/// Tells a story to its end.
pub fn tell(story: &Story) -> Result<Told, StoreError> {
    let mut dice = Dice::new(story.seed);
    let hour = Hour::of(&mut dice);
    let in_a_file = dice.chance(120);
    let ground = Arc::new(Ground::new(hour.start, in_a_file, &story.mutants, story.traced)?);
    let mut world = World::new(&ground, hour, dice);
    let mut turns = 0;
    for draw in &story.draws {
        turns += 1;
        ground.inner().dice = Dice::new(*draw);
        world.turn()?;
        if world.is_over() {
            break;
        }
    }
    if !world.is_over() {
        world.come_to_rest();
    }
    let mut inner = ground.inner();
    let trace = inner.trace.take().unwrap_or_default();
    Ok(Told {
        violation: inner.violation.clone(),
        digest: inner.digest.value(),
        turns,
        commits: inner.commits,
        tally: inner.tally.clone(),
        trace,
    })
}

impl World {
    fn new(ground: &Arc<Ground>, hour: Hour, mut dice: Dice) -> Self {
        let jobs = jobs(&mut dice, &hour);
        let level = |dice: &mut Dice, levels: &[u64]| *dice.pick(levels);
        ground.inner().trouble = Trouble {
            lost_after: level(&mut dice, &[0, 5, 20, 60]),
            lost_before: level(&mut dice, &[0, 5, 20]),
            contended: level(&mut dice, &[0, 10]),
            slow: level(&mut dice, &[0, 5, 25]),
            work: level(&mut dice, &[30, 100, 200]),
        };
        let mut fates = Fates {
            crash: level(&mut dice, &[0, 2, 6]),
            pause: level(&mut dice, &[0, 3, 8]),
            jump: level(&mut dice, &[0, 0, 2]),
            away: level(&mut dice, &[0, 0, 1]),
            people: level(&mut dice, &[0, 8, 20]),
            drain: level(&mut dice, &[0, 1, 4]),
            restart: if ground.is_file() { 3 } else { 0 },
            loaders: 0,
            halt: 0,
        };
        let skewed = dice.chance(400);
        let skew = [0; REPLICAS].map(|_| if skewed { 600 + dice.below(900) } else { 990 + dice.below(20) });
        let down = |number: usize| Process::Down { until: Duration::from_millis(700) * u32::try_from(number).unwrap_or(0) };
        let less = Less::of(&mut dice);
        let loaders = Loaders::of(ground, &mut dice, REPLICAS + 1);
        fates.loaders = if loaders.is_some() { 40 } else { 0 };
        fates.halt = u64::from(dice.chance(120));
        Self {
            ground: Arc::clone(ground),
            processes: (0..REPLICAS).map(down).collect(),
            frozen: [Duration::ZERO; REPLICAS],
            skew,
            people: People::new(ground, REPLICAS),
            loaders,
            jobs,
            fates,
            elapsed: Duration::ZERO,
            away_until: Duration::ZERO,
            latest: hour.start,
            hour,
            less,
            complete: false,
        }
    }

    fn is_over(&self) -> bool {
        let mut inner = self.ground.inner();
        inner.hear();
        inner.violation.is_some()
    }

    /// One turn: something happens to somebody, somebody moves, or time passes.
    fn turn(&mut self) -> Result<(), StoreError> {
        let drawn = self.ground.inner().dice.below(1000);
        if self.fate(drawn)? {
            return Ok(());
        }
        let ready = self.ready();
        let idle = ready.is_empty() || self.ground.chance(60);
        if idle {
            let span = self.some_time();
            self.passes(span);
            return Ok(());
        }
        let place = self.ground.inner().dice.index(ready.len());
        let (process, nth) = ready[place];
        self.go(process, nth);
        Ok(())
    }

    fn some_time(&self) -> Duration {
        let mut inner = self.ground.inner();
        let longest = *inner.dice.pick(&[50, 400, 1_500, 3_000]);
        Duration::from_millis(1 + inner.dice.below(longest))
    }

    fn ready(&self) -> Vec<(usize, usize)> {
        let mut ready = Vec::new();
        for (number, process) in self.processes.iter().enumerate() {
            match process {
                Process::Up(_) if self.frozen[number] > self.elapsed => {}
                Process::Up(replica) => ready.extend((0..replica.ready()).map(|nth| (number, nth))),
                Process::Down { until } if *until <= self.elapsed => ready.push((number, 0)),
                Process::Down { .. } => {}
            }
        }
        ready.extend((0..self.people.ready()).map(|nth| (REPLICAS, nth)));
        ready.extend((0..self.loaders.as_ref().map_or(0, Loaders::ready)).map(|nth| (REPLICAS + 1, nth)));
        ready
    }

    fn go(&mut self, number: usize, nth: usize) {
        if number == REPLICAS {
            return self.people.go(nth);
        }
        if number > REPLICAS {
            return self.loaders.iter_mut().for_each(|loaders| loaders.go(nth));
        }
        match &mut self.processes[number] {
            Process::Up(replica) => {
                replica.go(nth);
                if replica.is_gone() {
                    self.ground.note(|| format!("p{number} has left"));
                    self.processes[number] = Process::Down { until: self.elapsed + Duration::from_secs(1) };
                }
            }
            Process::Down { .. } => self.restart(number),
        }
    }

    fn restart(&mut self, number: usize) {
        let (carries, room) = {
            let mut inner = self.ground.inner();
            let dice = &mut inner.dice;
            let less = self.less;
            let carries = if self.complete { Carries::all(dice, &self.jobs) } else { Carries::some(dice, &self.jobs, &less) };
            let room = (*dice.pick(&[1, 2, 3, 3]), u32::try_from(dice.below(4)).unwrap_or(0));
            if !carries.all {
                inner.tally.count("replica", "carries less");
            }
            (carries, room)
        };
        self.ground.note(|| format!("p{number} starts"));
        self.processes[number] = Process::Up(Box::new(Replica::begin(&self.ground, number, carries, room)));
        self.frozen[number] = Duration::ZERO;
    }

    /// Whether something happened to somebody.
    fn fate(&mut self, drawn: u64) -> Result<bool, StoreError> {
        let fates = self.fates;
        let number = self.ground.inner().dice.index(REPLICAS);
        let bounds = [
            fates.crash,
            fates.pause,
            fates.jump,
            fates.away,
            fates.people,
            fates.restart,
            fates.drain,
            fates.loaders,
            fates.halt,
        ];
        let mut sum = 0;
        let which = bounds.iter().position(|bound| {
            sum += bound;
            drawn < sum
        });
        match which {
            Some(0) => self.crash(number),
            Some(1) => self.pause(number),
            Some(2) => self.jump(),
            Some(3) => {
                let span = Duration::from_millis(500 + self.ground.inner().dice.below(15_000));
                self.ground.note(|| format!("the store is away for {span:?}"));
                self.away_until = self.elapsed + span;
                self.ground.inner().away = true;
                self.ground.inner().tally.count("fault", "away");
            }
            Some(4) => self.people.act(),
            Some(5) => self.restart_host()?,
            Some(6) => {
                if let Process::Up(replica) = &mut self.processes[number] {
                    self.ground.note(|| format!("p{number} is asked to drain"));
                    replica.ask_to_drain();
                }
            }
            Some(7) => self.loaders.iter_mut().for_each(Loaders::fate),
            Some(_) => self.halt(),
            None => return Ok(false),
        }
        Ok(true)
    }

    /// The host goes down with all that runs on it, and comes up again with the database as it was left.
    fn restart_host(&mut self) -> Result<(), StoreError> {
        let ended = if self.ground.chance(500) { Ended::Closed } else { Ended::Killed };
        self.ground.note(|| format!("everybody ends at once, and the database is opened again: {ended:?}"));
        self.ground.inner().tally.count("fault", if ended == Ended::Closed { "restart" } else { "restart after a kill" });
        for number in 0..REPLICAS {
            let span = Duration::from_millis(self.ground.inner().dice.below(4_000));
            self.processes[number] = Process::Down { until: self.elapsed + span };
        }
        self.people.leave();
        self.loaders.iter_mut().for_each(Loaders::leave);
        self.ground.open_again(ended)
    }

    /// All are gone or frozen for longer than a lease, and somebody asks what may have gone on meanwhile.
    fn halt(&mut self) {
        self.ground.note(|| "everybody is gone or frozen for a while".to_owned());
        self.ground.inner().tally.count("fault", "halt");
        for number in 0..REPLICAS {
            let until = self.elapsed + HALT + Duration::from_millis(self.ground.inner().dice.below(8_000));
            if self.ground.chance(400) {
                self.frozen[number] = until;
            } else {
                self.processes[number] = Process::Down { until };
            }
        }
        self.people.ask_after(Duration::from_secs(11));
    }

    /// Somebody is frozen: often one that has asked for something, and for so long that it is no more when it hears of it.
    fn pause(&mut self, number: usize) {
        let asks = |process: &Process| matches!(process, Process::Up(replica) if replica.asks());
        let asking = self.processes.iter().position(asks).filter(|_| self.ground.chance(350));
        let number = asking.unwrap_or(number);
        let shortest = if asking.is_some() { 11_000 } else { 500 };
        let span = Duration::from_millis(shortest + self.ground.inner().dice.below(20_000));
        self.ground.note(|| format!("p{number} is frozen for {span:?}"));
        self.frozen[number] = self.elapsed + span;
        self.ground.inner().tally.count("fault", "pause");
    }

    fn crash(&mut self, number: usize) {
        if let Process::Up(replica) = &self.processes[number] {
            self.ground.note(|| format!("{} crashes", replica.name()));
            self.ground.inner().tally.count("fault", "crash");
            let span = Duration::from_millis(self.ground.inner().dice.below(15_000));
            self.processes[number] = Process::Down { until: self.elapsed + span };
        }
    }

    fn jump(&mut self) {
        let (forward, seconds) = {
            let mut inner = self.ground.inner();
            (inner.dice.chance(500), *inner.dice.pick(&[2, 15, 50, 90, 600]))
        };
        let now = self.ground.clock.now();
        self.latest = self.latest.max(now);
        let span = Duration::from_secs(seconds);
        self.ground.inner().tally.count("fault", "jump");
        self.ground.note(|| format!("the store's clock jumps by {seconds}s, forward: {forward}"));
        self.ground.clock.set(if forward { now + span } else { now - span });
    }

    fn passes(&mut self, span: Duration) {
        self.elapsed += span;
        self.ground.passes(span);
        for (process, skew) in self.processes.iter().zip(self.skew) {
            if let Process::Up(replica) = process {
                let micros = u64::try_from(span.as_micros()).unwrap_or(0) * skew / 1000;
                replica.passes(Duration::from_micros(micros));
            }
        }
        self.people.timer.advance(span);
        self.loaders.iter_mut().for_each(|loaders| loaders.passes(span));
        if let Some(change) = self.hour.change
            && change.at <= self.ground.clock.now()
        {
            self.hour.change = None;
            self.ground.inner().tally.count("fault", "clocks of a zone are changed");
        }
        if self.away_until <= self.elapsed {
            self.ground.inner().away = false;
        }
    }
}
