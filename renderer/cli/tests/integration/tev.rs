//! `render --tev`: the image in a viewer.

use crate::common::scene_dir::{SceneDir, channels};
use predicates::str::contains;
use std::collections::BTreeMap;
use std::io::Read;
use std::net::{TcpListener, TcpStream};

/// Reads values of packets of tev's protocol: little-endian numbers, and strings that end in 0.
struct Packet<'a>(&'a [u8]);

impl Packet<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().expect("the packet is long enough");
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|&byte| byte == 0).expect("strings end in 0");
        let text = String::from_utf8(self.0[..end].to_vec()).unwrap();
        self.0 = &self.0[end + 1..];
        text
    }

    fn texts(&mut self) -> Vec<String> {
        (0..self.number()).map(|_| self.text()).collect()
    }
}

/// What a viewer has received.
#[derive(Debug, Default, PartialEq)]
struct View {
    name: String,
    size: [u32; 2],
    /// Values by channel, row by row.
    channels: BTreeMap<String, Vec<u32>>,
    updates: usize,
}

/// Acts as a viewer until the connection ends.
fn receive(mut stream: TcpStream) -> View {
    let mut view = View::default();
    let mut length = [0; 4];
    while stream.read_exact(&mut length).is_ok() {
        // The length includes itself.
        let mut data = vec![0; u32::from_le_bytes(length) as usize - 4];
        stream.read_exact(&mut data).unwrap();
        let mut packet = Packet(&data);
        match packet.bytes() {
            // CreateImage.
            [4] => {
                let [_grab_focus] = packet.bytes();
                view.name = packet.text();
                view.size = [packet.number(), packet.number()];
                let pixels = (view.size[0] * view.size[1]) as usize;
                let names = packet.texts().into_iter();
                view.channels = names.map(|name| (name, vec![0; pixels])).collect();
            }
            // UpdateImageV3.
            [6] => {
                let [_grab_focus] = packet.bytes();
                assert_eq!(packet.text(), view.name);
                let names = packet.texts();
                let [x, y, width, height] = [0; 4].map(|_| packet.number());
                let mut long = || u64::from_le_bytes(packet.bytes()) as usize;
                let offsets: Vec<usize> = names.iter().map(|_| long()).collect();
                let strides: Vec<usize> = names.iter().map(|_| long()).collect();
                let (words, rest) = packet.0.as_chunks();
                assert!(rest.is_empty());
                let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
                for ((name, offset), stride) in names.iter().zip(offsets).zip(strides) {
                    let channel = view.channels.get_mut(name).unwrap();
                    for i in 0..width * height {
                        let (column, row) = (x + i % width, y + i / width);
                        let index = (row * view.size[0] + column) as usize;
                        channel[index] = words[offset + i as usize * stride];
                    }
                }
                view.updates += 1;
            }
            other => panic!("unexpected packet {other:?}"),
        }
    }
    view
}

#[test]
fn viewers_show_the_image() {
    for (crop, size) in [(&[][..], [70, 40]), (&["--crop", "10,50,8,40"], [40, 32])] {
        let dir = SceneDir::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let option = format!("--tev={}", listener.local_addr().unwrap());
        let viewer = std::thread::spawn(move || receive(listener.accept().unwrap().0));
        let args = ["-q", "--resolution", "70x40", "--spp", "8", "-o", "a.exr", &option];
        dir.render(&[&args, crop].concat()).assert().success();
        let view = viewer.join().unwrap();
        assert_eq!((view.name.as_str(), view.size), ("a.exr", size));
        assert!(view.updates >= 4, "each tile is shown: {}", view.updates);
        let image = channels(&dir.path("a.exr"));
        for name in ["R", "G", "B"] {
            let (_, expected) = image.iter().find(|(channel, _)| channel == name).unwrap();
            assert_eq!(&view.channels[name], expected, "{name}");
        }
    }
}

#[test]
fn viewers_that_do_not_run_are_an_error() {
    let dir = SceneDir::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let option = format!("--tev={}", listener.local_addr().unwrap());
    drop(listener);
    dir.render(&["-o", "a.exr", &option]).assert().code(2).stderr(contains("start tev"));
    assert!(dir.files().is_empty());
    let unknown = ["-o", "a.exr", "--tev=host.invalid"];
    dir.render(&unknown).assert().code(2).stderr(contains("host.invalid:14158"));
}
