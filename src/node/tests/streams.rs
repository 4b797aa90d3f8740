//! Logs and commands through the API server.

use super::*;
use api::Resource;
use api::rest::{Answer, Channel, ExecOptions, LogOptions, Query, Verb};
use client::StreamEvent;

impl World {
    async fn logs(&self, pod: &str, options: LogOptions) -> Result<String, String> {
        let mut request = self.client.prepare(Verb::Get, Pod::KIND, "default", pod, "log");
        request.query = Query::Log(options);
        let (response, stream) = self.client.stream_request(request).await.map_err(|why| why.to_string())?;
        Ok(read(response, stream).await.0)
    }

    /// Output, errors, and how it ended.
    pub(super) async fn exec(&self, pod: &str, command: &[&str]) -> (String, String, String) {
        let mut request = self.client.prepare(Verb::Create, Pod::KIND, "default", pod, "exec");
        let command = command.iter().map(|w| Str::from(*w)).collect();
        request.query = Query::Exec(ExecOptions { container: "app".into(), command, ..ExecOptions::default() });
        match self.client.stream_request(request).await {
            Ok((response, stream)) => read(response, stream).await,
            Err(why) => (String::new(), String::new(), why.to_string()),
        }
    }
}

async fn read(response: api::rest::Response, mut stream: client::ByteStream) -> (String, String, String) {
    if let Answer::Text(text) = &response.answer {
        return (text.to_string(), String::new(), String::new());
    }
    let (mut out, mut err) = (String::new(), String::new());
    loop {
        match stream.next().await {
            Ok(StreamEvent::Data(Channel::Stderr, bytes)) => err.push_str(&String::from_utf8_lossy(&bytes)),
            Ok(StreamEvent::Data(_, bytes)) => out.push_str(&String::from_utf8_lossy(&bytes)),
            Ok(StreamEvent::End(status)) => {
                let end = status
                    .map(|s| (*s).clone().into_object())
                    .map(|s| if s.status == "Success" { String::new() } else { s.message.to_string() });
                return (out, err, end.unwrap_or_default());
            }
            Err(why) => return (out, err, why.to_string()),
        }
    }
}

#[test]
fn a_talking_container_is_heard() {
    with_node(|world| async move {
        world
            .run("talker", |pod| {
                pod.spec.make().containers =
                    [shell("i=0; while true; do i=$((i+1)); echo line $i; sleep 1; done")].into()
            })
            .await;
        world.until_ready("talker").await;
        world.sleep(4.0).await;
        let all = world.logs("talker", LogOptions::default()).await.unwrap();
        assert!(all.starts_with("line 1\nline 2\nline 3\n"), "{all}");
        let tail = world.logs("talker", LogOptions { tail_lines: Some(2), ..LogOptions::default() }).await.unwrap();
        assert_eq!(tail.lines().count(), 2);
        let few = world.logs("talker", LogOptions { limit_bytes: Some(6), ..LogOptions::default() }).await.unwrap();
        assert_eq!(few, "line 1");
        let stamped = world.logs("talker", LogOptions { timestamps: true, ..LogOptions::default() }).await.unwrap();
        assert!(stamped.starts_with("2026-11-29T18:00:"), "{stamped}");
        let previous = world.logs("talker", LogOptions { previous: true, ..LogOptions::default() }).await;
        assert_eq!(previous, Err("previous terminated container \"app\" in pod \"talker\" not found".to_string()));

        // Nobody answers there, as in the cluster that the transcripts were recorded on.
        let resolver = world.exec("talker", &["cat", "/etc/resolv.conf"]).await.0;
        let text = "search default.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\n\
                    options ndots:5\n";
        assert_eq!(resolver, text);
        let hosts = world.exec("talker", &["cat", "/etc/hosts"]).await.0;
        assert!(hosts.starts_with("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"), "{hosts}");
        assert!(hosts.ends_with("\n10.244.0.2\ttalker\n"), "{hosts}");
        assert_eq!(world.exec("talker", &["echo", "hi"]).await, ("hi\n".into(), String::new(), String::new()));
        let ended = world.exec("talker", &["sh", "-c", "echo $HOSTNAME; pwd; exit 5"]).await;
        assert_eq!((&*ended.0, ended.2.contains('5')), ("talker\n/\n", true), "{ended:?}");
        let none = world.exec("talker", &["nosuchcommand"]).await;
        assert!(none.2.starts_with("Internal error occurred: Internal error occurred: error executing command in container: failed to exec in container: failed to start exec \""), "{none:?}");
        assert!(none.2.ends_with("OCI runtime exec failed: exec failed: unable to start container process: exec: \"nosuchcommand\": executable file not found in $PATH"), "{none:?}");
    });
}

