//! Command lines of the program `lightbound`, and the CSV files of `shader eval`.

use super::{Reader, repository};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Runs the program.
pub struct Commands {
    program: PathBuf,
    folder: tempfile::TempDir,
    /// Whether inputs are CSV files rather than command lines.
    csv: bool,
}

/// Command lines; paths are relative to a folder with a few small files.
const COMMAND_LINES: [&str; 27] = [
    "render scene.pbrt -o a.png --spp 1 --resolution 4x3 --crop 0,0.5,0,1 --seed 7 --exposure 1",
    "render scene.pbrt -o a.exr --spp 2 --resolution 4x3 --sample-range 0..1 --variance",
    "render scene.pbrt -o a.png --spp 4 --resolution 4x3 --noise-threshold 0.5 --stats s.json",
    "render scene.pbrt -o a.pfm --spp 1 --resolution 4x3 --light-sampling tree --strict",
    "render scene.pbrt -o a.exr --spp 1 --resolution 4x3 --integrator lightcuts --error 0.02",
    "render scene.pbrt --resolution 4x3 --integrator lightcuts --mode stochastic --cut-size 8",
    "render scene.pbrt -o a.exr --spp 1 --resolution 4x3 --time-limit 0.1 --threads 2 -q",
    "compare image.pfm image.pfm --metric relmse,psnr --fail-above relmse=0.1 --crop 0,1,0,1",
    "compare image.pfm image.pfm --format json --heatmap h.png",
    "falsecolor image.pfm -o f.png --layer colour --range 0..1",
    "shader check stripes.wgsl",
    "shader eval stripes.wgsl --wi 0,0.6,0.8 --wo 0,0,1 --set kd=0.1,0.2,0.3",
    "shader bound stripes.wgsl --wi=-0.1..0.1,0.5..0.6,0.7..0.9 --wo 0,0,1",
    "shader show stripes.wgsl --stage bounds --target sse",
    "bounds --shader stripes.wgsl --target sse --nan ignore --rounds 2",
    "merge part.exr -o c.exr",
    "render scene.pbrt -o a.exr --spp 3 --resolution 4x3 --resume --keep-sums --checkpoint 0.1",
    "render scene.pbrt --resolution 4x3 --layers beauty,position,ids --color-space rec2020",
    "render scene.pbrt -o png:- --spp 1 --resolution 4x3 --environment image.pfm --progress auto",
    "info scene.pbrt image.pfm --format json",
    "info part.exr",
    "convert image.pfm b.exr --bits 16 --resize 50% --crop 0,3,1,4",
    "convert image.pfm b.png --exposure -1.5 --tonemap agx -q",
    "convert image.pfm e.exr --resize 8x4 --envmap equiarea",
    "convert part.exr pfm:- --resize 5x --layer depth.Z --tonemap none",
    "regress suite.toml --filter first --jobs 1 --threads 2 --seed 4",
    "shader preview stripes.wgsl -o p.png --set kd=0.1,0.2,0.3 --size 8 --spp 1",
];

/// Write files that the command lines read.
const PREPARATIONS: [&str; 2] = [
    "render scene.pbrt -o part.exr --spp 2 --resolution 4x3 --sample-range 0..1 --quiet",
    "regress suite.toml --update first",
];

/// Commands, and options that limit their work. They follow the others: the last value wins.
const LIMITS: [(&str, &str); 3] = [
    ("render", "--time-limit 1"),
    ("bounds", "--rounds 1"),
    ("shader preview", "--size 8 --spp 1"),
];

/// Tables for `shader eval`.
const TABLES: [&str; 3] = [
    "wi.x,wi.y,wi.z,wo.x,wo.y,wo.z\n0,0.6,0.8,0,0,1\n0.6,0,0.8,0,0.6,0.8\n",
    "# points\nwi.x,wi.y,wi.z,wo.x,wo.y,wo.z,kd.r,width\n0,0,1,0,0,1,0.5,2\n\n0,0.6,0.8,0,0,1,1,0.25\n",
    "\"wi.x\",wi.y,wi.z,wo.x,wo.y,wo.z,kd\n1e-3, -0.5 ,0.8,0,0,1,0\n",
];

impl Commands {
    /// Creates a reader of command lines.
    pub fn options() -> Commands {
        let mut commands = Commands::new(false);
        for line in PREPARATIONS {
            commands.read(line.as_bytes()).expect("the command line is valid");
        }
        commands
    }

    /// Creates a reader of CSV files.
    pub fn csv() -> Commands {
        Commands::new(true)
    }

    fn new(csv: bool) -> Commands {
        let folder = tempfile::tempdir().expect("temporary files can be created");
        let files = [
            ("lights.pbrt", "scene.pbrt"),
            ("stripes.wgsl", "stripes.wgsl"),
            ("suite.toml", "suite.toml"),
        ];
        for (from, to) in files {
            let from = repository("renderer/fuzz/corpus").join(from);
            fs::copy(from, folder.path().join(to)).expect("the file can be copied");
        }
        let texels = [[0.5; 3]; 16];
        let image = folder.path().join("image.pfm");
        lightbound_image::write::write_pfm(&image, 4, 4, &texels).expect("the file can be written");
        let this = std::env::current_exe().expect("the program has a path");
        Commands { program: this.with_file_name("lightbound"), folder, csv }
    }
}

impl Reader for Commands {
    fn corpus(&self) -> Vec<Vec<u8>> {
        let texts: &[&str] = if self.csv { &TABLES } else { &COMMAND_LINES };
        texts.iter().map(|text| text.as_bytes().into()).collect()
    }

    fn read(&mut self, input: &[u8]) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        if self.csv {
            let path = self.folder.path().join("table.csv");
            fs::write(path, input).expect("temporary files can be written");
            command.args(["shader", "eval", "stripes.wgsl", "--csv", "table.csv"]);
        } else {
            let text = String::from_utf8_lossy(input);
            // Files are written in the temporary folder alone.
            let words = text.split_whitespace().map(|word| word.replace(['/', '\0'], ""));
            let words: Vec<String> = words.collect();
            let line = words.join(" ");
            let limits = LIMITS.iter().find(|(name, _)| line.starts_with(name));
            command.args(&words).args(limits.iter().flat_map(|(_, options)| options.split(' ')));
        }
        let output = command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("the program `lightbound` is in the folder of this program");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0 | 1) => Ok(()),
            Some(2 | 3) => Err(message),
            Some(code) => panic!("exit code {code}: {message}"),
            None => panic!("signal {:?}: {message}", output.status.signal()),
        }
    }
}
