//! Tensor files: named arrays of numbers, the container of the RGL material database.
//!
//! A file begins with `tensor_file\0`, the version 1.0 in two bytes, and the number of fields
//! (`u32`). Each field has the length of its name (`u16`), the name, the number of dimensions
//! (`u16`), the type (`u8`), the offset of its data from the start of the file (`u64`), and its
//! size along each dimension (`u64`). All numbers are little-endian; the last dimension varies
//! fastest. After pbrt-v4 and powitacq (Dupuy and Jakob 2018).

/// Types of elements by their code, with their sizes in bytes.
const TYPES: [(&str, usize); 12] = [
    ("invalid", 0),
    ("u8", 1),
    ("i8", 1),
    ("u16", 2),
    ("i16", 2),
    ("u32", 4),
    ("i32", 4),
    ("u64", 8),
    ("i64", 8),
    ("f16", 2),
    ("f32", 4),
    ("f64", 8),
];

/// Codes of the types that fields of materials have.
const U8: u8 = 1;
const F32: u8 = 10;

/// Maximum number of dimensions. Longer headers are damaged.
const MAX_DIMENSIONS: u16 = 16;

/// Why a tensor file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The file does not begin like a tensor file.
    #[error("it is not a tensor file, which begins with \"tensor_file\"")]
    NotATensorFile,
    /// The version of the format is unknown.
    #[error("it has version {0}.{1} of the tensor format; only 1.0 is supported")]
    Version(u8, u8),
    /// The file ends within its header.
    #[error("it is truncated: its header is incomplete")]
    TruncatedHeader,
    /// A field's header has impossible values.
    #[error("it is damaged: its field \"{0}\" has an unknown type or too many dimensions")]
    Header(String),
    /// The file ends before the data of a field.
    #[error("it is truncated: the data of its field \"{0}\" are incomplete")]
    TruncatedData(String),
    /// There is no field of this name.
    #[error("it has no field \"{0}\"")]
    Missing(&'static str),
    /// A field has another type.
    #[error("its field \"{name}\" has elements of type {found}, expected {expected}")]
    Type {
        /// Name of the field.
        name: &'static str,
        /// The type in the file.
        found: &'static str,
        /// The type that materials have.
        expected: &'static str,
    },
}

/// The fields of a tensor file.
pub struct TensorFile<'a> {
    fields: Vec<Field<'a>>,
}

/// An array.
struct Field<'a> {
    name: String,
    ty: u8,
    shape: Vec<usize>,
    data: &'a [u8],
}

/// Reads numbers from the front of a header.
struct Header<'a>(&'a [u8]);

impl<'a> Header<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], TensorError> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(TensorError::TruncatedHeader)?;
        self.0 = rest;
        Ok(head)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], TensorError> {
        Ok(self.bytes(N)?.try_into().expect("the slice has N bytes"))
    }
}

impl<'a> TensorFile<'a> {
    /// Reads the headers of all fields.
    pub fn parse(bytes: &'a [u8]) -> Result<TensorFile<'a>, TensorError> {
        let mut header = Header(bytes);
        if header.bytes(12).ok() != Some(b"tensor_file\0") {
            return Err(TensorError::NotATensorFile);
        }
        let [major, minor] = header.number()?;
        if [major, minor] != [1, 0] {
            return Err(TensorError::Version(major, minor));
        }
        let count = u32::from_le_bytes(header.number()?);
        let mut fields = Vec::new();
        for _ in 0..count {
            fields.push(Field::parse(&mut header, bytes)?);
        }
        Ok(TensorFile { fields })
    }

    /// Returns whether there is a field of this name.
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    /// Returns shape and bytes of a field.
    pub fn bytes(&self, name: &'static str) -> Result<(&[usize], &'a [u8]), TensorError> {
        self.field(name, U8)
    }

    /// Returns shape and elements of a field.
    pub fn floats(&self, name: &'static str) -> Result<(&[usize], Vec<f32>), TensorError> {
        let (shape, data) = self.field(name, F32)?;
        let (chunks, _) = data.as_chunks::<4>();
        Ok((shape, chunks.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()))
    }

    fn field(&self, name: &'static str, ty: u8) -> Result<(&[usize], &'a [u8]), TensorError> {
        let field = self.fields.iter().find(|field| field.name == name);
        let field = field.ok_or(TensorError::Missing(name))?;
        if field.ty != ty {
            let [found, expected] = [field.ty, ty].map(|ty| TYPES[usize::from(ty)].0);
            return Err(TensorError::Type { name, found, expected });
        }
        Ok((&field.shape, field.data))
    }
}

impl<'a> Field<'a> {
    fn parse(header: &mut Header<'a>, file: &'a [u8]) -> Result<Field<'a>, TensorError> {
        let length = u16::from_le_bytes(header.number()?);
        let name = String::from_utf8_lossy(header.bytes(length.into())?).into_owned();
        let dimensions = u16::from_le_bytes(header.number()?);
        let [ty] = header.number()?;
        if dimensions > MAX_DIMENSIONS || ty == 0 || usize::from(ty) >= TYPES.len() {
            return Err(TensorError::Header(name));
        }
        let offset = u64::from_le_bytes(header.number()?);
        let shape = (0..dimensions)
            .map(|_| Ok(usize::try_from(u64::from_le_bytes(header.number()?)).ok()))
            .collect::<Result<Option<Vec<usize>>, TensorError>>()?;
        let data = shape.as_ref().and_then(|shape| {
            let size = shape.iter().try_fold(TYPES[usize::from(ty)].1, |a, &b| a.checked_mul(b))?;
            let start = usize::try_from(offset).ok()?;
            file.get(start..start.checked_add(size)?)
        });
        match (shape, data) {
            (Some(shape), Some(data)) => Ok(Field { name, ty, shape, data }),
            _ => Err(TensorError::TruncatedData(name)),
        }
    }
}

