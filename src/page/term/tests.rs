//! What is typed, printed, remembered and completed.

use super::*;
use view::Candidate;

#[test]
fn rows_of_tables_are_known() {
    let line = |kind, text: &str| Line { number: 0, kind, text: text.into() };
    assert!(line(LineKind::Out, "web-1   1/1     Running   0          4s").is_row());
    assert!(!line(LineKind::Out, "      image: nginx").is_row());
    assert!(!line(LineKind::Err, "error:   x").is_row());
}

fn shown(t: &Terminal) -> Vec<String> {
    t.lines()
        .map(|l| {
            let mark = match l.kind {
                LineKind::Command => "$ ",
                LineKind::More => "> ",
                LineKind::Err => "! ",
                LineKind::Note => "# ",
                LineKind::Out => "",
            };
            format!("{mark}{}", l.text)
        })
        .collect()
}

fn typed(t: &mut Terminal, line: &str) -> Vec<ToWorld> {
    t.edit(line.into(), line.len());
    t.submit()
}

#[test]
fn a_command_and_its_output() {
    let mut t = Terminal::default();
    assert_eq!(typed(&mut t, "kubectl get pods"), vec![ToWorld::Command { id: 1, text: "kubectl get pods\n".into() }]);
    t.output(Stream::Out, "NAME   RE");
    t.output(Stream::Out, "ADY\nweb-1  1/1\n");
    t.output(Stream::Err, "oh\n");
    t.exit(1, 1);
    assert_eq!(shown(&t), ["$ kubectl get pods", "NAME   READY", "web-1  1/1", "! oh", "# [exit 1]"]);
    assert!(!t.busy());
}

#[test]
fn a_session_in_a_container_is_typed_after_its_prompt() {
    let mut t = Terminal::default();
    typed(&mut t, "kubectl exec -it web -- sh");
    t.reading(1, true);
    assert_eq!(t.prompt(), "");
    t.output(Stream::Out, "/ # ");
    assert_eq!(t.prompt(), "/ # ");
    assert_eq!(typed(&mut t, "ls"), vec![ToWorld::Stdin { id: 1, text: "ls\n".into() }]);
    assert_eq!(t.prompt(), "");
    t.output(Stream::Out, "bin\r\netc\r\n/ # ");
    t.edit("part".into(), 4);
    assert_eq!(t.interrupt(), Some(ToWorld::Interrupt { id: 1 }));
    assert_eq!(t.line, "");
    t.output(Stream::Out, "\r\n/ # \r/ # ");
    assert_eq!(t.prompt(), "/ # ");
    assert_eq!(t.end_of_input(), Some(ToWorld::Stdin { id: 1, text: String::new() }));
    t.output(Stream::Out, "\r\n");
    t.exit(1, 0);
    assert_eq!(shown(&t), ["$ kubectl exec -it web -- sh", "/ # ls", "bin", "etc", "/ # part^C", "/ # ",]);
    assert_eq!(t.prompt(), "$ ");
    typed(&mut t, "kubectl attach -it web");
    t.reading(2, true);
    t.output(Stream::Out, "> ");
    let sent = t.paste("a\nb\nc");
    assert_eq!(sent, ["a\n", "b\n"].map(|text| ToWorld::Stdin { id: 2, text: text.into() }));
    assert_eq!(t.line, "c");
}

#[test]
fn empty_lines_of_output_stay() {
    let mut t = Terminal::default();
    typed(&mut t, "x");
    t.output(Stream::Out, "a\n\nb\n");
    assert_eq!(shown(&t), ["$ x", "a", "", "b"]);
}

#[test]
fn a_pasted_here_document_goes_line_by_line() {
    let mut t = Terminal::default();
    let sent = t.paste("cat <<E > f\na: 1\nE\nkubectl apply -f f\necho hal");
    assert_eq!(sent, vec![ToWorld::Command { id: 1, text: "cat <<E > f\n".into() }]);
    let sent = t.incomplete(1);
    assert_eq!(sent, vec![ToWorld::Command { id: 2, text: "cat <<E > f\na: 1\n".into() }]);
    assert_eq!(t.incomplete(2), vec![ToWorld::Command { id: 3, text: "cat <<E > f\na: 1\nE\n".into() }]);
    assert_eq!(t.exit(3, 0), vec![ToWorld::Command { id: 4, text: "kubectl apply -f f\n".into() }]);
    assert_eq!(shown(&t), ["$ cat <<E > f", "> a: 1", "> E", "$ kubectl apply -f f"]);
    assert_eq!(t.line, "echo hal");
}

