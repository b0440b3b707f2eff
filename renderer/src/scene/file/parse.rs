//! Directives: one [`Statement`] after the other, as they stand in the text.
//!
//! The parser knows the grammar only: which directive takes numbers, names or parameters. Numbers
//! may stand bare or in brackets everywhere. One departure from pbrt-v4: a statement ends with its
//! file, it does not go on behind an `Include`.

pub use super::statement::{
    ActiveTransform, DIRECTIVES, Directive, Entity, Name, Setting, Statement,
};

use super::legacy::{self, Place};
use super::lexer::{Lexer, Mark, Token};
use super::params::{Param, ParamSet, ParamType, Values};
use super::shorten;
use crate::scene::diagnostics::{Diagnostics, Location, SceneError, Source, did_you_mean};
use std::str::FromStr;
use std::sync::Arc;

/// A number as the format writes it: no words such as `inf` or `nan`, and within range.
trait Number: FromStr {
    const EXPECTED: &str;
    fn in_range(&self) -> bool;
}

impl Number for f32 {
    const EXPECTED: &str = "a number";
    fn in_range(&self) -> bool {
        self.is_finite()
    }
}

impl Number for f64 {
    const EXPECTED: &str = "a number";
    fn in_range(&self) -> bool {
        self.is_finite()
    }
}

impl Number for i32 {
    const EXPECTED: &str = "an integer";
    fn in_range(&self) -> bool {
        true
    }
}

/// Whether a word starts like a number.
fn numeric(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").or(word.strip_prefix(b"+")).unwrap_or(word);
    digits.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.')
}

/// Reads one text, statement by statement.
#[derive(Debug)]
pub struct Parser<'a> {
    lexer: Lexer<'a>,
}

