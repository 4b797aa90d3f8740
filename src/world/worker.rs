//! The worker's entry: the world as one WebAssembly instance, bytes in and bytes out. `www/worker.js` drives it.
//!
//! Nothing of JavaScript is kept in here, so a copy of the linear memory between two calls is a checkpoint.

fn main() {
    #[cfg(target_arch = "wasm32")]
    entry::report_panics();
}

#[cfg(target_arch = "wasm32")]
mod entry {
    use view::{ToPage, ToWorld};
    use wasm_bindgen::prelude::*;
    use world::session::Session;

    /// Milliseconds that one `advance` may take.
    const SLICE: f64 = 8.0;

    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_namespace = self, js_name = worldPanicked)]
        fn world_panicked(message: &str);
        #[wasm_bindgen(js_namespace = performance, js_name = now)]
        fn wall_now() -> f64;
    }

    /// A panic traps; its words reach the worker just before.
    pub fn report_panics() {
        std::panic::set_hook(Box::new(|panic| world_panicked(&panic.to_string())));
    }

    /// The world, as the worker holds it. Every answer is a list of messages for the page, or no bytes.
    #[wasm_bindgen]
    pub struct World {
        session: Option<Session>,
        micros: u64,
    }

    #[wasm_bindgen]
    impl World {
        /// Starts a world from its first message.
        #[wasm_bindgen(constructor)]
        pub fn new(first: &[u8]) -> World {
            let session = match view::decode::<ToWorld>(first) {
                Ok(ToWorld::Start(start)) if start.version == view::VERSION => Some(Session::new(&start)),
                _ => None,
            };
            World { session, micros: 0 }
        }

        /// Takes a message in.
        pub fn input(&mut self, bytes: &[u8]) -> Vec<u8> {
            match (&mut self.session, view::decode::<ToWorld>(bytes)) {
                (Some(session), Ok(message)) => {
                    session.receive(message);
                    Vec::new()
                }
                (_, Err(error)) => encode(vec![ToPage::Notice { text: error.to_string() }]),
                (None, _) => encode(vec![ToPage::Notice { text: "page and world are of two builds: reload".into() }]),
            }
        }

        /// Lets so many milliseconds of wall time pass.
        pub fn advance(&mut self, wall_ms: f64) -> Vec<u8> {
            self.micros = self.micros.saturating_add((wall_ms.max(0.0) * 1000.0) as u64);
            let end = wall_now() + SLICE;
            let mut steps = 0u32;
            let mut more = move || {
                steps = steps.wrapping_add(1);
                steps % 16 != 0 || wall_now() < end
            };
            let Some(session) = &mut self.session else { return Vec::new() };
            encode(session.poll(self.micros, &mut more))
        }

        /// Milliseconds of wall time until the next `advance` is wanted: 0 at once, infinity at the next input.
        pub fn wait_ms(&self) -> f64 {
            let wait = self.session.as_ref().and_then(Session::wait_micros);
            wait.map_or(f64::INFINITY, |micros| micros as f64 / 1000.0)
        }
    }

    fn encode(messages: Vec<ToPage>) -> Vec<u8> {
        if messages.is_empty() { Vec::new() } else { view::encode(&messages) }
    }
}
