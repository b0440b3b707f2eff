//! Parameters: `"type name" value` or `"type name" [ values ]`.
//!
//! Numbers are stored as flat arrays in their final precision, so that a mesh takes no more memory
//! than its vertices. Typed accessors return views of them, check type and count, and mark the
//! parameter as used. Callers warn about the parameters in [`ParamSet::unused`].

use crate::diagnostics::{Location, SceneError};
use lightbound::settings::ColourSpace;
use lightbound::suggestion::nearest;
use lightbound_math::{Vec2, Vec3};
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The declared type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "names from the scene format")]
pub enum ParamType {
    Float,
    Integer,
    Bool,
    String,
    Point2,
    Vector2,
    Point3,
    Vector3,
    Normal,
    Rgb,
    Blackbody,
    Spectrum,
    Texture,
}

impl ParamType {
    /// All types and their names in scene files.
    pub const NAMES: [(&'static str, ParamType); 13] = [
        ("float", ParamType::Float),
        ("integer", ParamType::Integer),
        ("bool", ParamType::Bool),
        ("string", ParamType::String),
        ("point2", ParamType::Point2),
        ("vector2", ParamType::Vector2),
        ("point3", ParamType::Point3),
        ("vector3", ParamType::Vector3),
        ("normal", ParamType::Normal),
        ("rgb", ParamType::Rgb),
        ("blackbody", ParamType::Blackbody),
        ("spectrum", ParamType::Spectrum),
        ("texture", ParamType::Texture),
    ];

    /// Returns the type with this name.
    pub fn from_name(name: &str) -> Option<ParamType> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|&(_, t)| t)
    }

    /// Returns the number of components per value.
    fn component_count(self) -> usize {
        match self {
            ParamType::Point2 | ParamType::Vector2 => 2,
            ParamType::Point3 | ParamType::Vector3 | ParamType::Normal | ParamType::Rgb => 3,
            _ => 1,
        }
    }
}

impl fmt::Display for ParamType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, _) = Self::NAMES.iter().find(|(_, t)| t == self).expect("every type has a name");
        f.write_str(name)
    }
}

/// The values of a parameter as written in the file.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValues {
    /// Finite values of all numeric types except `integer`.
    Floats(Vec<f32>),
    /// Values of type `integer`.
    Integers(Vec<i32>),
    /// Values of type `bool`.
    Bools(Vec<bool>),
    /// Values of types `string` and `texture`, and names and files of type `spectrum`.
    Strings(Vec<String>),
}

/// One parameter.
#[derive(Debug)]
pub struct Param {
    /// Name.
    pub name: String,
    /// Declared type.
    pub ty: ParamType,
    /// Values.
    pub values: ParamValues,
    /// Location of the declaration.
    pub location: Location,
    /// Colour space of `rgb` values.
    colour_space: ColourSpace,
    used: AtomicBool,
}

impl Param {
    /// Creates a parameter that is not yet used.
    pub fn new(name: String, ty: ParamType, values: ParamValues, location: Location) -> Param {
        Param {
            name,
            ty,
            values,
            location,
            colour_space: ColourSpace::default(),
            used: AtomicBool::new(false),
        }
    }

    fn error(&self, message: &str) -> SceneError {
        SceneError::at(&self.location, format!("parameter \"{} {}\" {message}", self.ty, self.name))
    }

    /// Creates the error for a wrong count of numbers.
    fn wrong_count(&self, count: usize) -> SceneError {
        self.error(&format!("has {count} number{}", if count == 1 { "" } else { "s" }))
    }

    /// Creates the error for an empty list.
    fn no_values(&self) -> SceneError {
        self.error("has no values").help("give it values, or remove it")
    }

    /// Returns the components of one or more values. Fails if there are none or the last is
    /// incomplete.
    fn numbers(&self) -> Result<&[f32], SceneError> {
        let ParamValues::Floats(numbers) = &self.values else {
            return Err(self.error("holds no numbers"));
        };
        let components = self.ty.component_count();
        if numbers.is_empty() {
            return Err(self.no_values());
        }
        if !numbers.len().is_multiple_of(components) {
            let error = self.wrong_count(numbers.len());
            return Err(
                error.help(format!("\"{}\" takes {components} numbers for each value", self.ty))
            );
        }
        Ok(numbers)
    }

