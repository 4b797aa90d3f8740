//! `env` and `printenv`

use super::{Started, complain, say};
use crate::process::{LocalFuture, Process};
use crate::{Dialect, Environment, Tools};
use sim::Ctx;
use std::rc::Rc;

/// Shows the environment; with NAME=VALUE and a command: runs it with them.
pub fn run(ctx: Ctx, mut process: Process, dialect: Dialect, tools: Rc<dyn Tools>) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let mut words = process.args.split_off(1.min(process.args.len())).into_iter().peekable();
        while let Some(word) = words.peek() {
            if word == "-i" {
                process.env = Environment::default();
            } else if let Some((name, value)) = word.split_once('=') {
                process.env.insert(name.to_string(), value.to_string());
            } else {
                break;
            }
            words.next();
        }
        let command: Vec<String> = words.collect();
        let Some(name) = command.first().cloned() else {
            let all: String = process.env.iter().map(|(k, v)| format!("{k}={v}\n")).collect();
            return say(&process, all.as_bytes()).await.err().unwrap_or(0);
        };
        match super::start(&ctx, &process, dialect, &tools, command).await {
            Started::Ended(code) => code,
            Started::NotFound => {
                complain(
                    &process,
                    &match dialect {
                        Dialect::Bash => format!("env: '{name}': No such file or directory"),
                        Dialect::Busybox => format!("env: can't execute '{name}': No such file or directory"),
                    },
                )
                .await;
                127
            }
        }
    })
}

/// One variable, or all.
pub fn printenv(_: Ctx, process: Process, _: Dialect) -> LocalFuture<'static, i32> {
    Box::pin(async move {
        let names: Vec<&String> = process.args.iter().skip(1).collect();
        let (mut out, mut code) = (String::new(), 0);
        if names.is_empty() {
            out = process.env.iter().map(|(k, v)| format!("{k}={v}\n")).collect();
        }
        for name in names {
            match process.env.get(name) {
                Some(value) => out.push_str(&format!("{value}\n")),
                None => code = 1,
            }
        }
        say(&process, out.as_bytes()).await.err().unwrap_or(code)
    })
}
