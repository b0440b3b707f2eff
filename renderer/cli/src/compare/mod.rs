//! `lightbound compare`: measures the errors of images against a reference.

mod limit;
mod pair;
mod report;
mod result;
mod several;

use super::console::{self, Console};
use super::input;
use super::interrupt::Interrupt;
use super::output::{self, OutputFile, ReportFormat};
use super::render::parse_exposure;
use super::{Error, Exit};
use lightbound_image::Crop;
use lightbound_image::compare::{Better, Metric};
use lightbound_image::layers::{COLOUR, Layer, Layers};
use lightbound_regress::report::Report;
use limit::Limit;
use result::{CompareResult, Request};
use several::Compared;
pub use several::RenderCost;
use std::path::{Path, PathBuf};
use std::str::FromStr;

const EXAMPLES: &str = "\
Metrics of A against the reference B, in linear sRGB; means are over pixels, \"overall\" is over channels:
  mean-error  A − B; above 0 if A is brighter
  mae         |A − B|
  rmse        square root of the mean of (A − B)²
  relmse      (A − B)² / (B² + 0.01)
  mape        |A − B| / (|B| + 0.01), as a fraction
  max         the largest |A − B|, with its pixel
  differing   fraction of pixels that are not equal
  psnr        in decibels, of display values: sRGB, clamped to 0..1; peak 1
  ssim        of display values; 11 × 11 pixels, Gaussian with standard deviation 1.5 (Wang et al. 2004)
  ldr-flip    ꟻLIP of display values, at 67 pixels per degree (Andersson et al. 2020)
  hdr-flip    the largest ꟻLIP of each pixel over exposures derived from B, tone mapped
              by ACES (Andersson et al. 2021)
  flip        ldr-flip if both files are PNG, JPEG or TGA, else hdr-flip
The last five apply to colours: layers with channels R, G, B or Y. IDs (unsigned integers) only have differing.

A comparison fails, with exit code 1, if a limit is exceeded; if layers, channels or sizes differ; \
if either image contains a NaN; or if an infinity is in one image only. --allow-nan turns NaNs \
into a remark. Pixels with a value that is not finite, in either image, are excluded from all \
metrics except differing, where NaN equals NaN. The depth of pixels without a surface is infinite.

Examples:
  lightbound compare new.exr reference.exr
  lightbound compare new.exr reference.exr --layers all --metric rmse,max
  lightbound compare new.png reference.exr --fail-above flip=0.05 --fail-below ssim=0.95
  lightbound compare new.exr reference.exr --metric relmse --heatmap where.png
  lightbound compare crop.exr whole.exr --crop 100,200,50,100 --format json
  lightbound compare path-1s.exr path-4s.exr cuts-4s.exr --reference r.exr --report report";

/// Options of `compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Image A and the reference B, or with --reference any number of images: EXR, PFM, HDR, or
    /// PNG, JPEG or TGA, which are decoded from sRGB; - reads stdin
    #[arg(required = true, value_name = "IMAGE")]
    pub images: Vec<PathBuf>,

    /// Reference, in any of these formats
    #[arg(short, long, value_name = "IMAGE")]
    pub reference: Option<PathBuf>,

    /// Metrics to compute [default: all, with flip instead of ldr-flip and hdr-flip; of several
    /// images mean-error, rmse, relmse, mape and flip]
    #[arg(short, long, value_name = "METRIC,…", value_delimiter = ',', help_heading = "What")]
    pub metric: Vec<MetricName>,

    /// Compare these layers of EXR files instead of just the colour, as in --layers
    /// normal,object.id; `all` selects all
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "What")]
    pub layers: Vec<String>,

    /// Compare a crop only: columns x0..x1 and rows y0..y1, exclusive of x1 and y1, from the upper
    /// left corner of the full image; fractions if all are from 0 to 1, otherwise pixels
    #[arg(long, value_name = "x0,x1,y0,y1", allow_hyphen_values = true, help_heading = "What")]
    pub crop: Option<Crop>,

    /// Exposure in stops that is applied to both images for psnr, ssim and ldr-flip; other
    /// metrics do not depend on it
    #[arg(long, value_name = "STOPS", value_parser = parse_exposure, default_value = "0", allow_negative_numbers = true, help_heading = "What")]
    pub exposure: f32,

    /// Fail if a metric is above a value in any compared layer; for mean-error, the magnitude in
    /// any channel
    #[arg(long, value_name = "METRIC=VALUE", value_parser = limit::parse_fail_above, help_heading = "Limits")]
    pub fail_above: Vec<Limit>,

    /// Fail if psnr or ssim, for which higher is better, is below a value
    #[arg(long, value_name = "METRIC=VALUE", value_parser = limit::parse_fail_below, help_heading = "Limits")]
    pub fail_below: Vec<Limit>,

    /// Do not fail on NaNs
    #[arg(long, help_heading = "Limits")]
    pub allow_nan: bool,

    /// Write a heat map of the error, a PNG with a scale: --heatmap-metric of the first compared
    /// layer
    #[arg(long, value_name = "OUT.png", help_heading = "Heat map")]
    pub heatmap: Option<PathBuf>,

    /// Metric of the heat map; all except differing, psnr and ssim have values for each pixel
    /// [default: the first of these in --metric, or flip, or mae for layers without colour]
    #[arg(long, value_name = "METRIC", requires = "heatmap", help_heading = "Heat map")]
    pub heatmap_metric: Option<MetricName>,

    /// Value at the end of the scale [default: 1 for flip, otherwise the 99th percentile of the
    /// pixels, rounded up]
    #[arg(long, value_name = "VALUE", value_parser = parse_positive, allow_negative_numbers = true, requires = "heatmap", help_heading = "Heat map")]
    pub heatmap_max: Option<f32>,

    /// Write an HTML page to this folder: the images side by side, their metrics, and plots of
    /// errors over time and samples
    ///
    /// Images called NAME-4s or NAME-16spp are points of the series NAME, and those with the same
    /// time or samples are shown together.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub report: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value = "text", help_heading = "Output")]
    pub format: ReportFormat,

    /// Print failures only
    #[arg(short, long, conflicts_with = "format", help_heading = "Output")]
    pub quiet: bool,
}

