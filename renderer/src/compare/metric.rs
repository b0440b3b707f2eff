//! The metrics by name.

/// A measure of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Mean of A − B.
    MeanError,
    /// Mean of |A − B|.
    Mae,
    /// Root of the mean of (A − B)².
    Rmse,
    /// Mean of (A − B)² / (B² + 0.01).
    RelMse,
    /// Mean of |A − B| / (|B| + 0.01).
    Mape,
    /// The largest |A − B|.
    Max,
    /// Share of pixels that are not equal.
    Differing,
    /// Peak signal-to-noise ratio of displayed values, in decibels.
    Psnr,
    /// Structural similarity of displayed values.
    Ssim,
    /// ꟻLIP of displayed values.
    LdrFlip,
    /// ꟻLIP over a range of exposures.
    HdrFlip,
}

/// Which values of a metric are the good ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// 0 is a perfect match.
    Lower,
    /// The more the better.
    Higher,
}

impl Metric {
    /// All of them, in the order in which they are told.
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

    /// As options and results spell it.
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

    /// Which values are the good ones.
    pub fn better(self) -> Better {
        match self {
            Metric::Psnr | Metric::Ssim => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// Whether it looks at what a display shows at a given exposure.
    pub fn is_of_display(self) -> bool {
        matches!(self, Metric::Psnr | Metric::Ssim | Metric::LdrFlip)
    }

    /// Whether it is about colours that an eye sees, and so has no meaning for depths or normals.
    pub fn is_of_colour(self) -> bool {
        matches!(self, Metric::Psnr | Metric::Ssim | Metric::LdrFlip | Metric::HdrFlip)
    }
}
