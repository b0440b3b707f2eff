//! Diagnostics about scene files: source locations, warnings, and the error that stops loading.
//!
//! A [`Location`] holds a file, line and column. Errors read the offending lines again for display,
//! so later stages need not keep the text in memory. Every [`Warning`] names the fallback. In
//! strict mode the first warning is an error.

use lightbound_shader::ShaderError;
use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The source of scene data: a file, or text in memory.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    text: Option<Vec<u8>>,
    /// For generated text: the first line and the origin of each part.
    origins: Vec<(u32, String)>,
    /// For generated text: files that it refers to, by their paths.
    files: Arc<BTreeMap<PathBuf, Vec<u8>>>,
}

impl Source {
    /// Creates a source from a file, plain or gzip-compressed. Errors read it again for display.
    pub fn file(path: impl Into<PathBuf>) -> Arc<Source> {
        Arc::new(Source {
            path: path.into(),
            text: None,
            origins: Vec::new(),
            files: Arc::default(),
        })
    }

    /// Creates a source from text in memory; `name` serves as its path.
    pub fn memory(name: impl Into<PathBuf>, text: impl Into<Vec<u8>>) -> Arc<Source> {
        let text = Some(text.into());
        Arc::new(Source { path: name.into(), text, origins: Vec::new(), files: Arc::default() })
    }

    /// Creates a source from generated text: parts of complete lines, each with its origin, such as
    /// a command-line option. Messages name the origin instead of showing lines.
    pub fn generated(
        name: impl Into<PathBuf>,
        parts: impl IntoIterator<Item = (String, String)>,
    ) -> Arc<Source> {
        let (mut text, mut line, mut origins) = (String::new(), 1, Vec::new());
        for (origin, part) in parts {
            origins.push((line, origin));
            line += part.lines().count() as u32;
            text += &part;
        }
        let text = Some(text.into());
        Arc::new(Source { path: name.into(), text, origins, files: Arc::default() })
    }

    /// Adds files that are read from memory instead of the disk, by their names relative to the
    /// folder of the source.
    #[must_use]
    pub fn with_files(&self, files: BTreeMap<String, Vec<u8>>) -> Arc<Source> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let files = files.into_iter().map(|(name, content)| (folder.join(name), content));
        Arc::new(Source {
            path: self.path.clone(),
            text: self.text.clone(),
            origins: self.origins.clone(),
            files: Arc::new(files.collect()),
        })
    }

    /// Returns the files in memory by their paths.
    pub(crate) fn files(&self) -> &Arc<BTreeMap<PathBuf, Vec<u8>>> {
        &self.files
    }

    /// Returns the origin of a line of generated text.
    fn origin(&self, line: u32) -> Option<&str> {
        self.origins
            .iter()
            .rev()
            .find(|(first, _)| *first <= line)
            .map(|(_, origin)| origin.as_str())
    }

    /// Returns the path as passed to the constructor.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the text and decompresses it if necessary.
    ///
    /// # Errors
    /// The file cannot be read, or its gzip stream is damaged or truncated.
    pub fn read(&self) -> std::io::Result<Cow<'_, [u8]>> {
        match &self.text {
            Some(text) => Ok(Cow::Borrowed(text)),
            None => super::file::read_bytes(&self.path).map(Cow::Owned),
        }
    }
}

/// A line and column in a [`Source`].
#[derive(Clone)]
pub struct Location {
    source: Arc<Source>,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
}

impl Location {
    /// Creates a location; `line` and `column` count from 1.
    pub fn new(source: Arc<Source>, line: u32, column: u32) -> Location {
        Location { source, line, column }
    }

