//! A Vulkan device, and programs on it.
#![allow(unsafe_code, reason = "SPIR-V is passed to the driver as it is")]

use lightbound_shader::Texture;
use lightbound_shader::backend::gpu::{
    ENTRY_POINT, INPUTS_BINDING, Language, OUTPUTS_BINDING, TABLES_BINDING, WORKGROUP_SIZE, write,
};
use lightbound_shader::ir::Function;
use std::borrow::Cow;
use wgpu::util::DeviceExt;

/// Maximum number of rows for one call of a program: that of workgroups in a dimension is limited.
const MAX_ROWS: usize = 1 << 20;

/// A Vulkan device.
pub struct Gpu {
    /// Name of the device and of its driver.
    pub name: String,
    device: wgpu::Device,
    queue: wgpu::Queue,
}

/// What the driver gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The text in WGSL, which wgpu parses and translates to SPIR-V.
    Wgsl,
    /// The module in SPIR-V, with its decorations.
    SpirV,
}

/// A compiled program.
pub struct Program {
    pipeline: wgpu::ComputePipeline,
    inputs: usize,
    outputs: usize,
    tables: usize,
}

impl Gpu {
    /// The first Vulkan device that there is, which `WGPU_ADAPTER_NAME` may select.
    pub fn new() -> Option<Gpu> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: wgpu::Backends::VULKAN,
            ..wgpu::InstanceDescriptor::new_without_display_handle_from_env()
        });
        let wanted = std::env::var("WGPU_ADAPTER_NAME").unwrap_or_default().to_lowercase();
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::VULKAN));
        let adapter = adapters
            .into_iter()
            .find(|adapter| adapter.get_info().name.to_lowercase().contains(&wanted))?;
        let info = adapter.get_info();
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
            required_features: wgpu::Features::PASSTHROUGH_SHADERS,
            required_limits: adapter.limits(),
            // SAFETY: the only experimental feature in use is that SPIR-V is not checked, and naga
            // wrote it.
            experimental_features: unsafe { wgpu::ExperimentalFeatures::enabled() },
            ..wgpu::DeviceDescriptor::default()
        }))
        .ok()?;
        let name = format!("{} ({})", info.name, info.driver_info);
        Some(Gpu { name, device, queue })
    }

    /// Compiles a function.
    pub fn compile(&self, function: &Function, source: Source) -> Program {
        let module = match source {
            Source::Wgsl => {
                let text = write(function, Language::Wgsl).expect("functions can be written");
                let text = String::from_utf8(text).expect("it is a text");
                self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
                    label: Some(&function.name),
                    source: wgpu::ShaderSource::Wgsl(text.into()),
                })
            }
            Source::SpirV => {
                let bytes = write(function, Language::SpirV).expect("functions can be written");
                let words = words(&bytes, u32::from_le_bytes);
                let entry_point = wgpu::PassthroughShaderEntryPoint {
                    name: ENTRY_POINT.into(),
                    workgroup_size: (WORKGROUP_SIZE, 1, 1),
                };
                let descriptor = wgpu::ShaderModuleDescriptorPassthrough {
                    label: Some(&function.name),
                    entry_points: Cow::Owned(vec![entry_point]),
                    spirv: Some(words.into()),
                    ..wgpu::ShaderModuleDescriptorPassthrough::default()
                };
                // SAFETY: naga has validated the module, and accesses to buffers are in range.
                unsafe { self.device.create_shader_module_passthrough(descriptor) }
            }
        };
        let tables = function.tables();
        let bindings = [(INPUTS_BINDING, true), (OUTPUTS_BINDING, false)]
            .into_iter()
            .chain((0..tables as u32).map(|table| (TABLES_BINDING + table, true)));
        let entries: Vec<_> = bindings
            .map(|(binding, read_only)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let group = self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: None,
            entries: &entries,
        });
        let layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&group)],
            immediate_size: 0,
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&function.name),
            layout: Some(&layout),
            module: &module,
            entry_point: Some(ENTRY_POINT),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let [inputs, outputs] = [function.inputs.len(), function.outputs.len()];
        Program { pipeline, inputs, outputs, tables }
    }

    /// Evaluates a program for rows of inputs, and returns rows of outputs.
    pub fn run(&self, program: &Program, textures: &[&Texture], inputs: &[u32]) -> Vec<u32> {
        let Program { inputs: columns, outputs, tables, .. } = *program;
        assert_eq!(inputs.len() % columns, 0, "rows are complete");
        assert!(textures.len() >= tables, "there is an image for each texture");
        let tables: Vec<_> =
            textures[..tables].iter().map(|texture| self.storage(texture.words())).collect();
        let rows = |inputs: &[u32]| self.run_once(program, &tables, inputs, outputs);
        inputs.chunks(MAX_ROWS * columns).flat_map(rows).collect()
    }

    fn storage(&self, words: &[u32]) -> wgpu::Buffer {
        self.device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents: bytemuck::cast_slice(words),
            usage: wgpu::BufferUsages::STORAGE,
        })
    }

    fn run_once(
        &self,
        program: &Program,
        tables: &[wgpu::Buffer],
        inputs: &[u32],
        outputs: usize,
    ) -> Vec<u32> {
        let rows = inputs.len() / program.inputs;
        let size = (rows * outputs * size_of::<u32>()) as u64;
        let buffer = |usage| {
            let mapped_at_creation = false;
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation,
            })
        };
        let results = buffer(wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC);
        let copy = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        let inputs = self.storage(inputs);
        let buffers = [&inputs, &results].into_iter().chain(tables);
        let entries: Vec<_> = (INPUTS_BINDING..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &program.pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&program.pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups((rows as u32).div_ceil(WORKGROUP_SIZE), 1, 1);
        drop(pass);
        encoder.copy_buffer_to_buffer(&results, 0, &copy, 0, size);
        self.queue.submit([encoder.finish()]);
        copy.map_async(wgpu::MapMode::Read, .., |result| result.expect("the buffer is mapped"));
        self.device.poll(wgpu::PollType::wait_indefinitely()).expect("the device works");
        let view = copy.get_mapped_range(..).expect("the buffer is mapped");
        words(&view, u32::from_ne_bytes)
    }
}

fn words(bytes: &[u8], word: fn([u8; 4]) -> u32) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|bytes| word(bytes.try_into().expect("a chunk has 4 bytes")))
        .collect()
}
