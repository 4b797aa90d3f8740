//! What a key does in the terminal.

use super::App;
use crate::ui::TermKey;
use std::rc::Rc;
use view::ToWorld;

impl App {
    pub(super) fn terminal(&mut self, key: TermKey) {
        let terminal = Rc::make_mut(&mut self.model.terminal);
        let sends: Vec<ToWorld> = match key {
            TermKey::Edit(line, cursor) => {
                terminal.edit(line, cursor);
                vec![]
            }
            TermKey::Read(key) => {
                terminal.press(key);
                vec![]
            }
            TermKey::Search => {
                terminal.search();
                vec![]
            }
            TermKey::LookFor(c) => {
                terminal.look_for(c);
                vec![]
            }
            TermKey::EndSearch(keep) => {
                terminal.end_search(keep);
                vec![]
            }
            _ if self.link.is_none() => vec![],
            TermKey::Submit => terminal.submit(),
            TermKey::Paste(text) => terminal.paste(&text),
            TermKey::Interrupt => terminal.interrupt().into_iter().collect(),
            TermKey::End => terminal.end_of_input().into_iter().collect(),
            TermKey::Tab => terminal.tab().into_iter().collect(),
            TermKey::Clear => {
                terminal.clear();
                vec![]
            }
            TermKey::Older => {
                terminal.older();
                vec![]
            }
            TermKey::Newer => {
                terminal.newer();
                vec![]
            }
            TermKey::Choose(down) => {
                terminal.choose(down);
                vec![]
            }
            TermKey::Take(usize::MAX) => {
                terminal.take();
                vec![]
            }
            TermKey::Take(n) => {
                terminal.take_nth(n);
                vec![]
            }
            TermKey::Close => {
                terminal.popup = None;
                vec![]
            }
            TermKey::ChangeFile(text) => {
                terminal.change_file(&text);
                vec![]
            }
            TermKey::LeaveFile(save) => terminal.leave_file(save).into_iter().collect(),
        };
        sends.iter().for_each(|s| self.send(s));
    }
}
