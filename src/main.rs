//! Mounts the page.

fn main() {
    #[cfg(target_arch = "wasm32")]
    page::mount();
}
