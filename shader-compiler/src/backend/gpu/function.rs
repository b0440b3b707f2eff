//! Functions of the module: the IR function with its control flow, and helpers.

use super::emit::{FunctionBuilder, Operand, math};
use super::module::ModuleBuilder;
use crate::ir::{Block, Def, Emit, Function, If, Loop, Op, Stmt, Type, Value};
use crate::math::EmitExt;
use naga::{
    BinaryOperator, Expression, GlobalVariable, Handle, MathFunction, ScalarKind, Statement,
};

/// Bits of a float without the sign.
const MAGNITUDE: i32 = i32::MAX;

/// Bits of infinity. Only NaNs have a greater magnitude.
const INFINITY: u32 = f32::INFINITY.to_bits();

/// Builds a function from a struct of inputs to a struct of outputs.
pub fn build(
    module: &mut ModuleBuilder,
    function: &Function,
    name: &str,
    inputs: Handle<naga::Type>,
    outputs: Handle<naga::Type>,
) -> naga::Function {
    let mut f = FunctionBuilder::new(module, name);
    let input = f.argument("input", inputs);
    let mut translator = Translator { values: vec![None; function.len()], function, f };
    for (value, data) in function.values.iter().enumerate() {
        translator.values[value] = match data.def {
            Def::Input(index) => Some(translator.input(input, index)),
            Def::Const(bits) => Some(Operand::Constant(data.ty, bits)),
            _ => None,
        };
    }
    translator.block(&function.body);
    let mut components: Vec<_> =
        function.body.yields.iter().map(|&value| translator.output(value)).collect();
    let mut f = translator.f;
    if components.is_empty() {
        components.push(f.handle(Operand::Constant(Type::I32, 0)));
    }
    let result = f.expression(Expression::Compose { ty: outputs, components });
    f.finish_with(outputs, result)
}

struct Translator<'f, 'm> {
    function: &'f Function,
    f: FunctionBuilder<'m>,
    /// The operand of each value that is in scope.
    values: Vec<Option<Operand>>,
}

impl Translator<'_, '_> {
    fn get(&self, value: Value) -> Operand {
        self.values[value.index()].expect("definitions precede uses")
    }

    fn set(&mut self, value: Value, operand: Operand) {
        self.values[value.index()] = Some(operand);
    }

    fn input(&mut self, inputs: Handle<Expression>, index: u32) -> Operand {
        let word = self.f.expression(Expression::AccessIndex { base: inputs, index });
        let word = Operand::Expression(word, 0);
        if self.function.inputs[index as usize].ty != Type::Bool {
            return word;
        }
        let zero = self.f.i32(0);
        let (left, right) = (self.f.handle(word), self.f.handle(zero));
        Operand::Expression(self.f.binary(BinaryOperator::NotEqual, left, right), 1)
    }

    fn output(&mut self, value: Value) -> Handle<Expression> {
        let mut operand = self.get(value);
        if self.function.ty(value) == Type::Bool {
            let (one, zero) = (self.f.i32(1), self.f.i32(0));
            operand = self.f.select(operand, one, zero);
        }
        self.f.handle(operand)
    }

    fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    let (op, args) =
                        self.function.operation(*value).expect("statements define operations");
                    let args: Vec<_> = args.iter().map(|&arg| self.get(arg)).collect();
                    let result = self.f.op(op, &args);
                    self.set(*value, result);
                }
                Stmt::If(i) => self.if_(i),
                Stmt::Loop(l) => self.loop_(l),
            }
        }
    }

    /// Declares variables for values, which join control flow.
    fn variables(&mut self, name: &str, values: &[Value]) -> Vec<Handle<Expression>> {
        let variables =
            values.iter().map(|&value| self.f.variable(name.to_owned(), self.function.ty(value)));
        variables.collect()
    }

    fn store(&mut self, variables: &[Handle<Expression>], values: &[Value]) {
        for (&pointer, &value) in std::iter::zip(variables, values) {
            let value = self.get(value);
            let value = self.f.handle(value);
            self.f.statement(Statement::Store { pointer, value });
        }
    }

    fn load(&mut self, values: &[Value], variables: &[Handle<Expression>]) {
        for (&value, &pointer) in std::iter::zip(values, variables) {
            let loaded = self.f.expression(Expression::Load { pointer });
            self.set(value, Operand::Expression(loaded, 0));
        }
    }

    fn if_(&mut self, i: &If) {
        let results = self.variables("result", &i.results);
        let condition = self.get(i.cond);
        let condition = self.f.handle(condition);
        let [accept, reject] = [&i.then, &i.otherwise].map(|arm| {
            self.f.begin();
            self.block(arm);
            self.store(&results, &arm.yields);
            self.f.end()
        });
        self.f.statement(Statement::If { condition, accept, reject });
        self.load(&i.results, &results);
    }

    fn loop_(&mut self, l: &Loop) {
        let params = self.variables("param", &l.params);
        let results = self.variables("result", &l.results);
        self.store(&params, &l.init);
        self.f.begin();
        self.load(&l.params, &params);
        self.block(&l.head);
        let exits = match self.function.operation(l.cond) {
            Some((Op::BNot, args)) => self.get(args[0]),
            _ => {
                let continues = self.get(l.cond);
                self.f.not(continues)
            }
        };
        let condition = self.f.handle(exits);
        self.f.begin();
        self.store(&results, &l.head.yields);
        self.f.statement(Statement::Break);
        let accept = self.f.end();
        self.f.statement(Statement::If { condition, accept, reject: naga::Block::new() });
        self.block(&l.body);
        self.store(&params, &l.body.yields);
        let body = self.f.end();
        let continuing = naga::Block::new();
        self.f.statement(Statement::Loop { body, continuing, break_if: None });
        self.load(&l.results, &results);
    }
}

