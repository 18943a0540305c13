//! A job file in several files: read as one, told of by the file in which something stands.

use std::fs;
use std::path::PathBuf;

use onebell_cli::jobfile::JobFile;
use tempfile::TempDir;

/// Files in a folder; the job file is `onebell.toml`.
struct Files(TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("onebell.toml")
    }

    fn read(&self) -> JobFile {
        JobFile::load(&self.path()).unwrap_or_else(|report| panic!("{report}"))
    }

    /// `file:line:column message; remedy` of each problem, files as they are seen from the folder.
    fn told(&self) -> Vec<String> {
        let report = JobFile::load(&self.path()).expect_err("something is wrong");
        let folder = format!("{}/", self.0.path().display());
        let told = report.problems.iter().map(|problem| {
            let told =
                format!("{}:{}:{} {}; {}", problem.file.display(), problem.line, problem.column, problem.message, problem.remedy);
            told.replace(&folder, "")
        });
        told.collect()
    }

    fn names(&self) -> Vec<String> {
        self.read().jobs.into_iter().map(|job| job.name).collect()
    }
}

fn job(name: &str) -> String {
    format!("[jobs.{name}]\ncommand = [\"true\"]\n")
}

const INCLUDE: &str = "include = [\"jobs/*.toml\"]\n";

#[test]
fn included_jobs_and_channels_are_the_job_files_own_in_the_order_of_their_paths() {
    let main = format!("{INCLUDE}[defaults]\ntime_zone = \"Asia/Ho_Chi_Minh\"\n{}", job("z"));
    let message =
        "[jobs.b]\nschedule = \"0 2 * * *\"\n[jobs.b.message]\nchannel = \"ops\"\nkey = \"{{ run.id }}\"\njson = \"{}\"\n";
    let files = Files::new(&[
        ("onebell.toml", &main),
        ("jobs/2.toml", &job("c")),
        ("jobs/1.toml", &format!("{message}{}", job("a"))),
        ("jobs/3.toml", "[channels.ops]\nkind = \"http\"\nurl = \"https://example.com/hook\"\n"),
    ]);
    let read = files.read();
    assert_eq!(files.names(), ["z", "b", "a", "c"]);
    assert_eq!(read.jobs[1].schedules[0].time_zone, "Asia/Ho_Chi_Minh", "defaults reach every job");
    assert!(read.channels.contains_key("ops"));
}

#[test]
fn paths_in_an_included_file_begin_at_the_job_files_folder() {
    let files = Files::new(&[
        ("onebell.toml", INCLUDE),
        ("jobs/a.toml", "[jobs.a]\nsql = { file = \"pull.sql\" }\n"),
        ("pull.sql", "SELECT 1"),
    ]);
    assert_eq!((files.names(), files.read().folder), (vec!["a".to_owned()], files.0.path().to_owned()));
}

#[test]
fn a_file_that_two_patterns_name_is_read_once_and_hidden_files_and_folders_are_not() {
    let main = "include = [\"jobs/*\", \"jobs/a.toml\"]\n";
    let files = Files::new(&[
        ("onebell.toml", main),
        ("jobs/a.toml", &job("a")),
        ("jobs/.#a.toml", "half"),
        ("jobs/deep/b.toml", &job("b")),
    ]);
    assert_eq!(files.names(), ["a"]);
}

