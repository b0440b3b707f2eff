//! Textures: their declarations and settings, and the translation of WGSL's texture
//! functions.
//!
//! Images have one mip level, so gradients, biases and levels have no effect, as in WGSL. The
//! renderer sets filter and wrap mode per texture; sampler objects carry no state. Coordinates
//! follow the renderer's convention, with v up, and so do offsets and the corners of
//! `textureGather`. `textureLoad` counts texels from the top left, and clamps coordinates to the
//! image.

use super::translate::{Fault, Frame, Leaves, Operand, Translator};
use super::{Settings, Shader, ShaderError, diagnostics};
use crate::ir::{Emit, Op};
use crate::texture::{Access, Taps, TextureState, Wrap};
use naga::{
    Expression, GlobalVariable, Handle, ImageClass, ImageDimension, ImageQuery, Module, ScalarKind,
    TypeInner,
};

/// Range of texture offsets in each dimension, in texels.
const OFFSET_RANGE: std::ops::RangeInclusive<i32> = -8..=7;

/// Whether this is a supported type of image or sampler.
pub(super) fn is_supported(inner: &TypeInner) -> bool {
    let class = ImageClass::Sampled { kind: ScalarKind::Float, multi: false };
    match *inner {
        TypeInner::Image { dim, arrayed, class: found } => {
            dim == ImageDimension::D2 && !arrayed && found == class
        }
        TypeInner::Sampler { comparison } => !comparison,
        _ => false,
    }
}

/// The textures of a module in order of declaration, which is also the order of the tables.
pub(super) fn declared(module: &Module) -> Vec<Handle<GlobalVariable>> {
    let is_texture = |variable: &GlobalVariable| {
        let inner = &module.types[variable.ty].inner;
        matches!(inner, TypeInner::Image { .. }) && is_supported(inner)
    };
    let variables = module.global_variables.iter().filter(|(_, variable)| is_texture(variable));
    let mut textures: Vec<_> = variables.map(|(handle, _)| handle).collect();
    // naga orders declarations before their uses.
    textures.sort_by_key(|&handle| {
        module.global_variables.get_span(handle).to_range().map_or(0, |range| range.start)
    });
    textures
}

/// Names of the textures, in order of declaration.
pub(super) fn names(module: &Module) -> Vec<String> {
    let name = |handle: Handle<GlobalVariable>| {
        module.global_variables[handle].name.clone().unwrap_or_default()
    };
    declared(module).into_iter().map(name).collect()
}

/// Assigns bindings to textures and samplers. naga requires them; the compiler ignores them.
pub(super) fn bind(module: &mut Module) {
    let variables = module
        .global_variables
        .iter_mut()
        .filter(|(_, variable)| variable.space == naga::AddressSpace::Handle);
    for (binding, (_, variable)) in (0..).zip(variables) {
        variable.binding = Some(naga::ResourceBinding { group: 0, binding });
    }
}

/// Rejects settings for undeclared textures.
pub(super) fn check_settings(shader: &Shader, settings: &Settings) -> Result<(), ShaderError> {
    let names: Vec<_> = shader.textures().iter().map(String::as_str).collect();
    for (name, _) in &settings.textures {
        if !names.contains(&name.as_str()) {
            let error = shader.source.error(format!("the shader has no texture `{name}`"));
            return Err(match names[..] {
                [] => error.help("it has no textures"),
                _ => error.help(format!("there are {}", diagnostics::list(&names, "and"))),
            });
        }
    }
    Ok(())
}

impl<'m> Translator<'m> {
    /// The operand for a global variable that is a texture or sampler.
    pub(super) fn resource(&self, handle: Handle<GlobalVariable>) -> Option<Operand> {
        match self.module.types[self.module.global_variables[handle].ty].inner {
            TypeInner::Sampler { .. } => Some(Operand::Sampler),
            _ => self
                .textures
                .iter()
                .position(|&texture| texture == handle)
                .map(|index| Operand::Texture(index as u32)),
        }
    }

    /// Index of the texture that an expression refers to, and its settings.
    fn texture(
        &mut self,
        frame: &mut Frame<'m>,
        image: Handle<Expression>,
    ) -> Result<(u32, TextureState), Fault> {
        let Operand::Texture(index) = self.operand(frame, image)? else {
            return Err(self.fault(frame, image, "this is not a texture", None));
        };
        let name = self.module.global_variables[self.textures[index as usize]].name.as_deref();
        Ok((index, name.map_or(TextureState::default(), |name| self.settings.texture(name))))
    }

