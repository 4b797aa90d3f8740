//! What of a module the cut needs to know.

use std::collections::BTreeSet;
use wasmparser::{
    BinaryReaderError, ConstExpr, DataKind, ElementItems, ExternalKind, FunctionBody, Operator, Parser, Payload,
    TypeRef,
};

/// A function by its number in the module: imported ones first, then those with a body.
pub type Func = u32;

/// A module of one memory, as wasm-bindgen leaves it.
#[derive(Default)]
pub struct Module<'a> {
    /// The module itself.
    pub bytes: &'a [u8],
    /// Its types.
    pub types: Vec<wasmparser::FuncType>,
    /// How many functions are imported.
    pub imported: u32,
    /// The type of every function.
    pub func_types: Vec<u32>,
    /// Type of every table.
    pub tables: Vec<wasmparser::TableType>,
    /// Type of every global.
    pub globals: Vec<wasmparser::GlobalType>,
    /// Its memory's type.
    pub memory: Option<wasmparser::MemoryType>,
    /// Bodies of the functions that have one.
    pub bodies: Vec<FunctionBody<'a>>,
    /// Where in memory each piece of data goes, if it does when an instance is made; and the data.
    pub data: Vec<(Option<u32>, &'a [u8])>,
    /// Functions that are exported, in a table, or started with.
    pub rooted: BTreeSet<Func>,
}

impl<'a> Module<'a> {
    /// Reads a module.
    pub fn read(bytes: &'a [u8]) -> Result<Module<'a>, BinaryReaderError> {
        let mut module = Module { bytes, ..Module::default() };
        for payload in Parser::new(0).parse_all(bytes) {
            module.take(payload?)?;
        }
        Ok(module)
    }

    /// The functions that a body names.
    pub fn named_by(body: &FunctionBody<'a>) -> Result<Vec<Func>, BinaryReaderError> {
        let mut named = Vec::new();
        for operator in body.get_operators_reader()? {
            match operator? {
                Operator::Call { function_index }
                | Operator::ReturnCall { function_index }
                | Operator::RefFunc { function_index } => named.push(function_index),
                _ => {}
            }
        }
        Ok(named)
    }

    fn take(&mut self, payload: Payload<'a>) -> Result<(), BinaryReaderError> {
        match payload {
            Payload::TypeSection(section) => {
                for group in section.into_iter_err_on_gc_types() {
                    self.types.push(group?);
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    match import?.ty {
                        TypeRef::Func(index) => {
                            self.imported += 1;
                            self.func_types.push(index);
                        }
                        TypeRef::Table(table) => self.tables.push(table),
                        TypeRef::Global(global) => self.globals.push(global),
                        TypeRef::Memory(memory) => self.memory = Some(memory),
                        _ => {}
                    }
                }
            }
            Payload::FunctionSection(section) => {
                for index in section {
                    self.func_types.push(index?);
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    self.tables.push(table?.ty);
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    self.memory = Some(memory?);
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    self.globals.push(global?.ty);
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    if export.kind == ExternalKind::Func {
                        self.rooted.insert(export.index);
                    }
                }
            }
            Payload::StartSection { func, .. } => {
                self.rooted.insert(func);
            }
            Payload::ElementSection(section) => {
                for element in section {
                    if let ElementItems::Functions(functions) = element?.items {
                        for function in functions {
                            self.rooted.insert(function?);
                        }
                    }
                }
            }
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::DataSection(section) => {
                for data in section {
                    let data = data?;
                    let at = match &data.kind {
                        DataKind::Active { offset_expr, .. } => constant(offset_expr)?,
                        DataKind::Passive => None,
                    };
                    self.data.push((at, data.data));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// The value of an expression that is one number.
fn constant(expression: &ConstExpr<'_>) -> Result<Option<u32>, BinaryReaderError> {
    Ok(match expression.get_operators_reader().read()? {
        Operator::I32Const { value } => Some(value as u32),
        _ => None,
    })
}
