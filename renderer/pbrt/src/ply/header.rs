//! Parses the header of a PLY file: format, elements and their properties, and checks that the rest
//! of the file is long enough for them.

use super::{Failure, FilePosition, PlyProblem};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlyFormat {
    Ascii,
    Little,
    Big,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Scalar {
    fn from_name(name: &str) -> Option<Scalar> {
        Some(match name {
            "char" | "int8" => Scalar::I8,
            "uchar" | "uint8" => Scalar::U8,
            "short" | "int16" => Scalar::I16,
            "ushort" | "uint16" => Scalar::U16,
            "int" | "int32" => Scalar::I32,
            "uint" | "uint32" => Scalar::U32,
            "float" | "float32" => Scalar::F32,
            "double" | "float64" => Scalar::F64,
            _ => return None,
        })
    }

    /// Size in a binary file, bytes.
    pub(super) fn size(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::F64 => 8,
        }
    }

    /// The value at the start of `b`, which has at least [`Scalar::size`] bytes. Every type converts
    /// to f64 exactly.
    pub(super) fn get(self, b: &[u8], format: PlyFormat) -> f64 {
        match self {
            Scalar::I8 => b[0] as i8 as f64,
            Scalar::U8 => b[0] as f64,
            Scalar::I16 => word::<2>(b, format) as u16 as i16 as f64,
            Scalar::U16 => word::<2>(b, format) as f64,
            Scalar::I32 => word::<4>(b, format) as u32 as i32 as f64,
            Scalar::U32 => word::<4>(b, format) as f64,
            Scalar::F32 => f32::from_bits(word::<4>(b, format) as u32) as f64,
            Scalar::F64 => f64::from_bits(word::<8>(b, format)),
        }
    }
}

/// The first N bytes as an unsigned integer.
fn word<const N: usize>(b: &[u8], format: PlyFormat) -> u64 {
    let step = |n: u64, &byte: &u8| n << 8 | byte as u64;
    match format {
        PlyFormat::Big => b[..N].iter().fold(0, step),
        _ => b[..N].iter().rev().fold(0, step),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PropertyType {
    Scalar(Scalar),
    List { count: Scalar, item: Scalar },
}

#[derive(Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) kind: PropertyType,
}

#[derive(Debug)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) count: u64,
    pub(super) properties: Vec<Property>,
}

impl Element {
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.properties
            .iter()
            .position(|p| p.name == name && matches!(p.kind, PropertyType::Scalar(_)))
    }

    /// Size of a binary record in bytes and offsets of its properties; `None` if a list makes the
    /// size vary.
    pub(super) fn layout(&self) -> Option<(usize, Vec<(usize, Scalar)>)> {
        let (mut stride, mut fields) = (0, Vec::new());
        for property in &self.properties {
            let PropertyType::Scalar(kind) = property.kind else { return None };
            fields.push((stride, kind));
            stride += kind.size();
        }
        Some((stride, fields))
    }

    /// Minimum size of a record, bytes.
    fn min_record_size(&self, format: PlyFormat) -> usize {
        match format {
            // A digit and a separator each, except for the last separator of the file.
            PlyFormat::Ascii => 2 * self.properties.len(),
            _ => self.properties.iter().map(|p| min_property_size(p.kind)).sum(),
        }
    }
}

fn min_property_size(kind: PropertyType) -> usize {
    match kind {
        PropertyType::Scalar(s) | PropertyType::List { count: s, .. } => s.size(),
    }
}

/// Format, elements, and the offset of the body.
pub(super) fn parse_header(data: &[u8]) -> Result<(PlyFormat, Vec<Element>, usize), Failure> {
    let (mut format, mut elements, mut pos) = (None, Vec::<Element>::new(), 0);
    for number in 1.. {
        let at = FilePosition::Line(number);
        if number == 1 && !data.starts_with(b"ply") {
            return Err((at, PlyProblem::NotPly));
        }
        let Some(length) = data[pos..].iter().position(|&b| b == b'\n') else {
            return Err((at, PlyProblem::HeaderLacks("end_header")));
        };
        let line = String::from_utf8_lossy(&data[pos..pos + length]);
        pos += length + 1;
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let unknown = || (at, PlyProblem::HeaderLine(line.trim().chars().take(80).collect()));
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
                let (count, item) =
                    Scalar::from_name(count).zip(Scalar::from_name(item)).ok_or_else(unknown)?;
                element.properties.push(Property {
                    name: name.to_string(),
                    kind: PropertyType::List { count, item },
                });
            }
            (["property", kind, name], Some(element)) => {
                let kind = PropertyType::Scalar(Scalar::from_name(kind).ok_or_else(unknown)?);
                element.properties.push(Property { name: name.to_string(), kind });
            }
            (["end_header"], _) => break,
            _ => return Err(unknown()),
        }
    }
    let format = format.ok_or((FilePosition::File, PlyProblem::HeaderLacks("format")))?;
    Ok((format, elements, pos))
}

/// Rejects element counts that need more bytes than the rest of the file has, so that later
/// allocations are proportional to its size.
pub(super) fn check_sizes(
    format: PlyFormat,
    elements: &[Element],
    found: usize,
) -> Result<(), PlyProblem> {
    let min_size = |e: &Element| e.count as u128 * e.min_record_size(format) as u128;
    let last_separator = u128::from(format == PlyFormat::Ascii);
    let expected = elements.iter().map(min_size).sum::<u128>().saturating_sub(last_separator);
    if expected > found as u128 {
        let counts: Vec<_> = elements.iter().map(|e| format!("{} {}", e.count, e.name)).collect();
        return Err(PlyProblem::Truncated {
            what: format!("elements ({})", counts.join(", ")),
            expected,
            found,
        });
    }
    match elements.iter().find(|e| e.name == "vertex") {
        Some(e) if e.count > i32::MAX as u64 => Err(PlyProblem::TooLarge(e.count)),
        _ => Ok(()),
    }
}