/// Whether a float is not NaN: a test of bits, since compilers may assume that there are no NaNs.
pub fn is_number(module: &mut ModuleBuilder) -> naga::Function {
    let mut f = FunctionBuilder::new(module, "lightbound_is_number");
    let x = f.value_argument("x", Type::F32);
    let magnitude = magnitude(&mut f, x);
    let limit = f.i32(INFINITY as i32 + 1);
    let is_number = f.ult(magnitude, limit);
    finish(f, Type::Bool, is_number)
}

/// The float with these bits. The call of a function is not a constant expression, which must be
/// finite in WGSL.
pub fn float_from_bits(module: &mut ModuleBuilder) -> naga::Function {
    let mut f = FunctionBuilder::new(module, "lightbound_float_from_bits");
    let bits = f.value_argument("bits", Type::I32);
    let float = f.float(bits);
    finish(f, Type::F32, float)
}

/// [`Op::TruncateToInt`]: languages do not define the conversion of numbers that do not fit.
pub fn truncate_to_int(module: &mut ModuleBuilder) -> naga::Function {
    let mut f = FunctionBuilder::new(module, "lightbound_truncate_to_int");
    let x = f.value_argument("x", Type::F32);
    let magnitude = magnitude(&mut f, x);
    let limit = f.i32(2147483648f32.to_bits() as i32);
    let fits = f.ult(magnitude, limit);
    let expr = f.handle(x);
    let int = f.expression(Expression::As { expr, kind: ScalarKind::Sint, convert: Some(4) });
    let int = Operand::Expression(f.bitcast(int, ScalarKind::Uint), 0);
    let otherwise = f.i32(i32::MIN);
    let int = f.select(fits, int, otherwise);
    finish(f, Type::I32, int)
}

/// The bits of a float without its sign. As integers, they have the order of the magnitudes.
fn magnitude(f: &mut FunctionBuilder<'_>, x: Operand) -> Operand {
    let bits = f.bits(x);
    let mask = f.i32(MAGNITUDE);
    f.and(bits, mask)
}

/// The word of a table at an index; the last word if the index is out of range.
pub fn word(
    module: &mut ModuleBuilder,
    table: u32,
    variable: Handle<GlobalVariable>,
) -> naga::Function {
    let mut f = FunctionBuilder::new(module, &format!("texture_{table}_word"));
    let index = f.value_argument("index", Type::I32);
    let buffer = f.expression(Expression::GlobalVariable(variable));
    let length = f.expression(Expression::ArrayLength(buffer));
    let one = f.i32(1);
    let (index, one) = (f.handle(index), f.handle(one));
    let last = f.binary(BinaryOperator::Subtract, length, one);
    let index = f.expression(math(MathFunction::Min, index, Some(last)));
    let pointer = f.expression(Expression::Access { base: buffer, index });
    let word = f.expression(Expression::Load { pointer });
    finish(f, Type::I32, Operand::Expression(word, 0))
}

/// A composite operation. One that reads a table has a constant first argument.
pub fn composite(module: &mut ModuleBuilder, op: Op, access: Option<u32>) -> naga::Function {
    let mut f = FunctionBuilder::new(module, &format!("lightbound_{}", op.name()));
    let signature = op.signature();
    let types = signature.args.iter().map(|ty| ty.expect("only selects have type parameters"));
    let args: Vec<_> = std::iter::zip(types, ["a", "b", "c"])
        .enumerate()
        .map(|(index, (ty, name))| match access {
            Some(access) if index == 0 => Operand::Constant(ty, access),
            _ => f.value_argument(name, ty),
        })
        .collect();
    let result = op.expand(&mut f, &args).expect("composite operations have expansions");
    finish(f, signature.result.expect("only selects have type parameters"), result)
}

fn finish(mut f: FunctionBuilder<'_>, ty: Type, result: Operand) -> naga::Function {
    let result = f.handle(result);
    let ty = f.module.value_type(ty);
    f.finish_with(ty, result)
}
