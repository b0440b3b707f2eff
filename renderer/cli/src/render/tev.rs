//! Shows an image in the viewer tev while it is rendered.
//!
//! Threads that render only store the pixels of a tile; one thread sends them. A tile that gets new
//! samples before it is sent is sent once, so that a slow connection neither delays the rendering
//! nor needs more memory than an image.

use super::super::Error;
use lightbound_image::Window;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;
use tev_client::{PacketCreateImage, PacketUpdateImage, TevClient};

/// Where tev listens by default.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:14158";

/// Time after which a viewer that does not respond is given up.
const TIMEOUT: Duration = Duration::from_secs(2);

const CHANNELS: [&str; 3] = ["R", "G", "B"];

/// A connection to the viewer.
pub struct Viewer {
    shared: Arc<Shared>,
    address: String,
}

/// Tiles that wait to be sent.
#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// A tile and its pixels, row by row.
type Tile = (Window, Vec<[f32; 3]>);

#[derive(Default)]
struct Waiting {
    /// Pixels by the position of their tile, row and column.
    tiles: BTreeMap<(u32, u32), Tile>,
    /// Whether no tile will follow, or none can be sent.
    is_closed: bool,
    /// How the thread that sends tiles ended.
    result: Option<io::Result<()>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("no thread panics while it holds the tiles")
    }
}

impl Viewer {
    /// Connects to the viewer at HOST:PORT or HOST, and creates a black image of the pixels in
    /// `window`.
    pub fn connect(address: &str, image: String, window: Window) -> Result<Viewer, Error> {
        let port = DEFAULT_ADDRESS.rsplit_once(':').map_or("", |(_, port)| port);
        let address = match address.rsplit_once(':') {
            // A colon within brackets belongs to an IPv6 address.
            Some((_, port)) if !port.ends_with(']') => address.into(),
            _ => format!("{address}:{port}"),
        };
        let image = image.replace('\0', "");
        let connected = connect(&address).and_then(|mut client| {
            client.send(PacketCreateImage {
                image_name: &image,
                grab_focus: true,
                width: window.width(),
                height: window.height(),
                channel_names: &CHANNELS,
            })?;
            Ok(client)
        });
        let client = connected.map_err(|cause| {
            Error::option(
                format!("--tev: cannot connect to the viewer at {address}: {cause}"),
                "start tev (https://github.com/Tom94/tev), or name its address with \
                 --tev=HOST:PORT",
            )
        })?;
        let shared = Arc::new(Shared::default());
        let tiles = Arc::clone(&shared);
        std::thread::spawn(move || {
            let result = send_all(client, &tiles, &image, window);
            let mut waiting = tiles.lock();
            waiting.is_closed = true;
            waiting.result = Some(result);
            tiles.changed.notify_all();
        });
        Ok(Viewer { shared, address })
    }

    /// Shows the pixels of a tile, in linear sRGB, as soon as possible.
    pub fn show(&self, tile: Window, pixels: Vec<[f32; 3]>) {
        let mut waiting = self.shared.lock();
        if !waiting.is_closed {
            waiting.tiles.insert((tile.y0, tile.x0), (tile, pixels));
            self.shared.changed.notify_all();
        }
    }

    /// Waits a moment until the viewer has all tiles. An error says why it lacks some.
    pub fn finish(&self) -> Result<(), String> {
        let mut waiting = self.shared.lock();
        waiting.is_closed = true;
        self.shared.changed.notify_all();
        let is_sending = |waiting: &mut Waiting| waiting.result.is_none();
        let (mut waiting, _) = self
            .shared
            .changed
            .wait_timeout_while(waiting, TIMEOUT, is_sending)
            .expect("no thread panics while it holds the tiles");
        let cause = match waiting.result.take() {
            Some(Ok(())) => return Ok(()),
            Some(Err(cause))
                if !matches!(cause.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
            {
                cause.to_string()
            }
            _ => "it does not read what is sent".into(),
        };
        // A slow viewer gets no more.
        waiting.tiles.clear();
        Err(format!("the viewer at {} lacks a part of the image: {cause}", self.address))
    }
}

/// Connects to the first address that responds.
fn connect(address: &str) -> io::Result<TevClient> {
    let mut error = io::Error::other("the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, TIMEOUT) {
            Ok(stream) => {
                stream.set_write_timeout(Some(TIMEOUT))?;
                return Ok(TevClient::wrap(stream));
            }
            Err(cause) => error = cause,
        }
    }
    Err(error)
}

/// Sends tiles until there will be no more. They take turns, since upper ones may get new samples
/// before lower ones are sent.
fn send_all(mut client: TevClient, tiles: &Shared, image: &str, window: Window) -> io::Result<()> {
    let mut next = (0, 0);
    loop {
        let mut waiting = tiles.lock();
        while waiting.tiles.is_empty() && !waiting.is_closed {
            waiting = tiles.changed.wait(waiting).expect("no thread panics while it holds it");
        }
        let first = waiting.tiles.keys().next().copied();
        let following = waiting.tiles.range(next..).next().map(|(key, _)| *key);
        let Some(key) = following.or(first) else { return Ok(()) };
        let (tile, pixels) = waiting.tiles.remove(&key).expect("the key is one of the tiles");
        drop(waiting);
        next = (key.0, key.1 + 1);
        client.send(PacketUpdateImage {
            image_name: image,
            grab_focus: false,
            channel_names: &CHANNELS,
            channel_offsets: &[0, 1, 2],
            channel_strides: &[3; 3],
            x: tile.x0 - window.x0,
            y: tile.y0 - window.y0,
            width: tile.width(),
            height: tile.height(),
            data: pixels.as_flattened(),
        })?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn viewers_that_do_not_read_are_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let window = Window { x0: 0, y0: 0, x1: 4096, y1: 4096 };
        let viewer = Viewer::connect(&address, "a".into(), window).unwrap();
        // More than the buffers of the system.
        for y0 in (0..4096).step_by(256) {
            let tile = Window { y0, y1: y0 + 256, ..window };
            viewer.show(tile, vec![[0.5; 3]; 256 * 4096]);
        }
        let error = viewer.finish().unwrap_err();
        assert!(error.contains("does not read"), "{error}");
    }

    #[test]
    fn viewers_that_end_do_not_stop_the_rendering() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let window = Window { x0: 0, y0: 0, x1: 64, y1: 32 };
        let viewer = Viewer::connect(&address, "a".into(), window).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 4]).unwrap();
        drop((stream, listener));
        let tile = Window { x0: 32, ..window };
        // The first may reach the buffer of the system.
        while !viewer.shared.lock().is_closed {
            viewer.show(tile, vec![[0.5; 3]; 32 * 32]);
        }
        let error = viewer.finish().unwrap_err();
        assert!(error.contains(&address), "{error}");
        let error = Viewer::connect(&address, "a".into(), window).err().unwrap().to_string();
        assert!(error.contains("cannot connect to the viewer"), "{error}");
    }
}