#[test]
fn programs_see_their_environment_in_its_order_and_each_other() {
    with_node(|world| async move {
        let var = |name: &str, value: &str| api::core_v1::EnvVar {
            name: name.into(),
            value: value.into(),
            ..api::core_v1::EnvVar::default()
        };
        world
            .run("seen", |pod| {
                let mut container = shell("while true; do sleep 600; done");
                container.env = [var("ZONE", "za"), var("APP", "$(ZONE)-1")].into();
                pod.spec.make().containers = [container].into();
            })
            .await;
        world.until_ready("seen").await;
        let env = world.exec("seen", &["env"]).await.0;
        let names: Vec<&str> = env.lines().filter_map(|line| line.split('=').next()).collect();
        assert_eq!(names.get(..4), Some(&["PATH", "HOSTNAME", "ZONE", "APP"][..]), "{env}");
        assert!(names.get(4).is_some_and(|name| name.starts_with("KUBERNETES_")), "{env}");
        assert_eq!(names.last(), Some(&"HOME"), "{env}");
        // As busybox has it; the numbers are drawn as they come.
        let ps = world.exec("seen", &["ps"]).await.0;
        let lines: Vec<&str> = ps.lines().collect();
        assert_eq!(lines.first(), Some(&"PID   USER     TIME  COMMAND"));
        assert_eq!(lines.get(1), Some(&"    1 root      0:00 sh -c while true; do sleep 600; done"));
        assert_eq!(lines.get(2).and_then(|line| line.get(5..)), Some(" root      0:00 sleep 600"));
        assert_eq!(lines.get(3).and_then(|line| line.get(5..)), Some(" root      0:00 ps"));
        assert_eq!(lines.len(), 4, "{ps}");
        // What another process has killed is gone.
        let killed =
            "sleep 300 & sleep 1; kill $(ps | awk '$5 == 300 { print $1 }'); sleep 1; ps | awk '$5 == 300' | wc -l";
        assert_eq!(world.exec("seen", &["sh", "-c", killed]).await.0, "0\n");
    });
}

#[test]
fn an_ephemeral_container_sees_the_processes_of_its_target() {
    with_node(|world| async move {
        world
            .run("seen", |pod| {
                pod.spec.make().containers =
                    [shell("trap 'echo bye; exit 4' TERM; while true; do sleep 1; done")].into()
            })
            .await;
        world.until_ready("seen").await;
        let container = |name: &str, command: &str, target: &str| {
            format!(
                "{{\"name\":\"{name}\",\"image\":\"busybox:1.36\",\"command\":[\"sh\",\"-c\",\"{command}\"],\
                 \"targetContainerName\":\"{target}\"}}"
            )
        };
        let patch = format!(
            "{{\"spec\":{{\"ephemeralContainers\":[{},{}]}}}}",
            container("alone", "ps", ""),
            container("beside", "sleep 5; ps; kill 1; sleep 600", "app"),
        );
        let kind = api::rest::PatchType::Strategic;
        world.client.patch::<Pod>("default", "seen", kind, &patch, "ephemeralcontainers").await.unwrap();
        world.sleep(4.0).await;
        let ps = world.exec("seen", &["ps"]).await.0;
        assert!(ps.contains(" sh -c sleep 5; ps; kill 1; sleep 600\n") && !ps.contains("sh -c ps"), "{ps}");
        let of = |container: &str| LogOptions { container: container.into(), ..LogOptions::default() };
        let alone = world.logs("seen", of("alone")).await.unwrap();
        assert_eq!(alone.lines().nth(1), Some("    1 root      0:00 sh -c ps"));
        world.sleep(4.0).await;
        let beside = world.logs("seen", of("beside")).await.unwrap();
        assert!(
            beside.lines().nth(1).is_some_and(
                |first| first.ends_with("sh -c trap 'echo bye; exit 4' TERM; while true; do sleep 1; done")
            ),
            "{beside}"
        );
        // Its kill reached the first process of its target.
        let ended = world
            .node
            .look()
            .into_iter()
            .find(|c| c.pod.1 == *"seen" && c.status.finished_at != 0 && c.status.name == *"app");
        assert_eq!(ended.map(|c| c.status.exit_code), Some(4));
    });
}

