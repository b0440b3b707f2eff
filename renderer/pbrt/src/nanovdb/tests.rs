use super::testing::{TestCodec, TestGrid, blosc, file};
use super::{FloatGrid, NanoVdb, NanoVdbError};
use lightbound::medium::{DensityField, Field, Volume};
use lightbound_math::{Vec3, vec3};

/// All codecs.
const CODECS: [TestCodec; 4] =
    [TestCodec::None, TestCodec::Zip, TestCodec::Blosc(false), TestCodec::Blosc(true)];

fn read(file: &[u8], name: &str) -> Result<FloatGrid, NanoVdbError> {
    Ok(NanoVdb::parse(file)?.float_grid(name)?.expect("the file has the grid"))
}

/// Returns the value of a grid at a point.
fn value(FloatGrid { grid, .. }: &FloatGrid, p: Vec3) -> f32 {
    grid.value(p)
}

/// A grid with values at all levels of the tree.
fn varied() -> TestGrid {
    let leaf = TestGrid::leaf("density", |[x, y, z]| (100 * x + 10 * y + z) as f32);
    let values = leaf.leaves[0].1.clone();
    TestGrid {
        background: 0.25,
        voxel_size: 0.5,
        translation: [10.0, 0.0, -1.0],
        index_box: [[-8, 0, 0], [200, 7, 7]],
        leaves: vec![([0; 3], values.clone()), ([-8, 0, 8], values)],
        cells: vec![([16, 8, 8], 3.0)],
        blocks: vec![([128, 0, -128], 4.0)],
        regions: vec![([4096, 0, -4096], 5.0)],
        ..leaf
    }
}

#[test]
fn values_of_all_levels_are_read_with_all_codecs() {
    for codec in CODECS {
        let grid = read(&file(&[varied()], codec), "density").unwrap();
        let at = |index: [i32; 3]| {
            value(&grid, 0.5 * Vec3::from_array(index.map(|x| x as f32)) + vec3(10.0, 0.0, -1.0))
        };
        for [x, y, z] in [[0, 0, 0], [7, 7, 7], [3, 0, 5]] {
            assert_eq!(at([x, y, z]), (100 * x + 10 * y + z) as f32, "{codec:?}");
            assert_eq!(at([x - 8, y, z + 8]), (100 * x + 10 * y + z) as f32, "{codec:?}");
        }
        assert_eq!([at([16, 8, 8]), at([23, 15, 15]), at([24, 8, 8])], [3.0, 3.0, 0.25]);
        assert_eq!([at([128, 0, -1]), at([255, 127, -128]), at([128, 0, 0])], [4.0, 4.0, 0.25]);
        assert_eq!([at([4096, 1, -1]), at([8191, 4095, -4096])], [5.0; 2]);
        assert_eq!(at([-4000, 50, 1_000_000]), 0.25);
        // Between points, values are interpolated.
        assert_eq!(value(&grid, vec3(10.25, 0.0, -1.0)), 50.0);
        assert_eq!(
            (grid.bounds.min, grid.bounds.max),
            (vec3(6.0, 0.0, -1.0), vec3(110.5, 4.0, 3.0))
        );
    }
}

#[test]
fn files_may_have_several_grids_and_no_header() {
    let other = TestGrid::leaf("temperature", |_| 7.0);
    let grids = [varied(), other];
    let text = file(&grids, TestCodec::Zip);
    let names: Vec<_> = NanoVdb::parse(&text).unwrap().names().map(String::from).collect();
    assert_eq!(names, ["density", "temperature"]);
    assert_eq!(value(&read(&text, "temperature").unwrap(), Vec3::ONE), 7.0);
    assert!(NanoVdb::parse(&text).unwrap().float_grid("flame").unwrap().is_none());
    // Two segments, and grids without headers.
    let segments = [file(&grids[..1], TestCodec::None), file(&grids[1..], TestCodec::Zip)].concat();
    let raw = [grids[0].bytes(), grids[1].bytes()].concat();
    let mut old_raw = grids[1].bytes();
    old_raw[7] = b'0';
    for file in [segments, raw, old_raw] {
        assert_eq!(value(&read(&file, "temperature").unwrap(), Vec3::ONE), 7.0);
    }
}

