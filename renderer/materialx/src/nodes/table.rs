//! Nodes that are one expression.
//!
//! An input is `NAME:KIND=DEFAULT`. Kinds are `T`, the type of the result, to which floats are
//! extended; `M`, the same, but floats stay; `A`, the type that the document declares; and types:
//! `f`, `i`, `b`, `2`, `3` and `4` for vectors and colours, `9` and `16` for matrices. The defaults
//! `uv`, `P` and `N` are geometric. In expressions, `{NAME}` is an input and `{T}` the type of the
//! result. A row for `NODE.TYPE` precedes that of `NODE`.

/// Node, inputs, expression.
pub(super) const TABLE: &[[&str; 3]] = &[
    // Mathematics.
    ["add", "in1:M=0 in2:M=0", "{in1} + {in2}"],
    ["subtract", "in1:M=0 in2:M=0", "{in1} - {in2}"],
    ["multiply", "in1:M=0 in2:M=1", "{in1} * {in2}"],
    ["multiply.matrix33", "in1:T=I in2:T=I", "{in2} * {in1}"],
    ["multiply.matrix44", "in1:T=I in2:T=I", "{in2} * {in1}"],
    ["divide", "in1:M=0 in2:M=1", "{in1} / {in2}"],
    ["modulo", "in1:T=0 in2:T=1", "mx_modulo_{T}({in1}, {in2})"],
    ["fract", "in:T=0", "fract({in})"],
    ["invert", "in:M=0 amount:M=1", "{amount} - {in}"],
    ["absval", "in:T=0", "abs({in})"],
    ["floor", "in:T=0", "floor({in})"],
    ["floor.integer", "in:f=0", "i32(floor({in}))"],
    ["ceil", "in:T=0", "ceil({in})"],
    ["ceil.integer", "in:f=0", "i32(ceil({in}))"],
    ["round", "in:T=0", "round({in})"],
    ["round.integer", "in:f=0", "i32(round({in}))"],
    ["power", "in1:T=0 in2:T=1", "pow({in1}, {in2})"],
    ["safepower", "in1:T=0 in2:T=1", "sign({in1}) * pow(abs({in1}), {in2})"],
    ["sin", "in:T=0", "sin({in})"],
    ["cos", "in:T=0", "cos({in})"],
    ["tan", "in:T=0", "tan({in})"],
    ["asin", "in:T=0", "asin({in})"],
    ["acos", "in:T=0", "acos({in})"],
    ["atan2", "iny:T=0 inx:T=1", "atan2({iny}, {inx})"],
    // The inputs of MaterialX 1.38.
    ["arctan2", "in1:T=0 in2:T=1", "atan2({in1}, {in2})"],
    ["sqrt", "in:T=0", "sqrt({in})"],
    ["ln", "in:T=1", "log({in})"],
    ["exp", "in:T=0", "exp({in})"],
    ["sign", "in:T=0", "sign({in})"],
    ["clamp", "in:T=0 low:T=0 high:T=1", "clamp({in}, {low}, {high})"],
    ["min", "in1:T=0 in2:T=0", "min({in1}, {in2})"],
    ["max", "in1:T=0 in2:T=0", "max({in1}, {in2})"],
    ["trianglewave", "in:f=0", "mx_trianglewave({in})"],
    // Vectors and matrices.
    ["normalize", "in:T=0", "normalize({in})"],
    ["magnitude", "in:A=0", "length({in})"],
    ["distance", "in1:A=0 in2:A=0", "distance({in1}, {in2})"],
    ["dotproduct", "in1:A=0 in2:A=0", "dot({in1}, {in2})"],
    ["crossproduct", "in1:3=0 in2:3=0", "cross({in1}, {in2})"],
    ["rotate2d", "in:2=0 amount:f=0", "mx_rotate2d({in}, {amount})"],
    ["rotate3d", "in:3=0 amount:f=0 axis:3=0,1,0", "mx_rotate3d({in}, {amount}, {axis})"],
    ["reflect", "in:3=1,0,0 normal:3=N", "mx_reflect({in}, {normal})"],
    ["refract", "in:3=1,0,0 normal:3=N ior:f=1", "mx_refract({in}, {normal}, {ior})"],
    ["transpose", "in:T=I", "transpose({in})"],
    ["determinant", "in:A=I", "determinant({in})"],
    // Roughness α of facets.
    [
        "roughness_anisotropy",
        "roughness:f=0 anisotropy:f=0",
        "mx_roughness_anisotropy({roughness}, {anisotropy})",
    ],
    ["roughness_dual", "roughness:2=0", "mx_roughness_dual({roughness})"],
    [
        "glossiness_anisotropy",
        "glossiness:f=1 anisotropy:f=0",
        "mx_roughness_anisotropy(1.0 - {glossiness}, {anisotropy})",
    ],
    // Noise.
    [
        "noise2d",
        "amplitude:M=1 pivot:f=0 texcoord:2=uv",
        "{amplitude} * mx_noise2d_{T}({texcoord}) + {pivot}",
    ],
    [
        "noise3d",
        "amplitude:M=1 pivot:f=0 position:3=P",
        "{amplitude} * mx_noise3d_{T}({position}) + {pivot}",
    ],
    [
        "fractal2d",
        "amplitude:M=1 octaves:i=3 lacunarity:f=2 diminish:f=0.5 texcoord:2=uv",
        "{amplitude} * mx_fractal2d_{T}({texcoord}, {octaves}, {lacunarity}, {diminish})",
    ],
    [
        "fractal3d",
        "amplitude:M=1 octaves:i=3 lacunarity:f=2 diminish:f=0.5 position:3=P",
        "{amplitude} * mx_fractal3d_{T}({position}, {octaves}, {lacunarity}, {diminish})",
    ],
    ["cellnoise2d", "texcoord:2=uv", "mx_cellnoise2d({texcoord})"],
    ["cellnoise3d", "position:3=P", "mx_cellnoise3d({position})"],
    [
        "worleynoise2d",
        "texcoord:2=uv jitter:f=1 style:i=0",
        "mx_worleynoise2d_{T}({texcoord}, {jitter}, {style})",
    ],
    [
        "worleynoise3d",
        "position:3=P jitter:f=1 style:i=0",
        "mx_worleynoise3d_{T}({position}, {jitter}, {style})",
    ],
    [
        "unifiednoise2d",
        "texcoord:2=uv freq:2=1 offset:2=0 jitter:f=1 outmin:f=0 outmax:f=1 clampoutput:b=true \
         octaves:i=3 lacunarity:f=2 diminish:f=0.5 type:i=0 style:i=0",
        "mx_unifiednoise2d({texcoord}, {freq}, {offset}, {jitter}, {outmin}, {outmax}, \
         {clampoutput}, {octaves}, {lacunarity}, {diminish}, {type}, {style})",
    ],
    [
        "unifiednoise3d",
        "position:3=P freq:3=1 offset:3=0 jitter:f=1 outmin:f=0 outmax:f=1 clampoutput:b=true \
         octaves:i=3 lacunarity:f=2 diminish:f=0.5 type:i=0 style:i=0",
        "mx_unifiednoise3d({position}, {freq}, {offset}, {jitter}, {outmin}, {outmax}, \
         {clampoutput}, {octaves}, {lacunarity}, {diminish}, {type}, {style})",
    ],
    [
        "randomfloat",
        "in:f=0 min:f=0 max:f=1 seed:i=0",
        "mx_randomfloat({in}, {min}, {max}, {seed})",
    ],
    [
        "randomcolor",
        "in:f=0 huelow:f=0 huehigh:f=1 saturationlow:f=0.825 saturationhigh:f=1 brightnesslow:f=1 \
         brightnesshigh:f=1 seed:i=0",
        "mx_randomcolor({in}, {huelow}, {huehigh}, {saturationlow}, {saturationhigh}, \
         {brightnesslow}, {brightnesshigh}, {seed})",
    ],
    // Patterns.
    [
        "ramplr",
        "valuel:T=0 valuer:T=0 texcoord:2=uv",
        "mix({valuel}, {valuer}, saturate({texcoord}.x))",
    ],
    [
        "ramptb",
        "valuet:T=0 valueb:T=0 texcoord:2=uv",
        "mix({valueb}, {valuet}, saturate({texcoord}.y))",
    ],
    [
        "ramp4",
        "valuetl:T=0 valuetr:T=0 valuebl:T=0 valuebr:T=0 texcoord:2=uv",
        "mx_ramp4_{T}({valuetl}, {valuetr}, {valuebl}, {valuebr}, {texcoord})",
    ],
    [
        "splitlr",
        "valuel:T=0 valuer:T=0 center:f=0.5 texcoord:2=uv",
        "select({valuel}, {valuer}, {texcoord}.x >= {center})",
    ],
    [
        "splittb",
        "valuet:T=0 valueb:T=0 center:f=0.5 texcoord:2=uv",
        "select({valueb}, {valuet}, {texcoord}.y >= {center})",
    ],
    [
        "checkerboard",
        "color1:3=1 color2:3=0 uvtiling:2=8 uvoffset:2=0 texcoord:2=uv",
        "mx_checkerboard({color1}, {color2}, {uvtiling}, {uvoffset}, {texcoord})",
    ],
    [
        "line",
        "texcoord:2=uv center:2=0 radius:f=0.1 point1:2=0.25 point2:2=0.75",
        "mx_line({texcoord}, {center}, {radius}, {point1}, {point2})",
    ],
    [
        "circle",
        "texcoord:2=uv center:2=0 radius:f=0.5",
        "mx_circle({texcoord}, {center}, {radius})",
    ],
    [
        "place2d",
        "texcoord:2=uv pivot:2=0 scale:2=1 rotate:f=0 offset:2=0 operationorder:i=0",
        "mx_place2d({texcoord}, {pivot}, {scale}, {rotate}, {offset}, {operationorder})",
    ],
    [
        "UsdTransform2d",
        "in:2=0 rotation:f=0 scale:2=1 translation:2=0",
        "mx_usd_place2d({in}, {rotation}, {scale}, {translation})",
    ],
    // Adjustments.
    [
        "remap",
        "in:T=0 inlow:T=0 inhigh:T=1 outlow:T=0 outhigh:T=1",
        "{outlow} + ({in} - {inlow}) * ({outhigh} - {outlow}) / ({inhigh} - {inlow})",
    ],
    ["smoothstep", "in:T=0 low:T=0 high:T=1", "mx_smoothstep_{T}({in}, {low}, {high})"],
    [
        "range",
        "in:T=0 inlow:T=0 inhigh:T=1 gamma:T=1 outlow:T=0 outhigh:T=1 doclamp:b=false",
        "mx_range_{T}({in}, {inlow}, {inhigh}, {gamma}, {outlow}, {outhigh}, {doclamp})",
    ],
    ["contrast", "in:M=0 amount:M=1 pivot:M=0.5", "({in} - {pivot}) * {amount} + {pivot}"],
    [
        "luminance",
        "in:3=0 lumacoeffs:3=0.2722287,0.6740818,0.0536895",
        "vec3f(dot({in}, {lumacoeffs}))",
    ],
    [
        "luminance.color4",
        "in:4=0 lumacoeffs:3=0.2722287,0.6740818,0.0536895",
        "vec4f(vec3f(dot({in}.rgb, {lumacoeffs})), {in}.a)",
    ],
    ["rgbtohsv", "in:3=0", "mx_rgbtohsv({in})"],
    ["rgbtohsv.color4", "in:4=0", "vec4f(mx_rgbtohsv({in}.rgb), {in}.a)"],
    ["hsvtorgb", "in:3=0", "mx_hsvtorgb({in})"],
    ["hsvtorgb.color4", "in:4=0", "vec4f(mx_hsvtorgb({in}.rgb), {in}.a)"],
    ["hsvadjust", "in:3=0 amount:3=0,1,1", "mx_hsvadjust({in}, {amount})"],
    [
        "hsvadjust.color4",
        "in:4=0 amount:3=0,1,1",
        "vec4f(mx_hsvadjust({in}.rgb, {amount}), {in}.a)",
    ],
    [
        "saturate",
        "in:3=0 amount:f=1 lumacoeffs:3=0.2722287,0.6740818,0.0536895",
        "mx_saturate({in}, {amount}, {lumacoeffs})",
    ],
    [
        "saturate.color4",
        "in:4=0 amount:f=1 lumacoeffs:3=0.2722287,0.6740818,0.0536895",
        "vec4f(mx_saturate({in}.rgb, {amount}, {lumacoeffs}), {in}.a)",
    ],
    [
        "colorcorrect",
        "in:3=1 hue:f=0 saturation:f=1 gamma:f=1 lift:f=0 gain:f=1 contrast:f=1 contrastpivot:f=0.5 \
         exposure:f=0",
        "mx_colorcorrect({in}, {hue}, {saturation}, {gamma}, {lift}, {gain}, {contrast}, \
         {contrastpivot}, {exposure})",
    ],
    [
        "colorcorrect.color4",
        "in:4=1 hue:f=0 saturation:f=1 gamma:f=1 lift:f=0 gain:f=1 contrast:f=1 contrastpivot:f=0.5 \
         exposure:f=0",
        "vec4f(mx_colorcorrect({in}.rgb, {hue}, {saturation}, {gamma}, {lift}, {gain}, {contrast}, \
         {contrastpivot}, {exposure}), {in}.a)",
    ],
    ["blackbody", "temperature:f=5000", "mx_blackbody({temperature})"],
    // Compositing.
    ["premult", "in:4=0,0,0,1", "vec4f({in}.rgb * {in}.a, {in}.a)"],
    ["unpremult", "in:4=0,0,0,1", "vec4f({in}.rgb / {in}.a, {in}.a)"],
    ["plus", "fg:T=0 bg:T=0 mix:f=1", "{bg} + {mix} * {fg}"],
    ["minus", "fg:T=0 bg:T=0 mix:f=1", "{bg} - {mix} * {fg}"],
    ["difference", "fg:T=0 bg:T=0 mix:f=1", "mix({bg}, abs({bg} - {fg}), {mix})"],
    ["burn", "fg:T=0 bg:T=0 mix:T=1", "mx_burn_{T}({fg}, {bg}, {mix})"],
    ["dodge", "fg:T=0 bg:T=0 mix:T=1", "mx_dodge_{T}({fg}, {bg}, {mix})"],
    ["screen", "fg:T=0 bg:T=0 mix:f=1", "mix({bg}, 1.0 - (1.0 - {fg}) * (1.0 - {bg}), {mix})"],
    ["overlay", "fg:T=0 bg:T=0 mix:T=1", "mx_overlay_{T}({fg}, {bg}, {mix})"],
    ["disjointover", "fg:4=0 bg:4=0 mix:f=1", "mx_disjointover({fg}, {bg}, {mix})"],
    ["in", "fg:4=0 bg:4=0 mix:f=1", "mix({bg}, {fg} * {bg}.a, {mix})"],
    ["mask", "fg:4=0 bg:4=0 mix:f=1", "mix({bg}, {bg} * {fg}.a, {mix})"],
    [
        "matte",
        "fg:4=0 bg:4=0 mix:f=1",
        "mix({bg}, vec4f(mix({bg}.rgb, {fg}.rgb, {fg}.a), {fg}.a + {bg}.a * (1.0 - {fg}.a)), {mix})",
    ],
    ["out", "fg:4=0 bg:4=0 mix:f=1", "mix({bg}, {fg} * (1.0 - {bg}.a), {mix})"],
    ["over", "fg:4=0 bg:4=0 mix:f=1", "mix({bg}, {fg} + {bg} * (1.0 - {fg}.a), {mix})"],
    ["inside", "in:T=0 mask:f=1", "{in} * {mask}"],
    ["outside", "in:T=0 mask:f=0", "{in} * (1.0 - {mask})"],
    ["mix", "fg:T=0 bg:T=0 mix:M=0", "mix({bg}, {fg}, {mix})"],
    // Conditions. The values are floats, integers or booleans.
    [
        "ifgreater",
        "value1:A=1 value2:A=0 in1:T=0 in2:T=0",
        "select({in2}, {in1}, {value1} > {value2})",
    ],
    [
        "ifgreatereq",
        "value1:A=1 value2:A=0 in1:T=0 in2:T=0",
        "select({in2}, {in1}, {value1} >= {value2})",
    ],
    [
        "ifequal",
        "value1:A=0 value2:A=0 in1:T=0 in2:T=0",
        "select({in2}, {in1}, {value1} == {value2})",
    ],
    ["and", "in1:b=false in2:b=false", "{in1} && {in2}"],
    ["or", "in1:b=false in2:b=false", "{in1} || {in2}"],
    ["xor", "in1:b=false in2:b=false", "{in1} != {in2}"],
    ["not", "in:b=false", "!{in}"],
    // Channels.
    ["combine2", "in1:A=0 in2:A=0", "{T}({in1}, {in2})"],
    ["combine3", "in1:f=0 in2:f=0 in3:f=0", "{T}({in1}, {in2}, {in3})"],
    ["combine4", "in1:f=0 in2:f=0 in3:f=0 in4:f=0", "{T}({in1}, {in2}, {in3}, {in4})"],
    // Absorption of hair.
    [
        "chiang_hair_absorption_from_color",
        "color:3=1 azimuthal_roughness:f=0.2",
        "mx_hair_absorption_of_color({color}, {azimuthal_roughness})",
    ],
    [
        "deon_hair_absorption_from_melanin",
        "melanin_concentration:f=0.25 melanin_redness:f=0.5 \
         eumelanin_color:3=0.657704,0.498077,0.254107 \
         pheomelanin_color:3=0.829444,0.67032,0.349938",
        "mx_hair_absorption_of_melanin({melanin_concentration}, {melanin_redness}, \
         {eumelanin_color}, {pheomelanin_color})",
    ],
    // Others.
    ["dot", "in:T=0", "{in}"],
    ["normalmap", "in:3=0.5,0.5,1 scale:2=1", "mx_normalmap({in}, {scale})"],
];