    /// Translates a texture lookup or query; `None` for other expressions.
    pub(super) fn image(
        &mut self,
        frame: &mut Frame<'m>,
        expression: &Expression,
    ) -> Result<Option<Leaves>, Fault> {
        let leaves = match *expression {
            Expression::ImageSample {
                image, gather, coordinate, offset, clamp_to_edge, ..
            } => {
                let (texture, mut state) = self.texture(frame, image)?;
                if clamp_to_edge {
                    state.sampler.wrap = Wrap::Clamp;
                }
                let coordinates = self.value(frame, coordinate)?;
                let [right, up] = match offset {
                    Some(offset) => self.offset(frame, offset)?,
                    None => [0, 0],
                };
                let base = Access { offset: [right, -up], ..Access::new(texture, 0, state) };
                let accesses = match gather {
                    None => [0, 1, 2, 3].map(|channel| Access { channel, ..base }),
                    // Corners in the order (min u, max v), (max u, max v), (max u, min v),
                    // (min u, min v); v is up.
                    Some(component) => [(0, 0), (1, 0), (1, 1), (0, 1)].map(|(x, y)| Access {
                        channel: component as u32,
                        taps: Taps::Corner,
                        offset: [right + x, y - up],
                        ..base
                    }),
                };
                self.compute([coordinates], |b, [at], out| {
                    out.extend(accesses.map(|access| {
                        let access = b.i32(access.pack() as i32);
                        b.op(Op::Texel, &[access, at[0], at[1]])
                    }));
                })
            }
            Expression::ImageLoad { image, coordinate, .. } => {
                let (texture, state) = self.texture(frame, image)?;
                let coordinates = self.value(frame, coordinate)?;
                self.compute([coordinates], |b, [at], out| {
                    out.extend([0, 1, 2, 3].map(|channel| {
                        let access = b.i32(Access::new(texture, channel, state).pack() as i32);
                        b.op(Op::Fetch, &[access, at[0], at[1]])
                    }));
                })
            }
            Expression::ImageQuery { image, query } => {
                let (texture, _) = self.texture(frame, image)?;
                self.compute([], |b, [], out| match query {
                    ImageQuery::Size { .. } => out.extend([0, 1].map(|dimension| {
                        let (table, word) = (b.i32(texture as i32), b.i32(dimension));
                        b.op(Op::Load, &[table, word])
                    })),
                    ImageQuery::NumLevels | ImageQuery::NumLayers | ImageQuery::NumSamples => {
                        out.push(b.i32(1))
                    }
                })
            }
            _ => return Ok(None),
        };
        Ok(Some(leaves.0))
    }

