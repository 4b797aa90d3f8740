//! Secrets that hold a token of a ServiceAccount.

use api::Map;
use api::core_v1::{Secret, ServiceAccount};
use api::meta_v1::DeleteOptions;
use api::rest::Credential;
use client::{Client, ClientConfig};

use super::{API, World, with_world};

fn secret(name: &str, account: &str) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = name.into();
    secret.metadata.namespace = "default".into();
    secret.metadata.annotations = Map::from([("kubernetes.io/service-account.name", account.into())]);
    secret.type_ = "kubernetes.io/service-account-token".into();
    secret
}

/// As recorded: filled within a second; without its account, or once that goes, it goes.
#[test]
fn a_secret_gets_its_token_and_goes_with_its_account() {
    with_world(|w| async move {
        let mut robot = ServiceAccount::default();
        robot.metadata.name = "robot".into();
        robot.metadata.namespace = "default".into();
        w.client.create("default", robot).await.unwrap();
        w.client.create("default", secret("robot-token", "robot")).await.unwrap();
        w.client.create("default", secret("lost-token", "nobody")).await.unwrap();
        w.ctx.sleep(std::time::Duration::from_secs(1)).await;
        let filled: api::Rev<Secret> = w.client.get("default", "robot-token").await.unwrap();
        let keys: Vec<&str> = filled.data.keys().map(|k| &**k).collect();
        assert_eq!(keys, ["ca.crt", "namespace", "token"]);
        assert!(w.client.get::<Secret>("default", "lost-token").await.unwrap_err().is_not_found());

        // The token is its account's, until the Secret goes.
        let token = String::from_utf8(filled.data.get("token").unwrap().to_vec()).unwrap();
        let config = ClientConfig::new(API, Credential::Token(token.as_str().into()), "kubectl/v1.37.2");
        let bearer = Client::new(&w.ctx, config);
        let err = bearer.get::<Secret>("default", "robot-token").await.unwrap_err();
        assert!(err.message.contains("User \"system:serviceaccount:default:robot\" cannot get resource"), "{err}");
        w.client.delete::<ServiceAccount>("default", "robot", &DeleteOptions::default()).await.unwrap();
        w.eventually("the token is gone", async |w: &World| {
            w.client.get::<Secret>("default", "robot-token").await.is_err_and(|err| err.is_not_found())
        })
        .await;
        let err = bearer.get::<Secret>("default", "robot-token").await.unwrap_err();
        assert_eq!(err.message, "Unauthorized");
    });
}
