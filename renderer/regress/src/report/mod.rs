//! Reports: a folder that a browser opens from disk, without a server or network
//! access.
//!
//! `index.html` is a small shell. All other files are in one folder beside it, named after a hash
//! of its contents: style, scripts, the list of cases or pictures, and their images, which the page
//! loads when they are shown. Browsers do not let pages opened from disk read other files, but
//! do let them load scripts. Therefore, all data are scripts that call a function of the viewer.
//!
//! The index is written last and atomically, and earlier folders are removed only after that. So
//! the index always refers to a complete report, even if writing is interrupted. Files are removed
//! only from folders of reports, and only if they have the names of report files.

pub mod comparison;
mod data;

use super::outcome::Outcome;
use comparison::Comparison;
use lightbound_image::write::save;
use lightbound_image::{ImageError, Problem};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// Identifies the index page of a report.
const GENERATOR_TAG: &str = "<meta name=\"generator\" content=\"lightbound ";
/// Prefix of the folder with a report's files; 16 hexadecimal digits follow.
const FOLDER_PREFIX: &str = "lightbound-report-";
/// The list of cases or of pictures.
const LIST: &str = "cases.js";
/// A file that is the same in every report: its name and its content.
type Asset = (&'static str, &'static str);
/// Assets of both pages, which load all of them in dependency order.
const SHARED: [Asset; 5] = [
    ("style.css", include_str!("style.css")),
    ("colour.js", include_str!("colour.js")),
    ("images.js", include_str!("images.js")),
    ("stage.js", include_str!("stage.js")),
    ("elements.js", include_str!("elements.js")),
];
/// The page of regression tests, and its assets.
const REGRESSION: (&str, [Asset; 2]) = (
    include_str!("page.html"),
    [("viewer.js", include_str!("viewer.js")), ("report.js", include_str!("report.js"))],
);
/// The page of comparisons, and its assets.
const COMPARISON: (&str, [Asset; 2]) = (
    include_str!("comparison.html"),
    [("plot.js", include_str!("plot.js")), ("comparison.js", include_str!("comparison.js"))],
);

/// Why a folder cannot hold a report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// It cannot be created, read or written.
    #[error(transparent)]
    Unusable(#[from] ImageError),
    /// The folder contains an `index.html` that is not a report.
    #[error("{}: is not a report, and is left unchanged", .0.display())]
    NotAReport(PathBuf),
    /// The path is a file.
    #[error("{}: is a file, but a report is a folder", .0.display())]
    NotAFolder(PathBuf),
}

/// The folder of a report.
#[derive(Debug)]
pub struct Report {
    folder: PathBuf,
}

impl Report {
    /// Opens or creates the folder of a report, without changing its contents. Call this before the
    /// run, to detect errors early.
    ///
    /// # Errors
    /// If the path is a file, the folder cannot be created or written to, or it contains an
    /// `index.html` that is not a report.
    pub fn open(folder: &Path) -> Result<Report, ReportError> {
        if fs::metadata(folder).is_ok_and(|m| !m.is_dir()) {
            return Err(ReportError::NotAFolder(folder.into()));
        }
        fs::create_dir_all(folder).map_err(|e| write_error(folder, e))?;
        // The only check of permissions, read-only file systems and quotas.
        let probe = folder.join(format!(".{FOLDER_PREFIX}{}.tmp", std::process::id()));
        let probed = fs::File::create_new(&probe).and_then(|_| fs::remove_file(&probe));
        probed.map_err(|e| write_error(folder, e))?;
        let index = folder.join("index.html");
        match fs::read(&index) {
            Ok(page) if !String::from_utf8_lossy(&page).contains(GENERATOR_TAG) => {
                Err(ReportError::NotAReport(index))
            }
            Ok(_) => Ok(Report { folder: folder.into() }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Report { folder: folder.into() }),
            Err(e) => Err(ImageError { path: index, problem: Problem::Read(e) }.into()),
        }
    }

    /// Writes the report of a run of `suite`, replacing an earlier one. Returns the path of the
    /// index.
    ///
    /// # Errors
    /// If a file cannot be written; an earlier report then stays intact.
    ///
    /// # Panics
    /// If the number of pixels of an image does not match its size.
    pub fn write(&self, suite: &str, outcomes: &[Outcome]) -> Result<PathBuf, ImageError> {
        let mut sorted: Vec<&Outcome> = outcomes.iter().collect();
        sorted.sort_by_key(|outcome| outcome.status.rank());
        self.write_page(REGRESSION, || {
            let list =
                std::iter::once_with(|| (LIST.to_string(), data::list_script(suite, &sorted)));
            list.chain(sorted.iter().enumerate().filter_map(|(i, outcome)| {
                let images = outcome.images.as_ref()?;
                Some((data::images_file(i), data::images_script(i, images)))
            }))
        })
    }