#[test]
fn interrupting_ends_the_paste_too() {
    let mut t = Terminal::default();
    t.paste("sleep 100\necho never\n");
    assert_eq!(t.interrupt(), Some(ToWorld::Interrupt { id: 1 }));
    assert_eq!(t.exit(1, 130), vec![]);
    assert_eq!(shown(&t), ["$ sleep 100", "# ^C", "# [exit 130]"]);
    t.edit("half".into(), 4);
    assert_eq!(t.interrupt(), None);
    assert_eq!(t.line, "");
}

#[test]
fn a_line_interrupted_before_it_asks_for_more_gets_none() {
    let mut t = Terminal::default();
    typed(&mut t, "echo '");
    assert_eq!(t.interrupt(), Some(ToWorld::Interrupt { id: 1 }));
    assert_eq!(t.incomplete(1), vec![]);
    assert_eq!(t.prompt(), "$ ");
}

#[test]
fn history_keeps_the_draft() {
    let mut t = Terminal::default();
    for line in ["one", "two", "two"] {
        typed(&mut t, line);
        t.exit(t.next_id, 0);
    }
    t.edit("dra".into(), 3);
    t.older();
    assert_eq!(t.line, "two");
    t.older();
    t.older();
    assert_eq!(t.line, "one");
    t.newer();
    t.newer();
    assert_eq!(t.line, "dra");
}

#[test]
fn the_history_is_searched_and_what_is_found_is_edited_or_run() {
    let mut t = Terminal::default();
    for line in ["kubectl get pods", "ls -l"] {
        typed(&mut t, line);
        t.exit(t.next_id, 0);
    }
    t.edit("dra".into(), 3);
    t.search();
    "get".chars().for_each(|c| t.look_for(Some(c)));
    assert_eq!((t.prompt().as_ref(), t.line.as_str(), t.cursor), ("(reverse-i-search)`get': ", "kubectl get pods", 8));
    t.look_for(None);
    assert_eq!(t.prompt(), "(reverse-i-search)`ge': ");
    t.press(ReadKey::End);
    assert_eq!((t.prompt().as_ref(), t.cursor), ("$ ", 16));
    t.search();
    t.look_for(Some('-'));
    assert_eq!(t.submit(), [ToWorld::Command { id: 3, text: "ls -l\n".into() }]);
    t.exit(3, 0);
    t.edit("dra".into(), 3);
    t.search();
    t.look_for(Some('z'));
    t.interrupt();
    assert_eq!((t.prompt().as_ref(), t.line.as_str()), ("$ ", ""));
}

#[test]
fn a_shell_in_a_container_has_its_own_history() {
    let mut t = Terminal::default();
    typed(&mut t, "kubectl exec -it web -- sh");
    t.reading(1, true);
    typed(&mut t, "hostname");
    t.older();
    assert_eq!(t.line, "hostname");
    t.older();
    assert_eq!(t.line, "hostname");
    t.exit(1, 0);
    t.older();
    assert_eq!(t.line, "kubectl exec -it web -- sh");
}

fn candidate(text: &str) -> Candidate {
    Candidate { text: text.into(), description: String::new(), closed: true }
}

#[test]
fn one_completion_goes_in_and_several_are_offered() {
    let mut t = Terminal::default();
    t.edit("kubectl roll".into(), 12);
    assert_eq!(t.tab(), Some(ToWorld::Complete { id: 1, line: "kubectl roll".into(), cursor: 12 }));
    t.completions(Completions { id: 1, from: 8, candidates: vec![candidate("rollout")] });
    assert_eq!((t.line.as_str(), t.cursor, t.popup.is_none()), ("kubectl rollout ", 16, true));
    t.tab();
    let several = vec![candidate("history"), candidate("status"), candidate("undo")];
    t.completions(Completions { id: 2, from: 16, candidates: several });
    t.choose(false);
    assert_eq!(t.ghost(), "undo");
    t.tab();
    assert_eq!(t.line, "kubectl rollout undo ");
}

