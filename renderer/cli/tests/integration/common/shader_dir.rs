//! Runs the shader commands in a temporary folder.

use super::lightbound;
use assert_cmd::Command;
use lightbound_shader::Target;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A shader with every type of parameter, a branch, a loop, and different results for each colour
/// channel.
pub const LOBE: &str = "\
//! A lobe over a tint, for tests.

/// Number of squarings, which sharpen the lobe.
override squarings: u32 = 2;

struct Material {
    /// Diffuse albedo. range: [0, 1]
    kd: vec3f,
    /// Strength of the lobe. range: [0, 10], default: 0.5
    ks: f32,
    /// Rounds of darkening. range: [0, 8], default: 1
    rounds: u32,
    /// Added to the tint. range: [-2, 2], default: 0
    shift: i32,
    /// Whether there is a lobe. default: true
    lobe: bool,
}

fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f {
    var tint = m.kd / 3.14159265 + f32(m.shift);
    for (var i = 0u; i < min(m.rounds, 8u); i++) {
        tint *= 0.75;
    }
    if !m.lobe {
        return tint;
    }
    var c = max(dot(wi, vec3f(-wo.xy, wo.z)), 0.0);
    for (var i = 0u; i < squarings; i++) {
        c *= c;
    }
    return tint + m.ks * c;
}
";

/// A loop that does not terminate if `a` is 0.
pub const ENDLESS: &str = "\
struct Material { a: f32 }
fn brdf(wi: vec3f, wo: vec3f, m: Material) -> vec3f { var x = m.a; while x < 1.0 { x *= 1.5; } return vec3f(x); }
";

/// Targets that this machine supports.
pub fn targets() -> impl Iterator<Item = &'static str> {
    Target::ALL.into_iter().filter(|target| target.is_available()).map(Target::name)
}

/// A temporary folder with a shader, `a.wgsl`.
pub struct ShaderDir {
    folder: TempDir,
}

impl ShaderDir {
    pub fn new(shader: &str) -> ShaderDir {
        let dir = ShaderDir { folder: tempfile::tempdir().unwrap() };
        dir.write("a.wgsl", shader);
        dir
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// `lightbound shader SUBCOMMAND a.wgsl ARGS`, in the folder.
    pub fn shader(&self, subcommand: &str, args: &[&str]) -> Command {
        let mut command = lightbound(&["shader", subcommand, "a.wgsl"]);
        command.args(args).current_dir(self.root());
        command
    }

    pub fn stdout(&self, subcommand: &str, args: &[&str]) -> String {
        let output = self.shader(subcommand, args).assert().success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    }

    /// The bits of the six numbers that `eval` prints.
    pub fn eval(&self, args: &[&str]) -> Vec<u32> {
        let text = self.stdout("eval", args);
        let numbers = |name: &str| -> Vec<u32> {
            let line = text
                .lines()
                .find(|line| line.split_whitespace().next() == Some(name))
                .expect(&text);
            line.split_whitespace()
                .skip(1)
                .take(3)
                .map(|x| x.parse::<f32>().expect(line).to_bits())
                .collect()
        };
        [numbers("brdf"), numbers("s")].concat()
    }

    /// The output of `bound`: names with both endpoints.
    pub fn bound(&self, args: &[&str]) -> Vec<(String, [f32; 2])> {
        let text = self.stdout("bound", args);
        let line = |line: &str| {
            let parts: Vec<&str> = line.split_whitespace().collect();
            let [name, low, "..", high] = parts[..] else { panic!("{line}") };
            (name.to_owned(), [low, high].map(|x| x.parse().expect(line)))
        };
        text.lines().map(line).collect()
    }

    /// The output table of a command for an input table.
    pub fn table(&self, subcommand: &str, csv: &str, args: &[&str]) -> Table {
        self.write("in.csv", csv);
        self.shader(subcommand, args).args(["--csv", "in.csv", "-o", "out.csv"]).assert().success();
        Table::parse(&self.read("out.csv"))
    }
}

/// A table of floats.
#[derive(Debug, PartialEq)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<f32>>,
}

impl Table {
    pub fn parse(csv: &str) -> Table {
        let mut lines = csv.lines();
        let columns = lines.next().unwrap().split(',').map(str::to_owned).collect();
        Table {
            columns,
            rows: lines.map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect(),
        }
    }
}

/// [`LOBE`] with a default for each parameter.
pub fn lobe_with_defaults() -> String {
    LOBE.replace("albedo. range: [0, 1]", "albedo. range: [0, 1], default: 0.5")
}

/// [`lobe_with_defaults`] with its cosine written as a difference of products.
pub fn lobe_of_products() -> String {
    lobe_with_defaults()
        .replace("dot(wi, vec3f(-wo.xy, wo.z))", "wi.z * wo.z - wi.x * wo.x - wi.y * wo.y")
}

/// Files of the material library.
pub fn library_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/shaders");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 6, "only {} shaders", files.len());
    files
}
