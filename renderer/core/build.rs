//! With the feature `embree`, tells the linker where Embree lies and has the program find it there
//! when it runs.

/// Also run by the build script of the CLI.
pub fn main() {
    println!("cargo::rerun-if-env-changed=EMBREE_DIR");
    let wanted = std::env::var_os("CARGO_FEATURE_EMBREE").is_some();
    if let (true, Ok(dir)) = (wanted, std::env::var("EMBREE_DIR")) {
        for lib in ["lib", "lib64"].map(|name| format!("{dir}/{name}")) {
            if std::path::Path::new(&lib).is_dir() {
                println!("cargo::rustc-link-search=native={lib}");
                println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
            }
        }
    }
}
