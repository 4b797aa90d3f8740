//! The runtime in a world of its own, driven through the kubelet's client.

use super::cri::{Call, ContainerConfig, LogQuery, Reply, SandboxConfig, State};
use super::http::HttpRequest;
use super::{Disk, PodRange, Settings, run};
use crate::kubelet::cri_client::CriClient;
use api::Str;
use sim::{Addr, Ctx, Duration, HostId, Ip, Options, Sim};
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

fn settings() -> Settings {
    Settings {
        pod_range: PodRange::parse("10.244.0.0/24").unwrap(),
        registry: Default::default(),
        costs: Default::default(),
    }
}

/// Runs a test program beside a runtime, for a minute of virtual time.
fn on_a_node<F: Future<Output = ()> + 'static>(test: impl FnOnce(Ctx, Rc<CriClient>) -> F + 'static) {
    let sim = Sim::new(Options::default());
    let host = sim.add_host("node-1", Ip::new(172, 18, 0, 11));
    let disk = Disk::new();
    start(&sim, host, &disk);
    let passed = Rc::new(RefCell::new(false));
    let flag = passed.clone();
    sim.start(host, "test", |ctx| async move {
        let client = CriClient::new(&ctx);
        ctx.sleep(Duration::from_millis(10)).await;
        test(ctx.clone(), client).await;
        *flag.borrow_mut() = true;
        ctx.sleep(Duration::from_secs(100)).await;
    });
    sim.run_for(Duration::from_secs(90)).unwrap();
    assert!(*passed.borrow(), "the test did not come to its end");
}

fn start(sim: &Sim, host: HostId, disk: &Rc<Disk>) {
    let disk = disk.clone();
    sim.start(host, "containerd", |ctx| run(ctx, disk, settings()));
}

fn sandbox(uid: &str) -> Rc<SandboxConfig> {
    Rc::new(SandboxConfig {
        pod_uid: uid.into(),
        namespace: "default".into(),
        name: uid.into(),
        attempt: 0,
        hostname: uid.into(),
        host_network: false,
        port_mappings: vec![],
    })
}

fn config(image_ref: Str, command: &[&str]) -> Rc<ContainerConfig> {
    Rc::new(ContainerConfig {
        name: "app".into(),
        attempt: 0,
        image: "image".into(),
        image_ref,
        command: command.iter().map(ToString::to_string).collect(),
        args: vec![],
        workdir: String::new(),
        env: vec![],
        target: api::Str::default(),
        mounts: vec![],
        read_only_root: false,
        hash: 0,
        stop_signal: None,
        uid: None,
        gid: None,
        memory_limit: 0,
        termination_message_path: "/dev/termination-log".into(),
        fallback_to_logs: false,
        stdin: false,
        stdin_once: false,
        tty: false,
        resolv_conf: String::new(),
        hosts: String::new(),
    })
}

async fn pull(client: &Rc<CriClient>, name: &str) -> Str {
    match client.call(Call::PullImage(name.into())).await {
        Ok(Reply::Image(Some(image))) => image.image_ref.clone(),
        other => panic!("{other:?}"),
    }
}

async fn begin(client: &Rc<CriClient>, uid: &str, image: &str, command: &[&str]) -> (String, Str) {
    let image_ref = pull(client, image).await;
    let Ok(Reply::Sandbox(sandbox)) = client.call(Call::RunSandbox(sandbox(uid))).await else { panic!() };
    let Ok(Reply::Id(id)) = client.call(Call::CreateContainer(sandbox.id.clone(), config(image_ref, command))).await
    else {
        panic!()
    };
    client.done(Call::StartContainer(id.clone())).await.unwrap();
    (sandbox.ip.to_string(), id)
}

