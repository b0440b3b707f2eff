//! Memory of the process, and whether a film fits into what is left, before anything is rendered.
//!
//! Systems grant more memory than they have, and end the process when it uses it. So on Linux, the
//! size is compared with the memory that is available: to the machine, and to the control groups of
//! the process, which containers and job schedulers set up. Elsewhere, and if the process has a
//! limit of its own (`ulimit -v`), a trial allocation finds out.

use super::Error;
use super::console::bytes;
use lightbound::film::FilmOptions;
use lightbound_image::Window;
use std::fs;
use std::path::Path;

/// Checks that a film fits into memory. `remedy` is the advice if it does not.
pub fn check_film(window: Window, options: FilmOptions, remedy: &str) -> Result<(), Error> {
    let needed = options.film_bytes(window);
    let available = available_memory(Path::new("/"));
    let problem = match available {
        Some(available) if needed > available => {
            format!("only {} of memory are available", bytes(available))
        }
        _ if !can_allocate(needed) => "the system does not grant that much".into(),
        _ => return Ok(()),
    };
    let message = format!(
        "an image of {} × {} pixels with these layers needs {} ({} bytes a pixel), but {problem}",
        window.width(),
        window.height(),
        bytes(needed),
        options.bytes_per_pixel(),
    );
    Err(Error::option(message, remedy))
}

/// Peak memory of the process, if the system reports it (Linux).
pub fn peak_bytes() -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Memory of the process that is resident now, if the system reports it (Linux).
pub fn resident_bytes() -> Option<u64> {
    field(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// Whether the system grants a block of memory, which is freed again.
fn can_allocate(bytes: u64) -> bool {
    usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok())
}

/// Returns the memory that the process can use without swapping, bytes; `None` if the system does
/// not tell. `root` is the root of the file system.
fn available_memory(root: &Path) -> Option<u64> {
    let machine = || field(&fs::read_to_string(root.join("proc/meminfo")).ok()?, "MemAvailable:");
    let groups = || Some(groups(root, &fs::read_to_string(root.join("proc/self/cgroup")).ok()?));
    machine().into_iter().chain(groups().into_iter().flatten()).min()
}

/// A field of `/proc/meminfo` or `/proc/PID/status`, in bytes. `name` ends with a colon.
fn field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Returns the memory available within each control group of the process that has a limit.
/// `cgroup` is the content of `/proc/self/cgroup`.
fn groups(root: &Path, cgroup: &str) -> Vec<u64> {
    // A line has a number, controllers and the path of the group; version 2 has no controllers.
    let lines = cgroup.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let mut available = Vec::new();
    for (controllers, path) in lines {
        let (mount, files) = match controllers {
            "" => ("sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file"]),
            list if list.split(',').any(|name| name == "memory") => (
                "sys/fs/cgroup/memory",
                ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
            ),
            _ => continue,
        };
        let mount = root.join(mount);
        // Limits of outer groups hold as well. In a container, the path may be one of the host
        // that does not exist here; then only the outermost group does.
        let group = mount.join(path.trim_start_matches('/'));
        let enclosing = group.ancestors().take_while(|group| group.starts_with(&mount));
        available.extend(enclosing.filter_map(|group| group_memory(group, files)));
    }
    available
}

/// Returns the memory that a control group has left: its limit, less the memory that it uses, cache
/// files that it can drop excepted. `None` if it has no limit.
fn group_memory(group: &Path, [limit, usage, cache]: [&str; 3]) -> Option<u64> {
    let number = |file: &str| -> Option<u64> {
        fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
    };
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cache = stat.lines().find_map(|line| line.strip_prefix(cache)?.trim().parse().ok());
    let used = number(usage)?.saturating_sub(cache.unwrap_or(0));
    Some(number(limit)?.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file system with the given files.
    fn files(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const MEMINFO: (&str, &str) =
        ("proc/meminfo", "MemTotal:       9000 kB\nMemFree: 10 kB\nMemAvailable:    8000 kB\n");

    #[test]
    fn memory_of_the_machine_is_the_limit_without_groups() {
        assert_eq!(available_memory(files(&[MEMINFO]).path()), Some(8000 * 1024));
        assert_eq!(available_memory(files(&[]).path()), None);
        let unlimited = [
            MEMINFO,
            ("proc/self/cgroup", "0::/user\n"),
            ("sys/fs/cgroup/user/memory.max", "max\n"),
            ("sys/fs/cgroup/user/memory.current", "5000\n"),
        ];
        assert_eq!(available_memory(files(&unlimited).path()), Some(8000 * 1024));
    }

    #[test]
    fn limits_of_enclosing_groups_hold() {
        let nested = [
            MEMINFO,
            ("proc/self/cgroup", "0::/job/step\n"),
            ("sys/fs/cgroup/job/step/memory.max", "max\n"),
            ("sys/fs/cgroup/job/step/memory.current", "100\n"),
            ("sys/fs/cgroup/job/memory.max", "1000000\n"),
            ("sys/fs/cgroup/job/memory.current", "400000\n"),
            ("sys/fs/cgroup/job/memory.stat", "anon 300000\nfile 100000\ninactive_file 70000\n"),
        ];
        assert_eq!(available_memory(files(&nested).path()), Some(670_000));
    }

    #[test]
    fn limits_of_containers_hold() {
        // The path of the host's group is not visible.
        let container = [
            MEMINFO,
            ("proc/self/cgroup", "0::/docker/abc\n"),
            ("sys/fs/cgroup/memory.max", "2000000\n"),
            ("sys/fs/cgroup/memory.current", "500000\n"),
        ];
        assert_eq!(available_memory(files(&container).path()), Some(1_500_000));
        let version_1 = [
            MEMINFO,
            ("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:hugetlb,memory:/a\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "3000000\n"),
            ("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "1000000\n"),
            ("sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 200000\n"),
        ];
        assert_eq!(available_memory(files(&version_1).path()), Some(2_200_000));
    }

    #[test]
    fn fields_are_in_bytes() {
        let status = "Name:\tx\nVmPeak:\t  9 kB\nVmHWM:\t    2304 kB\n";
        assert_eq!(field(status, "VmHWM:"), Some(2304 * 1024));
        assert_eq!(field("Name:\tx\n", "VmHWM:"), None);
    }

    #[test]
    fn impossible_allocations_are_refused() {
        assert!(can_allocate(1 << 20) && !can_allocate(1 << 62));
        let window = Window { x0: 0, y0: 0, x1: u32::MAX, y1: u32::MAX };
        let error = check_film(window, FilmOptions::default(), "use less").unwrap_err();
        assert!(error.to_string().contains("52 bytes a pixel"), "{error}");
    }
}
