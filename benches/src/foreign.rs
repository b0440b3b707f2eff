//! Machine code that C compilers generate from our C output, and rustc from programs written by hand,
//! loaded to run alongside our own. All unsafe code of this crate is here.

use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use libloading::Library;
use lightbound_shader::backend::Backend;
use lightbound_shader::backend::c::{self, Intrinsics, Scalar};
use lightbound_shader::backend::x86::Isa;
use lightbound_shader::ir::{Function, Table};
use lightbound_shader::{Batch, Target};
use object::{Object, ObjectSymbol};
use std::path::Path;
use std::process::Command;

/// An installed C compiler.
pub struct Compiler {
    program: String,
    /// Release and optimization level: `clang 19.1.7 -O3`.
    pub name: String,
    /// The release: `clang 19.1.7`.
    pub release: String,
    /// The optimization level: `-O3`.
    level: &'static str,
}

/// The error message if no C compiler is installed.
pub const NO_COMPILER: &str = "no C compiler found: install gcc or clang";

impl Compiler {
    /// Finds gcc and all versions of clang on the search path.
    pub fn all() -> Vec<Compiler> {
        let numbered = (11..=40).map(|n| (format!("clang-{n}"), "clang", "-O3"));
        let plain = [("gcc".to_owned(), "gcc", "-O2"), ("clang".to_owned(), "clang", "-O3")];
        let mut found: Vec<Compiler> = vec![];
        for (program, family, level) in plain.into_iter().chain(numbered) {
            let Ok(output) = Command::new(&program).arg("--version").output() else { continue };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut numbers = text.lines().next().unwrap_or_default().split_whitespace();
            let version = numbers
                .rfind(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
            let release = format!("{family} {}", version.unwrap_or("?"));
            let name = format!("{release} {level}");
            if output.status.success() && found.iter().all(|other| other.name != name) {
                found.push(Compiler { program, name, release, level });
            }
        }
        found
    }

    /// Compiles a lowered function as C with intrinsics, with the interface of our machine code,
    /// and loads it.
    pub fn compile(&self, function: &Function, target: Target) -> Result<ForeignFunction, String> {
        self.build(&Intrinsics(isa(target)), &[self.level], function, target)
    }

    /// Compiles a lowered function as scalar C at -O3, and loads it. The compiler vectorizes the
    /// loop over lanes, unless `vectorized` is false.
    pub fn compile_scalar(
        &self,
        function: &Function,
        target: Target,
        vectorized: bool,
    ) -> Result<ForeignFunction, String> {
        // Vectorizers skip operations that might trap.
        let options: &[&str] = match vectorized {
            true => &["-O3", "-fno-trapping-math", "-ftree-vectorize"],
            false => &["-O3", "-fno-trapping-math", "-fno-tree-vectorize"],
        };
        self.build(&Scalar { lanes: target.lanes() }, options, function, target)
    }

    fn build(
        &self,
        backend: &impl Backend<Output = String>,
        options: &[&str],
        function: &Function,
        target: Target,
    ) -> Result<ForeignFunction, String> {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (source, library) = (dir.path().join("shader.c"), dir.path().join("shader.so"));
        std::fs::write(&source, backend.emit(function)).map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.program);
        command.args(options).args([
            Intrinsics(isa(target)).compiler_flag(),
            "-std=c11",
            "-ffp-contract=off",
            "-fno-math-errno",
            "-fcf-protection=none",
            "-shared",
            "-fPIC",
            "-o",
        ]);
        command.args([&library, &source]);
        let output = command.output().map_err(|error| format!("{}: {error}", self.program))?;
        if !output.status.success() {
            return Err(format!("{}: {}", self.program, String::from_utf8_lossy(&output.stderr)));
        }
        ForeignFunction::load(&library, function, target)
    }
}

/// Returns the instruction set of a target; for the interpreter, SSE4.1, which has the same number
/// of lanes.
fn isa(target: Target) -> Isa {
    target.isa().unwrap_or(Isa::Sse41)
}

