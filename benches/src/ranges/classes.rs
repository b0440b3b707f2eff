//! Classes of static endpoints by their distance from the values that occur (Campos et al. 2012,
//! §4.2).

/// The class of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Equal to the extreme value.
    Exact,
    /// Within a factor of two.
    Linear,
    /// Within a quadratic factor.
    Quadratic,
    /// Farther away, often infinite.
    Imprecise,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 4] = [Class::Exact, Class::Linear, Class::Quadratic, Class::Imprecise];

    /// The class of a static endpoint, for the extreme value on its side and the greatest magnitude
    /// of all values.
    pub fn of(endpoint: f64, extreme: f64, magnitude: f64) -> Class {
        let excess = (endpoint - extreme).abs();
        if endpoint == extreme {
            Class::Exact
        } else if !excess.is_finite() {
            Class::Imprecise
        } else if excess <= magnitude {
            Class::Linear
        } else if excess <= magnitude * magnitude {
            Class::Quadratic
        } else {
            Class::Imprecise
        }
    }

    /// The class by the magnitudes of the endpoint and the extreme value alone.
    pub fn by_magnitude(endpoint: f64, extreme: f64) -> Class {
        let (a, b) = (endpoint.abs(), extreme.abs());
        let (small, large) = if a < b { (a, b) } else { (b, a) };
        if endpoint == extreme {
            Class::Exact
        } else if !large.is_finite() || endpoint * extreme <= 0.0 {
            Class::Imprecise
        } else if large <= 2.0 * small {
            Class::Linear
        } else if large <= small * small {
            Class::Quadratic
        } else {
            Class::Imprecise
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the paper: the static upper endpoint is 100.
    #[test]
    fn classes_match_the_examples_of_campos_et_al() {
        for (extreme, class) in [
            (100.0, Class::Exact),
            (51.0, Class::Linear),
            (49.0, Class::Quadratic),
            (10.0, Class::Quadratic),
            (9.0, Class::Imprecise),
        ] {
            assert_eq!(Class::by_magnitude(100.0, extreme), class, "{extreme}");
        }
        for (extreme, class) in [
            (100.0, Class::Exact),
            (51.0, Class::Linear),
            (10.0, Class::Quadratic),
            (9.0, Class::Imprecise),
        ] {
            assert_eq!(Class::of(100.0, extreme, extreme), class, "{extreme}");
        }
    }

    #[test]
    fn infinite_endpoints_are_exact_only_if_infinity_occurs() {
        let infinity = f64::INFINITY;
        assert_eq!(Class::of(infinity, infinity, infinity), Class::Exact);
        assert_eq!(Class::of(infinity, 1.0, infinity), Class::Imprecise);
        assert_eq!(Class::by_magnitude(infinity, 1.0), Class::Imprecise);
        assert_eq!(Class::by_magnitude(-1.0, 1.0), Class::Imprecise);
        assert_eq!(Class::of(0.0, 0.25, 1.0), Class::Linear);
    }
}
