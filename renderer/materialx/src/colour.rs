//! Colour spaces: constants and texels to linear sRGB, which is `lin_rec709`.
//!
//! Primaries and transfer functions are those of MaterialX's colour management library (`cmlib`).

use crate::values::{Type, number};

/// What a colour space does to red, green and blue: first a transfer function, then a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ColourSpace {
    pub transfer: Transfer,
    /// Rows of the matrix to linear sRGB; `None` for the primaries of sRGB.
    pub matrix: Option<[[f64; 3]; 3]>,
}

/// A transfer function from encoded to linear values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Transfer {
    Linear,
    Srgb,
    Gamma(f64),
}

/// ACEScg to linear sRGB, with Bradford's adaptation.
const ACESCG: [[f64; 3]; 3] = [
    [1.705050992658, -0.621792120657, -0.083258872001],
    [-0.130256417507, 1.140804736575, -0.010548319068],
    [-0.024003356805, -0.128968976065, 1.15297233287],
];

const ADOBE_RGB: [[f64; 3]; 3] =
    [[1.39835574, -0.39835574, 0.0], [0.0, 1.0, 0.0], [0.0, -0.0429289893, 1.04292899]];

const DISPLAY_P3: [[f64; 3]; 3] = [
    [1.22493029, -0.22492968, 0.00000006],
    [-0.04205868, 1.04205894, -0.00000001],
    [-0.01964128, -0.07864794, 1.09828925],
];

/// Names of colour spaces, for messages.
pub(crate) const NAMES: &str = "lin_rec709, srgb_texture, g18_rec709, g22_rec709, rec709_display, \
     acescg, lin_ap1, g22_ap1, srgb_displayp3, lin_displayp3, adobergb, lin_adobergb, none, raw";

impl ColourSpace {
    /// Finds a colour space by its name.
    pub fn parse(name: &str) -> Option<ColourSpace> {
        use Transfer::{Gamma, Linear, Srgb};
        let (transfer, matrix) = match name {
            "lin_rec709" | "lin_rec709_scene" | "lin_srgb" | "none" | "raw" | "Raw" => {
                (Linear, None)
            }
            "srgb_texture" | "srgb_tx" | "srgb_rec709_scene" | "sRGB" => (Srgb, None),
            "gamma18" | "g18_rec709" => (Gamma(1.8), None),
            "gamma22" | "g22_rec709" => (Gamma(2.2), None),
            "gamma24" | "rec709_display" => (Gamma(2.4), None),
            "acescg" | "lin_ap1" | "lin_ap1_scene" => (Linear, Some(ACESCG)),
            "g22_ap1" => (Gamma(2.2), Some(ACESCG)),
            "srgb_displayp3" => (Srgb, Some(DISPLAY_P3)),
            "lin_displayp3" => (Linear, Some(DISPLAY_P3)),
            "adobergb" => (Gamma(563.0 / 256.0), Some(ADOBE_RGB)),
            "lin_adobergb" => (Linear, Some(ADOBE_RGB)),
            _ => return None,
        };
        Some(ColourSpace { transfer, matrix })
    }

    /// Converts a constant colour; an alpha stays.
    pub fn convert(self, colour: &mut [f64]) {
        let rgb = [0, 1, 2].map(|i| self.transfer.decode(colour[i]));
        let converted = match self.matrix {
            None => rgb,
            Some(rows) => rows.map(|row| (0..3).map(|i| row[i] * rgb[i]).sum()),
        };
        colour[..3].copy_from_slice(&converted);
    }

    /// WGSL for the conversion of a colour that `text` samples from an image, which the image's
    /// encoding has decoded already if the transfer function is sRGB's.
    pub fn convert_texels(self, text: String, ty: Type) -> String {
        let alpha = ty == Type::Color4;
        let decoded = match self.transfer {
            Transfer::Gamma(gamma) if alpha => {
                format!("mx_gamma_color4({text}, {})", number(gamma))
            }
            Transfer::Gamma(gamma) => format!("mx_gamma_color3({text}, {})", number(gamma)),
            Transfer::Linear | Transfer::Srgb => text,
        };
        let Some(rows) = self.matrix else { return decoded };
        // WGSL's constructor takes columns.
        let columns: Vec<String> =
            (0..3).flat_map(|column| rows.map(|row| number(row[column]))).collect();
        let matrix = format!("mat3x3f({})", columns.join(", "));
        if alpha {
            format!("mx_primaries_color4({decoded}, {matrix})")
        } else {
            format!("{matrix} * {decoded}")
        }
    }
}

impl Transfer {
    fn decode(self, x: f64) -> f64 {
        match self {
            Transfer::Linear => x,
            Transfer::Srgb if x <= 0.04045 => x / 12.92,
            Transfer::Srgb => libm::pow((x + 0.055) / 1.055, 2.4),
            Transfer::Gamma(gamma) => libm::pow(x.max(0.0), gamma),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_stays_white() {
        for name in NAMES.split(", ") {
            let mut white = [1.0, 1.0, 1.0, 0.25];
            ColourSpace::parse(name).unwrap_or_else(|| panic!("{name}")).convert(&mut white);
            for x in &white[..3] {
                assert!((x - 1.0).abs() < 1e-4, "{name}: {white:?}");
            }
            assert_eq!(white[3], 0.25);
        }
    }

    #[test]
    fn srgb_is_decoded() {
        let mut colour = [0.5, 0.02, 0.0];
        ColourSpace::parse("srgb_texture").unwrap().convert(&mut colour);
        assert!((colour[0] - 0.214041).abs() < 1e-5, "{colour:?}");
        assert!((colour[1] - 0.02 / 12.92).abs() < 1e-9);
        assert_eq!(ColourSpace::parse("unknown"), None);
    }
}