impl<'a> Parser<'a> {
    /// Starts at the beginning of `text`, the content of `source`.
    ///
    /// *Errors*: the text is UTF-16.
    pub fn new(text: &'a [u8], source: Arc<Source>) -> Result<Parser<'a>, SceneError> {
        Ok(Parser { lexer: Lexer::new(text, source)? })
    }

    /// The place reached.
    pub fn location(&mut self) -> Location {
        let mark = self.lexer.mark();
        self.lexer.location(mark)
    }

    /// The next statement; `None` at the end of the text. Old words that mean the same as their
    /// successors are warned of.
    ///
    /// *Errors*: the text does not follow the format, or holds words of pbrt-v3.
    pub fn next(&mut self, diagnostics: &mut Diagnostics) -> Result<Option<Statement>, SceneError> {
        let Some((token, mark)) = self.lexer.token()? else { return Ok(None) };
        let location = self.lexer.location(mark);
        let Token::Word(bytes) = token else {
            let error =
                self.lexer.error(mark, format!("expected a directive, found {}", token.show()));
            return Err(error
                .help("the statement before may have ended early: check its quotes and brackets"));
        };
        let word = DIRECTIVES
            .iter()
            .find(|d| d.as_bytes() == bytes)
            .ok_or_else(|| self.unknown_directive(bytes, mark))?;
        let directive = self.directive(word, &location, diagnostics)?;
        Ok(Some(Statement { word, directive, location }))
    }

    fn unknown_directive(&self, bytes: &[u8], mark: Mark) -> SceneError {
        let word = String::from_utf8_lossy(bytes);
        if let Some(advice) = legacy::directive(&word) {
            return self
                .lexer
                .error(mark, format!("{word} is a word of older formats, not of pbrt-v4"))
                .help(advice);
        }
        let error = self.lexer.error(mark, format!("unknown directive \"{}\"", shorten(&word)));
        match numeric(bytes) {
            true => error.help("several values stand in brackets: [ … ]"),
            false => error.help(did_you_mean(
                &word,
                DIRECTIVES,
                "is this a scene in pbrt-v4's format? Its directives: https://pbrt.org/fileformat-v4",
            )),
        }
    }

    fn directive(
        &mut self,
        word: &str,
        at: &Location,
        diagnostics: &mut Diagnostics,
    ) -> Result<Directive, SceneError> {
        let (setting, place) = match word {
            "Camera" => (Setting::Camera, Place::Camera),
            "Film" => (Setting::Film, Place::Film),
            "PixelFilter" => (Setting::PixelFilter, Place::PixelFilter),
            "Sampler" => (Setting::Sampler, Place::Sampler),
            "Integrator" => (Setting::Integrator, Place::Integrator),
            "Accelerator" => (Setting::Accelerator, Place::Accelerator),
            _ => return self.other_directive(word, at, diagnostics),
        };
        Ok(Directive::Setting(setting, self.entity(word, place, diagnostics)?))
    }

    fn other_directive(
        &mut self,
        word: &str,
        at: &Location,
        diagnostics: &mut Diagnostics,
    ) -> Result<Directive, SceneError> {
        Ok(match word {
            "Include" => Directive::Include(self.name("Include takes a quoted file name")?),
            "Import" => Directive::Import(self.name("Import takes a quoted file name")?),
            "Option" => self.option()?,
            "ColorSpace" => Directive::ColorSpace(self.name("ColorSpace takes a quoted name")?),
            "WorldBegin" => Directive::WorldBegin,
            "AttributeBegin" => Directive::AttributeBegin,
            "AttributeEnd" => Directive::AttributeEnd,
            "TransformBegin" | "TransformEnd" => {
                let message = "TransformBegin and TransformEnd are deprecated";
                diagnostics.warn(
                    Some(at),
                    message,
                    "AttributeBegin and AttributeEnd, which pbrt-v4 means by them",
                )?;
                if word == "TransformBegin" {
                    Directive::AttributeBegin
                } else {
                    Directive::AttributeEnd
                }
            }
            "Attribute" => {
                let target = self.name("Attribute takes a quoted target, such as \"shape\"")?;
                let params = self.params(diagnostics)?;
                match target.text.as_str() {
                    "shape" => check_legacy_params(Place::Shape, &params)?,
                    "material" => check_legacy_params(Place::Material, &params)?,
                    "light" => check_legacy_params(Place::Light, &params)?,
                    "texture" => check_legacy_params(Place::Texture, &params)?,
                    _ => {}
                }
                Directive::Attribute { target, params }
            }
            "Identity" => Directive::Identity,
            "Translate" => Directive::Translate(self.numbers(word)?),
            "Scale" => Directive::Scale(self.numbers(word)?),
            "Rotate" => Directive::Rotate(self.numbers(word)?),
            "LookAt" => Directive::LookAt(self.numbers(word)?),
            "Transform" => Directive::Transform(self.numbers(word)?),
            "ConcatTransform" => Directive::ConcatTransform(self.numbers(word)?),
            "CoordinateSystem" => {
                Directive::CoordinateSystem(self.name("CoordinateSystem takes a quoted name")?)
            }
            "CoordSysTransform" => {
                Directive::CoordSysTransform(self.name("CoordSysTransform takes a quoted name")?)
            }
            "ActiveTransform" => Directive::ActiveTransform(self.active_transform()?),
            "TransformTimes" => Directive::TransformTimes(self.numbers(word)?),
            "ReverseOrientation" => Directive::ReverseOrientation,
            "ObjectBegin" => Directive::ObjectBegin(self.name("ObjectBegin takes a quoted name")?),
            "ObjectEnd" => Directive::ObjectEnd,
            "ObjectInstance" => {
                Directive::ObjectInstance(self.name("ObjectInstance takes a quoted name")?)
            }
            "MediumInterface" => {
                let inside = self.name("MediumInterface takes one or two quoted names")?;
                let second = self.lexer.peek() == Some(b'"');
                let outside = if second {
                    self.name("MediumInterface takes one or two quoted names")?
                } else {
                    inside.clone()
                };
                Directive::MediumInterface { inside, outside }
            }
            "MakeNamedMedium" => {
                let name = self.name("MakeNamedMedium takes a quoted name")?;
                let params = self.params(diagnostics)?;
                check_legacy_typed(Place::Medium, &params)?;
                Directive::MakeNamedMedium(name, params)
            }
            "Material" => Directive::Material(self.entity(word, Place::Material, diagnostics)?),
            "MakeNamedMaterial" => {
                let name = self.name("MakeNamedMaterial takes a quoted name")?;
                let params = self.params(diagnostics)?;
                check_legacy_typed(Place::Material, &params)?;
                Directive::MakeNamedMaterial(name, params)
            }
            "NamedMaterial" => {
                Directive::NamedMaterial(self.name("NamedMaterial takes a quoted name")?)
            }
            "Texture" => {
                let name = self.name(
                    "Texture takes a quoted name, \"float\" or \"spectrum\", and a quoted kind",
                )?;
                let is_float = self.texture_type()?;
                Directive::Texture {
                    name,
                    is_float,
                    entity: self.entity(word, Place::Texture, diagnostics)?,
                }
            }
            "LightSource" => {
                Directive::LightSource(self.entity(word, Place::Light, diagnostics)?)
            }
            "AreaLightSource" => {
                Directive::AreaLightSource(self.entity(word, Place::AreaLight, diagnostics)?)
            }
            _ => {
                assert_eq!(word, "Shape", "every word of the table is handled");
                Directive::Shape(self.entity(word, Place::Shape, diagnostics)?)
            }
        })
    }

    /// The next token, which must be there.
    fn expect(&mut self, expected: &str) -> Result<(Token<'a>, Mark), SceneError> {
        match self.lexer.token()? {
            Some(found) => Ok(found),
            None => {
                let end = self.lexer.mark();
                let error = self.lexer.error(end, format!("the file ends too early: {expected}"));
                Err(error.help("is the file cut short?"))
            }
        }
    }

    fn name(&mut self, expected: &str) -> Result<Name, SceneError> {
        match self.expect(expected)? {
            (Token::Text(text), mark) => {
                Ok(Name { text: text.into_owned(), location: self.lexer.location(mark) })
            }
            (token, mark) => {
                let error = self.lexer.error(mark, format!("{expected}; found {}", token.show()));
                Err(error.help("put the name in quotes"))
            }
        }
    }

    fn entity(
        &mut self,
        word: &str,
        place: Place,
        diagnostics: &mut Diagnostics,
    ) -> Result<Entity, SceneError> {
        let name = self.name(&format!("{word} takes a quoted kind"))?;
        let params = self.params(diagnostics)?;
        check_legacy(place, &name.text, &name.location, &params)?;
        Ok(Entity { name: name.text, params, location: name.location })
    }

    fn texture_type(&mut self) -> Result<bool, SceneError> {
        let kind = self.name("a texture is of type \"float\" or \"spectrum\"")?;
        match kind.text.as_str() {
            "float" => Ok(true),
            "spectrum" => Ok(false),
            "color" => {
                let error =
                    SceneError::at(&kind.location, "texture type \"color\" is a word of pbrt-v3");
                Err(error.help("write \"spectrum\""))
            }
            other => {
                let error = SceneError::at(
                    &kind.location,
                    format!("unknown texture type \"{}\"", shorten(other)),
                );
                Err(error.help("write \"float\" or \"spectrum\""))
            }
        }
    }

    fn active_transform(&mut self) -> Result<ActiveTransform, SceneError> {
        let expected = "ActiveTransform takes StartTime, EndTime or All";
        match self.expect(expected)? {
            (Token::Word(b"All"), _) => Ok(ActiveTransform::All),
            (Token::Word(b"StartTime"), _) => Ok(ActiveTransform::StartTime),
            (Token::Word(b"EndTime"), _) => Ok(ActiveTransform::EndTime),
            (token, mark) => {
                let error = self.lexer.error(mark, format!("{expected}; found {}", token.show()));
                Err(error.help("write one of the three words, without quotes"))
            }
        }
    }

    /// `Option "name" value`; the name may carry a type as parameters do, which is dropped.
    fn option(&mut self) -> Result<Directive, SceneError> {
        let mut name = self.name("Option takes a quoted name and a value")?;
        if let Some((kind, rest)) = name.text.split_once(' ')
            && ParamType::from_word(kind).is_some()
        {
            name.text = rest.trim().to_string();
        }
        let word = |parser: &Self, token: Token, mark| match token {
            Token::Text(text) => Ok(text.into_owned()),
            Token::Word(word) => Ok(String::from_utf8_lossy(word).into_owned()),
            token => {
                let error = parser
                    .lexer
                    .error(mark, format!("Option takes a value; found {}", token.show()));
                Err(error.help("write a number, a word or a quoted string"))
            }
        };
        let values = self
            .values("Option takes one value", |parser, token, mark, _| word(parser, token, mark))?;
        match <[String; 1]>::try_from(values) {
            Ok([value]) => Ok(Directive::Option { name, value }),
            Err(values) => {
                let error = SceneError::at(
                    &name.location,
                    format!("Option takes one value, but has {}", values.len()),
                );
                Err(error.help("give one value"))
            }
        }
    }

    /// Exactly `N` numbers, bare or in brackets.
    fn numbers<const N: usize>(&mut self, word: &str) -> Result<[f64; N], SceneError> {
        let expected = format!("{word} takes {N} numbers");
        let bracketed = self.lexer.peek() == Some(b'[');
        if bracketed {
            self.expect(&expected)?;
        }
        let mut numbers = [0.0; N];
        for (i, slot) in numbers.iter_mut().enumerate() {
            let (token, mark) = self.expect(&expected)?;
            match token {
                Token::Word(bytes) if numeric(bytes) => *slot = self.number(&token, mark, None)?,
                token => {
                    let error = self
                        .lexer
                        .error(mark, format!("{expected}, found {i} before {}", token.show()));
                    return Err(error.help("numbers are written as 1, -2.5 or 3e-4"));
                }
            }
        }
        if bracketed {
            let (token, mark) = self.expect(&expected)?;
            if token != Token::Close {
                let error =
                    self.lexer.error(mark, format!("{expected}, found more: {}", token.show()));
                return Err(error.help("close the list with \"]\""));
            }
        }
        Ok(numbers)
    }

    /// One value, or many in brackets.
    fn values<T>(
        &mut self,
        expected: &str,
        mut read: impl FnMut(&Self, Token<'a>, Mark, Option<Mark>) -> Result<T, SceneError>,
    ) -> Result<Vec<T>, SceneError> {
        let (token, open) = self.expect(expected)?;
        if token != Token::Open {
            return Ok(vec![read(self, token, open, None)?]);
        }
        let mut values = Vec::new();
        loop {
            match self.lexer.token()? {
                Some((Token::Close, _)) => break,
                Some((token, mark)) => values.push(read(self, token, mark, Some(open))?),
                None => {
                    let error =
                        self.lexer.error(open, format!("this bracket is never closed: {expected}"));
                    return Err(error.help("add the missing \"]\", if the file is not cut short"));
                }
            }
        }
        values.shrink_to_fit();
        Ok(values)
    }

    fn number<T: Number>(
        &self,
        token: &Token,
        mark: Mark,
        open: Option<Mark>,
    ) -> Result<T, SceneError> {
        if let Token::Word(bytes) = token
            && numeric(bytes)
            && let Some(number) =
                std::str::from_utf8(bytes).ok().and_then(|word| word.parse::<T>().ok())
            && number.in_range()
        {
            return Ok(number);
        }
        Err(self.misfit(T::EXPECTED, token, mark, open))
    }

    /// The error for a value of the wrong sort, with the likeliest reason.
    #[cold]
    fn misfit(&self, expected: &str, token: &Token, mark: Mark, open: Option<Mark>) -> SceneError {
        let error = self.lexer.error(mark, format!("expected {expected}, found {}", token.show()));
        let word = if let Token::Word(word) = token { *word } else { b"" };
        let parses = std::str::from_utf8(word).is_ok_and(|word| word.parse::<f64>().is_ok());
        error.help(match open {
            _ if word.eq_ignore_ascii_case(b"nan") || word.eq_ignore_ascii_case(b"inf") => {
                "numbers must be finite".to_string()
            }
            _ if expected == i32::EXPECTED && parses => {
                "integers have no decimal point and lie between -2147483648 and 2147483647".into()
            }
            _ if parses && expected == f32::EXPECTED => "the number is too large".into(),
            Some(open) if !numeric(word) => {
                format!(
                    "is \"]\" missing for the \"[\" of line {}?",
                    self.lexer.location(open).line
                )
            }
            _ => format!("write {expected}"),
        })
    }

    fn text(&self, token: Token, mark: Mark, open: Option<Mark>) -> Result<String, SceneError> {
        match token {
            Token::Text(text) => Ok(text.into_owned()),
            token => Err(self.misfit("a quoted string", &token, mark, open)),
        }
    }

    fn bool(&self, token: Token, mark: Mark, open: Option<Mark>) -> Result<bool, SceneError> {
        match &token {
            Token::Word(b"true") => Ok(true),
            Token::Word(b"false") => Ok(false),
            Token::Text(text) if text == "true" => Ok(true),
            Token::Text(text) if text == "false" => Ok(false),
            token => Err(self.misfit("true or false", token, mark, open)),
        }
    }

    /// All parameters up to the next directive.
    fn params(&mut self, diagnostics: &mut Diagnostics) -> Result<ParamSet, SceneError> {
        let mut params = Vec::new();
        while self.lexer.peek() == Some(b'"') {
            let declaration = self.name("a parameter is declared as \"type name\"")?;
            let Name { text, location } = &declaration;
            let words: Vec<&str> = text.split_ascii_whitespace().collect();
            let &[kind, name] = words.as_slice() else {
                let message = format!(
                    "expected a parameter declared as \"type name\", found \"{}\"",
                    shorten(text)
                );
                return Err(SceneError::at(location, message)
                    .help("such as \"float radius\" or \"string filename\""));
            };
            let kind = param_type(kind, location, diagnostics)?;
            let values = self.param_values(kind, text)?;
            params.push(Arc::new(Param::new(name.to_string(), kind, values, location.clone())));
        }
        Ok(ParamSet::new(params))
    }

    fn param_values(&mut self, kind: ParamType, declaration: &str) -> Result<Values, SceneError> {
        let expected = format!("\"{}\" takes values", shorten(declaration));
        let strings = match kind {
            ParamType::String | ParamType::Texture => true,
            ParamType::Spectrum => self.string_follows(&expected)?,
            _ => false,
        };
        Ok(match kind {
            _ if strings => Values::Strings(self.values(&expected, Self::text)?),
            ParamType::Bool => Values::Bools(self.values(&expected, Self::bool)?),
            ParamType::Integer => Values::Integers(
                self.values(&expected, |p, token, mark, open| p.number(&token, mark, open))?,
            ),
            _ => Values::Numbers(
                self.values(&expected, |p, token, mark, open| p.number(&token, mark, open))?,
            ),
        })
    }

    /// Whether the next value is a string.
    fn string_follows(&mut self, expected: &str) -> Result<bool, SceneError> {
        let mark = self.lexer.mark();
        if self.lexer.peek() == Some(b'[') {
            self.expect(expected)?;
        }
        let follows = self.lexer.peek() == Some(b'"');
        self.lexer.rewind(mark);
        Ok(follows)
    }
}

fn param_type(
    word: &str,
    at: &Location,
    diagnostics: &mut Diagnostics,
) -> Result<ParamType, SceneError> {
    if let Some(kind) = ParamType::from_word(word) {
        return Ok(kind);
    }
    match legacy::param_type(word) {
        Some((new, true)) => {
            let message = format!("parameter type \"{word}\" is a word of pbrt-v3");
            diagnostics.warn(Some(at), message, format!("\"{new}\", its word in pbrt-v4"))?;
            Ok(ParamType::from_word(new).expect("successors are types"))
        }
        Some((new, false)) => {
            let error =
                SceneError::at(at, format!("parameter type \"{word}\" is a word of pbrt-v3"));
            Err(error.help(format!("write \"{new}\", with linear RGB values")))
        }
        None => {
            let words = ParamType::WORDS.map(|(word, _)| word);
            let error = SceneError::at(at, format!("unknown parameter type \"{}\"", shorten(word)));
            Err(error.help(did_you_mean(word, words, &format!("types are {}", words.join(", ")))))
        }
    }
}

/// Refuses words of pbrt-v3 by the name of their successors.
fn check_legacy(
    place: Place,
    name: &str,
    at: &Location,
    params: &ParamSet,
) -> Result<(), SceneError> {
    if let Some(advice) = legacy::entity(place, name) {
        return Err(SceneError::at(
            at,
            format!("\"{name}\" is a word of older formats, not of pbrt-v4"),
        )
        .help(advice));
    }
    if (place, name) == (Place::Material, "shader") {
        return Ok(()); // its parameters have whatever names the shader gives them
    }
    check_legacy_params(place, params)
}

fn check_legacy_params(place: Place, params: &ParamSet) -> Result<(), SceneError> {
    for param in params.iter() {
        if let Some(advice) = legacy::param(place, &param.name) {
            let message = format!("parameter \"{}\" is a word of pbrt-v3", param.name);
            return Err(SceneError::at(&param.location, message).help(advice));
        }
    }
    Ok(())
}

/// [`check_legacy`] for entities whose kind is a parameter `string type`.
fn check_legacy_typed(place: Place, params: &ParamSet) -> Result<(), SceneError> {
    if let Some(kind) = params.find("type")
        && let Values::Strings(names) = &kind.values
        && let [name] = names.as_slice()
    {
        check_legacy(place, name, &kind.location, params)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, diagnostics: &mut Diagnostics) -> Result<Vec<Statement>, SceneError> {
        let mut parser = Parser::new(text.as_bytes(), Source::memory("p.pbrt", text))?;
        let mut statements = Vec::new();
        while let Some(statement) = parser.next(diagnostics)? {
            statements.push(statement);
        }
        Ok(statements)
    }

    /// The error of `text`, which must have a remedy and a place.
    fn fails(text: &str) -> (String, String) {
        let error = parse(text, &mut Diagnostics::new(false))
            .err()
            .unwrap_or_else(|| panic!("{text} passed"));
        assert!(error.location().is_some(), "{text}");
        (
            error.message().to_string(),
            error.remedy().unwrap_or_else(|| panic!("{text}: no remedy for {error}")).to_string(),
        )
    }

    /// One well-formed statement of every directive.
    const EVERY: [(&str, &str); 38] = [
        ("Accelerator", r#"Accelerator "bvh""#),
        ("ActiveTransform", "ActiveTransform EndTime"),
        ("AreaLightSource", r#"AreaLightSource "diffuse" "rgb L" [1 1 1]"#),
        ("Attribute", r#"Attribute "shape" "float radius" 2"#),
        ("AttributeBegin", "AttributeBegin"),
        ("AttributeEnd", "AttributeEnd"),
        ("Camera", r#"Camera "perspective" "float fov" [ 30 ]"#),
        ("ColorSpace", r#"ColorSpace "srgb""#),
        ("ConcatTransform", "ConcatTransform [1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1]"),
        ("CoordSysTransform", r#"CoordSysTransform "camera""#),
        ("CoordinateSystem", r#"CoordinateSystem "here""#),
        ("Film", r#"Film "rgb" "integer xresolution" 40"#),
        ("Identity", "Identity"),
        ("Import", r#"Import "a.pbrt""#),
        ("Include", r#"Include "a.pbrt""#),
        ("Integrator", r#"Integrator "path""#),
        ("LightSource", r#"LightSource "point""#),
        ("LookAt", "LookAt 0 0 0  0 0 1  0 1 0"),
        ("MakeNamedMaterial", r#"MakeNamedMaterial "m" "string type" "diffuse""#),
        ("MakeNamedMedium", r#"MakeNamedMedium "fog" "string type" "homogeneous""#),
        ("Material", r#"Material "diffuse""#),
        ("MediumInterface", r#"MediumInterface "fog" """#),
        ("NamedMaterial", r#"NamedMaterial "m""#),
        ("ObjectBegin", r#"ObjectBegin "o""#),
        ("ObjectEnd", "ObjectEnd"),
        ("ObjectInstance", r#"ObjectInstance "o""#),
        ("Option", r#"Option "seed" 7"#),
        ("PixelFilter", r#"PixelFilter "gaussian""#),
        ("ReverseOrientation", "ReverseOrientation"),
        ("Rotate", "Rotate 90 0 0 1"),
        ("Sampler", r#"Sampler "zsobol""#),
        ("Scale", "Scale 1 2 3"),
        ("Shape", r#"Shape "sphere""#),
        ("Texture", r#"Texture "t" "spectrum" "constant""#),
        ("Transform", "Transform [1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1]"),
        ("TransformTimes", "TransformTimes 0 1"),
        ("Translate", "Translate 1 -2 3e-1"),
        ("WorldBegin", "WorldBegin"),
    ];

    #[test]
    fn every_directive_parses() {
        for (word, text) in EVERY {
            let statements =
                parse(text, &mut Diagnostics::new(true)).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(statements.iter().map(|s| s.word).collect::<Vec<_>>(), [word]);
        }
        let all: Vec<&str> = EVERY.iter().map(|(_, text)| *text).collect();
        assert_eq!(parse(&all.join("\n"), &mut Diagnostics::new(true)).unwrap().len(), EVERY.len());
        assert_eq!(EVERY.len() + 2, DIRECTIVES.len()); // TransformBegin and TransformEnd warn
    }

    #[test]
    fn every_directive_that_takes_something_fails_without_it() {
        for (word, text) in EVERY.iter().filter(|(word, text)| word != text) {
            let (message, _) = fails(word);
            assert!(message.contains("ends too early"), "{word}: {message}");
            for (rest, parts) in [("]", "\"]\""), ("\"x", "does not end"), ("nan", "nan")] {
                let (message, _) = fails(&format!("{word} {rest}"));
                assert!(message.contains(parts), "{word} {rest}: {message}");
            }
            // Cut anywhere, it fails or is a shorter statement; it never panics.
            for end in word.len()..text.len() {
                let _ = parse(&text[..end], &mut Diagnostics::new(false));
            }
        }
    }

    #[test]
    fn deprecated_words_warn_and_name_the_new_ones() {
        let mut diagnostics = Diagnostics::new(false);
        let text = "TransformBegin Shape \"disk\" \"point a\" [1 2 3] \"vector b\" [1 2 3] \"normal3 c\" [0 0 1] TransformEnd";
        let words = parse(text, &mut diagnostics).unwrap();
        assert!(matches!(words[0].directive, Directive::AttributeBegin));
        assert!(matches!(words[2].directive, Directive::AttributeEnd));
        let said: Vec<String> = diagnostics.warnings().iter().map(|w| w.to_string()).collect();
        for (warning, part) in said.iter().zip(["AttributeBegin", "point3", "vector3", "normal"]) {
            assert!(warning.contains(part), "{warning}");
        }
        assert_eq!(said.len(), 4);
    }

    #[test]
    fn old_words_name_their_successors() {
        for (text, part) in [
            ("WorldEnd", "remove WorldEnd"),
            (r#"Material "matte" "rgb Kd" [1 1 1]"#, "diffuse"),
            (r#"Material "metal""#, "conductor"),
            (r#"Material "mirror""#, "conductor"),
            (r#"Material "glass""#, "dielectric"),
            (r#"Material "plastic""#, "coateddiffuse"),
            (r#"Material "uber""#, "coateddiffuse"),
            (r#"Material "substrate""#, "coateddiffuse"),
            (r#"Material "translucent""#, "diffusetransmission"),
            (r#"MakeNamedMaterial "a" "string type" "matte""#, "diffuse"),
            (r#"Material "diffuse" "texture Kd" "t""#, "reflectance"),
            (r#"MakeNamedMaterial "a" "string type" "diffuse" "rgb Kd" [1 1 1]"#, "reflectance"),
            (r#"Attribute "material" "texture bumpmap" "t""#, "displacement"),
            (r#"Film "image""#, "rgb"),
            (r#"Film "rgb" "float scale" 2"#, "iso"),
            (r#"Sampler "02sequence""#, "paddedsobol"),
            (r#"Sampler "random""#, "independent"),
            (r#"PixelFilter "box" "float xwidth" 1"#, "xradius"),
            (r#"Integrator "directlighting""#, "path"),
            (r#"Camera "environment""#, "spherical"),
            (r#"LightSource "infinite" "string mapname" "a.exr""#, "filename"),
            (r#"AreaLightSource "area""#, "diffuse"),
            (r#"Shape "heightfield""#, "trianglemesh"),
            (r#"Texture "t" "color" "constant""#, "spectrum"),
            (r#"Texture "t" "spectrum" "imagemap" "bool trilinear" true"#, "filter"),
            (r#"Material "diffuse" "color reflectance" [1 1 1]"#, "rgb"),
            (r#"Material "diffuse" "xyz reflectance" [1 1 1]"#, "rgb"),
            (r#"MakeNamedMedium "m" "string type" "heterogeneous""#, "uniformgrid"),
        ] {
            let (message, remedy) = fails(text);
            assert!(
                remedy.contains(part) && message.contains("word of"),
                "{text}: {message}; {remedy}"
            );
        }
        // A shader's parameters are its own.
        parse(
            r#"Material "shader" "string filename" "a.wgsl" "rgb Kd" [1 1 1]"#,
            &mut Diagnostics::new(true),
        )
        .unwrap();
    }

    #[test]
    fn malformed_input_names_the_remedy() {
        for (text, message_part, remedy_part) in [
            ("Shpe \"sphere\"", "unknown directive", "Shape"),
            ("shape \"sphere\"", "unknown directive", "Shape"),
            ("Xyzzy", "unknown directive", "pbrt.org"),
            ("Camera \"a\" \"float fov\" 3 4", "unknown directive \"4\"", "brackets"),
            ("\"sphere\"", "expected a directive", "quotes"),
            ("Identity ]", "expected a directive", "brackets"),
            ("Shape sphere", "quoted", "quotes"),
            ("Shape \"sphere\" \"radius\" 1", "\"type name\"", "such as"),
            ("Shape \"sphere\" \"float radius extra\" 1", "\"type name\"", "such as"),
            ("Shape \"sphere\" \"flota radius\" 1", "unknown parameter type", "\"float\""),
            ("Shape \"sphere\" \"float radius\" \"1\"", "expected a number", "a number"),
            ("Shape \"sphere\" \"float radius\" nan", "expected a number", "finite"),
            ("Shape \"sphere\" \"float radius\" [inf]", "expected a number", "finite"),
            ("Shape \"sphere\" \"float radius\" 1e39", "1e39", "too large"),
            ("Shape \"sphere\" \"float radius\" 0x10", "expected a number", "a number"),
            ("Shape \"sphere\" \"integer n\" 2147483648", "an integer", "2147483647"),
            ("Shape \"sphere\" \"integer n\" 1.5", "an integer", "decimal point"),
            ("Shape \"sphere\" \"bool b\" 1", "true or false", "true or false"),
            ("Shape \"sphere\" \"string s\" 1", "quoted string", "quoted string"),
            ("Shape \"sphere\" \"spectrum s\" [400 \"x\"]", "expected a number", "missing"),
            ("Shape \"sphere\" \"point3 P\" [1 2 3\nShape \"disk\"", "found \"Shape\"", "line 1"),
            ("Shape \"sphere\" \"point3 P\" [1 2 3\n \"float r\" 2", "found the string", "missing"),
            ("Shape \"sphere\" \"point3 P\" [1 2 3", "never closed", "\"]\""),
            ("Shape \"sphere\" \"point3 P\" [1 [2] 3]", "expected a number", "missing"),
            ("Shape \"sphere\" \"point3 P\"", "ends too early", "cut short"),
            ("Translate 1 2 Identity", "takes 3 numbers, found 2", "written as"),
            ("Translate 1 2 1e999", "1e999", "too large"),
            ("Scale [1 2 3 4]", "found more", "]"),
            ("Transform [1 0 0]", "takes 16 numbers, found 3", "written as"),
            ("ActiveTransform \"All\"", "StartTime", "without quotes"),
            ("Texture \"t\" \"flot\" \"constant\"", "unknown texture type", "float"),
            ("Option \"seed\" [1 2]", "one value", "one"),
        ] {
            let (message, remedy) = fails(text);
            assert!(
                message.contains(message_part) && remedy.contains(remedy_part),
                "{text}: {message}; {remedy}"
            );
        }
    }

    #[test]
    fn values_stand_bare_or_in_brackets() {
        for text in [
            "Translate [1 2 3]",
            "Translate 1 2 3",
            "Translate[1 2 3]# a comment",
            "Translate 1#\n2 +3",
        ] {
            let statements = parse(text, &mut Diagnostics::new(true)).unwrap();
            assert!(
                matches!(statements[0].directive, Directive::Translate([1.0, 2.0, 3.0])),
                "{text}"
            );
        }
        let option =
            |text| match parse(text, &mut Diagnostics::new(true)).unwrap().remove(0).directive {
                Directive::Option { name, value } => (name.text, value),
                other => panic!("{other:?}"),
            };
        for text in ["Option \"seed\" 7", "Option \"integer seed\" [7]", "Option \"seed\" \"7\""] {
            assert_eq!(option(text), ("seed".to_string(), "7".to_string()));
        }
    }

    #[test]
    fn one_medium_is_on_both_sides() {
        let statements =
            parse("MediumInterface \"a\" Identity", &mut Diagnostics::new(true)).unwrap();
        let Directive::MediumInterface { inside, outside } = &statements[0].directive else {
            panic!()
        };
        assert_eq!((inside.text.as_str(), outside.text.as_str()), ("a", "a"));
    }

    #[test]
    fn places_are_those_of_the_offence() {
        let error = parse(
            "WorldBegin\n  Shape \"sphere\"\n    \"float radius\" [ 1 x ]",
            &mut Diagnostics::new(false),
        )
        .unwrap_err();
        assert_eq!(error.location().unwrap().to_string(), "p.pbrt:3:24");
    }
}