    fn single<'a, T>(&self, values: &'a [T]) -> Result<&'a T, SceneError> {
        match values {
            [one] => Ok(one),
            _ => Err(self.error(&format!("takes one value, but has {}", values.len()))),
        }
    }

    fn strings(&self) -> Result<&[String], SceneError> {
        match &self.values {
            ParamValues::Strings(strings) if !strings.is_empty() => Ok(strings),
            _ => Err(self.no_values()),
        }
    }

    fn spectrum(&self) -> Result<SpectrumParam, SceneError> {
        if let ParamValues::Strings(_) = &self.values {
            let name = self.single(self.strings()?)?.clone();
            let is_file = name.contains(['.', '/', '\\']);
            return Ok(if is_file {
                SpectrumParam::File(name)
            } else {
                SpectrumParam::Named(name)
            });
        }
        let numbers = self.numbers()?;
        match self.ty {
            ParamType::Rgb => {
                let &[r, g, b] = numbers else {
                    return Err(self.error(&format!("takes one colour, not {}", numbers.len() / 3)));
                };
                match [r, g, b].iter().all(|&x| x >= 0.0) {
                    true => Ok(SpectrumParam::Rgb([r, g, b], self.colour_space)),
                    false => Err(self.error("has a negative component").help("colours are 0 or more")),
                }
            }
            ParamType::Blackbody => match numbers {
                &[kelvin] if kelvin > 0.0 => Ok(SpectrumParam::Blackbody(kelvin)),
                [_] => Err(self.error("is not above 0").help("give a temperature in kelvin")),
                _ => Err(self
                    .wrong_count(numbers.len())
                    .help("a blackbody takes one temperature in kelvin; brightness goes into \"float scale\"")),
            },
            _ => {
                let (pairs, []) = numbers.as_chunks::<2>() else {
                    let error = self.wrong_count(numbers.len());
                    return Err(error.help("give pairs of wavelength (nm) and value"));
                };
                if !pairs.is_sorted_by(|a, b| a[0] < b[0]) {
                    return Err(self.error("has wavelengths that do not increase").help("sort the pairs by wavelength"));
                }
                Ok(SpectrumParam::Sampled(pairs.iter().map(|&[l, v]| (l, v)).collect()))
            }
        }
    }
}

/// A spectrum as written in a scene file.
#[derive(Clone, Debug, PartialEq)]
pub enum SpectrumParam {
    /// Linear RGB, 0 or more, and its colour space.
    Rgb([f32; 3], ColourSpace),
    /// Temperature of a blackbody in kelvin, above 0.
    Blackbody(f32),
    /// Name of a predefined spectrum.
    Named(String),
    /// One or more pairs of wavelength (nm, increasing) and value.
    Sampled(Vec<(f32, f32)>),
    /// A file of such pairs, relative to the folder of the main file. Strings with a dot or a slash
    /// are files, all others are names.
    File(String),
}

/// A float or a spectrum.
#[derive(Clone, Debug, PartialEq)]
pub enum FloatOrSpectrum {
    /// A number.
    Float(f32),
    /// A spectrum.
    Spectrum(SpectrumParam),
}

/// A float or the name of a float texture.
#[derive(Clone, Debug, PartialEq)]
pub enum FloatOrTexture<'a> {
    /// A constant.
    Float(f32),
    /// A texture by name.
    Texture(&'a str),
}

/// A spectrum or the name of a spectrum texture.
#[derive(Clone, Debug, PartialEq)]
pub enum SpectrumOrTexture<'a> {
    /// A constant.
    Spectrum(SpectrumParam),
    /// A texture by name.
    Texture(&'a str),
}

/// The parameters of one entity: explicit parameters, then defaults set by `Attribute`. Explicit
/// parameters override defaults.
///
/// Accessors return `None` if the parameter is absent. They fail if it has another type or the
/// wrong number of values.
#[derive(Clone, Debug, Default)]
pub struct ParamSet {
    params: Vec<Arc<Param>>,
    /// Number of explicit parameters; the rest are defaults.
    explicit_count: usize,
    colour_space: ColourSpace,
    /// Names that accessors did not find while parameters were unused, for suggestions.
    missing: Arc<Mutex<BTreeSet<String>>>,
}

type ParamResult<T> = Result<Option<T>, SceneError>;