#[test]
fn quantized_leaves_are_read() {
    for (ty, codes) in [(13, 16), (14, 200), (15, 512), (16, 4)] {
        let values = TestGrid::leaf("density", |[x, y, z]| {
            1.0 + 0.5 * ((64 * x + 8 * y + z) % codes) as f32
        });
        let grid = TestGrid { ty, ..values.clone() };
        let (grid, expected) = (grid.bytes(), values.bytes());
        let [grid, expected] = [grid, expected].map(|bytes| read(&bytes, "density").unwrap());
        for i in 0..512 {
            let p = Vec3::from_array([i >> 6, i >> 3 & 7, i & 7].map(|x| x as f32));
            assert_eq!(value(&grid, p), value(&expected, p), "type {ty}, {p}");
        }
    }
}

/// Files that NanoVDB 32.9 wrote, and values at points that its trilinear sampler returned.
#[test]
fn files_of_the_library_have_its_values() {
    let affine = include_bytes!("../../testdata/affine.nvdb");
    let smoke = include_bytes!("../../testdata/smoke.nvdb");
    let near = |grid: &FloatGrid, p: Vec3, expected: f32| {
        let found = value(grid, p);
        assert!((found - expected).abs() <= 1e-5 * expected.abs(), "{p}: {found} {expected}");
    };
    // Blosc, a general transform, a leaf and constant nodes of each level.
    let grid = read(affine, "density").unwrap();
    for (p, expected) in [
        (vec3(10.75, 2.5, 23.0), 3.375),
        (vec3(10.8125, 2.75, 20.0), 2.34375),
        (vec3(11.875, 0.5, 29.0), 6.5625),
        (vec3(12.5, -10.0, 23.0), 3.0),
        (vec3(11.25, -65.0, -201.0), 4.0),
        (vec3(12.5, -2050.0, -101.0), 5.0),
        (vec3(12.25, -7.75, 17.0), 3.0),
    ] {
        near(&grid, p, expected);
    }
    let corners = (vec3(10.0, -4096.0, -8193.0), vec3(1034.0, 4.0, 255.0));
    assert_eq!((grid.bounds.min, grid.bounds.max), corners);
    // Zip, two grids in one segment, of which the first has quantized values.
    let grids = ["density", "temperature"].map(|name| read(smoke, name).unwrap());
    for (p, expected) in [
        (vec3(0.25, 0.5, 0.75), [0.6, 700.0]),
        (vec3(0.3, 0.4, 0.5), [1.898_823_5, 740.0]),
        (vec3(0.95, 0.1, 0.1), [0.24, 660.0]),
    ] {
        near(&grids[0], p, expected[0]);
        near(&grids[1], p, expected[1]);
        assert_eq!((grids[0].bounds.min, grids[0].bounds.max), (Vec3::ZERO, Vec3::ONE));
    }
}

#[test]
fn grids_without_active_values_have_an_empty_box() {
    let mut bytes = TestGrid::leaf("density", |_| 0.0).bytes();
    for (offset, limit) in [(560, f64::MAX), (584, f64::MIN)] {
        bytes[offset..offset + 24].copy_from_slice(&[limit.to_le_bytes(); 3].concat());
    }
    let bounds = read(&bytes, "density").unwrap().bounds;
    assert!(bounds.min.cmpgt(bounds.max).all(), "{bounds:?}");
}

