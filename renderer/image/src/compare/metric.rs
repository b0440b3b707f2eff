//! The metrics and their names.

/// An image error metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Mean of A − B.
    MeanError,
    /// Mean of |A − B|.
    Mae,
    /// Square root of the mean of (A − B)².
    Rmse,
    /// Mean of (A − B)² / (B² + 0.01).
    RelMse,
    /// Mean of |A − B| / (|B| + 0.01).
    Mape,
    /// The largest |A − B|.
    Max,
    /// Fraction of the pixels that differ.
    Differing,
    /// Peak signal-to-noise ratio of display-encoded values, in decibels.
    Psnr,
    /// Structural similarity of display-encoded values.
    Ssim,
    /// ꟻLIP of display-encoded values.
    LdrFlip,
    /// ꟻLIP over a range of exposures.
    HdrFlip,
}

/// The direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Closer to 0 is better.
    Lower,
    /// Higher is better.
    Higher,
}

impl Metric {
    /// All metrics, in the order in which reports list them.
    pub const ALL: [Metric; 11] = [
        Metric::MeanError,
        Metric::Mae,
        Metric::Rmse,
        Metric::RelMse,
        Metric::Mape,
        Metric::Max,
        Metric::Differing,
        Metric::Psnr,
        Metric::Ssim,
        Metric::LdrFlip,
        Metric::HdrFlip,
    ];

    /// Returns the name used in options and results.
    pub fn name(self) -> &'static str {
        match self {
            Metric::MeanError => "mean-error",
            Metric::Mae => "mae",
            Metric::Rmse => "rmse",
            Metric::RelMse => "relmse",
            Metric::Mape => "mape",
            Metric::Max => "max",
            Metric::Differing => "differing",
            Metric::Psnr => "psnr",
            Metric::Ssim => "ssim",
            Metric::LdrFlip => "ldr-flip",
            Metric::HdrFlip => "hdr-flip",
        }
    }

    /// Returns the direction in which the metric improves.
    pub fn better(self) -> Better {
        match self {
            Metric::Psnr | Metric::Ssim => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// Returns whether the metric compares display-encoded values at an exposure.
    pub fn uses_display_values(self) -> bool {
        matches!(self, Metric::Psnr | Metric::Ssim | Metric::LdrFlip)
    }

    /// Returns whether the metric applies only to visible colours, not to depths or normals.
    pub fn requires_colour(self) -> bool {
        matches!(self, Metric::Psnr | Metric::Ssim | Metric::LdrFlip | Metric::HdrFlip)
    }
}
