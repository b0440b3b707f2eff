//! Parameters: `"type name" value` or `"type name" [ values ]`.
//!
//! Numbers are stored as flat arrays in the precision they are used in, so that a mesh takes no more
//! memory than its vertices. Typed accessors view them without a copy, check type and count, and
//! mark the parameter as used. [`ParamSet::unused`] parameters deserve a warning.

use crate::diagnostics::{Location, SceneError};
use lightbound_math::{Vec2, Vec3};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The declared type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in the format")]
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
    /// All types and their names in the format.
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

    /// The type with this name.
    pub fn from_name(name: &str) -> Option<ParamType> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|&(_, t)| t)
    }

    /// Numbers per value.
    fn width(self) -> usize {
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

/// The values of a parameter, as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Values of all numeric types except `integer`; finite.
    Numbers(Vec<f32>),
    /// Values of type `integer`.
    Integers(Vec<i32>),
    /// Values of type `bool`.
    Bools(Vec<bool>),
    /// Values of types `string` and `texture`, and the name or file of a `spectrum`.
    Strings(Vec<String>),
}

/// One parameter.
#[derive(Debug)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its declared type.
    pub kind: ParamType,
    /// Its values.
    pub values: Values,
    /// Location of its declaration.
    pub location: Location,
    used: AtomicBool,
}

impl Param {
    /// A parameter, not yet used.
    pub fn new(name: String, kind: ParamType, values: Values, location: Location) -> Param {
        Param { name, kind, values, location, used: AtomicBool::new(false) }
    }

    fn error(&self, message: &str) -> SceneError {
        SceneError::at(
            &self.location,
            format!("parameter \"{} {}\" {message}", self.kind, self.name),
        )
    }

    /// The numbers: at least one value, and no incomplete value.
    fn numbers(&self) -> Result<&[f32], SceneError> {
        let Values::Numbers(numbers) = &self.values else {
            return Err(self.error("holds no numbers"));
        };
        let width = self.kind.width();
        if numbers.is_empty() {
            return Err(self.error("has no values").help("give it values, or remove it"));
        }
        if !numbers.len().is_multiple_of(width) {
            let error = self.error(&format!("has {} numbers", numbers.len()));
            return Err(error.help(format!("a {} takes {width} numbers for each value", self.kind)));
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
            Values::Strings(strings) if !strings.is_empty() => Ok(strings),
            _ => Err(self.error("has no values").help("give it values, or remove it")),
        }
    }

