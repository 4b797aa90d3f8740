//! Plays a transcript's commands with the project's own shell, as the page's terminal runs them: each `$` is a
//! `bash -c` of its own in the reader's home, whose files stay from one to the next.

use crate::player::{Options, answer, grown};
use shell::process::{Buffer, Files};
use sim::{Duration, Instant};
use std::error::Error;
use std::rc::Rc;
use world::{World, programs};

/// No command of a transcript takes longer, in virtual time.
const COMMAND_BOUND: Duration = Duration::from_secs(2 * 3600);

/// One transcript's cluster and files.
pub struct PagePlayer {
    world: World,
    files: Rc<dyn Files>,
}

impl PagePlayer {
    /// A fresh cluster, booted hours ago, and an empty home.
    pub fn new(options: &Options) -> Result<Self, Box<dyn Error>> {
        let world = grown(options)?;
        let files = programs::home(world.sim());
        Ok(Self { world, files })
    }

    /// Runs one command to its end; what it printed, with `[exit N]` where N is not 0.
    pub fn play(&mut self, command: &str) -> Result<String, Box<dyn Error>> {
        // One buffer for both streams keeps their order.
        let printed = Rc::new(Buffer::default());
        let running = self.world.run_shell(command, programs::bash(&self.files, printed.clone(), printed.clone()));
        let until = self.world.sim().now() + COMMAND_BOUND;
        let code = loop {
            if let Some(code) = running.exit_code() {
                break code;
            }
            if self.world.sim().now() >= until {
                running.kill();
                break 137;
            }
            self.world.sim().step(Instant::FAR)?;
        };
        Ok(answer(code, &printed.take()))
    }
}
