//! Test cases of library materials; add a row to [`CASES`] for a new material.

/// A material with values for some parameters; the others have their defaults.
#[derive(Debug)]
pub(super) struct Case {
    /// Name of the shader's file, without `.wgsl`.
    pub file: &'static str,
    /// Values by parameter name. A single value applies to all components.
    pub set: &'static [(&'static str, &'static [f64])],
    /// Whether the material has a lobe, so that its sampler must have less variance than cosine
    /// sampling.
    pub glossy: bool,
    /// Upper bound on the albedo, up to 85° from the normal.
    pub albedo: f64,
}

pub(super) const CASES: &[Case] = &[
    Case { file: "diffuse", set: &[("kd", &[0.9, 0.5, 0.0])], glossy: false, albedo: 0.9 },
    Case { file: "oren_nayar", set: &[("kd", &[1.0, 0.5, 0.0])], glossy: false, albedo: 1.0 },
    Case {
        file: "oren_nayar",
        set: &[("kd", &[1.0]), ("sigma", &[90.0])],
        glossy: false,
        albedo: 1.0,
    },
    Case { file: "diffuse_transmission", set: &[], glossy: false, albedo: 0.5 },
    Case {
        file: "diffuse_transmission",
        set: &[("kr", &[0.3, 0.9, 0.0]), ("kt", &[0.6, 0.1, 0.1])],
        glossy: false,
        albedo: 1.0,
    },
    Case { file: "phong", set: &[], glossy: true, albedo: 0.7 },
    Case {
        file: "phong",
        set: &[("exponent", &[1.0]), ("kd", &[0.0]), ("ks", &[1.0, 0.5, 0.2])],
        glossy: false,
        albedo: 1.0,
    },
    Case {
        file: "phong",
        set: &[("exponent", &[10000.0]), ("kd", &[0.1]), ("ks", &[0.9])],
        glossy: true,
        albedo: 1.0,
    },
    Case { file: "isoward", set: &[], glossy: true, albedo: 0.6 },
    Case {
        file: "isoward",
        set: &[("alpha", &[0.01]), ("kd", &[0.0, 0.1, 0.0]), ("ks", &[0.9])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "isoward",
        set: &[("alpha", &[0.7]), ("kd", &[0.2]), ("ks", &[0.8])],
        glossy: false,
        albedo: 1.0,
    },
    Case { file: "ward", set: &[], glossy: true, albedo: 0.6 },
    Case {
        file: "ward",
        set: &[("alpha_x", &[0.3]), ("alpha_y", &[0.03]), ("kd", &[0.0]), ("ks", &[1.0])],
        glossy: true,
        albedo: 1.0,
    },
    Case { file: "ashikhmin", set: &[], glossy: true, albedo: 1.0 },
    Case {
        file: "ashikhmin",
        set: &[("n_u", &[10000.0]), ("n_v", &[5.0]), ("kd", &[0.0]), ("ks", &[1.0, 0.8, 0.3])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "ashikhmin",
        set: &[("n_u", &[1.0]), ("n_v", &[10.0]), ("kd", &[1.0]), ("ks", &[0.0])],
        glossy: false,
        albedo: 1.0,
    },
    Case { file: "fractal", set: &[], glossy: false, albedo: 1.0 },
    Case { file: "fractal", set: &[("uv", &[0.1, 0.2])], glossy: true, albedo: 1.0 },
    Case {
        file: "fractal",
        set: &[("uv", &[0.44, 0.58]), ("m_2", &[0.02])],
        glossy: true,
        albedo: 1.0,
    },
    Case { file: "conductor", set: &[], glossy: true, albedo: 1.0 },
    Case {
        file: "conductor",
        set: &[("eta", &[1e-4]), ("alpha_x", &[0.7]), ("alpha_y", &[0.3])],
        glossy: false,
        albedo: 1.0,
    },
    Case {
        file: "conductor",
        set: &[("alpha_x", &[0.01]), ("alpha_y", &[0.05])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "conductor",
        set: &[("alpha_x", &[1.5]), ("alpha_y", &[1.5])],
        glossy: false,
        albedo: 1.0,
    },
    Case { file: "dielectric", set: &[], glossy: true, albedo: 1.0 },
    Case {
        file: "dielectric",
        set: &[("alpha_x", &[0.1]), ("alpha_y", &[0.4])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "dielectric",
        set: &[("eta", &[0.7]), ("alpha_x", &[0.05]), ("alpha_y", &[0.05])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "dielectric",
        set: &[("eta", &[2.4]), ("alpha_x", &[0.9]), ("alpha_y", &[0.7])],
        glossy: false,
        albedo: 1.0,
    },
    Case {
        file: "coated_diffuse",
        set: &[("kd", &[0.9, 0.5, 0.0]), ("alpha_x", &[0.0]), ("alpha_y", &[0.0])],
        glossy: false,
        albedo: 0.8,
    },
    Case {
        file: "coated_diffuse",
        set: &[("kd", &[1.0]), ("thickness", &[0.0]), ("alpha_x", &[0.0]), ("alpha_y", &[0.0])],
        glossy: false,
        albedo: 1.0,
    },
    Case {
        file: "coated_diffuse",
        set: &[("kd", &[0.9, 0.5, 0.1]), ("alpha_x", &[0.1]), ("alpha_y", &[0.1])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "coated_diffuse",
        set: &[
            ("kd", &[1.0]),
            ("eta", &[2.0]),
            ("alpha_x", &[0.4]),
            ("alpha_y", &[0.15]),
            ("thickness", &[0.0]),
        ],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "coated_conductor",
        set: &[("coat_alpha_x", &[0.0]), ("coat_alpha_y", &[0.0])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "coated_conductor",
        set: &[
            ("alpha_x", &[0.1]),
            ("alpha_y", &[0.4]),
            ("coat_alpha_x", &[0.2]),
            ("coat_alpha_y", &[0.05]),
        ],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "coated_conductor",
        set: &[
            ("eta", &[1e-4]),
            ("alpha_x", &[0.05]),
            ("alpha_y", &[0.05]),
            ("thickness", &[0.0]),
            ("coat_alpha_x", &[0.0]),
            ("coat_alpha_y", &[0.0]),
        ],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "coated_conductor",
        set: &[
            ("eta", &[1e-4]),
            ("alpha_x", &[0.3]),
            ("alpha_y", &[0.3]),
            ("coat_eta", &[2.5]),
            ("thickness", &[0.0]),
            ("coat_alpha_x", &[0.0]),
            ("coat_alpha_y", &[0.0]),
        ],
        glossy: false,
        albedo: 1.0,
    },
    Case {
        file: "hair",
        set: &[("sigma_a", &[0.5, 0.9, 1.8]), ("h", &[0.3])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "hair",
        set: &[("beta_m", &[0.1]), ("beta_n", &[0.15]), ("alpha", &[-3.0]), ("h", &[-0.8])],
        glossy: true,
        albedo: 1.0,
    },
    Case {
        file: "hair",
        set: &[
            ("sigma_a", &[0.0, 0.2, 4.0]),
            ("eta", &[1.3]),
            ("beta_m", &[0.8]),
            ("beta_n", &[0.9]),
            ("h", &[0.95]),
        ],
        glossy: false,
        albedo: 1.0,
    },
    Case {
        file: "hair",
        set: &[("beta_m", &[0.25]), ("beta_n", &[0.5]), ("alpha", &[0.0]), ("eta", &[2.0])],
        glossy: true,
        albedo: 1.0,
    },
    Case { file: "henyey_greenstein", set: &[], glossy: true, albedo: 1.0 },
    Case { file: "henyey_greenstein", set: &[("g", &[-0.4])], glossy: true, albedo: 1.0 },
    Case { file: "henyey_greenstein", set: &[("g", &[0.877])], glossy: true, albedo: 1.0 },
    Case { file: "henyey_greenstein", set: &[("g", &[0.999])], glossy: true, albedo: 1.0 },
    Case { file: "rayleigh", set: &[], glossy: true, albedo: 1.0 },
];