    fn spectrum(&self) -> Result<SpectrumParam, SceneError> {
        if let Values::Strings(_) = &self.values {
            let name = self.single(self.strings()?)?.clone();
            let is_file = name.contains(['.', '/', '\\']);
            return Ok(if is_file {
                SpectrumParam::File(name)
            } else {
                SpectrumParam::Named(name)
            });
        }
        let numbers = self.numbers()?;
        match self.kind {
            ParamType::Rgb => {
                let &[r, g, b] = numbers else {
                    return Err(self.error(&format!("takes one colour, not {}", numbers.len() / 3)));
                };
                match [r, g, b].iter().all(|&x| x >= 0.0) {
                    true => Ok(SpectrumParam::Rgb([r, g, b])),
                    false => Err(self.error("has a negative component").help("colours are 0 or more")),
                }
            }
            ParamType::Blackbody => match numbers {
                &[kelvin] if kelvin > 0.0 => Ok(SpectrumParam::Blackbody(kelvin)),
                [_] => Err(self.error("is not above 0").help("give a temperature in kelvin")),
                _ => Err(self
                    .error(&format!("has {} numbers", numbers.len()))
                    .help("a blackbody takes one temperature in kelvin; brightness goes into \"float scale\"")),
            },
            _ => {
                let (pairs, []) = numbers.as_chunks::<2>() else {
                    let error = self.error(&format!("has {} numbers", numbers.len()));
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
    /// Linear RGB, 0 or more, in the colour space of the scene.
    Rgb([f32; 3]),
    /// Temperature of a blackbody, kelvin, above 0.
    Blackbody(f32),
    /// A predefined spectrum.
    Named(String),
    /// Pairs of wavelength (nm, increasing) and value; at least one.
    Sampled(Vec<(f32, f32)>),
    /// A file of such pairs, relative to the main scene file. A string that contains a dot or a
    /// slash is a file, others are names.
    File(String),
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

/// The parameters of one entity: its own, then defaults set by `Attribute`. Own parameters override
/// defaults.
///
/// Accessors return `None` if the parameter is absent.
///
/// *Errors* of all accessors: the parameter has another type or the wrong number of values.
#[derive(Clone, Debug, Default)]
pub struct ParamSet {
    params: Vec<Arc<Param>>,
    /// Number of own parameters; the rest are defaults.
    own: usize,
}

type ParamResult<T> = Result<Option<T>, SceneError>;

impl ParamSet {
    /// The entity's own parameters, in file order.
    pub fn new(params: Vec<Arc<Param>>) -> ParamSet {
        ParamSet { own: params.len(), params }
    }

    /// All parameters, own parameters first.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Param>> {
        self.params.iter()
    }

    /// Adds defaults for parameters that the entity lacks. The last default of a name wins.
    pub fn add_defaults(&mut self, defaults: &[Arc<Param>]) {
        for default in defaults.iter().rev() {
            if self.find(&default.name).is_none() {
                self.params.push(default.clone());
            }
        }
    }

    /// Own parameters that repeat an earlier name.
    pub fn duplicates(&self) -> impl Iterator<Item = &Param> {
        let mut seen = HashSet::new();
        self.params[..self.own].iter().filter(move |p| !seen.insert(p.name.as_str())).map(|p| &**p)
    }

    /// Own parameters that no accessor has read.
    pub fn unused(&self) -> impl Iterator<Item = &Param> {
        self.params[..self.own].iter().filter(|p| !p.used.load(Ordering::Relaxed)).map(|p| &**p)
    }

    /// Marks all parameters as used, for entities that are ignored entirely.
    pub fn mark_all_used(&self) {
        self.params.iter().for_each(|p| p.used.store(true, Ordering::Relaxed));
    }

    /// Finds a parameter by name without marking it as used. The last one of a name wins.
    pub fn find(&self, name: &str) -> Option<&Param> {
        let own = self.params[..self.own].iter().rfind(|p| p.name == name);
        own.or_else(|| self.params[self.own..].iter().find(|p| p.name == name)).map(|p| &**p)
    }

    /// Finds a parameter of any type by name and marks it as used.
    pub fn any(&self, name: &str) -> Option<&Param> {
        self.params
            .iter()
            .filter(|p| p.name == name)
            .for_each(|p| p.used.store(true, Ordering::Relaxed));
        self.find(name)
    }

    /// The declared type of a parameter.
    pub fn kind(&self, name: &str) -> Option<ParamType> {
        self.find(name).map(|p| p.kind)
    }

    fn get(&self, name: &str, kinds: &[ParamType]) -> ParamResult<&Param> {
        let Some(found) = self.find(name) else { return Ok(None) };
        self.params
            .iter()
            .filter(|p| p.name == name)
            .for_each(|p| p.used.store(true, Ordering::Relaxed));
        if kinds.contains(&found.kind) {
            return Ok(Some(found));
        }
        let wanted: Vec<String> = kinds.iter().map(|kind| format!("\"{kind} {name}\"")).collect();
        Err(found
            .error("has another type than expected")
            .help(format!("write {}", wanted.join(" or "))))
    }

    fn slice<T: bytemuck::AnyBitPattern>(&self, name: &str, kind: ParamType) -> ParamResult<&[T]> {
        let Some(found) = self.get(name, &[kind])? else { return Ok(None) };
        Ok(Some(bytemuck::cast_slice(found.numbers()?)))
    }

    fn single<T: bytemuck::AnyBitPattern>(&self, name: &str, kind: ParamType) -> ParamResult<T> {
        let Some(found) = self.get(name, &[kind])? else { return Ok(None) };
        found.single(bytemuck::cast_slice::<f32, T>(found.numbers()?)).copied().map(Some)
    }

    /// One `float`.
    pub fn float(&self, name: &str) -> ParamResult<f32> {
        self.single(name, ParamType::Float)
    }

    /// A list of `float`s, not empty.
    pub fn floats(&self, name: &str) -> ParamResult<&[f32]> {
        self.slice(name, ParamType::Float)
    }

    /// A list of `point2`s, not empty.
    pub fn point2s(&self, name: &str) -> ParamResult<&[Vec2]> {
        self.slice(name, ParamType::Point2)
    }

    /// One `point3`.
    pub fn point3(&self, name: &str) -> ParamResult<Vec3> {
        self.single(name, ParamType::Point3)
    }

    /// A list of `point3`s, not empty.
    pub fn point3s(&self, name: &str) -> ParamResult<&[Vec3]> {
        self.slice(name, ParamType::Point3)
    }

    /// One `vector3`.
    pub fn vector3(&self, name: &str) -> ParamResult<Vec3> {
        self.single(name, ParamType::Vector3)
    }

    /// A list of `normal`s, not empty.
    pub fn normals(&self, name: &str) -> ParamResult<&[Vec3]> {
        self.slice(name, ParamType::Normal)
    }

    /// A list of `integer`s, not empty.
    pub fn ints(&self, name: &str) -> ParamResult<&[i32]> {
        let Some(found) = self.get(name, &[ParamType::Integer])? else { return Ok(None) };
        match &found.values {
            Values::Integers(values) if !values.is_empty() => Ok(Some(values)),
            _ => Err(found.error("has no values").help("give it values, or remove it")),
        }
    }

    /// One `integer`.
    pub fn int(&self, name: &str) -> ParamResult<i32> {
        let Some(found) = self.get(name, &[ParamType::Integer])? else { return Ok(None) };
        let Values::Integers(values) = &found.values else {
            return Err(found.error("holds no integers"));
        };
        found.single(values).copied().map(Some)
    }

    /// One `bool`.
    pub fn bool(&self, name: &str) -> ParamResult<bool> {
        let Some(found) = self.get(name, &[ParamType::Bool])? else { return Ok(None) };
        let Values::Bools(values) = &found.values else {
            return Err(found.error("holds no bools"));
        };
        found.single(values).copied().map(Some)
    }

    /// One `string`.
    pub fn string(&self, name: &str) -> ParamResult<&str> {
        let Some(found) = self.get(name, &[ParamType::String])? else { return Ok(None) };
        found.single(found.strings()?).map(|s| Some(s.as_str()))
    }

    /// A list of `string`s, not empty.
    pub fn strings(&self, name: &str) -> ParamResult<&[String]> {
        let Some(found) = self.get(name, &[ParamType::String])? else { return Ok(None) };
        found.strings().map(Some)
    }

    /// The name of a `texture`.
    pub fn texture(&self, name: &str) -> ParamResult<&str> {
        let Some(found) = self.get(name, &[ParamType::Texture])? else { return Ok(None) };
        found.single(found.strings()?).map(|s| Some(s.as_str()))
    }

    /// An `rgb`, `blackbody` or `spectrum`.
    pub fn spectrum(&self, name: &str) -> ParamResult<SpectrumParam> {
        let kinds = [ParamType::Rgb, ParamType::Spectrum, ParamType::Blackbody];
        self.get(name, &kinds)?.map(Param::spectrum).transpose()
    }

    /// A `float` or a `texture`.
    pub fn float_or_texture(&self, name: &str) -> ParamResult<FloatOrTexture<'_>> {
        if self.kind(name) == Some(ParamType::Texture) {
            return Ok(self.texture(name)?.map(FloatOrTexture::Texture));
        }
        let Some(found) = self.get(name, &[ParamType::Float, ParamType::Texture])? else {
            return Ok(None);
        };
        Ok(Some(FloatOrTexture::Float(*found.single(found.numbers()?)?)))
    }

    /// An `rgb`, `spectrum` or `blackbody`, or a `texture`.
    pub fn spectrum_or_texture(&self, name: &str) -> ParamResult<SpectrumOrTexture<'_>> {
        if self.kind(name) == Some(ParamType::Texture) {
            return Ok(self.texture(name)?.map(SpectrumOrTexture::Texture));
        }
        let kinds = [ParamType::Rgb, ParamType::Spectrum, ParamType::Texture, ParamType::Blackbody];
        let Some(found) = self.get(name, &kinds)? else { return Ok(None) };
        Ok(Some(SpectrumOrTexture::Spectrum(found.spectrum()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::{Diagnostics, Source};
    use crate::file::parse::{Directive, Parser};

    /// The parameters of one shape.
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
    fn spectra_are_parsed_by_kind() {
        let p = params(
            r#""rgb a" [1 2 3] "blackbody b" 5000 "spectrum c" "metal-Au-eta" "spectrum d" "spds/x.spd" "spectrum e" [400 1 700 2]
            "texture f" "t" "float g" 2"#,
        );
        assert_eq!(p.spectrum("a").unwrap(), Some(SpectrumParam::Rgb([1.0, 2.0, 3.0])));
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
        let cases: [(&str, Accessor, &str); 13] = [
            (r#""string a" "x""#, |p| p.float("a").err(), "another type"),
            (r#""float a" 1"#, |p| p.int("a").err(), "another type"),
            (r#""rgb a" [1 1 1]"#, |p| p.float_or_texture("a").err(), "another type"),
            (r#""float a" 1"#, |p| p.spectrum_or_texture("a").err(), "another type"),
            (r#""float a" [1 2]"#, |p| p.float("a").err(), "takes one value, but has 2"),
            (r#""integer a" []"#, |p| p.int("a").err(), "takes one value, but has 0"),
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
            assert_eq!(error.location().unwrap().column, 16);
        }
    }

    #[test]
    fn own_parameters_override_defaults_and_unused_ones_are_listed() {
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
