//! The service account token controller (`pkg/controller/serviceaccount/tokens_controller.go`): fills Secrets of the type
//! `kubernetes.io/service-account-token`, and deletes them with their ServiceAccount.

use std::rc::Rc;

use api::core_v1::{ObjectReference, Secret, ServiceAccount};
use api::meta_v1::DeleteOptions;
use api::{Bytes, List, OStr, Rev, Status, Str};
use client::{Client, Key, Lister, WorkQueue, klog};

use crate::context::ControllerContext;

const LOGGER: &str = "serviceaccount-token-controller";
const TYPE: &str = "kubernetes.io/service-account-token";
const NAME: &str = "kubernetes.io/service-account.name";
const UID: &str = "kubernetes.io/service-account.uid";
const WORKERS: usize = 5;
/// A key that fails this often is given up until it changes again (`defaultMaxRetries`).
const RETRIES: u32 = 10;

/// A ServiceAccount by name and uid.
type AccountKey = (Key, Str);

/// A Secret by name and uid, with the name and the uid of its ServiceAccount.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SecretKey {
    key: Key,
    uid: Str,
    account: Str,
    account_uid: Str,
}

struct TokensController {
    ctx: sim::Ctx,
    client: Client,
    root_ca: Str,
    token_key: Vec<u8>,
    accounts: Lister<ServiceAccount>,
    secrets: Lister<Secret>,
    account_queue: WorkQueue<AccountKey>,
    secret_queue: WorkQueue<SecretKey>,
    observed: crate::observed::Handle,
}

/// Starts the controller.
pub async fn start(cc: ControllerContext) {
    let (accounts, secrets) = (cc.informer::<ServiceAccount>(), cc.informer::<Secret>());
    let controller = Rc::new(TokensController {
        ctx: cc.ctx.clone(),
        client: cc.own_client("tokens-controller"),
        root_ca: cc.config.root_ca.clone(),
        token_key: cc.config.token_key.clone(),
        accounts: accounts.lister(),
        secrets: secrets.lister(),
        account_queue: WorkQueue::new(&cc.ctx, "serviceaccount_tokens_service"),
        secret_queue: WorkQueue::new(&cc.ctx, "serviceaccount_tokens_secret"),
        observed: cc.observed.clone(),
    });
    let this = controller.clone();
    accounts.on(move |delta| {
        let meta = &delta.object().metadata;
        this.account_queue.add_caused((Key::of(meta), meta.uid.clone()), delta.revision());
    });
    let this = controller.clone();
    secrets.on(move |delta| {
        let secret = delta.object();
        if secret.type_ != TYPE {
            return;
        }
        let named = |name: &str| secret.metadata.annotations.get(name).cloned().unwrap_or_default();
        let (key, uid) = (Key::of(&secret.metadata), secret.metadata.uid.clone());
        let key = SecretKey { key, uid, account: named(NAME), account_uid: named(UID) };
        if !key.account.is_empty() {
            this.secret_queue.add_caused(key, delta.revision());
        }
    });
    futures_util::join!(accounts.synced(), secrets.synced());
    for _ in 0..WORKERS {
        let this = controller.clone();
        cc.ctx.spawn("worker", async move {
            loop {
                let work = this.account_queue.get().await;
                let result = this.sync_account(&this.client.caused_by(&work.causes), &work.key).await;
                settle(&this.account_queue, &work.key, result.is_err());
                this.account_queue.done(&work.key);
            }
        });
        let this = controller.clone();
        cc.ctx.spawn("worker", async move {
            loop {
                let work = this.secret_queue.get().await;
                let result = this.sync_secret(&this.client.caused_by(&work.causes), &work.key).await;
                settle(&this.secret_queue, &work.key, result.is_err());
                this.secret_queue.done(&work.key);
            }
        });
    }
}

/// Tries a key again that failed, a few times (`retryOrForget`).
fn settle<K: Ord + Clone + 'static>(queue: &WorkQueue<K>, key: &K, failed: bool) {
    if failed && queue.num_requeues(key) < RETRIES {
        queue.add_rate_limited(key.clone());
    } else {
        queue.forget(key);
    }
}

impl TokensController {
    fn failed(&self, what: &str, key: &Key, err: &Status, place: &'static str) {
        klog::error(what).err(err).str("logger", LOGGER).obj("secret", &key.namespace, &key.name).log(&self.ctx, place);
    }

    /// An account that is gone takes its tokens with it.
    async fn sync_account(&self, client: &Client, (key, uid): &AccountKey) -> Result<(), Status> {
        if self.accounts.by_key(key).is_some_and(|a| a.metadata.uid == *uid) {
            return Ok(());
        }
        klog::info("Service account deleted, removing tokens")
            .str("logger", LOGGER)
            .str("namespace", &key.namespace)
            .str("serviceaccount", &key.name)
            .log(&self.ctx, "tokens_controller.go:266");
        let mut result = Ok(());
        for secret in self.secrets.in_namespace(&key.namespace) {
            let annotations = &secret.metadata.annotations;
            let is_of = |name: &str, value: &Str| annotations.get(name).is_some_and(|v| v == value);
            if secret.type_ == TYPE && is_of(NAME, &key.name) && is_of(UID, uid) {
                let secret_key = Key::of(&secret.metadata);
                if let Err(err) = self.delete(client, &secret_key, &secret.metadata.uid).await {
                    self.failed("Error deleting serviceaccount tokens", &secret_key, &err, "tokens_controller.go:270");
                    result = Err(err);
                }
            }
        }
        result
    }