#[test]
fn the_same_job_twice_is_told_with_both_places_and_neither_is_used() {
    let files = Files::new(&[
        ("onebell.toml", &format!("{INCLUDE}\n{}{}", job("a"), job("good"))),
        ("jobs/1.toml", &format!("\n\n{}", job("a"))),
    ]);
    let folder = files.0.path().display();
    let expected =
        format!("jobs/1.toml:3:7 two definitions of job \"a\" (the first is in {folder}/onebell.toml:3); rename or remove one");
    assert_eq!(files.told(), [expected.replace(&format!("{folder}/"), "")]);
    let partly = JobFile::load_partly(&files.path()).unwrap();
    assert_eq!(partly.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(partly.bad_jobs[0].job.as_deref(), Some("a"));
}

#[test]
fn the_same_channel_twice_is_told_with_both_places() {
    let channel = "[channels.ops]\nkind = \"http\"\nurl = \"https://example.com/hook\"\n";
    let files = Files::new(&[("onebell.toml", &format!("{INCLUDE}{channel}")), ("jobs/1.toml", channel)]);
    assert_eq!(
        files.told(),
        ["jobs/1.toml:1:11 two definitions of channel \"ops\" (the first is in onebell.toml:2); rename or remove one"]
    );
}

#[test]
fn a_mistake_in_an_included_file_is_told_with_that_file_its_line_and_its_text() {
    let files = Files::new(&[
        ("onebell.toml", &format!("{INCLUDE}{}timeout = 5\n", job("z"))),
        ("jobs/a.toml", "# a comment\n[jobs.a]\nscedule = \"0 3 * * *\"\ncommand = [\"true\"]\n"),
        ("jobs/b.toml", &job("b")),
    ]);
    let told = files.told();
    assert!(told[0].starts_with("onebell.toml:4:11 timeout: expected a duration"), "{told:#?}");
    assert_eq!(told[1..], ["jobs/a.toml:3:1 unknown key \"scedule\"; did you mean \"schedule\"?"]);
    let partly = JobFile::load_partly(&files.path()).unwrap();
    assert_eq!(
        partly.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(),
        ["b"],
        "one wrong job does not stop the others"
    );
    assert!(partly.bad_jobs[1].to_string().ends_with("3 | scedule = \"0 3 * * *\"\n  | ^^^^^^^"), "{}", partly.bad_jobs[1]);
}

#[test]
fn an_included_file_that_is_no_toml_refuses_the_whole() {
    let files = Files::new(&[("onebell.toml", &format!("{INCLUDE}{}", job("z"))), ("jobs/a.toml", "[jobs.a\n")]);
    let report = JobFile::load_partly(&files.path()).unwrap_err().to_string();
    assert!(report.contains("jobs/a.toml:1:8: not TOML: unclosed table"), "{report}");
}

#[test]
fn what_is_the_job_files_own_is_refused_in_an_included_one_and_so_is_another_include() {
    let files = Files::new(&[
        ("onebell.toml", INCLUDE),
        ("jobs/a.toml", "include = [\"b.toml\"]\ndatabase = \"sqlite:x\"\n[defaults]\n[replica]\n[job.x]\n"),
    ]);
    assert_eq!(
        files.told(),
        [
            "jobs/a.toml:1:1 include belongs to the job file itself; move it to onebell.toml",
            "jobs/a.toml:2:1 database belongs to the job file itself; move it to onebell.toml",
            "jobs/a.toml:3:2 defaults belongs to the job file itself; move it to onebell.toml",
            "jobs/a.toml:4:2 replica belongs to the job file itself; move it to onebell.toml",
            "jobs/a.toml:5:2 unknown key \"job\"; did you mean \"jobs\"?",
        ]
    );
}

#[test]
fn an_include_that_names_nothing_or_cannot_be_read_is_told_with_what_to_do() {
    let told = |include: &str| {
        let files = Files::new(&[("onebell.toml", &format!("include = {include}\n")), ("jobs/deep/x", "")]);
        fs::write(files.0.path().join("latin.toml"), [b'#', 0xe9]).unwrap();
        let told = files.told();
        assert_eq!(told.len(), 1, "{told:#?}");
        told[0].replace(&files.0.path().display().to_string(), "FOLDER")
    };
    assert_eq!(
        told("[\"jobs/*.toml\"]"),
        "onebell.toml:1:12 include: \"jobs/*.toml\" names no file in FOLDER; paths begin at the job file's folder; make the file, or remove the pattern"
    );
    assert!(told("\"jobs/*.toml\"").starts_with("onebell.toml:1:11 include: expected an array of patterns"));
    assert!(told("[\"jobs/***.toml\"]").contains("is no pattern"));
    assert!(told("[\"*.toml\"]").contains("\"*.toml\" names the job file itself; keep what it includes in a folder of its own"));
    assert!(told("[\"latin.toml\"]").contains("cannot read latin.toml: byte 1 is not UTF-8"));
}