/// The interface of machine code: inputs and outputs of one group, `[port][lane]`, and tables.
type Entry = unsafe extern "C" fn(*const u32, *mut u32, *const Table<'static>);

/// A function in a shared library.
pub struct ForeignFunction {
    entry: Entry,
    target: Target,
    /// Numbers of inputs and outputs.
    ports: (usize, usize),
    /// Number of tables.
    tables: usize,
    code: Vec<u8>,
    /// Owns the loaded code.
    _library: Library,
}

impl ForeignFunction {
    fn load(path: &Path, function: &Function, target: Target) -> Result<ForeignFunction, String> {
        let symbol = &c::identifier(&function.name);
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        let code = code_of(&bytes, symbol)
            .ok_or(format!("no function `{symbol}` in the compiler's output"))?;
        // SAFETY: the library was just compiled from our own text, which consists of functions and
        // constants, so loading runs none of its code. The symbol is the function for groups, which
        // the text declares with the type `Entry`.
        let (library, entry) = unsafe {
            let library = Library::new(path).map_err(|error| error.to_string())?;
            let entry =
                *library.get::<Entry>(symbol.as_bytes()).map_err(|error| error.to_string())?;
            (library, entry)
        };
        let ports = (function.inputs.len(), function.outputs.len());
        Ok(ForeignFunction {
            entry,
            target,
            ports,
            tables: function.tables(),
            code,
            _library: library,
        })
    }

    /// Evaluates all rows, group by group.
    pub fn run(&self, tables: &[Table<'_>], inputs: &Batch, outputs: &mut Batch) {
        let (lanes, ports) = (self.target.lanes(), self.ports);
        assert!(
            self.tables <= tables.len(),
            "the function reads {} tables, not {}",
            self.tables,
            tables.len()
        );
        assert!(self.target.is_available(), "this machine cannot run the code");
        assert_eq!(
            (inputs.lanes(), outputs.lanes()),
            (lanes, lanes),
            "batches must have {lanes} lanes"
        );
        assert_eq!(
            (inputs.ports(), outputs.ports()),
            ports,
            "batches must match the function's inputs and outputs"
        );
        assert_eq!(inputs.rows(), outputs.rows(), "batches must have the same number of rows");
        let inputs = inputs.words().chunks_exact(lanes * ports.0);
        let outputs = outputs.words_mut().chunks_exact_mut(lanes * ports.1);
        for (inputs, outputs) in inputs.zip(outputs) {
            // SAFETY: for each lane, the function reads a word of each input and writes a word of
            // each output, and the slices have that length. Groups of a batch are aligned as the
            // machine code of the target requires. The text lays out tables like `Table`, and
            // clamps indices to their sizes. As asserted, there are at least as many tables as the
            // function reads.
            unsafe { (self.entry)(inputs.as_ptr(), outputs.as_mut_ptr(), tables.as_ptr().cast()) }
        }
    }

    /// Returns the machine code of the function.
    pub fn code(&self) -> &[u8] {
        &self.code
    }
}

/// A library compiled from `benches/nitrous/hand.rs`.
pub struct RustLibrary {
    library: Library,
}

/// The arguments of a function in a [`RustLibrary`].
#[repr(C)]
struct RustCall {
    fixed: *const i32,
    dynamic: *const i32,
    rows: usize,
    words: *const u32,
    count: usize,
    table: *const u32,
    table_count: usize,
    out: *mut u32,
}

/// A function in a [`RustLibrary`].
pub struct RustFunction<'l> {
    entry: libloading::Symbol<'l, unsafe extern "C" fn(&RustCall)>,
}

impl RustLibrary {
    /// Compiles the library at `-O3` for a CPU, as rustc names it.
    pub fn compile(cpu: &str) -> Result<RustLibrary, String> {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (source, library) = (dir.path().join("hand.rs"), dir.path().join("hand.so"));
        std::fs::write(&source, include_str!("../nitrous/hand.rs"))
            .map_err(|error| error.to_string())?;
        let mut command = Command::new("rustc");
        command.args(["--edition", "2021", "--crate-type", "cdylib", "-C", "opt-level=3"]);
        command.args(["-C", &format!("target-cpu={cpu}"), "-o"]).args([&library, &source]);
        let output = command.output().map_err(|error| format!("rustc: {error}"))?;
        if !output.status.success() {
            return Err(format!("rustc: {}", String::from_utf8_lossy(&output.stderr)));
        }
        // SAFETY: the library was just compiled from our own text, and runs no code when loaded.
        let library = unsafe { Library::new(&library).map_err(|error| error.to_string())? };
        Ok(RustLibrary { library })
    }

    /// Finds a function.
    pub fn function(&self, name: &str) -> Result<RustFunction<'_>, String> {
        // SAFETY: all functions that the library exports have this type, with the same layout of
        // the argument.
        let entry = unsafe { self.library.get(name.as_bytes()) };
        Ok(RustFunction { entry: entry.map_err(|error| error.to_string())? })
    }
}