async fn status(client: &Rc<CriClient>, uid: &str) -> super::cri::ContainerStatus {
    match client.call(Call::PodStatus(uid.into())).await {
        Ok(Reply::Pod(record)) => record.containers.first().unwrap().clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn nginx_serves_until_it_is_stopped() {
    on_a_node(|ctx, client| async move {
        let (ip, id) = begin(&client, "web", "nginx:1.27", &[]).await;
        assert_eq!(ip, "10.244.0.2");
        let addr = Addr { ip: Ip::new(10, 244, 0, 2), port: 80 };
        let patience = Duration::from_secs(1);
        let page = super::program::fetch(&ctx, ctx.host_ip(), addr, HttpRequest::get("/", &ip, "test"), patience)
            .await
            .unwrap();
        assert_eq!(page.status, 200);
        let none =
            super::program::fetch(&ctx, ctx.host_ip(), addr, HttpRequest::get("/nothing", &ip, "test"), patience)
                .await
                .unwrap();
        assert_eq!(none.status, 404);
        let mut log = client.start(Call::ReadLog(id.clone(), LogQuery::default()));
        let Some(Ok(Reply::Log(lines))) = log.next().await else { panic!() };
        assert_eq!(&*lines[0].text, b"/docker-entrypoint.sh: Configuration complete; ready for start up");
        assert!(String::from_utf8_lossy(&lines[1].text).starts_with("172.18.0.11 - - ["));
        client.done(Call::StopContainer(id, Duration::from_secs(30))).await.unwrap();
        let ended = status(&client, "web").await;
        assert_eq!((ended.state, ended.exit_code, &*ended.reason), (State::Exited, 0, "Completed"));
        assert!(
            super::program::fetch(&ctx, ctx.host_ip(), addr, HttpRequest::get("/", &ip, "test"), patience)
                .await
                .is_err()
        );
    });
}

#[test]
fn a_first_process_without_a_handler_is_killed_after_the_grace() {
    on_a_node(|ctx, client| async move {
        let (_, id) = begin(&client, "slow", "busybox:1.36", &["sleep", "3600"]).await;
        let before = ctx.now();
        client.done(Call::StopContainer(id, Duration::from_secs(5))).await.unwrap();
        assert_eq!(ctx.now().since(before).as_secs(), 5);
        let ended = status(&client, "slow").await;
        assert_eq!((ended.exit_code, &*ended.reason), (137, "Error"));
    });
}

#[test]
fn a_command_that_is_not_there_fails_to_start() {
    on_a_node(|_, client| async move {
        let image_ref = pull(&client, "busybox").await;
        let Ok(Reply::Sandbox(s)) = client.call(Call::RunSandbox(sandbox("p"))).await else { panic!() };
        let Ok(Reply::Id(id)) = client.call(Call::CreateContainer(s.id.clone(), config(image_ref, &["nosuch"]))).await
        else {
            panic!()
        };
        let why = client.done(Call::StartContainer(id.clone())).await.unwrap_err().to_string();
        assert!(why.ends_with("exec: \"nosuch\": executable file not found in $PATH"), "{why}");
        let failed = status(&client, "p").await;
        assert_eq!((failed.exit_code, &*failed.reason), (128, "StartError"));
        client.done(Call::RemoveSandbox(s.id.clone())).await.unwrap();
        let Ok(Reply::Pod(record)) = client.call(Call::PodStatus("p".into())).await else { panic!() };
        assert!(record.sandboxes.is_empty() && record.containers.is_empty());
    });
}

#[test]
fn every_image_starts_and_stops() {
    on_a_node(|_, client| async move {
        for repository in super::images::REPOSITORIES.iter().filter(|r| r.shell && !r.ports.is_empty()) {
            let name = format!("{}/{}:{}", repository.host, repository.path, repository.tags[0].name);
            let (_, id) = begin(&client, repository.path, &name, &[]).await;
            client.done(Call::StopContainer(id, Duration::from_secs(2))).await.unwrap();
            let ended = status(&client, repository.path).await;
            // PostgreSQL wants a password.
            let code = i32::from(repository.path.ends_with("postgres"));
            assert_eq!(ended.exit_code, code, "{}", repository.path);
        }
    });
}

#[test]
fn a_loss_of_power_ends_what_ran_and_keeps_the_images() {
    let sim = Sim::new(Options::default());
    let host = sim.add_host("node-1", Ip::new(172, 18, 0, 11));
    let disk = Disk::new();
    start(&sim, host, &disk);
    sim.start(host, "test", |ctx| async move {
        let client = CriClient::new(&ctx);
        ctx.sleep(Duration::from_millis(10)).await;
        begin(&client, "web", "nginx:1.27", &[]).await;
        ctx.sleep(Duration::from_secs(100)).await;
    });
    sim.run_for(Duration::from_secs(5)).unwrap();
    assert_eq!(disk.look().iter().map(|s| s.status.state).collect::<Vec<_>>(), [State::Running]);
    sim.power_off(host);
    sim.run_for(Duration::from_secs(5)).unwrap();
    sim.power_on(host);
    start(&sim, host, &disk);
    sim.run_for(Duration::from_secs(1)).unwrap();
    let seen = disk.look();
    assert_eq!(
        (seen[0].status.state, seen[0].status.exit_code, &*seen[0].status.reason, &*seen[0].ip),
        (State::Exited, 255, "Unknown", "")
    );
    assert_eq!(disk.images().len(), 2, "pause and nginx");
    assert_eq!(sim.timer_count(), 0, "an idle runtime waits for nothing");
}
