//! Objects out of files, standard input and kustomizations.

use super::{Builder, Info, Visit, not_validated};
use crate::error::Error;
use crate::manifest::{self, Trouble};
use crate::mapping::{Mapper, Mapping};
use crate::paths;
use crate::print::human::quote;
use crate::session::Kubectl;
use crate::value::Value;
use std::rc::Rc;

impl Builder {
    pub(super) async fn by_files(self, k: &Kubectl<'_>) -> Result<Visit, Error> {
        if !self.names.is_empty() {
            return Err(Error::text("name cannot be provided when a path is specified"));
        }
        if !self.tuples.is_empty() {
            return Err(Error::text("resource/name arguments cannot be provided when a path is specified"));
        }
        if !self.kustomize.is_empty() {
            if !self.files.is_empty() {
                return Err(Error::text("only one of -f or -k can be specified"));
            }
            if self.recursive {
                return Err(Error::text("the -k flag can't be used with -f or -R"));
            }
            return self.by_kustomization(k).await;
        }
        // All paths are looked at before anything is read.
        let mut paths: Vec<String> = Vec::new();
        let mut errors = Vec::new();
        let mut stdin = false;
        for f in &self.files {
            if f == "-" {
                if std::mem::replace(&mut stdin, true) {
                    errors.push(Error::text("standard input cannot be used for multiple arguments"));
                }
                paths.push(f.clone());
            } else if f.starts_with("http://") || f.starts_with("https://") {
                errors.push(Error::text(format!("unable to read URL {}, no network outside the cluster", quote(f))));
            } else {
                match paths::expand(k, f, self.recursive) {
                    Some(found) if found.is_empty() => errors.push(Error::text(format!(
                        "error reading [{f}]: recognized file extensions are [.json .yaml .yml]"
                    ))),
                    Some(found) => paths.extend(found),
                    None => errors.push(Error::text(format!("the path {} does not exist", quote(f)))),
                }
            }
        }
        Error::aggregate(errors)?;
        if !self.resources.is_empty() {
            return Err(Error::text(
                "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well",
            ));
        }
        let single_item = paths.len() == 1 && !stdin;
        let mapper = k.mapper();
        let mut items = Vec::new();
        for path in paths {
            let source = if path == "-" { "STDIN".to_string() } else { path.clone() };
            let bytes = if path == "-" {
                k.io.stdin()
            } else {
                match k.io.read_file(&path) {
                    Ok(b) => b,
                    Err(e) => {
                        items.push(Err(Error::text(format!("open {path}: {e}"))));
                        continue;
                    }
                }
            };
            for document in manifest::documents(&bytes) {
                let object = match document {
                    Ok(Value::Null) => continue,
                    Ok(v) => v,
                    Err(Trouble::Syntax(e)) => {
                        items.push(Err(Error::text(format!("error parsing {source}: {e}"))));
                        break;
                    }
                    Err(Trouble::Number(e)) if self.validate => {
                        items.push(Err(not_validated(&source, &e)));
                        break;
                    }
                    Err(Trouble::Number(e)) => {
                        items.push(Err(Error::text(format!("unable to decode {}: {e}", quote(&source)))));
                        continue;
                    }
                };
                let failed = match self.document(k, &mapper, object, &source).await {
                    Ok(info) => {
                        self.add_file_info(k, &mapper, info, &mut items).await;
                        false
                    }
                    Err((e, ends)) => {
                        items.push(Err(e));
                        ends
                    }
                };
                if failed || (!self.continue_on_error && items.iter().any(|i| i.is_err())) {
                    break;
                }
            }
            if !self.continue_on_error && items.iter().any(|i| i.is_err()) {
                break;
            }
        }
        if let (Some(selector), false) = (&self.labels, self.select_all) {
            let parsed = crate::selector::parse(selector)
                .map_err(|e| Error::text(format!("the provided selector {} is not valid: {e}", quote(selector))))?;
            items.retain(|i| match i {
                Ok(info) => parsed.matches(info.object.at("metadata/labels")),
                Err(_) => true,
            });
        }
        Ok(Visit { items, single_item })
    }

    async fn by_kustomization(self, k: &Kubectl<'_>) -> Result<Visit, Error> {
        let objects = match crate::kustomize::build(k, &self.kustomize) {
            Ok(objects) => objects,
            Err(e) => return Ok(Visit { items: vec![Err(Error::Text(e))], single_item: false }),
        };
        let mapper = k.mapper();
        let mut items = Vec::new();
        for object in objects {
            match self.document(k, &mapper, object, &self.kustomize).await {
                Ok(info) => self.add_file_info(k, &mapper, info, &mut items).await,
                Err((e, _)) => items.push(Err(e)),
            }
        }
        Ok(Visit { items, single_item: false })
    }

    async fn add_file_info(
        &self,
        k: &Kubectl<'_>,
        mapper: &Mapper,
        mut info: Info,
        items: &mut Vec<Result<Info, Error>>,
    ) {
        let from = items.len();
        if self.flatten && matches!(info.object.at("items"), Value::Array(_)) {
            self.add(mapper, info, items);
        } else {
            items.push(self.settle_namespace(&mut info).map(|()| info));
        }
        if !self.latest || self.local {
            return;
        }
        for item in items.iter_mut().skip(from) {
            let Ok(info) = item else { continue };
            let fetched = if info.name.is_empty() {
                Ok(())
            } else if info.mapping.namespaced && info.namespace.is_empty() {
                Err(Error::text(format!("no namespace set on resource {} {}", info.mapping.gvr(), quote(&info.name))))
            } else if self.table {
                match k.get_table(&info.mapping, &info.namespace, &info.name, "").await {
                    Ok(Ok(t)) => {
                        info.table = Some(t);
                        Ok(())
                    }
                    Ok(Err(o)) => {
                        info.object = o;
                        Ok(())
                    }
                    Err(e) => Err(e),
                }
            } else {
                info.get(k).await
            };
            if let Err(e) = fetched {
                *item = Err(e);
            }
        }
    }

    /// One document of a file as an object. The error tells whether it ends its file.
    async fn document(
        &self,
        k: &Kubectl<'_>,
        mapper: &Mapper,
        object: Value,
        source: &str,
    ) -> Result<Info, (Error, bool)> {
        if self.validate {
            manifest::check(k, &object).await.map_err(|e| (not_validated(source, &e), true))?;
        }
        manifest::check_metadata(&object)
            .map_err(|e| (Error::text(format!("unable to decode {}: {e}", quote(source))), false))?;
        let (api_version, kind) = (object.str("apiVersion"), object.str("kind"));
        if api_version.is_empty() {
            // Such a kind may be known by its name; there is no path to its resource.
            return Err((crate::server::no_path(), false));
        }
        let name = object.str("metadata/name").to_string();
        let namespace = object.str("metadata/namespace").to_string();
        let is_list = matches!(object.at("items"), Value::Array(_)) && kind.ends_with("List");
        let mapping = match mapper.for_kind(api_version, kind) {
            Some(m) => m,
            None if is_list => Rc::new(Mapping::default()),
            None if self.local => Rc::new(Mapping { kind: kind.to_string(), ..Mapping::default() }),
            None => {
                return Err((
                    Error::text(format!(
                        "resource mapping not found for name: {} namespace: {} from {}: no matches for kind {} in version {}\nensure CRDs are installed first",
                        quote(&name),
                        quote(&namespace),
                        quote(source),
                        quote(kind),
                        quote(api_version)
                    )),
                    false,
                ));
            }
        };
        Ok(Info { mapping, namespace, name, source: source.to_string(), object, table: None, revision: 0 })
    }
}
