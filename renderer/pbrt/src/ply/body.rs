//! Reads individual values of the body in any encoding.

use super::header::{Element, PlyFormat, PropertyType, ScalarType};
use super::{FilePosition, PlyErrorKind};

/// The file and the read position in it.
pub(super) struct Body<'a> {
    pub data: &'a [u8],
    pub pos: usize,
    pub format: PlyFormat,
}

impl<'a> Body<'a> {
    /// Returns the read position for messages.
    pub fn position(&self) -> FilePosition {
        match self.format {
            PlyFormat::Ascii => FilePosition::Line(
                1 + self.data[..self.pos].iter().filter(|&&b| b == b'\n').count(),
            ),
            _ => FilePosition::Byte(self.pos),
        }
    }

    /// Reads `n` bytes of a binary file; `content` describes them in messages.
    pub fn take(&mut self, n: usize, content: &str) -> Result<&'a [u8], PlyErrorKind> {
        let rest = &self.data[self.pos..];
        let bytes = rest.get(..n).ok_or_else(|| truncated(content, n as u128, rest.len()))?;
        self.pos += n;
        Ok(bytes)
    }

    /// Reads a value in any encoding.
    pub fn scalar(&mut self, ty: ScalarType) -> Result<f64, PlyErrorKind> {
        if self.format != PlyFormat::Ascii {
            return Ok(ty.decode(self.take(ty.size(), "values")?, self.format));
        }
        let rest = &self.data[self.pos..];
        let start = rest
            .iter()
            .position(|b| !b.is_ascii_whitespace())
            .ok_or_else(|| truncated("values", 1, 0))?;
        let length =
            rest[start..].iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len() - start);
        let text = &rest[start..start + length];
        self.pos += start;
        let value = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok());
        let value = value.ok_or_else(|| {
            PlyErrorKind::NotANumber(String::from_utf8_lossy(text).chars().take(40).collect())
        })?;
        self.pos += length;
        Ok(value)
    }

    /// Reads the length of a list and checks it against the rest of the file.
    pub fn list_count(
        &mut self,
        count: ScalarType,
        item: ScalarType,
    ) -> Result<usize, PlyErrorKind> {
        let n = self.scalar(count)?;
        if !(n >= 0.0 && n.fract() == 0.0) {
            return Err(PlyErrorKind::ListCount(n));
        }
        let min_size = if self.format == PlyFormat::Ascii { 2 } else { item.size() };
        let remaining = self.data.len() - self.pos;
        // An ASCII list starts after a separator, so each item takes two bytes even at the end of
        // the file.
        if n * min_size as f64 > remaining as f64 {
            let expected = (n as u128).saturating_mul(min_size as u128);
            return Err(truncated("list items", expected, remaining));
        }
        Ok(n as usize)
    }
}

fn truncated(content: &str, expected: u128, remaining: usize) -> PlyErrorKind {
    PlyErrorKind::Truncated { content: content.into(), expected, remaining }
}

/// Skips an element. Parses its values only if their size is unknown.
pub(super) fn skip(body: &mut Body, element: &Element) -> Result<(), PlyErrorKind> {
    match element.layout() {
        // `check_sizes` has checked the product against the length of the file.
        Some((stride, _)) if body.format != PlyFormat::Ascii => {
            body.take(element.count as usize * stride, &element.name)?;
        }
        _ => {
            for _ in 0..if element.properties.is_empty() { 0 } else { element.count } {
                for property in &element.properties {
                    skip_property(body, property.ty)?;
                }
            }
        }
    }
    Ok(())
}

pub(super) fn skip_property(body: &mut Body, ty: PropertyType) -> Result<(), PlyErrorKind> {
    match ty {
        PropertyType::Scalar(s) => body.scalar(s).map(|_| ()),
        PropertyType::List { count, item } => {
            let n = body.list_count(count, item)?;
            if body.format != PlyFormat::Ascii {
                return body.take(n * item.size(), "list items").map(|_| ());
            }
            (0..n).try_for_each(|_| body.scalar(item).map(|_| ()))
        }
    }
}
