//! Kernels for batches with the same inputs in all rows.

use super::{Batch, Kernel};
use crate::error::CompileError;
use crate::ir::Function;
use crate::jit::Arena;
use crate::passes::hoist::Hoisted;
use crate::target::Target;
use crate::texture::Texture;

/// A kernel in two parts. Some inputs of its batches, the *uniform* ones, are the same in all rows.
/// What depends on these alone is computed once, by [`hoist`](Self::hoist), for any number of
/// [`run`](Self::run)s.
#[derive(Clone, Debug)]
pub struct HoistedKernel {
    /// `None` if hoisting does not pay.
    uniform: Option<Kernel>,
    rest: Kernel,
}

impl HoistedKernel {
    /// Compiles a lowered function for a target. `is_uniform` holds for the inputs that rows share.
    ///
    /// # Errors
    ///
    /// Under the conditions of [`Kernel::compile`].
    pub fn compile(
        arena: &Arena,
        function: &Function,
        target: Target,
        is_uniform: impl Fn(usize) -> bool,
    ) -> Result<HoistedKernel, CompileError> {
        let Hoisted { uniform, rest } = Hoisted::new(function, is_uniform);
        let uniform = (!uniform.outputs.is_empty())
            .then(|| Kernel::compile(arena, &uniform, target))
            .transpose()?;
        Ok(HoistedKernel { uniform, rest: Kernel::compile(arena, &rest, target)? })
    }

    /// The kernel that [`run`](Self::run) runs. Its inputs are those of the function, followed by
    /// the hoisted values.
    pub fn rest(&self) -> &Kernel {
        &self.rest
    }

    /// Whether the results depend on an input port, or the hoisted values do.
    pub fn reads(&self, port: usize) -> bool {
        let uniform = self.uniform.as_ref();
        self.rest.reads(port) || uniform.is_some_and(|kernel| kernel.reads(port))
    }

    /// Whether anything is hoisted.
    pub fn is_hoisted(&self) -> bool {
        self.uniform.is_some()
    }

    /// Computes the hoisted values from the inputs that rows share, and sets them in all rows.
    /// `values` is a buffer.
    ///
    /// # Panics
    ///
    /// Under the conditions of [`Kernel::run`].
    pub fn hoist(&self, textures: &[&Texture], inputs: &mut Batch, values: &mut Batch) {
        let Some(kernel) = &self.uniform else { return };
        let count = kernel.outputs().len();
        values.reshape(count, inputs.rows());
        kernel.run(textures, inputs, values);
        inputs.copy_ports(inputs.ports() - count, values, 0, count);
    }

    /// Evaluates all rows of `inputs`, for which the hoisted values are set.
    ///
    /// # Panics
    ///
    /// Under the conditions of [`Kernel::run`].
    pub fn run(&self, textures: &[&Texture], inputs: &Batch, outputs: &mut Batch) {
        self.rest.run(textures, inputs, outputs);
    }
}

impl From<Kernel> for HoistedKernel {
    /// A kernel without hoisted values.
    fn from(rest: Kernel) -> HoistedKernel {
        HoistedKernel { uniform: None, rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entry, Settings, Shader, passes};

    #[test]
    fn hoisted_kernels_have_the_results_of_whole_ones() {
        let shader = Shader::parse(
            "test.wgsl",
            "struct Material {
                 /// Exponent. range: [0, 100], default: 10
                 n: f32,
             }
             fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
                 let r = vec3f(-wo.x, -wo.y, wo.z) * sqrt(m.n + 1.0);
                 let a = exp(-m.n * wo.z);
                 return vec3f(a + dot(r, wi), select(a, wi.x, wo.z > 0.5), a);
             }",
        )
        .unwrap();
        let function = shader.function(Entry::Brdf, &Settings::default()).unwrap();
        let function = passes::lower(&passes::optimize(&function));
        let arena = Arena::new();
        for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
            let whole = Kernel::compile(&arena, &function, target).unwrap();
            let hoisted =
                HoistedKernel::compile(&arena, &function, target, |port| port >= 3).unwrap();
            let ports = hoisted.rest().inputs().len();
            assert!(ports > 7 && (0..7).all(|port| hoisted.reads(port)), "{ports} ports");
            let mut values = Batch::new(target, 0, 0);
            for (wo, n) in [([0.6, 0.0, 0.8], 20.0), ([0.0, -0.96, 0.28], 3.0)] {
                let rows = 20;
                let mut inputs = Batch::new(target, ports, rows);
                let mut plain = Batch::new(target, 7, rows);
                for batch in [&mut inputs, &mut plain] {
                    for (port, x) in (3..).zip([wo[0], wo[1], wo[2], n]) {
                        batch.fill_port(port, f32::to_bits(x));
                    }
                }
                hoisted.hoist(&[], &mut inputs, &mut values);
                for offset in [0.0, 0.5] {
                    for batch in [&mut inputs, &mut plain] {
                        for row in 0..rows {
                            let x = offset + row as f32 / 40.0;
                            batch.set_row(row, 0, &[x, 0.1, 0.5].map(f32::to_bits));
                        }
                    }
                    let results = whole.outputs().len();
                    let [mut a, mut b] = [(); 2].map(|()| Batch::new(target, results, rows));
                    hoisted.run(&[], &inputs, &mut a);
                    whole.run(&[], &plain, &mut b);
                    for row in 0..rows {
                        let equal = |port| a.bits(row, port) == b.bits(row, port);
                        assert!((0..results).all(equal), "{target:?}, row {row}");
                    }
                }
            }
        }
    }
}