    /// Returns the path of the source.
    pub fn path(&self) -> &Path {
        &self.source.path
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source.origin(self.line) {
            Some(origin) => f.write_str(origin),
            None => write!(f, "{}:{}:{}", self.source.path.display(), self.line, self.column),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A problem in a scene file that does not stop loading, and the fallback used.
#[derive(Clone, Debug)]
pub struct Warning {
    /// Location of the first occurrence.
    pub location: Option<Location>,
    /// Description of the problem.
    pub message: String,
    /// Description of the fallback: what is used instead, or a clause with the subject "it".
    pub fallback: String,
    /// Number of further occurrences.
    pub repeats: usize,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.location {
            write!(f, "{location}: ")?;
        }
        let joint = if self.fallback.starts_with("it ") { "; " } else { "; instead: " };
        write!(f, "{}{joint}{}", self.message, self.fallback)?;
        if self.repeats > 0 {
            write!(f, " (and {} more like this)", self.repeats)?;
        }
        Ok(())
    }
}

/// Collects warnings and merges repeated ones.
#[derive(Debug, Default)]
pub struct Diagnostics {
    strict: bool,
    warnings: Vec<Warning>,
    /// Indices of warnings by message and fallback.
    indices: HashMap<(String, String), usize>,
}

impl Diagnostics {
    /// Creates an empty collector. With `strict`, every warning is an error.
    pub fn new(strict: bool) -> Diagnostics {
        Diagnostics { strict, ..Diagnostics::default() }
    }

    /// Records a warning.
    ///
    /// # Errors
    /// In strict mode, the warning itself.
    pub fn warn(
        &mut self,
        location: Option<&Location>,
        message: impl Into<String>,
        fallback: impl Into<String>,
    ) -> Result<(), SceneError> {
        let (message, fallback) = (message.into(), fallback.into());
        if self.strict {
            let error = match location {
                Some(location) => SceneError::at(location, message),
                None => SceneError::new(message),
            };
            return Err(error.help(format!(
                "warnings are errors in strict mode; fallback otherwise: {fallback}"
            )));
        }
        let next = self.warnings.len();
        let index = *self.indices.entry((message.clone(), fallback.clone())).or_insert(next);
        if index < next {
            self.warnings[index].repeats += 1;
        } else {
            self.warnings.push(Warning {
                location: location.cloned(),
                message,
                fallback,
                repeats: 0,
            });
        }
        Ok(())
    }

    /// Returns the warnings so far, in order of first occurrence.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

/// An error that stops loading: a message, its location with source lines if known, and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.headline())]
pub struct SceneError(Box<Report>);

#[derive(Debug)]
struct Report {
    message: String,
    help: Option<String>,
    location: Option<Location>,
    excerpt: Option<Excerpt>,
    shader: Option<ShaderError>,
}

impl Report {
    /// Returns the message, preceded by the location unless an excerpt shows it.
    fn headline(&self) -> String {
        match &self.location {
            Some(location) if self.excerpt.is_none() => format!("{location}: {}", self.message),
            _ => self.message.clone(),
        }
    }
}

impl SceneError {
    /// Creates an error without a location.
    pub fn new(message: impl Into<String>) -> SceneError {
        SceneError(Box::new(Report {
            message: message.into(),
            help: None,
            location: None,
            excerpt: None,
            shader: None,
        }))
    }

    /// Creates an error at a location and reads the lines around it for display.
    pub fn at(location: &Location, message: impl Into<String>) -> SceneError {
        let (excerpt, location) = (Excerpt::read(location), Some(location.clone()));
        SceneError(Box::new(Report {
            message: message.into(),
            help: None,
            location,
            excerpt,
            shader: None,
        }))
    }

    /// Sets the remedy.
    pub fn help(mut self, remedy: impl Into<String>) -> SceneError {
        self.0.help = Some(remedy.into());
        self
    }

    /// Attaches the compile error of the shader used at the location.
    pub fn shader(mut self, error: ShaderError) -> SceneError {
        self.0.shader = Some(error);
        self
    }

    /// Returns the compile error of the shader used at the location, if any.
    pub fn shader_error(&self) -> Option<&ShaderError> {
        self.0.shader.as_ref()
    }

    /// Returns the message without location and remedy.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the remedy, if any.
    pub fn remedy(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Returns the location of the error, if known.
    pub fn location(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }
}

impl miette::Diagnostic for SceneError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.0.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        let span = self.0.excerpt.as_ref()?.span;
        Some(Box::new(std::iter::once(miette::LabeledSpan::new_with_span(
            Some("here".into()),
            span,
        ))))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.0.excerpt.as_ref().map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn diagnostic_source(&self) -> Option<&dyn miette::Diagnostic> {
        self.0.shader.as_ref().map(|error| error as &dyn miette::Diagnostic)
    }
}

/// A few lines of a source. Line and column numbers refer to the complete source.
#[derive(Debug)]
struct Excerpt {
    name: String,
    text: String,
    /// Line number of the first line in the source, from 0.
    first_line: usize,
    /// Position of the span: line in the excerpt and column in the source, from 0.
    focus: (usize, usize),
    span: SourceSpan,
}

impl Excerpt {
    /// Lines shown before and after the location.
    const CONTEXT_LINES: usize = 2;
    /// Bytes of a line shown on either side of the location. Meshes often are single lines of
    /// megabytes.
    const MAX_SIDE_BYTES: usize = 72;

    fn read(location: &Location) -> Option<Excerpt> {
        if location.source.origin(location.line).is_some() {
            return None;
        }
        let text = location.source.read().ok()?;
        let (line, column) =
            (location.line.checked_sub(1)? as usize, location.column.checked_sub(1)? as usize);
        let first_line = line.saturating_sub(Self::CONTEXT_LINES);
        let mut excerpt = String::new();
        let mut span = None;
        for (i, bytes) in text
            .split(|&b| b == b'\n')
            .enumerate()
            .skip(first_line)
            .take(2 * Self::CONTEXT_LINES + 1)
        {
            let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
            if i == line {
                let column = column.min(bytes.len());
                let before = &bytes[column.saturating_sub(Self::MAX_SIDE_BYTES)..column];
                let after = &bytes[column..bytes.len().min(column + Self::MAX_SIDE_BYTES)];
                excerpt.push_str(&printable(before));
                span = Some(SourceSpan::from((excerpt.len(), token_length(after))));
                excerpt.push_str(&printable(after));
            } else {
                excerpt.push_str(&printable(&bytes[..bytes.len().min(2 * Self::MAX_SIDE_BYTES)]));
            }
            excerpt.push('\n');
        }
        let name = location.path().display().to_string();
        Some(Excerpt {
            name,
            text: excerpt,
            first_line,
            focus: (line - first_line, column),
            span: span?,
        })
    }
}

/// Replaces invalid UTF-8 and control characters. Offsets in leading ASCII text do not change.
fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .map(|c| if c.is_control() && c != '\t' { ' ' } else { c })
        .collect()
}

/// Returns the length in bytes of the word or quoted string at the start of `text`.
fn token_length(text: &[u8]) -> usize {
    let end = match text.first() {
        Some(b'"') => text.iter().skip(1).position(|&b| b == b'"').map(|i| i + 2),
        _ => text.iter().position(|b| b.is_ascii_whitespace() || b"[]\"".contains(b)),
    };
    let length = text.iter().take_while(|&&b| b.is_ascii_graphic() || b == b' ').count();
    end.unwrap_or(text.len()).clamp(1, length.max(1))
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let inner = self.text.as_str().read_span(span, before, after)?;
        let column =
            if before == 0 && inner.line() == self.focus.0 { self.focus.1 } else { inner.column() };
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            inner.data(),
            *inner.span(),
            inner.line() + self.first_line,
            column,
            inner.line_count(),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(error: &SceneError) -> String {
        let mut out = String::new();
        let theme = miette::GraphicalTheme::unicode_nocolor();
        miette::GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .render_report(&mut out, error)
            .unwrap();
        out
    }

    #[test]
    fn locations_in_generated_text_show_the_origin() {
        let parts = [("a", "1\n2\n"), ("--set b=c", "3\n"), ("d", "4\n")]
            .map(|(origin, text)| (origin.into(), text.into()));
        let source = Source::generated("scene", parts);
        assert_eq!(&source.read().unwrap()[..], b"1\n2\n3\n4\n");
        let origins = [1, 2, 3, 4].map(|line| Location::new(source.clone(), line, 1).to_string());
        assert_eq!(origins, ["a", "a", "--set b=c", "d"]);
        let error = SceneError::at(&Location::new(source, 3, 1), "wrong");
        assert_eq!(error.to_string(), "--set b=c: wrong");
    }

    #[test]
    fn error_shows_location_lines_and_remedy() {
        let source =
            Source::memory("a.pbrt", "one\ntwo\nthree\nfour \"float fov\" 3\nfive\nsix\nseven\n");
        let error = SceneError::at(&Location::new(source, 4, 6), "unknown parameter")
            .help("check its spelling");
        let text = render(&error);
        for part in [
            "unknown parameter",
            "a.pbrt:4:6",
            "four \"float fov\" 3",
            "five",
            "check its spelling",
        ] {
            assert!(text.contains(part), "{part} missing in\n{text}");
        }
        assert!(!text.contains("one") && !text.contains("seven"), "{text}");
        assert_eq!(error.location().unwrap().to_string(), "a.pbrt:4:6");
    }

    #[test]
    fn long_lines_are_truncated() {
        let line = "1234567 ".repeat(1000);
        let source = Source::memory("long.pbrt", format!("{line}oops {line}"));
        let text = render(&SceneError::at(&Location::new(source, 1, 8001), "not a number"));
        assert!(
            text.contains("long.pbrt:1:8001") && text.contains("oops") && text.len() < 1000,
            "{text}"
        );
    }

    #[test]
    fn errors_past_the_end_of_the_source_are_displayed() {
        for (line, column) in [(1, 100), (7, 1), (0, 0), (u32::MAX, u32::MAX)] {
            let source = Source::memory("x.pbrt", "short\n\u{fc}\u{fc}");
            assert!(
                render(&SceneError::at(&Location::new(source, line, column), "bad"))
                    .contains("bad")
            );
        }
        let missing = Location::new(Source::file("/no/such/file.pbrt"), 3, 1);
        assert_eq!(SceneError::at(&missing, "bad").to_string(), "/no/such/file.pbrt:3:1: bad");
    }

    #[test]
    fn repeated_warnings_are_merged_and_strict_mode_fails() {
        let source = Source::memory("w.pbrt", "a\nb\n");
        let at = |line| Location::new(source.clone(), line, 1);
        let mut lenient = Diagnostics::new(false);
        lenient.warn(Some(&at(1)), "fog is not supported", "vacuum").unwrap();
        lenient.warn(Some(&at(2)), "fog is not supported", "vacuum").unwrap();
        lenient.warn(None, "hair is not supported", "diffuse").unwrap();
        assert_eq!(lenient.warnings().len(), 2);
        assert_eq!(
            lenient.warnings()[0].to_string(),
            "w.pbrt:1:1: fog is not supported; instead: vacuum (and 1 more like this)"
        );
        let error = Diagnostics::new(true)
            .warn(Some(&at(2)), "fog is not supported", "vacuum")
            .unwrap_err();
        assert_eq!((error.message(), error.location().unwrap().line), ("fog is not supported", 2));
    }
}
