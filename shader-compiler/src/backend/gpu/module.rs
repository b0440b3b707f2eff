//! The naga module of a function: its types, its buffers, the function with its helpers, and the
//! entry point.

use super::emit::FunctionBuilder;
use super::function;
use super::{ENTRY_POINT, INPUTS_BINDING, OUTPUTS_BINDING, TABLES_BINDING, WORKGROUP_SIZE};
use crate::ir::{Function, Op, Port, Type};
use naga::{
    AddressSpace, ArraySize, BinaryOperator, Binding, BuiltIn, Expression, GlobalVariable, Handle,
    ResourceBinding, Scalar, Span, Statement, StorageAccess, StructMember, TypeInner, VectorSize,
};
use rustc_hash::FxHashMap;

/// Size of each member of a struct in bytes.
const WORD: u32 = 4;

/// A function that other functions call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Helper {
    /// Whether a float is not NaN.
    IsNumber,
    /// The float with these bits, for constants that are not finite.
    FloatFromBits,
    /// [`Op::TruncateToInt`].
    TruncateToInt,
    /// The word of a table at an index, clamped to the table.
    Word { table: u32 },
    /// A composite operation.
    Composite(Op),
    /// A composite operation that reads a table, with its constant first argument.
    Lookup { op: Op, access: u32 },
}

/// A module under construction.
pub struct ModuleBuilder {
    pub module: naga::Module,
    helpers: FxHashMap<Helper, Handle<naga::Function>>,
    tables: FxHashMap<u32, Handle<GlobalVariable>>,
}

/// Builds the module of a function.
pub fn build(function: &Function) -> naga::Module {
    let mut builder = ModuleBuilder {
        module: naga::Module::default(),
        helpers: FxHashMap::default(),
        tables: FxHashMap::default(),
    };
    let name = identifier(&function.name);
    let [inputs, outputs] = [("Inputs", &function.inputs), ("Outputs", &function.outputs)]
        .map(|(suffix, ports)| builder.ports(&format!("{}{suffix}", camel_case(&name)), ports));
    let [input_rows, output_rows] = [
        ("inputs", INPUTS_BINDING, inputs, StorageAccess::LOAD),
        ("outputs", OUTPUTS_BINDING, outputs, StorageAccess::LOAD | StorageAccess::STORE),
    ]
    .map(|(name, binding, ty, access)| builder.buffer(name, binding, ty, access));
    let body = function::build(&mut builder, function, &name, inputs, outputs);
    let body = builder.module.functions.append(body, Span::UNDEFINED);
    builder.entry_point(body, input_rows, output_rows);
    builder.module
}

impl ModuleBuilder {
    /// A type without a name.
    pub fn ty(&mut self, inner: TypeInner) -> Handle<naga::Type> {
        self.module.types.insert(naga::Type { name: None, inner }, Span::UNDEFINED)
    }

    /// The type of the values of an IR type.
    pub fn value_type(&mut self, ty: Type) -> Handle<naga::Type> {
        self.ty(TypeInner::Scalar(match ty {
            Type::F32 => Scalar::F32,
            Type::I32 => Scalar::U32,
            Type::Bool => Scalar::BOOL,
        }))
    }

    /// A struct with a member for each port. Bools are words, since buffers cannot hold them.
    fn ports(&mut self, name: &str, ports: &[Port]) -> Handle<naga::Type> {
        let mut members: Vec<StructMember> = vec![];
        let unused = [Port { name: "unused".to_owned(), ty: Type::I32 }];
        // A struct has at least one member.
        for port in if ports.is_empty() { &unused[..] } else { ports } {
            let ty = if port.ty == Type::Bool { Type::I32 } else { port.ty };
            members.push(StructMember {
                name: Some(identifier(&port.name)),
                ty: self.value_type(ty),
                binding: None,
                offset: members.len() as u32 * WORD,
            });
        }
        let span = members.len() as u32 * WORD;
        let inner = TypeInner::Struct { members, span };
        self.module.types.insert(naga::Type { name: Some(name.to_owned()), inner }, Span::UNDEFINED)
    }