    /// The constant offset of a lookup.
    fn offset(
        &mut self,
        frame: &mut Frame<'m>,
        offset: Handle<Expression>,
    ) -> Result<[i32; 2], Fault> {
        let leaves = self.value(frame, offset)?;
        let components =
            [0, 1].map(|k| self.builder.known(self.leaf(leaves, k)).map(|bits| bits as i32));
        match components {
            [Some(x), Some(y)] if OFFSET_RANGE.contains(&x) && OFFSET_RANGE.contains(&y) => {
                Ok([x, y])
            }
            _ => {
                let (min, max) = (OFFSET_RANGE.start(), OFFSET_RANGE.end());
                let message = format!(
                    "an offset must be a constant from {min} to {max} texels in each dimension"
                );
                Err(self.fault(
                    frame,
                    offset,
                    message,
                    Some("add a larger offset to the coordinates"),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interpreter;
    use crate::ir::Table;
    use crate::random::Random;
    use crate::texture::{Channels, Filter, SamplerState, Texture, TextureState, Wrap};
    use crate::{Entry, Settings, Shader};

    /// An image with this red channel, row by row from the top; the other channels add 10, 20 and
    /// 30.
    fn image(width: u32, red: &[f32]) -> Texture {
        Texture::new(
            width,
            &red.iter().map(|&r| [r, r + 10.0, r + 20.0, r + 30.0]).collect::<Vec<_>>(),
        )
    }

    const DECLARATIONS: &str =
        "var t: texture_2d<f32>; var other: texture_2d<f32>; var s: sampler;";

    /// Evaluates a `brdf` with these declarations and this body for each pair of coordinates,
    /// passed as `wi.xy`.
    fn evaluate(
        declarations: &str,
        body: &str,
        textures: &[(&str, SamplerState)],
        images: &[&Texture],
        uv: &[[f32; 2]],
    ) -> Vec<[f32; 3]> {
        let state = |sampler| TextureState { sampler, ..TextureState::default() };
        let settings: Vec<_> =
            textures.iter().map(|&(name, sampler)| (name, state(sampler))).collect();
        evaluate_with(declarations, body, &settings, images, uv)
    }

    /// Like [`evaluate`], with the formats of images.
    fn evaluate_with(
        declarations: &str,
        body: &str,
        textures: &[(&str, TextureState)],
        images: &[&Texture],
        uv: &[[f32; 2]],
    ) -> Vec<[f32; 3]> {
        let text = format!("{declarations} fn brdf(wi: vec3f, wo: vec3f) -> vec3f {{ {body} }}");
        let shader =
            Shader::parse("test.wgsl", &text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let textures = textures.iter().map(|&(name, state)| (name.to_owned(), state)).collect();
        let function = shader.function(Entry::Brdf, &Settings { textures, ..Settings::default() });
        let function = function.unwrap_or_else(|error| panic!("{error}: {text}"));
        let tables: Vec<_> = images.iter().map(|image| Table::new(image.words())).collect();
        let run = |&[u, v]: &[f32; 2]| {
            let inputs = [u, v, 0.5, 0.0, 0.0, 1.0].map(f32::to_bits);
            let words = interpreter::run(&function, &tables, &inputs, 1 << 16).expect("loops end");
            [0, 1, 2].map(|k| f32::from_bits(words[k]))
        };
        uv.iter().map(run).collect()
    }

    /// Evaluates a body with one image and default sampler settings.
    fn evaluate_body(body: &str, image: &Texture, uv: &[[f32; 2]]) -> Vec<[f32; 3]> {
        evaluate(DECLARATIONS, body, &[], &[image, image], uv)
    }

    fn coordinates(seed: u64) -> Vec<[f32; 2]> {
        let mut random = Random::new(seed);
        (0..200).map(|_| [(); 2].map(|()| random.below(1 << 20) as f32 / 262144.0 - 1.5)).collect()
    }

    #[test]
    fn v_points_up() {
        let image = image(2, &[1.0, 2.0, 3.0, 4.0]);
        let corners = [[0.25, 0.75], [0.75, 0.75], [0.25, 0.25], [0.75, 0.25]];
        let found = evaluate_body("return textureSample(t, s, wi.xy).rga;", &image, &corners);
        assert_eq!(found, [1.0, 2.0, 3.0, 4.0].map(|r| [r, r + 10.0, r + 30.0]));
    }

    #[test]
    fn sampler_settings_apply_per_texture() {
        let image = image(2, &[1.0, 2.0, 3.0, 4.0]);
        let body =
            "return vec3f(textureSample(t, s, wi.xy).r, textureSample(other, s, wi.xy).r, 0.0);";
        // On the left edge halfway down row 0, and two units to its right.
        let edges = [[0.0, 0.75], [2.0, 0.75]];
        let cases = [
            (Wrap::Repeat, Filter::Bilinear, [1.5, 1.5]),
            (Wrap::Clamp, Filter::Bilinear, [1.0, 2.0]),
            (Wrap::Black, Filter::Bilinear, [0.5, 0.0]),
            (Wrap::Octahedral, Filter::Bilinear, [2.0, 3.0]),
            (Wrap::Repeat, Filter::Point, [2.0, 1.0]),
            (Wrap::Clamp, Filter::Point, [1.0, 2.0]),
        ];
        for (wrap, filter, expected) in cases {
            let sampler = SamplerState { wrap, filter };
            let found = evaluate(DECLARATIONS, body, &[("t", sampler)], &[&image, &image], &edges);
            assert_eq!(found, expected.map(|x| [x, 1.5, 0.0]), "{sampler:?}");
            let settings =
                [("other", SamplerState { wrap: Wrap::Black, ..sampler }), ("other", sampler)];
            let found = evaluate(DECLARATIONS, body, &settings, &[&image, &image], &edges);
            assert_eq!(found, expected.map(|x| [1.5, x, 0.0]), "{sampler:?}");
        }
    }

    #[test]
    fn tables_are_in_order_of_declaration() {
        let declarations = "
            fn last(at: vec2f) -> f32 { return textureLoad(c, vec2i(0), 0).r; }
            @group(0) @binding(9) var a: texture_2d<f32>;
            fn middle(image: texture_2d<f32>, filtered: sampler, at: vec2f) -> f32 { return textureSample(image, filtered, at).r; }
            @group(1) @binding(0) var s: sampler;
            var b: texture_2d<f32>;
            const unused = 1;
            @group(0) @binding(9) var c: texture_2d<f32>;
            var<private> p: f32;";
        let images = [1.0, 2.0, 3.0].map(|r| image(1, &[r]));
        let body =
            "p = textureSample(a, s, wi.xy).r; return vec3f(last(wi.xy), middle(b, s, wi.xy), p);";
        let found = evaluate(declarations, body, &[], &images.each_ref(), &[[0.5, 0.5]]);
        assert_eq!(found, [[3.0, 2.0, 1.0]]);
        let shader = Shader::parse(
            "test.wgsl",
            &format!("{declarations} fn brdf(wi: vec3f, wo: vec3f) -> vec3f {{ {body} }}"),
        );
        assert_eq!(shader.expect("it is valid").textures(), ["a", "b", "c"]);
    }

    #[test]
    fn formats_apply_per_texture() {
        let codes = |count| (0..count).map(|k| (37 * k) as u8).collect();
        let bytes =
            Texture::from_codes(5, Channels::Rgb, codes(60), |code| f32::from(code) / 255.0);
        let halves = Texture::from_floats(2, Channels::Grey, &[1.0, 2.0, 3.0, 4.0]);
        let floats = [&bytes, &halves].map(|image| Texture::new(image.width(), &image.texels()));
        let state = |image: &Texture| TextureState { format: image.format(), ..Default::default() };
        let settings = [("t", state(&bytes)), ("other", state(&halves))];
        let body = "return vec3f(textureSample(t, s, wi.xy).ga, textureSample(other, s, wi.xy).b)
            + textureLoad(t, vec2i(wi.xy * 5.0), 0).rgb * vec3f(textureDimensions(other).xyx);";
        let uv = coordinates(4);
        let found = evaluate_with(DECLARATIONS, body, &settings, &[&bytes, &halves], &uv);
        let images = floats.each_ref();
        assert_eq!(found, evaluate(DECLARATIONS, body, &[], &images, &uv));
    }

    #[test]
    fn levels_biases_and_gradients_have_no_effect() {
        let image = image(3, &[1.0, 5.0, 2.0, 7.0, 3.0, 4.0]);
        let uv = coordinates(1);
        let expected = evaluate_body("return textureSample(t, s, wi.xy).rgb;", &image, &uv);
        for call in [
            "textureSampleLevel(t, s, wi.xy, 3.0)",
            "textureSampleLevel(t, s, wi.xy, wi.z)",
            "textureSampleBias(t, s, wi.xy, -2.0)",
            "textureSampleGrad(t, s, wi.xy, wi.xy, vec2f(7.0))",
        ] {
            assert_eq!(
                evaluate_body(&format!("return {call}.rgb;"), &image, &uv),
                expected,
                "{call}"
            );
        }
        let sizes = "return vec3f(vec2f(textureDimensions(t)), f32(textureNumLevels(t) + textureDimensions(t, 0).y));";
        assert_eq!(evaluate_body(sizes, &image, &[[0.0, 0.0]]), [[3.0, 2.0, 3.0]]);
    }

    #[test]
    fn base_clamp_to_edge_overrides_the_wrap_mode() {
        let image = image(3, &[1.0, 5.0, 2.0, 7.0, 3.0, 4.0]);
        let uv = coordinates(2);
        let clamp = [("t", SamplerState { wrap: Wrap::Clamp, filter: Filter::Bilinear })];
        let expected = evaluate(
            DECLARATIONS,
            "return textureSample(t, s, wi.xy).rgb;",
            &clamp,
            &[&image],
            &uv,
        );
        assert_eq!(
            evaluate_body("return textureSampleBaseClampToEdge(t, s, wi.xy).rgb;", &image, &uv),
            expected
        );
    }

    #[test]
    fn offsets_are_in_texels_along_the_coordinates() {
        let image = image(4, &(0..16).map(|k| (k * k) as f32).collect::<Vec<_>>());
        // Multiples of 1/8, so that sums are exact.
        let uv: Vec<_> = (0..64).map(|k| [(k % 8) as f32 / 8.0, (k / 8) as f32 / 8.0]).collect();
        let shifted: Vec<_> = uv.iter().map(|&[u, v]| [u + 3.0 / 4.0, v - 2.0 / 4.0]).collect();
        let expected = evaluate_body("return textureSample(t, s, wi.xy).rgb;", &image, &shifted);
        for call in [
            "textureSample(t, s, wi.xy, vec2(3, -2))",
            "textureSampleLevel(t, s, wi.xy, 0.0, vec2i(3, -2))",
            "textureSampleBias(t, s, wi.xy, 0.0, vec2(1, -1) + vec2(2, -1))",
            "textureSampleGrad(t, s, wi.xy, wi.xy, wi.xy, OFFSET)",
        ] {
            let declarations = format!("{DECLARATIONS} const OFFSET = vec2i(3, -2);");
            let found = evaluate(
                &declarations,
                &format!("return {call}.rgb;"),
                &[],
                &[&image, &image],
                &uv,
            );
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn gather_returns_the_interpolated_texels() {
        let image = image(5, &(0..15).map(|k| (k * k) as f32).collect::<Vec<_>>());
        let body = |component: u32, offset: &str| {
            format!(
                "let f = fract(wi.xy * vec2f(textureDimensions(t)) - 0.5);
                let g = textureGather({component}, t, s, wi.xy{offset});
                let w = vec4f((1.0 - f.x) * f.y, f.x * f.y, f.x * (1.0 - f.y), (1.0 - f.x) * (1.0 - f.y));
                return vec3f(dot(g, w), textureSample(t, s, wi.xy{offset})[{component}], 0.0);"
            )
        };
        for wrap in [Wrap::Repeat, Wrap::Clamp, Wrap::Black, Wrap::Octahedral] {
            for (component, offset) in [(0, ""), (2, ""), (3, ", vec2(-3, 7)")] {
                let sampler = [("t", SamplerState { wrap, filter: Filter::Bilinear })];
                for [found, expected, _] in evaluate(
                    DECLARATIONS,
                    &body(component, offset),
                    &sampler,
                    &[&image],
                    &coordinates(3),
                ) {
                    assert!(
                        (found - expected).abs() < 1e-2,
                        "{wrap:?}, offset `{offset}`: found {found}, expected {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn load_counts_texels_from_the_top_left() {
        let image = image(3, &[1.0, 5.0, 2.0, 7.0, 3.0, 4.0]);
        let load = |x: f32, y: f32| {
            let signed =
                evaluate_body("return textureLoad(t, vec2i(wi.xy), 0).rgb;", &image, &[[x, y]]);
            let unsigned = evaluate_body(
                "return textureLoad(t, bitcast<vec2u>(vec2i(wi.xy)), 9u).rgb;",
                &image,
                &[[x, y]],
            );
            assert_eq!(signed, unsigned);
            signed[0][0]
        };
        assert_eq!(
            [load(0.0, 0.0), load(2.0, 0.0), load(0.0, 1.0), load(1.0, 1.0)],
            [1.0, 2.0, 7.0, 3.0]
        );
        // Coordinates out of range, including negative ones, are clamped.
        assert_eq!(
            [load(3.0, 0.0), load(1e9, 1e9), load(-1.0, 0.0), load(1.0, -1.0)],
            [2.0, 4.0, 2.0, 3.0]
        );
    }

    #[test]
    fn lookups_may_depend_on_control_flow_and_vice_versa() {
        let image = image(3, &[1.0, 5.0, 2.0, 7.0, 3.0, 4.0]);
        let body = "
            if wi.x > 0.0 { return textureSample(t, s, wi.xy).rgb; }
            var sum = vec3f();
            loop {
                if sum.x > 10.0 { break; }
                sum += textureSample(t, s, wi.yx).rgb;
                switch i32(sum.x) { case 5: { sum += textureSample(t, s, sum.xy).rgb; } default: { } }
                continuing { break if textureLoad(t, vec2i(sum.xy), 0).x > sum.y; }
            }
            return select(sum, -textureSample(t, s, wi.xy).rgb, wi.y > 0.5 && textureSample(t, s, sum.xy).r > 2.0);";
        assert_eq!(evaluate_body(body, &image, &coordinates(4)).len(), 200);
    }
}
