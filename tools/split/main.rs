//! Cuts the world's WebAssembly in two, for the page's build: what a first visit runs, and the rest, which the worker
//! fetches afterwards. `scripts/split.mjs` drives it.
//!
//! ```text
//! split count WORLD COUNTED     a world that marks which stretches of code ran; prints where the marks lie and how
//!                               many there are
//! split visits FOLDER           the messages of first visits, as visit-0, visit-1 ...
//! split cut WORLD RAN FIRST REST TEXT...
//!                               the texts are files that only functions of the second half read
//! ```

mod body;
mod count;
mod cut;
mod liveness;
mod module;
mod outline;
mod rehearsal;
mod texts;

use module::Module;
use rehearsal::Step;
use std::error::Error;
use std::fs::{read, write};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["count", world, counted] => {
            let bytes = read(world)?;
            let module = Module::read(&bytes)?;
            let (out, base) = count::count(&module)?;
            write(counted, out)?;
            println!("{base} {}", count::stretches(&module)?.iter().sum::<usize>());
        }
        ["visits", folder] => {
            for (at, visit) in rehearsal::first_visits().iter().enumerate() {
                write(format!("{folder}/visit-{at}"), as_bytes(visit))?;
            }
        }
        ["cut", world, ran, first, rest, texts @ ..] => {
            let bytes = read(world)?;
            let (bytes, ran) = outline::outline(&Module::read(&bytes)?, &read(ran)?)?;
            let module = Module::read(&bytes)?;
            let plan = cut::Plan::new(&module, &ran)?;
            let texts: Vec<Vec<u8>> = texts.iter().map(read).collect::<Result<_, _>>()?;
            let texts = texts::find(&module, &plan, &texts)?;
            println!("{} texts in the second half", texts.len());
            let (one, two) = cut::cut(&module, &plan, &texts)?;
            wasmparser::validate(&one)?;
            wasmparser::validate(&two)?;
            write(first, one)?;
            write(rest, two)?;
        }
        _ => {
            return Err(
                "split count WORLD COUNTED | split visits FOLDER | split cut WORLD RAN FIRST REST TEXT...".into()
            );
        }
    }
    Ok(())
}

/// Each step: its message's length and bytes, or 0 and the milliseconds; numbers in 4 bytes, little end first.
fn as_bytes(steps: &[Step]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let number = |bytes: &mut Vec<u8>, n: u32| bytes.extend(n.to_le_bytes());
    for step in steps {
        match step {
            Step::Send(message) => {
                number(&mut bytes, message.len() as u32);
                bytes.extend(message);
            }
            Step::Wait(milliseconds) => {
                number(&mut bytes, 0);
                number(&mut bytes, *milliseconds);
            }
        }
    }
    bytes
}