#[test]
fn a_common_beginning_goes_in_and_late_answers_are_dropped() {
    let mut t = Terminal::default();
    t.edit("kubectl get pod w".into(), 17);
    t.tab();
    t.completions(Completions { id: 1, from: 16, candidates: vec![candidate("web-1"), candidate("web-2")] });
    assert_eq!(t.line, "kubectl get pod web-");
    t.edit("ls".into(), 2);
    t.completions(Completions { id: 1, from: 0, candidates: vec![candidate("x")] });
    assert_eq!(t.line, "ls");
}

#[test]
fn cursors_inside_characters_are_harmless() {
    let mut t = Terminal::default();
    t.edit("가나".into(), 4);
    assert_eq!(t.cursor, 3);
    t.paste("다\n");
    assert_eq!(t.line, "나");
    t.edit("한".into(), 3);
    t.tab();
    t.completions(Completions { id: 3, from: 1, candidates: vec![candidate("글"), candidate("국")] });
    t.take_nth(7);
    assert_eq!(t.line, "한");
}

#[test]
fn typed_lines_go_to_a_command_that_reads() {
    let mut t = Terminal::default();
    let stdin = |id, text: &str| ToWorld::Stdin { id, text: text.into() };
    typed(&mut t, "true && kubectl -n default exec web-1 -it -- sh");
    assert_eq!(typed(&mut t, "ls"), vec![], "it does not read yet");
    t.run("cluster stop etcd");
    assert_eq!(t.reading(1, true), vec![stdin(1, "ls\n")]);
    assert_eq!(typed(&mut t, "ls"), vec![stdin(1, "ls\n")]);
    assert_eq!(t.reading(1, false), vec![]);
    assert_eq!(typed(&mut t, "exit"), vec![]);
    assert_eq!(t.end_of_input(), None);
    assert_eq!(t.reading(7, true), vec![], "of no command that runs");
    assert_eq!(t.reading(1, true), vec![stdin(1, "exit\n"), stdin(1, "")]);
    assert_eq!(t.exit(1, 0), vec![ToWorld::Command { id: 2, text: "cluster stop etcd\n".into() }]);
    t.exit(2, 0);
    typed(&mut t, "sleep 5");
    assert_eq!(typed(&mut t, "echo next"), vec![]);
    assert_eq!(t.end_of_input(), None);
    assert_eq!(t.exit(3, 0), vec![ToWorld::Command { id: 4, text: "echo next\n".into() }]);
    assert_eq!(t.exit(4, 0), vec![], "no command");
    typed(&mut t, "read x");
    t.reading(5, true);
    t.paste("a\necho b\n");
    t.unread(5, "echo b\n");
    assert_eq!(t.exit(5, 0), vec![ToWorld::Command { id: 6, text: "echo b\n".into() }]);
}

#[test]
fn nothing_grows_without_bound() {
    let mut t = Terminal::default();
    typed(&mut t, "yes");
    for _ in 0..MAX_LINES + 10 {
        t.output(Stream::Out, "y\n");
    }
    assert_eq!(t.lines().count(), MAX_LINES);
    t.output(Stream::Out, &"x".repeat(MAX_WIDTH * 3));
    t.output(Stream::Out, &"가".repeat(MAX_WIDTH));
    assert!(t.lines().last().unwrap().text.len() <= MAX_WIDTH + 8);
}

#[test]
fn files_open_and_close() {
    let mut t = Terminal::default();
    typed(&mut t, "vi x");
    t.open_file(7, "/home/reader/x", "");
    assert_eq!(t.file, None, "of no command that runs");
    t.open_file(1, "/home/reader/x", "a\n");
    t.change_file("b\n");
    assert_eq!(t.leave_file(true), Some(ToWorld::Edited { id: 1, text: Some("b\n".into()) }));
    assert_eq!(t.leave_file(true), None);
    t.open_file(1, "/home/reader/x", "a\n");
    assert_eq!(t.leave_file(false), Some(ToWorld::Edited { id: 1, text: None }));
    t.open_file(1, "/home/reader/x", "a\n");
    t.exit(1, 130);
    assert_eq!(t.file, None);
}