#[test]
fn a_shell_that_is_first_ignores_what_it_does_not_trap() {
    with_node(|world| async move {
        for (name, command, code) in
            [("deaf", "sleep 3600", 137), ("polite", "trap 'echo bye; exit 3' TERM; while true; do sleep 1; done", 3)]
        {
            world
                .run(name, |pod| {
                    let spec = pod.spec.make();
                    spec.termination_grace_period_seconds = Some(3);
                    spec.containers = [shell(command)].into();
                })
                .await;
            world.until_ready(name).await;
            world.client.delete::<Pod>("default", name, &Default::default()).await.unwrap();
            let ended =
                world
                    .until(|w| async move {
                        w.node.look().into_iter().find(|c| c.pod.1 == *name && c.status.finished_at != 0)
                    })
                    .await;
            assert_eq!(ended.status.exit_code, code, "{name}");
        }
    });
}

#[test]
fn signals_within_a_container() {
    with_node(|world| async move {
        world
            .run("busy", |pod| {
                let spec = pod.spec.make();
                spec.restart_policy = "Never".into();
                spec.containers = [shell("trap 'echo got; exit 7' TERM; while true; do sleep 1; done")].into();
            })
            .await;
        world.until_ready("busy").await;
        // As busybox answered in a container of a real cluster.
        for (command, out, err, code) in [
            ("kill -9 $$", "", "", 137),
            ("kill -TERM $$", "", "", 143),
            ("kill -INT $$", "", "", 130),
            ("kill -HUP $$; echo after", "", "", 129),
            ("trap \"echo caught\" TERM; kill $$; echo after", "caught\nafter\n", "", 0),
            ("(kill -9 $$; echo sub); echo after", "sub\n", "", 137),
            ("sh -c \"kill -TERM \\$\\$\"; echo $?", "143\n", "", 0),
            ("exec kill -9 $$", "", "", 137),
            ("kill -9 1; echo $?", "0\n", "", 0),
            ("kill 9999; echo $?", "1\n", "sh: can't kill pid 9999: No such process\n", 0),
            ("kill -FOO $$; echo $?", "1\n", "sh: bad signal name 'FOO'\n", 0),
            ("kill -l 9", "KILL\n", "", 0),
            ("kill -TERM 1; echo rc $?", "rc 0\n", "", 0),
        ] {
            let (said, complained, end) = world.exec("busy", &["sh", "-c", command]).await;
            assert_eq!((&*said, &*complained), (out, err), "{command}");
            let wanted = if code == 0 { String::new() } else { format!("exit status {code}") };
            assert!(end.ends_with(&wanted) && end.is_empty() == wanted.is_empty(), "{command}: {end}");
        }
        // The last one reached the first process, which has a trap for it.
        world.until_phase("busy", "Failed").await;
        let ended = world.node.look().into_iter().find(|c| c.pod.1 == *"busy").map(|c| c.status.exit_code);
        assert_eq!(ended, Some(7));

        // What the first process sends itself without a trap does nothing.
        world
            .run("spared", |pod| {
                let spec = pod.spec.make();
                spec.restart_policy = "Never".into();
                spec.containers = [shell("kill -9 $$$$; kill $$$$; sleep 2; exit 3")].into();
            })
            .await;
        world.until_phase("spared", "Failed").await;
        let ended = world.node.look().into_iter().find(|c| c.pod.1 == *"spared").map(|c| c.status.exit_code);
        assert_eq!(ended, Some(3));
    });
}

#[test]
fn a_token_is_mounted() {
    with_node(|world| async move {
        world.run("web", |_| {}).await;
        world.until_ready("web").await;
        let pod = world.pod("web").await;
        let volume = &pod.spec.volumes[0].name;
        let at = format!("/var/lib/kubelet/pods/{}/volumes/kubernetes.io~projected/{volume}", pod.metadata.uid);
        assert_eq!(world.node.files().list(&at), Ok(vec!["ca.crt".to_string(), "namespace".into(), "token".into()]));
        let out = world.exec("web", &["sh", "-c", "read x < /var/run/secrets/kubernetes.io/serviceaccount/namespace; echo $x; echo $KUBERNETES_SERVICE_HOST"]).await;
        assert_eq!(out.0, "default\n10.96.0.1\n", "{out:?}");
    });
}

