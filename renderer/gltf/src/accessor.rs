//! Reads accessors: arrays of scalars, vectors and matrices in buffer views, some of them sparse.

use crate::document::Document;
use crate::schema::{Accessor, SparseArray};
use lightbound_pbrt::SceneError;

/// Types of components.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn new(code: u32) -> Option<Component> {
        Some(match code {
            5120 => Component::I8,
            5121 => Component::U8,
            5122 => Component::I16,
            5123 => Component::U16,
            5125 => Component::U32,
            5126 => Component::F32,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Component::I8 | Component::U8 => 1,
            Component::I16 | Component::U16 => 2,
            Component::U32 | Component::F32 => 4,
        }
    }

    /// Decodes a component; normalized integers are from −1 or 0 to 1.
    fn decode(self, bytes: &[u8], normalized: bool) -> f64 {
        let (value, max) = match self {
            Component::I8 => (f64::from(bytes[0] as i8), 127.0),
            Component::U8 => (f64::from(bytes[0]), 255.0),
            Component::I16 => (f64::from(i16::from_le_bytes([bytes[0], bytes[1]])), 32767.0),
            Component::U16 => (f64::from(u16::from_le_bytes([bytes[0], bytes[1]])), 65535.0),
            Component::U32 => (f64::from(u32::from_le_bytes(four(bytes))), 4294967295.0),
            Component::F32 => return f64::from(f32::from_le_bytes(four(bytes))),
        };
        if normalized { (value / max).max(-1.0) } else { value }
    }
}

fn four(bytes: &[u8]) -> [u8; 4] {
    [bytes[0], bytes[1], bytes[2], bytes[3]]
}

/// Largest number of elements of an accessor, so that damaged files do not exhaust memory.
const MAX_COUNT: u64 = 1 << 30;

/// Largest number of numbers of an accessor without a buffer view, which are 0.
const MAX_IMPLICIT: usize = 1 << 26;

/// Returns the columns and rows of a type, and the bytes of a column.
fn components(kind: &str, component: Component) -> Option<(usize, usize, usize)> {
    let (columns, rows) = match kind {
        "SCALAR" => (1, 1),
        "VEC2" => (1, 2),
        "VEC3" => (1, 3),
        "VEC4" => (1, 4),
        "MAT2" => (2, 2),
        "MAT3" => (3, 3),
        "MAT4" => (4, 4),
        _ => return None,
    };
    let size = rows * component.size();
    // Columns of matrices start at multiples of four bytes.
    let column = if columns > 1 { size.next_multiple_of(4) } else { size };
    Some((columns, rows, column))
}

impl Document {
    /// Reads the elements of an accessor as numbers, `N` for each. `user` names the attribute.
    pub fn elements<const N: usize>(
        &self,
        index: usize,
        user: &str,
    ) -> Result<Vec<[f64; N]>, SceneError> {
        let (values, width) = self.numbers(index, user)?;
        if width != N {
            let kind = &self.root.accessors[index].kind;
            let message = format!("is accessor {index} of type {kind}, which has {width} numbers");
            return Err(self.error(user, message).help(format!("export one with {N}")));
        }
        Ok(values.as_chunks::<N>().0.to_vec())
    }

    /// Reads the elements of an accessor as finite floats.
    pub fn floats<const N: usize>(
        &self,
        index: usize,
        user: &str,
    ) -> Result<Vec<[f32; N]>, SceneError> {
        let values = self.elements::<N>(index, user)?;
        if let Some(i) = values.iter().position(|value| value.iter().any(|x| !x.is_finite())) {
            let message = format!("has the value {:?} at index {i} of accessor {index}", values[i]);
            return Err(self.error(user, message).help("export the asset again"));
        }
        Ok(values.iter().map(|value| value.map(|x| x as f32)).collect())
    }

    /// Reads the elements of an accessor as colours or weights: three or four numbers, with 1 for a
    /// missing fourth.
    pub fn colours(&self, index: usize, user: &str) -> Result<Vec<[f32; 4]>, SceneError> {
        let is_rgb = self.root.accessors.get(index).is_some_and(|a| a.kind == "VEC3");
        if is_rgb {
            let rgb = self.floats::<3>(index, user)?;
            return Ok(rgb.into_iter().map(|[r, g, b]| [r, g, b, 1.0]).collect());
        }
        self.floats::<4>(index, user)
    }

