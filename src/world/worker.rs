//! The worker's entry: the world as one WebAssembly instance, bytes in and bytes out. `www/worker.js` drives it.
//!
//! Nothing of JavaScript is kept in here, so a copy of the linear memory between two calls is a checkpoint.

fn main() {
    #[cfg(target_arch = "wasm32")]
    entry::report_panics();
}

#[cfg(target_arch = "wasm32")]
mod entry {
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        #[wasm_bindgen(js_namespace = self, js_name = worldPanicked)]
        fn world_panicked(message: &str);
    }

    /// A panic traps; its words reach the worker just before.
    pub fn report_panics() {
        std::panic::set_hook(Box::new(|panic| world_panicked(&panic.to_string())));
    }

    /// The world, as the worker holds it.
    #[wasm_bindgen]
    pub struct World {
        answers: Vec<u8>,
    }

    #[wasm_bindgen]
    impl World {
        /// Starts a world from its options' bytes.
        #[wasm_bindgen(constructor)]
        pub fn new(options: &[u8]) -> World {
            World { answers: options.to_vec() }
        }

        /// Takes an input's bytes; gives what is to be posted to the page, or nothing.
        pub fn input(&mut self, bytes: &[u8]) -> Vec<u8> {
            self.answers.extend_from_slice(bytes);
            Vec::new()
        }

        /// Lets so many milliseconds of wall time pass; gives what is to be posted to the page, or nothing.
        pub fn advance(&mut self, _wall_ms: f64) -> Vec<u8> {
            std::mem::take(&mut self.answers)
        }

        /// Milliseconds of wall time until the next `advance` is wanted: 0 at once, infinity at the next input.
        pub fn wait_ms(&self) -> f64 {
            f64::INFINITY
        }
    }
}