    async fn delete(&self, client: &Client, key: &Key, uid: &Str) -> Result<(), Status> {
        let mut options = DeleteOptions::default();
        options.preconditions.make().uid = OStr::some(uid.clone());
        self.observed.action(key, "delete the token".to_string());
        match client.delete::<Secret>(&key.namespace, &key.name, &options).await {
            Err(err) if !err.is_not_found() && !err.is_conflict() => Err(err),
            _ => Ok(()),
        }
    }

    /// The account of a Secret. With `live`, one that the cache lacks is asked for.
    async fn account(
        &self,
        client: &Client,
        key: &SecretKey,
        live: bool,
    ) -> Result<Option<Rev<ServiceAccount>>, Status> {
        let is_it = |a: &Rev<ServiceAccount>| key.account_uid.is_empty() || a.metadata.uid == key.account_uid;
        if let Some(account) = self.accounts.get(&key.key.namespace, &key.account).filter(is_it) {
            return Ok(Some(account));
        }
        if !live {
            return Ok(None);
        }
        match client.get::<ServiceAccount>(&key.key.namespace, &key.account).await {
            Ok(account) => Ok(Some(account).filter(is_it)),
            Err(err) if err.is_not_found() => Ok(None),
            Err(err) => Err(err),
        }
    }

    async fn sync_secret(&self, client: &Client, key: &SecretKey) -> Result<(), Status> {
        let secret = self.secrets.by_key(&key.key).filter(|s| s.metadata.uid == key.uid);
        let Some(secret) = secret else {
            if self.account(client, key, false).await.is_ok_and(|a| a.is_some()) {
                self.remove_reference(client, key).await;
            }
            return Ok(());
        };
        let account = match self.account(client, key, true).await {
            Ok(account) => account,
            Err(err) => {
                self.failed("Getting service account", &key.key, &err, "tokens_controller.go:315");
                return Err(err);
            }
        };
        let (what, place, result) = match account {
            None => {
                klog::info("Service account does not exist, deleting token")
                    .str("logger", LOGGER)
                    .obj("secret", &key.key.namespace, &key.key.name)
                    .log(&self.ctx, "tokens_controller.go:319");
                let result = self.delete(client, &key.key, &key.uid).await;
                ("Deleting serviceaccount token", "tokens_controller.go:321", result)
            }
            Some(account) => {
                let result = self.fill(client, &account, &secret).await;
                ("Populating serviceaccount token", "tokens_controller.go:327", result)
            }
        };
        result.inspect_err(|err| self.failed(what, &key.key, err, place))
    }

    /// What a Secret lacks: the CA, the namespace, the token.
    fn lacks(&self, secret: &Secret) -> (bool, bool, bool) {
        let held = |name: &str| secret.data.get(name).map(|bytes| &**bytes).unwrap_or_default();
        let ca = !self.root_ca.is_empty() && *held("ca.crt") != *self.root_ca.as_bytes();
        (ca, held("namespace").is_empty(), held("token").is_empty())
    }

    async fn fill(&self, client: &Client, account: &ServiceAccount, cached: &Rev<Secret>) -> Result<(), Status> {
        if self.lacks(cached) == (false, false, false) {
            return Ok(());
        }
        let (namespace, name) = (&cached.metadata.namespace, &cached.metadata.name);
        let live = match client.get::<Secret>(namespace, name).await {
            Ok(live) => live,
            Err(err) if err.is_not_found() => return Ok(()),
            Err(err) => return Err(err),
        };
        if live.revision != cached.revision {
            klog::info("Secret is not up to date, skipping token population")
                .str("logger", LOGGER)
                .obj("secret", namespace, name)
                .log(&self.ctx, "tokens_controller.go:399");
            return Ok(());
        }
        let (ca, space, token) = self.lacks(&live);
        let mut new = (*live).clone();
        if ca {
            new.data.insert("ca.crt", Bytes::from(&*self.root_ca));
        }
        if space {
            new.data.insert("namespace", Bytes::from(&**namespace));
        }
        let meta = &account.metadata;
        if token {
            let signed = apiserver::token::sign_legacy(namespace, name, &meta.name, &meta.uid, &self.token_key);
            new.data.insert("token", Bytes::from(&*signed));
        }
        new.metadata.annotations.insert(NAME, meta.name.clone());
        new.metadata.annotations.insert(UID, meta.uid.clone());
        self.observed.action(&Key::of(&cached.metadata), format!("fill with a token of {}", meta.name));
        match client.update(new, live.revision).await {
            Err(err) if !err.is_conflict() && !err.is_not_found() => Err(err),
            _ => Ok(()),
        }
    }

    /// Takes a Secret that is gone out of its account's list.
    async fn remove_reference(&self, client: &Client, key: &SecretKey) {
        let Ok(account) = client.get::<ServiceAccount>(&key.key.namespace, &key.account).await else { return };
        let another = !key.account_uid.is_empty() && account.metadata.uid != key.account_uid;
        if another || !account.secrets.iter().any(|s| s.name == key.key.name) {
            return;
        }
        let kept: Vec<ObjectReference> = account.secrets.iter().filter(|s| s.name != key.key.name).cloned().collect();
        let mut new = (*account).clone();
        new.secrets = List::from(kept);
        if let Err(err) = client.update(new, account.revision).await {
            self.failed("Removing secret reference", &key.key, &err, "tokens_controller.go:307");
        }
    }
}
