//! What comes from the world and makes much to draw waits for the browser's next picture, one message a picture: so a
//! burst is spread over several of them, and a page that can't keep up takes fewer frames, because the world waits for
//! each to be seen.

use std::collections::VecDeque;
use view::ToPage;

/// Messages that wait at most; the world sends one frame at a time and rows a few times a second, so there are more only
/// where no picture is drawn at all (a hidden tab). The oldest are then taken at once.
const MAX_WAITING: usize = 32;

/// The messages that wait.
#[derive(Debug, Default)]
pub struct Intake {
    waiting: VecDeque<ToPage>,
}

impl Intake {
    /// Takes messages in and gives back those to be taken at once: answers to the reader, who waits for them.
    pub fn offer(&mut self, messages: Vec<ToPage>) -> Vec<ToPage> {
        let (drawn, mut at_once): (Vec<ToPage>, Vec<ToPage>) = messages.into_iter().partition(is_drawn);
        self.waiting.extend(drawn);
        while self.waiting.len() > MAX_WAITING {
            at_once.extend(self.waiting.pop_front());
        }
        at_once
    }

    /// The message for the next picture.
    pub fn next_drawn(&mut self) -> Option<ToPage> {
        self.waiting.pop_front()
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

fn is_drawn(message: &ToPage) -> bool {
    matches!(
        message,
        ToPage::Frame(_) | ToPage::Logs(_) | ToPage::Events(_) | ToPage::Requests(_) | ToPage::Inspector(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use view::{Frame, LogLines};

    #[test]
    fn answers_pass_and_pictures_wait_their_turn() {
        let mut intake = Intake::default();
        let frame = ToPage::Frame(Box::new(Frame { number: 7, ..Frame::default() }));
        let logs = ToPage::Logs(LogLines::default());
        let exit = ToPage::Exit { id: 1, code: 0 };
        assert_eq!(intake.offer(vec![frame.clone(), exit.clone(), logs.clone()]), vec![exit]);
        assert!(!intake.is_empty());
        assert_eq!(intake.next_drawn(), Some(frame));
        assert_eq!(intake.next_drawn(), Some(logs));
        assert_eq!(intake.next_drawn(), None);
    }

    #[test]
    fn where_no_picture_is_drawn_nothing_piles_up() {
        let mut intake = Intake::default();
        let taken: usize = (0..100).map(|_| intake.offer(vec![ToPage::Logs(LogLines::default())]).len()).sum();
        assert_eq!(taken, 100 - MAX_WAITING);
    }
}