    /// Fails for an accessor without elements, or without data: its numbers are all 0, and do not
    /// make a mesh. `user` names the attribute.
    pub fn check_data(&self, index: usize, user: &str) -> Result<(), SceneError> {
        let accessor = self.get(&self.root.accessors, "accessor", index, user)?;
        let problem = match accessor {
            Accessor { count: 0, .. } => "has no elements",
            Accessor { buffer_view: None, sparse: None, .. } => {
                "has no data: neither a buffer view nor sparse values"
            }
            _ => return Ok(()),
        };
        let error = self.error(&format!("accessor {index} ({user})"), problem);
        Err(error.help("export the asset again, without extensions that compress meshes"))
    }

    /// Reads indices.
    pub fn indices(&self, index: usize, user: &str) -> Result<Vec<u32>, SceneError> {
        let values = self.elements::<1>(index, user)?;
        let component = self.root.accessors[index].component_type;
        if !matches!(component, 5121 | 5123 | 5125) {
            let message = format!("are accessor {index} with the component type {component}");
            return Err(self.error(user, message).help("export unsigned integers"));
        }
        self.check_data(index, user)?;
        Ok(values.iter().map(|[x]| *x as u32).collect())
    }

    /// Reads the numbers of an accessor, and how many an element has.
    fn numbers(&self, index: usize, user: &str) -> Result<(Vec<f64>, usize), SceneError> {
        let accessor = self.get(&self.root.accessors, "accessor", index, user)?;
        let element = format!("accessor {index}");
        let fail = |message: String| self.error(&element, message).help("export the asset again");
        let component = Component::new(accessor.component_type)
            .ok_or_else(|| fail(format!("has the component type {}", accessor.component_type)))?;
        let (columns, rows, column) = components(&accessor.kind, component)
            .ok_or_else(|| fail(format!("has the type {}", accessor.kind)))?;
        let (width, size) = (columns * rows, columns * column);
        if accessor.count > MAX_COUNT {
            return Err(fail(format!("has {} elements", accessor.count)));
        }
        let count = accessor.count as usize;
        let mut values = Vec::new();
        match accessor.buffer_view {
            None if count * width > MAX_IMPLICIT => {
                return Err(fail(format!("has {count} elements, but no buffer view")));
            }
            None => values.resize(count * width, 0.0),
            Some(view) => {
                let (bytes, stride) = self.view(view, &element)?;
                let stride = stride.unwrap_or(size);
                if stride < size {
                    let problem = format!("has {size} bytes per element, but the stride {stride}");
                    return Err(fail(problem));
                }
                let offset = usize::try_from(accessor.byte_offset).unwrap_or(usize::MAX);
                let end = count.checked_sub(1).map_or(Some(0), |last| {
                    last.checked_mul(stride)?.checked_add(size)?.checked_add(offset)
                });
                if end.is_none_or(|end| end > bytes.len()) {
                    return Err(fail(format!(
                        "has {count} elements of {size} bytes from byte {offset} on, but buffer \
                         view {view} has {} bytes",
                        bytes.len()
                    )));
                }
                values.reserve(count * width);
                for i in 0..count {
                    let start = offset + i * stride;
                    values.extend((0..width).map(|k| {
                        let at = start + k / rows * column + k % rows * component.size();
                        component.decode(&bytes[at..], accessor.normalized)
                    }));
                }
            }
        }
        if let Some(sparse) = &accessor.sparse {
            let replaced = usize::try_from(sparse.count).unwrap_or(usize::MAX);
            let index_type = Component::new(sparse.indices.component_type)
                .filter(|ty| matches!(ty, Component::U8 | Component::U16 | Component::U32))
                .ok_or_else(|| fail("has sparse indices of an invalid type".into()))?;
            let array = |array: &SparseArray, size: usize| {
                let bytes = self.view(array.buffer_view, &element)?.0;
                let start = usize::try_from(array.byte_offset).unwrap_or(usize::MAX);
                let end = replaced.checked_mul(size).and_then(|n| n.checked_add(start));
                end.and_then(|end| bytes.get(start..end))
                    .ok_or_else(|| fail("has a sparse part that exceeds its buffer view".into()))
            };
            let indices = array(&sparse.indices, index_type.size())?;
            let replacements = array(&sparse.values, size)?;
            for i in 0..replaced {
                let target = index_type.decode(&indices[i * index_type.size()..], false) as usize;
                if target >= count {
                    return Err(fail(format!("replaces element {target} of {count}")));
                }
                for k in 0..width {
                    let at = i * size + k / rows * column + k % rows * component.size();
                    values[target * width + k] =
                        component.decode(&replacements[at..], accessor.normalized);
                }
            }
        }
        Ok((values, width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use lightbound_pbrt::Diagnostics;
    use std::path::Path;

    /// Returns a document with one buffer in one view, and accessors.
    fn document(bytes: &[u8], view: &str, accessors: &str) -> Document {
        let json = format!(
            r#"{{"asset":{{"version":"2.0"}},
                "buffers":[{{"byteLength":{n},"uri":"data:x;base64,{}"}}],
                "bufferViews":[{{"buffer":0,"byteLength":{n}{view}}}],"accessors":[{accessors}]}}"#,
            STANDARD.encode(bytes),
            n = bytes.len()
        );
        Document::decode(Path::new("a.gltf"), json.as_bytes(), &mut Diagnostics::default()).unwrap()
    }

    #[test]
    fn integers_are_normalized_and_strided() {
        let bytes = [0, 255, 9, 9, 128, 127, 9, 9];
        let accessors = r#"
            {"bufferView":0,"componentType":5121,"normalized":true,"count":2,"type":"VEC2"},
            {"bufferView":0,"componentType":5120,"normalized":true,"count":2,"type":"VEC2"},
            {"bufferView":0,"componentType":5121,"count":2,"type":"SCALAR","byteOffset":1},
            {"componentType":5126,"count":3,"type":"SCALAR"}"#;
        let document = document(&bytes, r#","byteStride":4"#, accessors);
        assert_eq!(document.floats::<2>(0, "x").unwrap()[0], [0.0, 1.0]);
        assert_eq!(document.floats::<2>(1, "x").unwrap()[1], [-1.0, 1.0]);
        assert_eq!(document.indices(2, "x").unwrap(), [255, 127]);
        assert_eq!(document.floats::<1>(3, "x").unwrap(), [[0.0]; 3]);
        let error = document.floats::<3>(0, "mesh 1 POSITION").unwrap_err().to_string();
        assert!(error.contains("mesh 1 POSITION is accessor 0 of type VEC2"), "{error}");
        let error = document.indices(3, "the indices").unwrap_err().to_string();
        assert!(error.contains("component type 5126"), "{error}");
    }

    #[test]
    fn sparse_elements_are_replaced() {
        let mut bytes = vec![2, 0];
        bytes.extend([0, 0]);
        bytes.extend([7.0f32, 8.0].iter().flat_map(|x| x.to_le_bytes()));
        let accessors = r#"{"componentType":5126,"count":3,"type":"SCALAR","sparse":{"count":2,
            "indices":{"bufferView":0,"componentType":5121},
            "values":{"bufferView":0,"byteOffset":4}}}"#;
        let document = document(&bytes, "", accessors);
        assert_eq!(document.floats::<1>(0, "x").unwrap(), [[8.0], [0.0], [7.0]]);
    }