/// A metric name in an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricName {
    /// A specific metric.
    Metric(Metric),
    /// LDR-ꟻLIP or HDR-ꟻLIP, depending on the files.
    Flip,
}

impl MetricName {
    fn better(self) -> Better {
        match self {
            MetricName::Metric(metric) => metric.better(),
            MetricName::Flip => Better::Lower,
        }
    }

    /// The metric for these files.
    fn resolve(self, display_referred: bool) -> Metric {
        match self {
            MetricName::Metric(metric) => metric,
            MetricName::Flip if display_referred => Metric::LdrFlip,
            MetricName::Flip => Metric::HdrFlip,
        }
    }
}

impl FromStr for MetricName {
    type Err = String;

    fn from_str(text: &str) -> Result<MetricName, String> {
        if text == "flip" {
            return Ok(MetricName::Flip);
        }
        let found = Metric::ALL.into_iter().find(|metric| metric.name() == text);
        found.map(MetricName::Metric).ok_or_else(|| {
            let names = Metric::ALL.map(Metric::name).join(", ");
            format!("unknown metric `{text}`; the metrics are {names}, flip")
        })
    }
}

/// Parses a number above 0.
fn parse_positive(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|x: &f32| *x >= f32::MIN_POSITIVE && x.is_finite());
    number.ok_or_else(|| "expected a number above 0".into())
}

impl Args {
    /// The arguments that print a table of the images and write a page with them.
    pub fn page(images: Vec<PathBuf>, reference: PathBuf, report: PathBuf) -> Args {
        Args {
            images,
            reference: Some(reference),
            report: Some(report),
            metric: Vec::new(),
            layers: Vec::new(),
            crop: None,
            exposure: 0.0,
            fail_above: Vec::new(),
            fail_below: Vec::new(),
            allow_nan: false,
            heatmap: None,
            heatmap_metric: None,
            heatmap_max: None,
            format: ReportFormat::Text,
            quiet: false,
        }
    }

    /// Whether several images are compared.
    fn has_several(&self) -> bool {
        self.reference.is_some() && self.images.len() > 1
    }

    /// The images under test, and the reference.
    fn files(&self) -> Result<(&[PathBuf], &Path), Error> {
        match (&self.images[..], &self.reference) {
            (images, Some(reference)) => Ok((images, reference)),
            ([_, reference], None) => Ok((&self.images[..1], reference)),
            ([image], None) => Err(Error::option(
                format!("{} is compared with nothing", image.display()),
                "name the reference after it, or with --reference",
            )),
            _ => Err(Error::option("several images need a reference", "name it with --reference")),
        }
    }
}

/// Checks the heat map's file, which must be a PNG and not one of the images.
fn heatmap_output(args: &Args) -> Result<Option<OutputFile>, Error> {
    let Some(path) = &args.heatmap else { return Ok(None) };
    if args.has_several() {
        return Err(Error::option(
            "--heatmap draws the error of one image, not of several",
            "compare one image, or use --report, which shows all errors",
        ));
    }
    if !output::ImageFormat::is_png(path) {
        return Err(Error::option(
            format!("--heatmap writes PNG, not `{}`", path.display()),
            "name a file that ends in .png",
        ));
    }
    let output = OutputFile::check(path)?;
    if output == OutputFile::Stdout && !args.quiet {
        return Err(Error::option(
            "--heatmap would write to stdout, like the metrics",
            "name a file, or add --quiet",
        ));
    }
    let mut images = args.images.iter().chain(&args.reference);
    if images.any(|image| output.is_same_file(image)) {
        return Err(Error::option(
            format!("--heatmap would overwrite `{}`", path.display()),
            "name another file",
        ));
    }
    Ok(Some(output))
}

