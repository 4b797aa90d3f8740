//! `kubectl config`: what the kubeconfig says.

use super::{Command, PRINT};
use crate::error::Error;
use crate::flags::{Flag, Type, flag};
use crate::print::object::{Printer, WRITE_FORMATS, by_format};
use crate::print::tabwriter::{TABLE, TabWriter};
use crate::session::Kubectl;
use crate::value::{Value, object};

/// The group.
pub static CONFIG: Command = Command {
    name: "config",
    aliases: &[],
    short: "Modify kubeconfig files",
    usage: "SUBCOMMAND",
    flags: &[],
    required: &[],
    run: None,
    children: &[&CURRENT_CONTEXT, &GET_CLUSTERS, &GET_CONTEXTS, &GET_USERS, &VIEW],
};

static CURRENT_CONTEXT: Command = Command {
    name: "current-context",
    aliases: &[],
    short: "Display the current-context",
    usage: "",
    flags: &[],
    required: &[],
    run: Some(|k| Box::pin(names(k, "", k.config.context()))),
    children: &[],
};
static GET_CLUSTERS: Command = Command {
    name: "get-clusters",
    aliases: &[],
    short: "Display clusters defined in the kubeconfig",
    usage: "",
    flags: &[],
    required: &[],
    run: Some(|k| Box::pin(names(k, "NAME\n", k.config.cluster.clone()))),
    children: &[],
};
static GET_USERS: Command = Command {
    name: "get-users",
    aliases: &[],
    short: "Display users defined in the kubeconfig",
    usage: "",
    flags: &[],
    required: &[],
    run: Some(|k| Box::pin(names(k, "NAME\n", k.config.user.clone()))),
    children: &[],
};
static GET_CONTEXTS: Command = Command {
    name: "get-contexts",
    aliases: &[],
    short: "Describe one or many contexts",
    usage: "[(-o|--output=)name)]",
    flags: &[CONTEXT_FLAGS],
    required: &[],
    run: Some(|k| Box::pin(contexts(k))),
    children: &[],
};
const CONTEXT_FLAGS: &[Flag] = &[
    flag(
        "no-headers",
        Type::Bool,
        "false",
        "When using the default or custom-column output format, don't print headers (default print headers).",
    ),
    flag("output", Type::String, "", "Output format. One of: (name).").short('o'),
];
const VIEW_FLAGS: &[Flag] = &[
    flag("flatten", Type::Bool, "false", "Flatten the resulting kubeconfig file into self-contained output"),
    flag("minify", Type::Bool, "false", "Remove all information not used by current-context from the output"),
    flag("raw", Type::Bool, "false", "Display raw byte data and sensitive data"),
];
static VIEW: Command = Command {
    name: "view",
    aliases: &[],
    short: "Display merged kubeconfig settings or a specified kubeconfig file",
    usage: "",
    flags: &[VIEW_FLAGS, PRINT],
    required: &[],
    run: Some(|k| Box::pin(view(k))),
    children: &[],
};

async fn names(k: &Kubectl<'_>, head: &str, name: String) -> Result<(), Error> {
    k.out(&format!("{head}{name}\n"));
    Ok(())
}

async fn contexts(k: &Kubectl<'_>) -> Result<(), Error> {
    let c = k.config;
    if k.flags.str("output") == "name" {
        k.out(&format!("{}\n", c.context()));
        return Ok(());
    }
    let mut w = TabWriter::new(TABLE);
    if !k.flags.bool("no-headers") {
        w.write("CURRENT\tNAME\tCLUSTER\tAUTHINFO\tNAMESPACE\n");
    }
    w.write(&format!("*\t{}\t{}\t{}\t\n", c.context(), c.cluster, c.user));
    k.out(&w.flush());
    Ok(())
}

async fn view(k: &Kubectl<'_>) -> Result<(), Error> {
    let c = k.config;
    let named = |name: &str, key: &str, v: Value| Value::Array(vec![object([("name", name.into()), (key, v)])]);
    let cluster = object([
        ("certificate-authority-data", "DATA+OMITTED".into()),
        ("server", format!("https://{}", c.host()).into()),
    ]);
    let context = object([("cluster", c.cluster.as_str().into()), ("user", c.user.as_str().into())]);
    let user = object([("client-certificate-data", "DATA+OMITTED".into()), ("client-key-data", "DATA+OMITTED".into())]);
    let o = object([
        ("apiVersion", "v1".into()),
        ("clusters", named(&c.cluster, "cluster", cluster)),
        ("contexts", named(&c.context(), "context", context)),
        ("current-context", c.context().into()),
        ("kind", "Config".into()),
        ("users", named(&c.user, "user", user)),
    ]);
    let mut printer = match k.flags.str("output") {
        "" => Printer::Yaml(0),
        format => by_format(k, format, WRITE_FORMATS)?,
    };
    printer.show(k, &o)?;
    Ok(())
}