/// Test support: writes tensor files.
#[cfg(test)]
pub(super) mod testing {
    use super::{F32, U8};

    /// A field's name, type, shape and data.
    type RawField = (String, u8, Vec<usize>, Vec<u8>);

    /// A tensor file to be written.
    #[derive(Clone, Default)]
    pub struct TensorWriter {
        fields: Vec<RawField>,
    }

    impl TensorWriter {
        /// Adds or replaces a field of bytes.
        pub fn bytes(self, name: &str, data: &[u8]) -> TensorWriter {
            self.raw(name, U8, &[data.len()], data.to_vec())
        }

        /// Adds or replaces a field of floats.
        pub fn floats(self, name: &str, shape: &[usize], data: &[f32]) -> TensorWriter {
            assert_eq!(shape.iter().product::<usize>(), data.len(), "{name}");
            let data = data.iter().flat_map(|x| x.to_le_bytes()).collect();
            self.raw(name, F32, shape, data)
        }

        /// Removes a field.
        pub fn without(mut self, name: &str) -> TensorWriter {
            self.fields.retain(|field| field.0 != name);
            self
        }

        fn raw(self, name: &str, ty: u8, shape: &[usize], data: Vec<u8>) -> TensorWriter {
            let mut writer = self.without(name);
            writer.fields.push((name.into(), ty, shape.to_vec(), data));
            writer
        }

        /// Returns the bytes of the file.
        pub fn file(&self) -> Vec<u8> {
            let mut file = b"tensor_file\0\x01\x00".to_vec();
            file.extend((self.fields.len() as u32).to_le_bytes());
            let header =
                |(name, _, shape, _): &RawField| 2 + name.len() + 2 + 1 + 8 + 8 * shape.len();
            let mut offset = file.len() + self.fields.iter().map(header).sum::<usize>();
            for (name, ty, shape, data) in &self.fields {
                file.extend((name.len() as u16).to_le_bytes());
                file.extend(name.as_bytes());
                file.extend((shape.len() as u16).to_le_bytes());
                file.push(*ty);
                file.extend((offset as u64).to_le_bytes());
                shape.iter().for_each(|&size| file.extend((size as u64).to_le_bytes()));
                offset += data.len();
            }
            self.fields.iter().for_each(|field| file.extend(&field.3));
            file
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::TensorWriter;
    use super::*;

    fn example() -> Vec<u8> {
        TensorWriter::default().bytes("d", b"hello").floats("x", &[2, 1], &[1.5, -2.0]).file()
    }

    #[test]
    fn fields_are_read() {
        let file = example();
        let tensor = TensorFile::parse(&file).unwrap();
        assert_eq!(tensor.bytes("d"), Ok((&[5][..], &b"hello"[..])));
        assert_eq!(tensor.floats("x"), Ok((&[2, 1][..], vec![1.5, -2.0])));
        assert!(tensor.has("x") && !tensor.has("y"));
        assert_eq!(tensor.floats("y"), Err(TensorError::Missing("y")));
        assert_eq!(
            tensor.floats("d").unwrap_err().to_string(),
            "its field \"d\" has elements of type u8, expected f32"
        );
    }

    #[test]
    fn damaged_files_are_errors() {
        let file = example();
        let error = |file: &[u8]| TensorFile::parse(file).err();
        assert_eq!(error(b"ply\n"), Some(TensorError::NotATensorFile));
        let mut version = file.clone();
        version[12] = 2;
        assert_eq!(error(&version), Some(TensorError::Version(2, 0)));
        // The type of the first field.
        let mut unknown = file.clone();
        unknown[18 + 2 + 1 + 2] = 77;
        assert_eq!(error(&unknown), Some(TensorError::Header("d".into())));
        // Sizes whose product overflows.
        let mut huge = file.clone();
        let size = file.len() - 13 - 16;
        huge[size..size + 16].fill(0xff);
        assert_eq!(error(&huge), Some(TensorError::TruncatedData("x".into())));
        for length in 0..file.len() {
            let error = error(&file[..length]).unwrap_or_else(|| panic!("{length} bytes"));
            assert!(error.to_string().contains(if length < 12 { "not a" } else { "truncated" }));
        }
    }
}