/// Runs the command.
pub fn run(args: &Args) -> Result<Exit, Error> {
    // Signals end the command, without a message, and leave no temporary files.
    Interrupt::install(true);
    compare_images(args)
}

/// Compares images without a handler of signals.
pub fn compare_images(args: &Args) -> Result<Exit, Error> {
    let (images, reference) = args.files()?;
    let heatmap = heatmap_output(args)?;
    let page = args.report.as_deref().map(Report::open).transpose()?;
    input::check_single_stdin(images.iter().map(PathBuf::as_path).chain([reference]))?;
    let spinner = (!args.quiet)
        .then(|| Console::new(false))
        .filter(|c| *c == Console::Terminal)
        .map(|c| c.spinner("comparing".into()));
    let selected = |layer: &Layer| pair::is_selected(&layer.name, &args.layers);
    let mut b = None;
    let mut compared = Vec::new();
    for path in images {
        let data = input::image_data(path)?;
        let a = input::srgb_layers(path, &data, selected)?;
        let (b, reference_cost) = match &b {
            Some(read) => read,
            None => {
                let data = input::image_data(reference)?;
                let layers = input::srgb_layers(reference, &data, selected)?;
                b.insert((layers, RenderCost::read(reference, &data)))
            }
        };
        let mut result = compare(args, [path, reference], a, b.clone(), heatmap.as_ref())?;
        let cost = RenderCost::read(path, &data);
        if cost.has_seed_of(reference_cost) {
            result.remarks.push(
                "it has the scene and the seed of the reference, so that both have samples in \
                 common, and errors are too small; render one of them with another --seed"
                    .into(),
            );
        }
        compared.push(Compared { path: path.clone(), cost, result });
    }
    if let Some(spinner) = spinner {
        spinner.finish_and_clear();
    }
    if !args.quiet {
        let text = match (args.format, &compared[..]) {
            (ReportFormat::Text, [one]) => report::text(&one.path, reference, &one.result),
            (ReportFormat::Json, [one]) => report::json(&one.path, reference, &one.result),
            (ReportFormat::Text, all) => several::text(reference, all),
            (ReportFormat::Json, all) => several::json(reference, all),
        };
        output::to_stdout(text.as_bytes())?;
    }
    let mut exit = Exit::Success;
    for Compared { path, result, .. } in &compared {
        for failure in &result.failures {
            let name =
                if images.len() > 1 { format!("{}: ", path.display()) } else { String::new() };
            console::print(&format!("failed: {name}{failure}"));
            exit = Exit::Failed;
        }
    }
    let has_colours = |compared: &Compared| compared.result.layer(COLOUR).is_some();
    if let Some(page) = page.filter(|_| exit == Exit::Success || compared.iter().any(has_colours)) {
        let index = page.write_comparison(&several::comparison(reference, &compared)?);
        let index = index.map_err(|cause| Error::Write {
            cause,
            help: "free some space, or name another folder with --report".into(),
        })?;
        Console::new(args.quiet).info(&format!("report: {}", index.display()));
    }
    Ok(exit)
}

/// Compares an image with the reference, and draws the heat map.
fn compare(
    args: &Args,
    files: [&Path; 2],
    a: Layers,
    b: Layers,
    heatmap: Option<&OutputFile>,
) -> Result<CompareResult, Error> {
    let display_referred = a.is_display_referred && b.is_display_referred;
    let mixed = a.is_display_referred != b.is_display_referred;
    let remark = mixed.then(|| {
        format!(
            "only {} is display-referred: 8 bits in sRGB, no values above 1",
            if a.is_display_referred { "A" } else { "B" }
        )
    });
    let pairs = pair::pair(a, b, files, &args.layers, args.crop)?;
    let request = Request::new(args, display_referred, &pairs)?;
    request.check(&pairs)?;
    let mut result = CompareResult::new(pairs, &request);
    result.remarks.extend(remark);
    if let Some(output) = heatmap {
        if result.layers.is_empty() {
            // Prevents confusion with an earlier file of the same name.
            result.failures.push(format!(
                "no heat map is written to {}: no layer could be compared",
                output.name().display()
            ));
        }
        result.draw(&request, args.heatmap_max, output)?;
    }
    Ok(result)
}