    #[test]
    fn invalid_accessors_are_errors() {
        let nan = f32::NAN.to_le_bytes();
        for (accessor, part) in [
            (r#"{"bufferView":0,"componentType":5126,"count":2,"type":"SCALAR"}"#, "4 bytes"),
            (r#"{"bufferView":0,"componentType":5126,"count":1,"type":"SCALAR"}"#, "NaN"),
            (r#"{"bufferView":0,"componentType":1,"count":1,"type":"SCALAR"}"#, "type 1"),
            (r#"{"bufferView":0,"componentType":5126,"count":1,"type":"VEC9"}"#, "type VEC9"),
            (r#"{"bufferView":0,"componentType":5126,"count":0,"type":"VEC2"}"#, "stride 4"),
            (r#"{"bufferView":1,"componentType":5126,"count":1,"type":"VEC2"}"#, "buffer view 1"),
            (
                r#"{"bufferView":0,"componentType":5121,"count":1,"type":"SCALAR",
                   "byteOffset":18446744073709551615}"#,
                "from byte",
            ),
            (r#"{"componentType":5126,"count":9999999999999,"type":"SCALAR"}"#, "elements"),
        ] {
            let document = document(&nan, r#","byteStride":4"#, accessor);
            let error = document.floats::<1>(0, "mesh 0").unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
            assert!(error.remedy().is_some());
        }
    }
}
