//! Parses the header of a PLY file (format, elements and their properties) and checks it against
//! the length of the file.

use super::{Failure, FilePosition, PlyErrorKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlyFormat {
    Ascii,
    Little,
    Big,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl ScalarType {
    fn from_name(name: &str) -> Option<ScalarType> {
        Some(match name {
            "char" | "int8" => ScalarType::I8,
            "uchar" | "uint8" => ScalarType::U8,
            "short" | "int16" => ScalarType::I16,
            "ushort" | "uint16" => ScalarType::U16,
            "int" | "int32" => ScalarType::I32,
            "uint" | "uint32" => ScalarType::U32,
            "float" | "float32" => ScalarType::F32,
            "double" | "float64" => ScalarType::F64,
            _ => return None,
        })
    }

    /// Returns the size in a binary file, in bytes.
    pub(super) fn size(self) -> usize {
        match self {
            ScalarType::I8 | ScalarType::U8 => 1,
            ScalarType::I16 | ScalarType::U16 => 2,
            ScalarType::I32 | ScalarType::U32 | ScalarType::F32 => 4,
            ScalarType::F64 => 8,
        }
    }

    /// Decodes the value at the start of `b`, which has at least [`ScalarType::size`] bytes. All
    /// types convert to f64 exactly.
    pub(super) fn decode(self, b: &[u8], format: PlyFormat) -> f64 {
        match self {
            ScalarType::I8 => b[0] as i8 as f64,
            ScalarType::U8 => b[0] as f64,
            ScalarType::I16 => word::<2>(b, format) as u16 as i16 as f64,
            ScalarType::U16 => word::<2>(b, format) as f64,
            ScalarType::I32 => word::<4>(b, format) as u32 as i32 as f64,
            ScalarType::U32 => word::<4>(b, format) as f64,
            ScalarType::F32 => f32::from_bits(word::<4>(b, format) as u32) as f64,
            ScalarType::F64 => f64::from_bits(word::<8>(b, format)),
        }
    }
}

/// Decodes the first `N` bytes as an unsigned integer.
fn word<const N: usize>(b: &[u8], format: PlyFormat) -> u64 {
    let step = |n: u64, &byte: &u8| n << 8 | byte as u64;
    match format {
        PlyFormat::Big => b[..N].iter().fold(0, step),
        _ => b[..N].iter().rev().fold(0, step),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PropertyType {
    Scalar(ScalarType),
    List { count: ScalarType, item: ScalarType },
}

#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) ty: PropertyType,
}

#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) properties: Vec<Property>,
}

impl Element {
    /// Returns the index of a scalar property.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.properties
            .iter()
            .position(|p| p.name == name && matches!(p.ty, PropertyType::Scalar(_)))
    }

    /// Returns the size in bytes of a binary record, and the offset and type of each property;
    /// `None` if the record contains a list.
    pub(super) fn layout(&self) -> Option<(usize, Vec<(usize, ScalarType)>)> {
        let (mut stride, mut fields) = (0, Vec::new());
        for property in &self.properties {
            let PropertyType::Scalar(ty) = property.ty else { return None };
            fields.push((stride, ty));
            stride += ty.size();
        }
        Some((stride, fields))
    }

    /// Returns the minimum size of a record in bytes.
    fn min_record_size(&self, format: PlyFormat) -> usize {
        match format {
            // A digit and a separator per value; the last value in the file needs no separator.
            PlyFormat::Ascii => 2 * self.properties.len(),
            _ => self.properties.iter().map(|p| min_property_size(p.ty)).sum(),
        }
    }
}

fn min_property_size(ty: PropertyType) -> usize {
    match ty {
        PropertyType::Scalar(s) | PropertyType::List { count: s, .. } => s.size(),
    }
}

/// Parses the header; returns the format, the elements and the offset of the body.
pub(super) fn parse_header(data: &[u8]) -> Result<(PlyFormat, Vec<Element>, usize), Failure> {
    let (mut format, mut elements, mut pos) = (None, Vec::<Element>::new(), 0);
    for number in 1.. {
        let position = FilePosition::Line(number);
        if number == 1 && !data.starts_with(b"ply") {
            return Err((position, PlyErrorKind::NotPly));
        }
        let Some(length) = data[pos..].iter().position(|&b| b == b'\n') else {
            return Err((position, PlyErrorKind::MissingHeaderLine("end_header")));
        };
        let line = String::from_utf8_lossy(&data[pos..pos + length]);
        pos += length + 1;
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let unknown =
            || (position, PlyErrorKind::UnknownHeaderLine(line.trim().chars().take(80).collect()));
        match (words.as_slice(), elements.last_mut()) {
            (["ply"], _) if number == 1 => {}
            ([] | ["comment" | "obj_info", ..], _) => {}
            (["format", name, _version], _) => {
                format = Some(match *name {
                    "ascii" => PlyFormat::Ascii,
                    "binary_little_endian" => PlyFormat::Little,
                    "binary_big_endian" => PlyFormat::Big,
                    _ => return Err(unknown()),
                })
            }
            (["element", name, count], _) => {
                let count = count.parse().map_err(|_| unknown())?;
                elements.push(Element { name: name.to_string(), count, properties: Vec::new() });
            }
            (["property", "list", count, item, name], Some(element)) => {
                let (count, item) = ScalarType::from_name(count)
                    .zip(ScalarType::from_name(item))
                    .ok_or_else(unknown)?;
                element.properties.push(Property {
                    name: name.to_string(),
                    ty: PropertyType::List { count, item },
                });
            }
            (["property", ty, name], Some(element)) => {
                let ty = PropertyType::Scalar(ScalarType::from_name(ty).ok_or_else(unknown)?);
                element.properties.push(Property { name: name.to_string(), ty });
            }
            (["end_header"], _) => break,
            _ => return Err(unknown()),
        }
    }
    let format = format.ok_or((FilePosition::File, PlyErrorKind::MissingHeaderLine("format")))?;
    Ok((format, elements, pos))
}

/// Rejects element counts that need more than the `remaining` bytes of the file, so that
/// allocations are proportional to its size.
pub(super) fn check_sizes(
    format: PlyFormat,
    elements: &[Element],
    remaining: usize,
) -> Result<(), PlyErrorKind> {
    let min_size = |e: &Element| e.count as u128 * e.min_record_size(format) as u128;
    let last_separator = u128::from(format == PlyFormat::Ascii);
    let expected = elements.iter().map(min_size).sum::<u128>().saturating_sub(last_separator);
    if expected > remaining as u128 {
        let counts: Vec<_> = elements.iter().map(|e| format!("{} {}", e.count, e.name)).collect();
        return Err(PlyErrorKind::Truncated {
            content: format!("elements ({})", counts.join(", ")),
            expected,
            remaining,
        });
    }
    match elements.iter().find(|e| e.name == "vertex") {
        Some(e) if e.count > i32::MAX as u64 => Err(PlyErrorKind::TooLarge(e.count)),
        _ => Ok(()),
    }
}
