//! What nodes cost: counted in polls and messages, which don't depend on the machine.

use super::*;

#[test]
fn a_pod_costs_little_and_an_idle_node_next_to_nothing() {
    let (sim, node) = with_node(|world| async move {
        for at in 0..50 {
            let pod = world.run(&format!("web-{at}"), |_| {}).await;
            drop(pod);
        }
        let ready = |world: World| async move {
            let pods = world.client.list::<Pod>("default", &ListOptions::default()).await.ok()?;
            pods.items.iter().all(|p| condition(p, "Ready").0 == "True").then_some(())
        };
        world.until(ready).await;
    });
    assert_eq!(node.look().len(), 50);
    let (messages, polls) = (sim.trace(|t| t.messages.total()), sim.polls());
    assert!(messages < 50 * 120, "{messages} messages for 50 pods");
    assert!(polls < 50 * 400, "{polls} polls for 50 pods");
    sim.run_for(Duration::from_secs(600)).unwrap();
    let (messages, polls) = (sim.trace(|t| t.messages.total()) - messages, sim.polls() - polls);
    assert!(messages < 1_200, "{messages} messages in ten idle minutes");
    assert!(polls < 6_000, "{polls} polls in ten idle minutes");
}
