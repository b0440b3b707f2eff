//! Reads values of the file's body one by one, in any encoding.

use super::header::{Element, PlyFormat, PropertyType, Scalar};
use super::{FilePosition, PlyProblem};

/// The data after the header and the read position.
pub(super) struct Body<'a> {
    pub data: &'a [u8],
    pub pos: usize,
    pub format: PlyFormat,
}

impl<'a> Body<'a> {
    /// The read position, for messages.
    pub fn position(&self) -> FilePosition {
        match self.format {
            PlyFormat::Ascii => FilePosition::Line(
                1 + self.data[..self.pos].iter().filter(|&&b| b == b'\n').count(),
            ),
            _ => FilePosition::Byte(self.pos),
        }
    }

    /// The next `n` bytes of a binary file.
    pub fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8], PlyProblem> {
        let rest = &self.data[self.pos..];
        let bytes = rest.get(..n).ok_or_else(|| truncated(what, n, rest.len()))?;
        self.pos += n;
        Ok(bytes)
    }

    /// The next value, in any encoding.
    pub fn scalar(&mut self, kind: Scalar) -> Result<f64, PlyProblem> {
        if self.format != PlyFormat::Ascii {
            return Ok(kind.get(self.take(kind.size(), "values")?, self.format));
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
            PlyProblem::NotANumber(String::from_utf8_lossy(text).chars().take(40).collect())
        })?;
        self.pos += length;
        Ok(value)
    }

    /// The length of a list, checked against the rest of the file.
    pub fn list_count(&mut self, count: Scalar, item: Scalar) -> Result<usize, PlyProblem> {
        let n = self.scalar(count)?;
        if !(n >= 0.0 && n.fract() == 0.0) {
            return Err(PlyProblem::ListCount(n));
        }
        let min_size = if self.format == PlyFormat::Ascii { 2 } else { item.size() };
        let found = self.data.len() - self.pos;
        // An ASCII list starts after a separator, so each item takes two bytes even at the end of
        // the file.
        if n * min_size as f64 > found as f64 {
            return Err(truncated("list items", n as usize * min_size, found));
        }
        Ok(n as usize)
    }
}

fn truncated(what: &str, expected: usize, found: usize) -> PlyProblem {
    PlyProblem::Truncated { what: what.into(), expected: expected as u128, found }
}

/// Skips an element, parsing its values only if their size is unknown.
pub(super) fn skip(body: &mut Body, element: &Element) -> Result<(), PlyProblem> {
    match element.layout() {
        // `check_sizes` has verified that the product is below the file's length.
        Some((stride, _)) if body.format != PlyFormat::Ascii => {
            body.take(element.count as usize * stride, &element.name)?;
        }
        _ => {
            for _ in 0..if element.properties.is_empty() { 0 } else { element.count } {
                for property in &element.properties {
                    skip_property(body, property.kind)?;
                }
            }
        }
    }
    Ok(())
}

pub(super) fn skip_property(body: &mut Body, kind: PropertyType) -> Result<(), PlyProblem> {
    match kind {
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