/// Types into a program with a terminal, a second after what it said before; what it said, and how it ended.
async fn typed(world: &World, pod: &str, subresource: &str, command: &[&str], keys: &[&str]) -> (String, String) {
    let mut request = world.client.prepare(Verb::Create, Pod::KIND, "default", pod, subresource);
    let command = command.iter().map(|w| Str::from(*w)).collect();
    request.query = Query::Exec(ExecOptions { container: "app".into(), command, stdin: true, tty: true });
    let (response, mut stream) = world.client.stream_request(request).await.unwrap();
    assert_eq!(response.code, 101);
    let (mut out, mut keys) = (String::new(), keys.iter());
    loop {
        match world.ctx.timeout(Duration::from_secs(2), stream.next()).await {
            Ok(Ok(StreamEvent::Data(channel, bytes))) => {
                assert_eq!(channel, Channel::Stdout);
                out.push_str(&String::from_utf8_lossy(&bytes));
            }
            Ok(Ok(StreamEvent::End(status))) => {
                let end = status.map(|s| (*s).clone().into_object().message.to_string());
                return (out, end.unwrap_or_default());
            }
            Ok(Err(why)) => return (out, why.to_string()),
            Err(_) => match keys.next() {
                Some(key) => stream.send(key.as_bytes().into()).unwrap(),
                None => return (out, "still there".into()),
            },
        }
    }
}

#[test]
fn a_terminal_in_a_container() {
    with_node(|world| async move {
        world.run("box", |pod| pod.spec.make().containers = [shell("while true; do sleep 9; done")].into()).await;
        world.until_ready("box").await;
        let ended = |code: i32| format!("command terminated with non-zero exit code: exit status {code}");
        // As busybox answers at a terminal of its own, without the echo.
        let keys =
            ["cd /tmp\n", "echo hi > a; ls\n", "nope\n", "sleep 60\n", "\u{3}", "echo $?\n", "ec\u{3}", "exit 4\n"];
        let said = "/ # /tmp # a\r\n/tmp # sh: nope: not found\r\n/tmp # \r\n/tmp # 130\r\n/tmp # \r\n/tmp # ";
        assert_eq!(typed(&world, "box", "exec", &["sh"], &keys).await, (said.to_string(), ended(4)));
        assert_eq!(typed(&world, "box", "exec", &["sh"], &["\u{4}"]).await, ("/ # \r\n".into(), String::new()));
        // Programs that take no notice of Ctrl+C end.
        assert_eq!(typed(&world, "box", "exec", &["sleep", "60"], &["\u{3}"]).await, (String::new(), ended(130)));
        assert_eq!(typed(&world, "box", "exec", &["cat"], &["a\n", "\u{3}"]).await, ("a\r\n".into(), ended(130)));
        let trap = ["sh", "-c", "trap 'echo got; exit 5' INT; while true; do sleep 1; done"];
        assert_eq!(typed(&world, "box", "exec", &trap, &["\u{3}"]).await, ("got\r\n".into(), ended(5)));
        let bash = typed(&world, "box", "exec", &["bash"], &[]).await.1;
        assert!(bash.ends_with("exec: \"bash\": executable file not found in $PATH"), "{bash}");

        // Debian's images have dash, and bash.
        world.run("web", |_| {}).await;
        world.until_ready("web").await;
        assert_eq!(typed(&world, "web", "exec", &["sh"], &["\u{4}"]).await, ("# \r\n".into(), String::new()));
        let said = "root@web:/# bash: nope: command not found\r\nroot@web:/# exit\r\n";
        assert_eq!(
            typed(&world, "web", "exec", &["/bin/bash"], &["nope\n", "exit\n"]).await,
            (said.into(), ended(127))
        );
    });
}

#[test]
fn a_first_process_with_a_terminal_is_attached_to() {
    with_node(|world| async move {
        world
            .run("box", |pod| {
                let spec = pod.spec.make();
                spec.restart_policy = "Never".into();
                let mut app = shell("");
                app.command = ["sh"].map(Str::from).into();
                app.args = Default::default();
                (app.stdin, app.tty) = (true, true);
                spec.containers = [app].into();
            })
            .await;
        world.until_ready("box").await;
        // The prompt that was there before is shown anew, as the size of the terminal is told.
        let first = typed(&world, "box", "attach", &[], &["echo hi\n"]).await;
        assert_eq!(first, ("\r/ # hi\r\n/ # ".into(), "still there".into()));
        let (said, end) = typed(&world, "box", "attach", &[], &["\u{3}", "exit 3\n"]).await;
        assert_eq!((&*said, &*end), ("\r/ # \r\n/ # ", ""));
        world.until_phase("box", "Failed").await;
        assert_eq!(world.logs("box", LogOptions::default()).await.unwrap(), "/ # \r/ # hi\r\n/ # \r/ # \r\n/ # ");
    });
}