    /// A storage buffer: an array of elements.
    fn buffer(
        &mut self,
        name: &str,
        binding: u32,
        element: Handle<naga::Type>,
        access: StorageAccess,
    ) -> Handle<GlobalVariable> {
        let stride = self.module.types[element].inner.size(self.module.to_ctx());
        let ty = self.ty(TypeInner::Array { base: element, size: ArraySize::Dynamic, stride });
        let variable = GlobalVariable {
            name: Some(name.to_owned()),
            space: AddressSpace::Storage { access },
            binding: Some(ResourceBinding { group: 0, binding }),
            ty,
            init: None,
            memory_decorations: naga::MemoryDecorations::empty(),
        };
        self.module.global_variables.append(variable, Span::UNDEFINED)
    }

    /// The buffer of a table.
    fn table(&mut self, table: u32) -> Handle<GlobalVariable> {
        if let Some(&variable) = self.tables.get(&table) {
            return variable;
        }
        let word = self.value_type(Type::I32);
        let name = format!("texture_{table}");
        let variable = self.buffer(&name, TABLES_BINDING + table, word, StorageAccess::LOAD);
        self.tables.insert(table, variable);
        variable
    }

    /// A helper function, which is built when it is first needed.
    pub fn helper(&mut self, helper: Helper) -> Handle<naga::Function> {
        if let Some(&function) = self.helpers.get(&helper) {
            return function;
        }
        let function = match helper {
            Helper::IsNumber => function::is_number(self),
            Helper::FloatFromBits => function::float_from_bits(self),
            Helper::TruncateToInt => function::truncate_to_int(self),
            Helper::Word { table } => {
                let variable = self.table(table);
                function::word(self, table, variable)
            }
            Helper::Composite(op) => function::composite(self, op, None),
            Helper::Lookup { op, access } => function::composite(self, op, Some(access)),
        };
        let function = self.module.functions.append(function, Span::UNDEFINED);
        self.helpers.insert(helper, function);
        function
    }

    /// Adds the entry point: each invocation evaluates the function for one row.
    fn entry_point(
        &mut self,
        function: Handle<naga::Function>,
        inputs: Handle<GlobalVariable>,
        outputs: Handle<GlobalVariable>,
    ) {
        let scalar = Scalar::U32;
        let id = self.ty(TypeInner::Vector { size: VectorSize::Tri, scalar });
        let mut f = FunctionBuilder::new(self, ENTRY_POINT);
        let id = f.argument("id", id);
        f.function.arguments[0].binding = Some(Binding::BuiltIn(BuiltIn::GlobalInvocationId));
        let row = f.expression(Expression::AccessIndex { base: id, index: 0 });
        f.function.named_expressions.insert(row, "row".to_owned());
        let [inputs, outputs] =
            [inputs, outputs].map(|buffer| f.expression(Expression::GlobalVariable(buffer)));
        let rows = f.expression(Expression::ArrayLength(outputs));
        let is_beyond = f.binary(BinaryOperator::GreaterEqual, row, rows);
        let mut end = naga::Block::new();
        end.push(Statement::Return { value: None }, Span::UNDEFINED);
        f.statement(Statement::If {
            condition: is_beyond,
            accept: end,
            reject: naga::Block::new(),
        });
        let pointer = f.expression(Expression::Access { base: inputs, index: row });
        let row_inputs = f.expression(Expression::Load { pointer });
        let value = f.call(function, vec![row_inputs]);
        let pointer = f.expression(Expression::Access { base: outputs, index: row });
        f.statement(Statement::Store { pointer, value });
        f.statement(Statement::Return { value: None });
        let function = f.finish();
        self.module.entry_points.push(naga::EntryPoint {
            name: ENTRY_POINT.to_owned(),
            stage: naga::ShaderStage::Compute,
            early_depth_test: None,
            workgroup_size: [WORKGROUP_SIZE, 1, 1],
            workgroup_size_overrides: None,
            function,
            mesh_info: None,
            task_payload: None,
            incoming_ray_payload: None,
        });
    }
}

/// A name as an identifier: `wi.x.lo` is `wi_x_lo`.
fn identifier(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// `ward_bound` becomes `WardBound`.
fn camel_case(name: &str) -> String {
    let mut text = String::new();
    for word in name.split('_') {
        let mut letters = word.chars();
        text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}