impl ParamSet {
    /// Creates a set of explicit parameters in file order.
    pub fn new(params: Vec<Arc<Param>>) -> ParamSet {
        ParamSet {
            explicit_count: params.len(),
            params,
            colour_space: ColourSpace::default(),
            missing: Arc::default(),
        }
    }

    /// Sets the colour space of the parameters, which are still without defaults.
    pub fn set_colour_space(&mut self, colour_space: ColourSpace) {
        self.colour_space = colour_space;
        for param in &mut self.params {
            Arc::get_mut(param).expect("new parameters are not shared").colour_space = colour_space;
        }
    }

    /// Returns the colour space of the entity: that of its explicit parameters.
    pub fn colour_space(&self) -> ColourSpace {
        self.colour_space
    }

    /// Iterates over all parameters, explicit parameters first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Param>> {
        self.params.iter()
    }

    /// Adds defaults for parameters that are not set. The last default of a name wins.
    pub fn add_defaults(&mut self, defaults: &[Arc<Param>]) {
        for default in defaults.iter().rev() {
            if self.find(&default.name).is_none() {
                self.params.push(default.clone());
            }
        }
    }

    /// Iterates over explicit parameters that repeat an earlier name.
    pub fn duplicates(&self) -> impl Iterator<Item = &Param> {
        let mut seen = HashSet::new();
        self.params[..self.explicit_count]
            .iter()
            .filter(move |p| !seen.insert(p.name.as_str()))
            .map(|p| &**p)
    }

    /// Iterates over explicit parameters that no accessor has read.
    pub fn unused(&self) -> impl Iterator<Item = &Param> {
        self.params[..self.explicit_count]
            .iter()
            .filter(|p| !p.used.load(Ordering::Relaxed))
            .map(|p| &**p)
    }

    /// Marks all parameters as used, for entities that are replaced or ignored as a whole.
    pub fn mark_all_used(&self) {
        self.params.iter().for_each(|p| p.used.store(true, Ordering::Relaxed));
    }

    /// Finds a parameter by name without marking it as used. The last one of a name wins.
    pub fn find(&self, name: &str) -> Option<&Param> {
        let explicit = self.params[..self.explicit_count].iter().rfind(|p| p.name == name);
        explicit
            .or_else(|| self.params[self.explicit_count..].iter().find(|p| p.name == name))
            .map(|p| &**p)
    }

    /// Finds a parameter of any type by name and marks it as used.
    pub fn any(&self, name: &str) -> Option<&Param> {
        self.params
            .iter()
            .filter(|p| p.name == name)
            .for_each(|p| p.used.store(true, Ordering::Relaxed));
        let found = self.find(name);
        if found.is_none() && self.unused().next().is_some() {
            let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
            missing.insert(name.to_owned());
        }
        found
    }

    /// Returns the name that an unused parameter was probably meant to have: one that an accessor
    /// did not find.
    pub fn suggestion(&self, unused: &str) -> Option<String> {
        /// Shorter names are similar to too many others.
        const MIN_LEN: usize = 3;
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let candidates = missing.iter().map(String::as_str);
        nearest(unused, candidates).filter(|_| unused.len() >= MIN_LEN).map(str::to_owned)
    }

    /// Returns the names that accessors did not find while parameters were unused.
    #[cfg(test)]
    pub(crate) fn missing(&self) -> BTreeSet<String> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the declared type of a parameter.
    pub fn type_of(&self, name: &str) -> Option<ParamType> {
        self.find(name).map(|p| p.ty)
    }

    /// Finds a parameter of one of several types and marks it as used.
    fn get(&self, name: &str, types: &[ParamType]) -> ParamResult<&Param> {
        let Some(param) = self.any(name) else { return Ok(None) };
        if types.contains(&param.ty) {
            return Ok(Some(param));
        }
        let expected: Vec<String> = types.iter().map(|ty| format!("\"{ty} {name}\"")).collect();
        Err(param.error("has the wrong type").help(format!("write {}", expected.join(" or "))))
    }

    fn slice<T: bytemuck::AnyBitPattern>(&self, name: &str, ty: ParamType) -> ParamResult<&[T]> {
        let Some(param) = self.get(name, &[ty])? else { return Ok(None) };
        Ok(Some(bytemuck::cast_slice(param.numbers()?)))
    }

    fn single<T: bytemuck::AnyBitPattern>(&self, name: &str, ty: ParamType) -> ParamResult<T> {
        let Some(param) = self.get(name, &[ty])? else { return Ok(None) };
        param.single(bytemuck::cast_slice::<f32, T>(param.numbers()?)).copied().map(Some)
    }

    /// Returns a single `float`.
    pub fn float(&self, name: &str) -> ParamResult<f32> {
        self.single(name, ParamType::Float)
    }

    /// Returns a non-empty list of `float`s.
    pub fn floats(&self, name: &str) -> ParamResult<&[f32]> {
        self.slice(name, ParamType::Float)
    }

    /// Returns a non-empty list of `point2`s.
    pub fn point2s(&self, name: &str) -> ParamResult<&[Vec2]> {
        self.slice(name, ParamType::Point2)
    }

    /// Returns a single `point3`.
    pub fn point3(&self, name: &str) -> ParamResult<Vec3> {
        self.single(name, ParamType::Point3)
    }

    /// Returns a non-empty list of `point3`s.
    pub fn point3s(&self, name: &str) -> ParamResult<&[Vec3]> {
        self.slice(name, ParamType::Point3)
    }

    /// Returns a non-empty list of `rgb` colours, with their colour space.
    pub fn rgbs(&self, name: &str) -> ParamResult<(&[Vec3], ColourSpace)> {
        let colours = self.slice(name, ParamType::Rgb)?;
        Ok(colours.zip(self.find(name)).map(|(colours, param)| (colours, param.colour_space)))
    }

    /// Returns a single `vector3`.
    pub fn vector3(&self, name: &str) -> ParamResult<Vec3> {
        self.single(name, ParamType::Vector3)
    }

    /// Returns a non-empty list of `vector3`s.
    pub fn vector3s(&self, name: &str) -> ParamResult<&[Vec3]> {
        self.slice(name, ParamType::Vector3)
    }

    /// Returns a non-empty list of `normal`s.
    pub fn normals(&self, name: &str) -> ParamResult<&[Vec3]> {
        self.slice(name, ParamType::Normal)
    }

    /// Returns a non-empty list of `integer`s.
    pub fn ints(&self, name: &str) -> ParamResult<&[i32]> {
        let Some(param) = self.get(name, &[ParamType::Integer])? else { return Ok(None) };
        match &param.values {
            ParamValues::Integers(values) if !values.is_empty() => Ok(Some(values)),
            _ => Err(param.no_values()),
        }
    }

    /// Returns a single `integer`.
    pub fn int(&self, name: &str) -> ParamResult<i32> {
        let Some(param) = self.get(name, &[ParamType::Integer])? else { return Ok(None) };
        let ParamValues::Integers(values) = &param.values else {
            return Err(param.error("holds no integers"));
        };
        param.single(values).copied().map(Some)
    }

    /// Returns a single `bool`.
    pub fn bool(&self, name: &str) -> ParamResult<bool> {
        let Some(param) = self.get(name, &[ParamType::Bool])? else { return Ok(None) };
        let ParamValues::Bools(values) = &param.values else {
            return Err(param.error("holds no booleans"));
        };
        param.single(values).copied().map(Some)
    }

    /// Returns a single `string`.
    pub fn string(&self, name: &str) -> ParamResult<&str> {
        let Some(param) = self.get(name, &[ParamType::String])? else { return Ok(None) };
        param.single(param.strings()?).map(|s| Some(s.as_str()))
    }

    /// Returns a non-empty list of `string`s.
    pub fn strings(&self, name: &str) -> ParamResult<&[String]> {
        let Some(param) = self.get(name, &[ParamType::String])? else { return Ok(None) };
        param.strings().map(Some)
    }

    /// Returns the name of a `texture`.
    pub fn texture(&self, name: &str) -> ParamResult<&str> {
        let Some(param) = self.get(name, &[ParamType::Texture])? else { return Ok(None) };
        param.single(param.strings()?).map(|s| Some(s.as_str()))
    }

    /// Returns an `rgb`, `blackbody` or `spectrum`.
    pub fn spectrum(&self, name: &str) -> ParamResult<SpectrumParam> {
        let types = [ParamType::Rgb, ParamType::Spectrum, ParamType::Blackbody];
        self.get(name, &types)?.map(Param::spectrum).transpose()
    }

    /// Returns a `float` or a `texture`.
    pub fn float_or_texture(&self, name: &str) -> ParamResult<FloatOrTexture<'_>> {
        if self.type_of(name) == Some(ParamType::Texture) {
            return Ok(self.texture(name)?.map(FloatOrTexture::Texture));
        }
        let Some(param) = self.get(name, &[ParamType::Float, ParamType::Texture])? else {
            return Ok(None);
        };
        Ok(Some(FloatOrTexture::Float(*param.single(param.numbers()?)?)))
    }

    /// Returns a `float`, a `spectrum`, or an `rgb` as a spectrum.
    pub fn float_or_spectrum(&self, name: &str) -> ParamResult<FloatOrSpectrum> {
        // `rgb` is accepted, but not suggested for a parameter of a wrong type.
        let param = match self.type_of(name) {
            Some(ParamType::Rgb) => self.any(name),
            _ => self.get(name, &[ParamType::Float, ParamType::Spectrum])?,
        };
        let Some(param) = param else { return Ok(None) };
        Ok(Some(match param.ty {
            ParamType::Float => FloatOrSpectrum::Float(*param.single(param.numbers()?)?),
            _ => FloatOrSpectrum::Spectrum(param.spectrum()?),
        }))
    }

    /// Returns an `rgb`, `spectrum`, `blackbody` or `texture`.
    pub fn spectrum_or_texture(&self, name: &str) -> ParamResult<SpectrumOrTexture<'_>> {
        if self.type_of(name) == Some(ParamType::Texture) {
            return Ok(self.texture(name)?.map(SpectrumOrTexture::Texture));
        }
        // `blackbody` is accepted, but not suggested for a parameter of a wrong type.
        let param = match self.type_of(name) {
            Some(ParamType::Blackbody) => self.any(name),
            _ => self.get(name, &[ParamType::Rgb, ParamType::Spectrum, ParamType::Texture])?,
        };
        let Some(param) = param else { return Ok(None) };
        Ok(Some(SpectrumOrTexture::Spectrum(param.spectrum()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::{Diagnostics, Source};
    use crate::file::parse::{Directive, Parser};

    /// Parses the parameters of a shape.
    fn params(text: &str) -> ParamSet {
        let text = format!("Shape \"sphere\" {text}");
        let source = Source::memory("p", text.clone());
        let mut parser = Parser::new(text.as_bytes(), source).unwrap();
        match parser.next(&mut Diagnostics::new(true)).unwrap().unwrap().directive {
            Directive::Shape(entity) => entity.params,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn accessors_return_values_of_the_declared_type() {
        let p = params(
            r#""float a" 1.5 "float b" [1 2 3] "integer c" [-7] "bool d" true "bool e" ["false"] "string f" "x" "string g" ["x" "y"]
            "point2 h" [1 2 3 4] "point3 i" [1 2 3 4 5 6] "vector3 j" [0 0 1] "normal k" [0 1 0] "texture l" "wood""#,
        );
        assert_eq!(p.float("a").unwrap(), Some(1.5));
        assert_eq!(p.floats("b").unwrap(), Some(&[1.0, 2.0, 3.0][..]));
        assert_eq!((p.int("c").unwrap(), p.ints("c").unwrap()), (Some(-7), Some(&[-7][..])));
        assert_eq!((p.bool("d").unwrap(), p.bool("e").unwrap()), (Some(true), Some(false)));
        assert_eq!(
            (p.string("f").unwrap(), p.strings("g").unwrap().unwrap().len()),
            (Some("x"), 2)
        );
        assert_eq!(p.point2s("h").unwrap(), Some(&[Vec2::new(1.0, 2.0), Vec2::new(3.0, 4.0)][..]));
        assert_eq!(
            p.point3s("i").unwrap(),
            Some(&[Vec3::new(1.0, 2.0, 3.0), Vec3::new(4.0, 5.0, 6.0)][..])
        );
        assert_eq!(
            (p.vector3("j").unwrap(), p.normals("k").unwrap()),
            (Some(Vec3::Z), Some(&[Vec3::Y][..]))
        );
        assert_eq!(p.texture("l").unwrap(), Some("wood"));
        assert_eq!(p.float("absent").unwrap(), None);
        assert_eq!(p.unused().count(), 0);
    }

    #[test]
    fn spectra_are_parsed_by_type() {
        let p = params(
            r#""rgb a" [1 2 3] "blackbody b" 5000 "spectrum c" "metal-Au-eta" "spectrum d" "spds/x.spd" "spectrum e" [400 1 700 2]
            "texture f" "t" "float g" 2"#,
        );
        assert_eq!(
            p.spectrum("a").unwrap(),
            Some(SpectrumParam::Rgb([1.0, 2.0, 3.0], ColourSpace::Srgb))
        );
        assert_eq!(p.spectrum("b").unwrap(), Some(SpectrumParam::Blackbody(5000.0)));
        assert_eq!(p.spectrum("c").unwrap(), Some(SpectrumParam::Named("metal-Au-eta".into())));
        assert_eq!(p.spectrum("d").unwrap(), Some(SpectrumParam::File("spds/x.spd".into())));
        assert_eq!(
            p.spectrum("e").unwrap(),
            Some(SpectrumParam::Sampled(vec![(400.0, 1.0), (700.0, 2.0)]))
        );
        assert_eq!(p.spectrum_or_texture("f").unwrap(), Some(SpectrumOrTexture::Texture("t")));
        assert!(matches!(
            p.spectrum_or_texture("a").unwrap(),
            Some(SpectrumOrTexture::Spectrum(_))
        ));
        assert_eq!(p.float_or_texture("g").unwrap(), Some(FloatOrTexture::Float(2.0)));
        assert_eq!(p.float_or_texture("f").unwrap(), Some(FloatOrTexture::Texture("t")));
    }

    #[test]
    fn wrong_types_and_counts_are_errors_at_the_parameter() {
        type Accessor = fn(&ParamSet) -> Option<SceneError>;
        let cases: [(&str, Accessor, &str); 14] = [
            (r#""string a" "x""#, |p| p.float("a").err(), "wrong type"),
            (r#""float a" 1"#, |p| p.int("a").err(), "wrong type"),
            (r#""rgb a" [1 1 1]"#, |p| p.float_or_texture("a").err(), "wrong type"),
            (r#""float a" 1"#, |p| p.spectrum_or_texture("a").err(), "wrong type"),
            (r#""float a" [1 2]"#, |p| p.float("a").err(), "takes one value, but has 2"),
            (r#""integer a" []"#, |p| p.int("a").err(), "takes one value, but has 0"),
            (r#""rgb a" 1"#, |p| p.spectrum("a").err(), "has 1 number"),
            (r#""point3 a" []"#, |p| p.point3s("a").err(), "no values"),
            (r#""point3 a" [1 2 3 4]"#, |p| p.point3s("a").err(), "has 4 numbers"),
            (r#""rgb a" [1 2 3 4 5 6]"#, |p| p.spectrum("a").err(), "one colour, not 2"),
            (r#""rgb a" [1 -2 3]"#, |p| p.spectrum("a").err(), "negative"),
            (r#""blackbody a" [5000 2]"#, |p| p.spectrum("a").err(), "has 2 numbers"),
            (r#""spectrum a" [400 1 500]"#, |p| p.spectrum("a").err(), "has 3 numbers"),
            (r#""spectrum a" [500 1 400 1]"#, |p| p.spectrum("a").err(), "do not increase"),
        ];
        for (text, accessor, part) in cases {
            let error = accessor(&params(text)).unwrap_or_else(|| panic!("{text} passed"));
            assert!(error.message().contains(part), "{text}: {}", error.message());
            assert!(!error.message().ends_with("1 numbers"), "{text}");
            assert!(!error.remedy().unwrap_or("").contains("blackbody a"), "{text}");
            assert_eq!(error.location().unwrap().column, 16);
        }
    }

    #[test]
    fn explicit_parameters_override_defaults_and_unused_ones_are_listed() {
        let mut p = params(r#""float a" 1 "float a" 2 "float b" 3"#);
        let defaults = params(r#""float b" 4 "float c" 5 "float c" 6 "texture a" "t""#);
        p.add_defaults(&defaults.iter().cloned().collect::<Vec<_>>());
        assert_eq!(p.duplicates().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["a"]);
        assert_eq!((p.float("a").unwrap(), p.float("c").unwrap()), (Some(2.0), Some(6.0)));
        assert_eq!(p.unused().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["b"]);
        p.mark_all_used();
        assert_eq!(p.unused().count(), 0);
    }
}