    /// Writes a comparison of pictures, replacing an earlier report. Returns the path of the index.
    ///
    /// # Errors
    /// As for [`Report::write`].
    ///
    /// # Panics
    /// As for [`Report::write`].
    pub fn write_comparison(&self, comparison: &Comparison) -> Result<PathBuf, ImageError> {
        self.write_page(COMPARISON, || {
            let list =
                std::iter::once_with(|| (LIST.to_string(), comparison::list_script(comparison)));
            list.chain(comparison::image_scripts(comparison))
        })
    }

    /// Writes a page, its assets and its data: names and contents of files, which are generated
    /// twice, one after the other, since images may be large.
    fn write_page<I: Iterator<Item = (String, String)>>(
        &self,
        (page, assets): (&str, [Asset; 2]),
        data: impl Fn() -> I,
    ) -> Result<PathBuf, ImageError> {
        let files = || {
            let assets = SHARED.iter().chain(&assets);
            assets.map(|(name, text)| (name.to_string(), text.to_string())).chain(data())
        };
        let name = folder_name(files());
        let folder = self.folder.join(&name);
        fs::create_dir_all(&folder).map_err(|e| write_error(&folder, e))?;
        for (file, text) in files() {
            save(&folder.join(file), text.as_bytes())?;
        }
        let index = self.folder.join("index.html");
        save(&index, page.replace("{{folder}}", &name).as_bytes())?;
        self.remove_others(&name);
        Ok(index)
    }

