//! Formats of texels: components are stored as image files have them, and compiled code is
//! specialized for their type and number.
//!
//! Codes of 8 and 16 bits are in the order of their values, so that the least and greatest codes of
//! a block of texels are its bounds.

use super::HEADER_WORDS;

/// Type of the components of a texel, and their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Component {
    /// A 32-bit float.
    #[default]
    Float,
    /// A finite 16-bit float.
    Half,
    /// An 8-bit code c, of the value c/255.
    Unorm8,
    /// An 8-bit code. Its value is in a palette of the image, such as the values of sRGB codes.
    /// Codes of opacities are as in [`Component::Unorm8`].
    Palette8,
    /// A 16-bit code c, of the value c/65535.
    Unorm16,
    /// A 16-bit code. Its value is in a palette of the image. Codes of opacities are as in
    /// [`Component::Unorm16`].
    Palette16,
}

impl Component {
    /// All types.
    pub const ALL: [Component; 6] = [
        Component::Float,
        Component::Half,
        Component::Unorm8,
        Component::Palette8,
        Component::Unorm16,
        Component::Palette16,
    ];

    /// Size in bits.
    pub fn bits(self) -> u32 {
        match self {
            Component::Float => 32,
            Component::Half | Component::Unorm16 | Component::Palette16 => 16,
            Component::Unorm8 | Component::Palette8 => 8,
        }
    }

    /// Number of values of the palette; 0 if there is none.
    pub(crate) fn palette_len(self) -> usize {
        match self {
            Component::Palette8 | Component::Palette16 => 1 << self.bits(),
            Component::Float | Component::Half | Component::Unorm8 | Component::Unorm16 => 0,
        }
    }
}

/// The stored channels of an image; the others are derived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Channels {
    /// Red, green, blue and opacity.
    #[default]
    Rgba,
    /// Red, green and blue. The opacity is 1.
    Rgb,
    /// One value for red, green and blue, and an opacity.
    GreyAlpha,
    /// One value for red, green and blue. The opacity is 1.
    Grey,
}

impl Channels {
    /// All combinations.
    pub const ALL: [Channels; 4] =
        [Channels::Rgba, Channels::Rgb, Channels::GreyAlpha, Channels::Grey];

    /// Number of stored channels.
    pub fn count(self) -> usize {
        match self {
            Channels::Rgba => 4,
            Channels::Rgb => 3,
            Channels::GreyAlpha => 2,
            Channels::Grey => 1,
        }
    }

    /// Index of the stored component for red, green, blue (0, 1, 2) or opacity (3); `None` if the
    /// value is 1 in all texels.
    pub(crate) fn component(self, channel: u32) -> Option<u32> {
        match (self, channel) {
            (Channels::Rgb | Channels::Grey, 3) => None,
            (Channels::GreyAlpha, 3) => Some(1),
            (Channels::GreyAlpha | Channels::Grey, _) => Some(0),
            (Channels::Rgba | Channels::Rgb, channel) => Some(channel),
        }
    }

    /// Returns whether a component is an opacity, given its index in an image.
    pub(super) fn is_opacity(self, index: usize) -> bool {
        self.component(3) == Some((index % self.count()) as u32)
    }
}

/// The storage of an image; compiled code is specialized for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Format {
    /// Type of the components.
    pub component: Component,
    /// Stored channels.
    pub channels: Channels,
}

impl Format {
    /// Number of components in a word.
    pub(crate) fn components_per_word(self) -> u32 {
        u32::BITS / self.component.bits()
    }

    /// Index of the first texel's first component, counted from the first word of the image.
    pub(crate) fn first_component(self) -> u32 {
        (HEADER_WORDS + self.component.palette_len()) as u32 * self.components_per_word()
    }

    /// The type that determines the values of a channel: opacities are not in the palette.
    pub(crate) fn decoding(self, channel: u32) -> Component {
        match self.component {
            Component::Palette8 if channel == 3 => Component::Unorm8,
            Component::Palette16 if channel == 3 => Component::Unorm16,
            component => component,
        }
    }

    /// Encodes the format in 5 bits.
    pub(super) fn pack(self) -> u32 {
        let [component, channels] = [
            Component::ALL.iter().position(|&component| component == self.component),
            Channels::ALL.iter().position(|&channels| channels == self.channels),
        ]
        .map(|index| index.expect("the lists are complete") as u32);
        4 * component + channels
    }

    /// Inverse of [`pack`](Format::pack); `None` if the code is not valid.
    pub(super) fn unpack(code: u32) -> Option<Format> {
        let component = *Component::ALL.get(code as usize / 4)?;
        Some(Format { component, channels: Channels::ALL[code as usize % 4] })
    }
}

/// Difference of the exponent biases of single and half precision, in bits of the former.
pub(crate) const HALF_REBIAS: u32 = 112 << 23;

/// The least normal half-precision float.
pub(crate) const MIN_NORMAL_HALF: f32 = 1.0 / 16384.0;

/// Value of a finite half-precision float.
pub(crate) fn half_to_float(half: u16) -> f32 {
    let magnitude = u32::from(half & 0x7fff) << 13;
    let magnitude = if magnitude < 1 << 23 {
        // A subnormal. As a fraction of the least exponent, it is too large by 1.
        f32::from_bits(magnitude + MIN_NORMAL_HALF.to_bits()) - MIN_NORMAL_HALF
    } else {
        f32::from_bits(magnitude + HALF_REBIAS)
    };
    f32::from_bits(magnitude.to_bits() | u32::from(half & 0x8000) << 16)
}

/// The half-precision float with exactly this finite value, if there is one.
pub(super) fn exact_half(value: f32) -> Option<u16> {
    let sign = (value.to_bits() >> 16 & 0x8000) as u16;
    let magnitude = match value.abs() {
        x if x < MIN_NORMAL_HALF => (x * 16_777_216.0) as u16,
        x if x < 65536.0 => ((x.to_bits() - HALF_REBIAS) >> 13) as u16,
        _ => return None,
    };
    let half = sign | magnitude;
    (half_to_float(half).to_bits() == value.to_bits()).then_some(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_have_the_values_of_ieee_754() {
        let expected = [
            (0x0000, 0.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
        ];
        for (half, value) in expected {
            assert_eq!(half_to_float(half), value, "{half:x}");
        }
        assert_eq!(half_to_float(0x8000).to_bits(), (-0.0f32).to_bits());
    }

    #[test]
    fn halves_round_trip_and_other_floats_are_rejected() {
        let is_finite = |half: u16| half & 0x7fff < 0x7c00;
        for half in (0..=u16::MAX).filter(|&half| is_finite(half)) {
            let value = half_to_float(half);
            assert_eq!(exact_half(value), Some(half));
            if value != 0.0 {
                assert_eq!(exact_half(value.next_up()), None, "{half:x}");
                assert_eq!(exact_half(value.next_down()), None, "{half:x}");
            }
        }
        for value in [65520.0, 65536.0, 1e30, f32::MAX, f32::INFINITY, 1e-8, 1e-45, 0.1] {
            assert_eq!((exact_half(value), exact_half(-value)), (None, None), "{value}");
        }
    }

    #[test]
    fn formats_round_trip_through_codes() {
        assert_eq!(Format::default().pack(), 0);
        for component in Component::ALL {
            for channels in Channels::ALL {
                let format = Format { component, channels };
                assert_eq!(Format::unpack(format.pack()), Some(format));
            }
        }
        assert!((24..32).all(|code| Format::unpack(code).is_none()));
    }
}