impl RustFunction<'_> {
    /// Evaluates all rows. `fixed` has all static values of the function.
    pub fn run(
        &self,
        fixed: &[i32],
        dynamic: &[i32],
        words: &[u32],
        table: &[u32],
        out: &mut [u32],
    ) {
        assert_eq!(dynamic.len(), out.len(), "there is a result for each row");
        assert!(fixed.len() >= 3, "functions read at most three static values");
        let call = RustCall {
            fixed: fixed.as_ptr(),
            dynamic: dynamic.as_ptr(),
            rows: dynamic.len(),
            words: words.as_ptr(),
            count: words.len(),
            table: table.as_ptr(),
            table_count: table.len(),
            out: out.as_mut_ptr(),
        };
        // SAFETY: the pointers are those of slices with these lengths, and the text indexes slices
        // with checks. It reads at most three static values.
        unsafe { (self.entry)(&call) }
    }
}

/// Counts instructions, except for padding.
pub fn instructions(code: &[u8]) -> usize {
    Decoder::new(64, code, DecoderOptions::NONE)
        .iter()
        .filter(|instruction| instruction.mnemonic() != Mnemonic::Nop)
        .count()
}

/// Returns the machine code of a function in an object file.
fn code_of(file: &[u8], symbol: &str) -> Option<Vec<u8>> {
    use object::ObjectSection;
    let file = object::File::parse(file).ok()?;
    let symbol = file.dynamic_symbols().find(|s| s.name() == Ok(symbol))?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    section.data_range(symbol.address(), symbol.size()).ok()?.map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lightbound_shader::builder::{Builder, Rules};
    use lightbound_shader::ir::{Emit, Op, Type};

    #[test]
    fn compiled_c_reads_tables() {
        let mut b = Builder::new("read", Rules::Exact);
        let (table, index) = (b.i32(1), b.input("index", Type::I32));
        let word = b.op(Op::Load, &[table, index]);
        let function = b.finish([("word".to_owned(), word)]);
        let tables = [Table::new(&[0]), Table::new(&[1, 2, 3])];
        for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
            for compiler in Compiler::all() {
                let variants = [
                    compiler.compile(&function, target),
                    compiler.compile_scalar(&function, target, true),
                    compiler.compile_scalar(&function, target, false),
                ];
                for foreign in variants.map(|variant| variant.expect("the C code compiles")) {
                    let (mut inputs, mut outputs) =
                        (Batch::new(target, 1, 20), Batch::new(target, 1, 20));
                    (0..20).for_each(|row| inputs.set_bits(row, 0, (row as u32).wrapping_sub(10)));
                    foreign.run(&tables, &inputs, &mut outputs);
                    let expected = |row| if (10..12).contains(&row) { row as u32 - 9 } else { 3 };
                    assert!(
                        (0..20).all(|row| outputs.bits(row, 0) == expected(row)),
                        "{} generates wrong code for {target}",
                        compiler.name
                    );
                }
            }
        }
    }

    #[test]
    fn compiled_c_runs() {
        let mut b = Builder::new("product", Rules::Exact);
        let [x, y] = ["x", "y"].map(|name| b.input(name, Type::F32));
        let product = b.op(Op::Mul, &[x, y]);
        let function = b.finish([("product".to_owned(), product)]);
        for target in Target::ALL.into_iter().filter(|target| target.is_available()) {
            for compiler in Compiler::all() {
                let foreign = compiler.compile(&function, target).expect("the C code compiles");
                let (mut inputs, mut outputs) =
                    (Batch::new(target, 2, 20), Batch::new(target, 1, 20));
                (0..20).for_each(|row| {
                    (0..2).for_each(|port| inputs.set(row, port, (row + port) as f32))
                });
                foreign.run(&[], &inputs, &mut outputs);
                assert!(
                    (0..20).all(|row| outputs.get(row, 0) == (row * (row + 1)) as f32),
                    "{} generates wrong code for {target}",
                    compiler.name
                );
                // Load, multiply, store, return. AVX2 also clears the upper halves of registers.
                assert!(
                    (4..=5).contains(&instructions(foreign.code())),
                    "{} generates wrong code for {target}",
                    compiler.name
                );
            }
        }
    }
}