    /// Removes the files of earlier reports. Ignores errors, since leftover files are harmless.
    fn remove_others(&self, current: &str) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name != current && is_report_folder(name)) {
                let files = fs::read_dir(entry.path()).into_iter().flatten().flatten();
                for file in files.filter(|f| f.file_name().to_str().is_some_and(is_report_file)) {
                    let _ = fs::remove_file(file.path());
                }
                // This fails, and keeps the folder, if it contains other files.
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

fn write_error(path: &Path, error: io::Error) -> ImageError {
    ImageError { path: path.into(), problem: Problem::Write(error) }
}

/// Returns the name of the report's folder, which contains a hash of its contents. So a page never
/// loads files of another report, and equal reports have equal files.
fn folder_name(files: impl Iterator<Item = (String, String)>) -> String {
    let mut hasher = DefaultHasher::new();
    files.for_each(|file| file.hash(&mut hasher));
    format!("{FOLDER_PREFIX}{:016x}", hasher.finish())
}

fn is_report_folder(folder: &str) -> bool {
    let digits = folder.strip_prefix(FOLDER_PREFIX);
    digits
        .is_some_and(|d| d.len() == 16 && d.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

/// Returns whether the file belongs to a report. This includes the temporary files of an
/// interrupted [`save`], `.NAME.PID-ATTEMPT.tmp`.
fn is_report_file(name: &str) -> bool {
    let temporary = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp"));
    let name = temporary.and_then(|name| name.rsplit_once('.')).map_or(name, |(name, _)| name);
    let case = name.strip_prefix("case-").and_then(|name| name.strip_suffix(".js"));
    let mut assets = SHARED.iter().chain(&REGRESSION.1).chain(&COMPARISON.1);
    assets.any(|(file, _)| name == *file)
        || name == LIST
        || case.is_some_and(|index| index.parse::<usize>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{CaseImages, Status};
    use super::comparison::{Picture, PictureMetric, Rank};
    use super::*;

    fn outcome(name: &str, status: Status) -> Outcome {
        let images = CaseImages {
            width: 2,
            height: 1,
            reference: vec![[0.0, 1.0, 2.0], [f32::NAN, -1.0, 0.5]],
            result: vec![[0.5; 3]; 2],
            flip: vec![0.25, 1.0],
        };
        Outcome {
            name: name.into(),
            description: String::new(),
            status,
            metrics: vec![],
            time: None,
            last_time: None,
            images: Some(images),
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn failed() -> Status {
        Status::Failed(vec!["too dark".into()])
    }

    #[test]
    fn index_loads_all_files_and_lists_failing_cases_first() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("made/report");
        let error = Status::Error { message: "no such file".into(), help: "check the path".into() };
        let outcomes = [
            outcome("one", Status::Passed),
            outcome("two", error),
            outcome("three", failed()),
            outcome("four", failed()),
        ];
        let index = Report::open(&folder).unwrap().write("suite.toml", &outcomes).unwrap();
        assert_eq!(index, folder.join("index.html"));
        let page = fs::read_to_string(index).unwrap();
        let [_, files] = names(&folder).try_into().unwrap();
        assert!(
            page.contains(&format!("src=\"{files}/cases.js\""))
                && page.contains(GENERATOR_TAG)
                && !page.contains("{{")
        );
        for (file, _) in SHARED.iter().chain(&REGRESSION.1) {
            assert!(page.contains(&format!("\"{files}/{file}\"")), "{file} is not in the page");
            assert!(folder.join(&files).join(file).is_file());
        }
        let list = fs::read_to_string(folder.join(&files).join("cases.js")).unwrap();
        let at = |name: &str| list.find(&format!("\"name\":\"{name}\"")).unwrap();
        assert!(at("three") < at("four") && at("four") < at("two") && at("two") < at("one"));
    }

    #[test]
    fn comparisons_have_a_script_for_each_picture_and_the_reference() {
        let dir = tempfile::tempdir().unwrap();
        let picture = |name: &str, flip| Picture {
            name: name.into(),
            series: "path".into(),
            group: String::new(),
            seconds: Some(1.5),
            samples: None,
            metrics: vec![PictureMetric { name: "rmse", value: f64::NAN, rank: Rank::Lowest }],
            pixels: vec![[0.5; 3]; 2],
            flip,
        };
        let comparison = Comparison {
            reference: "</script>".into(),
            width: 2,
            height: 1,
            reference_pixels: vec![[1.0; 3]; 2],
            pictures: vec![picture("a", vec![0.0, 1.0]), picture("b", vec![])],
        };
        let report = Report::open(dir.path()).unwrap();
        report.write("suite.toml", &[outcome("one", failed())]).unwrap();
        let page = fs::read_to_string(report.write_comparison(&comparison).unwrap()).unwrap();
        let [_, folder] = names(dir.path()).try_into().unwrap();
        for (file, _) in SHARED.iter().chain(&COMPARISON.1).chain(&[(LIST, "")]) {
            assert!(page.contains(&format!("\"{folder}/{file}\"")), "{file} is not in the page");
        }
        let text = |file: &str| fs::read_to_string(dir.path().join(&folder).join(file)).unwrap();
        let list = text(LIST);
        assert!(
            list.starts_with("showComparison({") && list.contains("\"rmse\":\"NaN\""),
            "{list}"
        );
        for (i, has_flip) in [false, true, false].into_iter().enumerate() {
            let script = text(&format!("case-{i}.js"));
            assert!(script.starts_with(&format!("receivePicture({i}, {{")), "{script}");
            assert_eq!(!script.contains("\"flip\":\"\""), has_flip, "{script}");
        }
        // Another report of regression tests removes all of it.
        report.write("suite.toml", &[outcome("one", failed())]).unwrap();
        assert_eq!(names(dir.path()).len(), 2);
    }

    #[test]
    fn a_report_replaces_an_earlier_report_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let report = Report::open(dir.path()).unwrap();
        fs::write(dir.path().join("notes.txt"), "mine").unwrap();
        fs::create_dir(dir.path().join("lightbound-report-mine")).unwrap();
        report
            .write("s", &[outcome("one", Status::Passed), outcome("two", Status::Passed)])
            .unwrap();
        let first = names(dir.path());
        report
            .write("s", &[outcome("one", Status::Passed), outcome("two", Status::Passed)])
            .unwrap();
        assert_eq!(names(dir.path()), first, "equal reports have equal files");
        // The next write removes leftover files of an interrupted one.
        let old = first.iter().find(|n| is_report_folder(n)).unwrap();
        fs::write(dir.path().join(old).join(".case-0.js.17-0.tmp"), "half").unwrap();
        report.write("s", &[outcome("one", failed())]).unwrap();
        let second = names(dir.path());
        assert_eq!(second.len(), 4);
        assert!(
            !second.contains(old)
                && second.contains(&"notes.txt".into())
                && second.contains(&"lightbound-report-mine".into())
        );
        // A folder with other files is kept, even if their names resemble those of a report.
        let kept = second.iter().find(|n| is_report_folder(n)).unwrap();
        let mine = ["case-notes.js", "cases.js.bak", "mine.png"];
        for name in mine {
            fs::write(dir.path().join(kept).join(name), "mine").unwrap();
        }
        report.write("s", &[]).unwrap();
        assert_eq!(names(&dir.path().join(kept)), mine);
    }

    #[test]
    fn an_index_page_that_is_not_a_report_is_not_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let index = dir.path().join("index.html");
        fs::write(&index, "<h1>Mine</h1>").unwrap();
        let message = Report::open(dir.path()).unwrap_err().to_string();
        assert!(message.contains("index.html: is not a report"), "{message}");
        assert_eq!(fs::read(&index).unwrap(), b"<h1>Mine</h1>");
        let message = Report::open(&index.join("below")).unwrap_err().to_string();
        assert!(message.contains("below: cannot be written"), "{message}");
    }

    #[test]
    fn reports_do_not_access_the_network() {
        let pages = [("page.html", REGRESSION.0), ("comparison.html", COMPARISON.0)];
        let assets = SHARED.iter().chain(&REGRESSION.1).chain(&COMPARISON.1);
        for (name, text) in assets.chain(&pages) {
            for address in [
                "http:",
                "https:",
                "//cdn",
                "fetch(",
                "XMLHttpRequest",
                "type=\"module\"",
                "@import",
            ] {
                // The name of a format, which is never loaded.
                let text = text.replace("http://www.w3.org/2000/svg", "");
                assert!(!text.contains(address), "{name} has {address}");
            }
        }
    }
}