#[test]
fn unusable_files_are_errors_that_say_why() {
    let good = file(&[varied()], TestCodec::None);
    let edited = |offset: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[offset..offset + bytes.len()].copy_from_slice(bytes);
        read(&file, "density").unwrap_err().to_string()
    };
    // The grid begins behind header, metadata and name.
    let grid = 16 + 176 + 8;
    for (message, part) in [
        (edited(0, b"vdb"), "not a NanoVDB file"),
        (edited(0, &[0x20, 0x42, 0x44, 0x56, 0, 0, 0, 0]), "OpenVDB file; convert it"),
        (edited(0, b"0BDVonaN"), "big-endian"),
        (edited(8, &(29u32 << 21).to_le_bytes()), "version 29"),
        (edited(14, &[7, 0]), "codec 7"),
        (edited(12, &[2, 0]), "truncated"),
        (edited(16 + 8, &u64::MAX.to_le_bytes()), "truncated"),
        (edited(grid + 636, &[2, 0]), "values of type double"),
        (edited(grid + 636, &[20, 0]), "values of type active index"),
        (edited(grid + 636, &[77, 0]), "values of type unknown"),
        (edited(grid + 632, &[1, 0]), "a level set"),
        (edited(grid + 456, &[0; 72]), "cannot be inverted"),
        (edited(grid + 560, &f64::NAN.to_le_bytes()), "bounding box is not finite"),
        (edited(grid + 672 + 24, &u64::MAX.to_le_bytes()), "beyond its end"),
        (edited(grid + 736 + 28, &f32::NAN.to_le_bytes()), "1 values"),
        (edited(grid + 736 + 64 + 8, &i64::MAX.to_le_bytes()), "beyond its end"),
        (edited(grid + 736 + 64 + 8, &(-9000i64).to_le_bytes()), "beyond its end"),
    ] {
        assert!(message.contains(part), "{message}: {part}");
    }
    // Two references to one node.
    let mut twice = varied();
    twice.regions.clear();
    let mut bytes = twice.bytes();
    let tile: [u8; 32] = bytes[736 + 64..][..32].try_into().unwrap();
    let second = 736 + 64 + 32;
    assert_eq!(bytes[736 + 24], 3);
    bytes[second + 8..second + 16].copy_from_slice(&tile[8..16]);
    let error = read(&bytes, "density").unwrap_err().to_string();
    assert!(error.contains("one node"), "{error}");
    for (codec, part) in [(TestCodec::Zip, "damaged"), (TestCodec::Blosc(true), "damaged")] {
        let mut file = file(&[varied()], codec);
        let length = file.len();
        file[length / 2..].fill(0x55);
        let error = read(&file, "density").unwrap_err().to_string();
        assert!(error.contains(part), "{codec:?}: {error}");
    }
}

#[test]
fn damaged_files_do_not_panic() {
    let mut small = TestGrid::leaf("density", |[x, y, z]| (x + y + z) as f32);
    small.cells.push(([16, 0, 0], 1.0));
    for codec in CODECS {
        let good = file(&[small.clone()], codec);
        // Most of an uncompressed file is constant nodes.
        let is_sparse = |i: usize| codec == TestCodec::None && i > 2000;
        let offsets = (0..good.len()).filter(|&i| !is_sparse(i) || i % 997 == 0);
        let mut rejected = 0;
        for offset in offsets {
            for change in [1u8, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[offset] ^= change;
                let result = NanoVdb::parse(&bad).and_then(|file| file.float_grid("density"));
                rejected += usize::from(!matches!(result, Ok(Some(_))));
            }
        }
        assert!(rejected > 100, "{codec:?}: {rejected}");
        for length in (0..good.len().min(1500)).chain([good.len() - 1]) {
            let result = NanoVdb::parse(&good[..length]).and_then(|f| f.float_grid("density"));
            assert!(!matches!(result, Ok(Some(_))), "{codec:?}: {length}");
        }
    }
}

#[test]
fn chunks_of_blosc_are_decompressed() {
    for length in [1, 3, 500, 1 << 16, (1 << 16) + 7, 200_001] {
        let bytes: Vec<u8> = (0..length).map(|i: u32| ((i / 7) ^ (i >> 9)) as u8).collect();
        for shuffle in [false, true] {
            let mut out = vec![9];
            super::blosc::decompress(&blosc(&bytes, shuffle), &mut out).unwrap();
            assert!(out[0] == 9 && out[1..] == bytes, "{length} {shuffle}");
        }
        let mut stored = vec![2, 1, 2, 4];
        stored.extend(length.to_le_bytes());
        stored.extend(length.to_le_bytes());
        stored.extend((length + 16).to_le_bytes());
        stored.extend(&bytes);
        let mut out = Vec::new();
        super::blosc::decompress(&stored, &mut out).unwrap();
        assert_eq!(out, bytes);
    }
}

#[test]
fn fields_of_sparse_grids_are_bounded() {
    let FloatGrid { grid, bounds } = read(&file(&[varied()], TestCodec::None), "density").unwrap();
    let field = DensityField {
        bounds,
        density: Volume::sparse(grid),
        extinction: vec3(1.0, 2.0, 3.0),
        albedo: Vec3::ZERO,
        emission: None,
    };
    let mut range = Vec::new();
    field.density_bounds(&[bounds], &mut range);
    assert_eq!(range, [[0.0, 777.0]]);
}
