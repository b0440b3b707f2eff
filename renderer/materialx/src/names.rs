//! Names in a program, which are unique.

use crate::functions::{identifiers, is_function};
use std::collections::{BTreeMap, BTreeSet};

/// Names that are taken.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    taken: BTreeSet<String>,
    /// Names in the function that is being written, and those in all functions.
    locals: BTreeSet<String>,
    all_locals: BTreeSet<String>,
    /// Members of the parameters.
    members: BTreeSet<String>,
    /// The last number after a name.
    numbers: BTreeMap<String, usize>,
}

/// Keywords, reserved words, and names of built-in functions and types that programs here use.
const RESERVED: &str = "alias break case const const_assert continue continuing default diagnostic \
    discard else enable false fn for if let loop override requires return struct switch true var \
    while NULL Self abstract active alignas alignof as asm asm_fragment async attribute auto await \
    become cast catch class co_await co_return co_yield coherent column_major common compile \
    compile_fragment concept const_cast consteval constexpr constinit crate debugger decltype \
    delete demote demote_to_helper do dynamic_cast enum explicit export extends extern external \
    fallthrough filter final finally friend from fxgroup get goto groupshared highp impl implements \
    import inline instanceof interface layout lowp macro macro_rules match mediump meta mod module \
    move mut mutable namespace new nil noexcept noinline nointerpolation non_coherent noncoherent \
    noperspective null nullptr of operator package packoffset partial pass patch pixelfragment \
    precise precision premerge priv protected pub public readonly ref regardless register \
    reinterpret_cast require resource restrict self set shared sizeof smooth snorm static \
    static_assert static_cast std subroutine super target template this thread_local throw trait \
    try type typedef typeid typename typeof union unless unorm unsafe unsized use using varying \
    virtual volatile wgsl where with writeonly yield \
    abs acos asin atan2 ceil clamp cos cross determinant distance dot exp exp2 floor fract length \
    log max min mix normalize pow radians reflect round saturate select sign sin smoothstep sqrt \
    tan transpose inverseSqrt textureSample bool f32 i32 u32 vec2f vec3f vec4f vec2i vec3i vec2 \
    vec3 vec4 mat3x3f mat4x4f sampler texture_2d p m d wi wo result SurfacePoint Material material normal \
    SceneValues filename";

/// Members of `SurfacePoint`, which are parameters of programs, too.
const SURFACE_POINT: [&str; 4] = ["position", "object_position", "normal", "uv"];

impl Names {
    /// Names that are reserved, and those that programs declare outside of functions.
    pub fn new<const N: usize>(programs: [&str; N]) -> Names {
        let lines = || programs.into_iter().flat_map(str::lines);
        let declared = lines().filter_map(declared_name);
        let taken = RESERVED.split_whitespace().chain(declared).map(str::to_owned).collect();
        let (locals, all_locals, members) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Names { taken, locals, all_locals, members, numbers: BTreeMap::new() }
    }

    /// Keeps the names of the members of a program's `Material` from parameters.
    pub fn reserve_members(&mut self, program: &str) {
        let lines = program.lines().skip_while(|line| !line.starts_with("struct Material"));
        let members = lines.take_while(|line| *line != "}").filter_map(member_name);
        self.members.extend(members.map(str::to_owned));
    }

    /// Takes a name in the function that is being written, which is like the given one.
    pub fn unique(&mut self, like: &str) -> String {
        let name = self.find(like, |Names { taken, locals, .. }, name| {
            !taken.contains(name) && !locals.contains(name)
        });
        self.locals.insert(name.clone());
        self.all_locals.insert(name.clone());
        name
    }

    /// Begins another function, which may have the names of the one before.
    pub fn next_function(&mut self) {
        self.locals.clear();
        self.numbers.clear();
    }

    /// Whether nothing outside of functions and in any of them has a name.
    fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(name) && !self.all_locals.contains(name)
    }

    /// Takes a name for a parameter, which is like the given one.
    pub fn parameter(&mut self, like: &str) -> String {
        let is_free = |names: &Names, name: &str| {
            !names.taken.contains(name)
                && !names.members.contains(name)
                && !SURFACE_POINT.contains(&name)
        };
        let name = self.find(like, is_free);
        self.taken.insert(name.clone());
        name
    }

    /// Takes a name that is like the given one, and the same name with a suffix.
    pub fn unique_with(&mut self, like: &str, suffix: &str) -> String {
        let name = self.find(like, |names, name| {
            names.is_free(name) && names.is_free(&format!("{name}{suffix}"))
        });
        self.taken.extend([name.clone(), format!("{name}{suffix}")]);
        name
    }

    fn find(&mut self, like: &str, is_free: impl Fn(&Names, &str) -> bool) -> String {
        let base = sanitized(like);
        let mut name = base.clone();
        while !is_free(self, &name) {
            let number = self.numbers.entry(base.clone()).or_insert(1);
            *number += 1;
            name = format!("{base}_{number}");
        }
        name
    }
}

/// The name of a function, a constant or a struct that a line declares.
fn declared_name(line: &str) -> Option<&str> {
    let declares = ["fn ", "const ", "struct "].iter().any(|word| line.starts_with(word));
    identifiers(line).nth(1).filter(|_| declares)
}

/// The name of a member that a line declares.
fn member_name(line: &str) -> Option<&str> {
    let is_member = line.starts_with("    ") && line.ends_with(',') && line.contains(": ");
    identifiers(line).next().filter(|_| is_member)
}

/// Makes an identifier of a name.
fn sanitized(name: &str) -> String {
    let mut result: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    // Two underscores at the beginning are reserved, and so is one alone.
    result = result.trim_start_matches('_').to_owned();
    let starts_well = result.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts_well || is_function(&result) {
        result = format!("node_{result}");
    }
    result.truncate(60);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_unique() {
        let mut names = Names::new(["fn square(x: f32) {}"]);
        let facets = "struct Facets {\n    alpha: f32,\n}\n";
        names.reserve_members(&format!("{facets}struct Material {{\n    roughness: f32,\n}}"));
        assert_eq!(names.parameter("alpha"), "alpha");
        assert_eq!(names.parameter("roughness"), "roughness_2");
        assert_eq!([names.parameter("uv"), names.parameter("position")], ["uv_2", "position_2"]);
        let mut unique = |name| names.unique(name);
        assert_eq!(unique("color_mix"), "color_mix");
        assert_eq!(unique("color_mix"), "color_mix_2");
        assert_eq!(unique("roughness"), "roughness");
        assert_eq!(unique("sin"), "sin_2");
        assert_eq!(unique("square"), "square_2");
        assert_eq!(unique("1st node"), "node_1st_node");
        assert_eq!(unique("mx_noise"), "node_mx_noise");
        assert_eq!(unique("__"), "node_");
        names.next_function();
        assert_eq!(names.unique("color_mix"), "color_mix");
        assert_eq!(names.unique_with("color_mix", "_sampler"), "color_mix_3");
    }
}
