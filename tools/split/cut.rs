//! Cuts a module in two.
//!
//! The first half keeps everything but the bodies of the functions that were left out. A left out function that the
//! first half still names (by a call, in a table, as an export) becomes a few instructions that call through a table
//! of its own: the table is empty until the second half is there, and its entry 0 is what fetches that. The second
//! half imports the memory, the tables, the globals and the functions it calls from the first, and fills the table.

use crate::module::{Func, Module};
use crate::texts::Text;
use std::collections::{BTreeMap, BTreeSet};
use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataSection, ElementSection, Elements, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, ImportSection, Instruction, NameMap, NameSection, RefType, TableSection, TableType,
    TypeSection, ValType,
};
use wasmparser::{FunctionBody, Operator, Parser};

/// The module of the imports of the second half: the exports of the first.
const FIRST: &str = "~";
/// The export of the table through which the first half calls the second.
const TABLE: &str = "~";
/// A body of this many bytes or fewer is no longer than what would stand for it.
const SMALL: usize = 24;

/// Which function goes where.
pub struct Plan {
    /// With a body in the second half only.
    moved: BTreeSet<Func>,
    /// Those of them that the first half names, with their entry in the table.
    entries: BTreeMap<Func, u32>,
    /// Those of these that it names in one call only, which then goes through the table itself.
    once: BTreeSet<Func>,
    /// Functions of the first half, imported ones included, that the second half calls.
    shared: BTreeSet<Func>,
}

impl Plan {
    /// Keeps in the first half the functions that `ran` says so (one byte for each with a body; what is missing did
    /// not run) and those too small to be worth moving.
    pub fn new(module: &Module, ran: &[u8]) -> Result<Plan, Error> {
        let ran = |at: usize| ran.get(at).is_some_and(|byte| *byte != 0);
        let numbered = || (module.imported..).zip(&module.bodies);
        let moved: BTreeSet<Func> = numbered()
            .enumerate()
            .filter(|(at, (_, body))| !ran(*at) && body.range().len() > SMALL)
            .map(|(_, (func, _))| func)
            .collect();
        let mut named = module.rooted.clone();
        let mut calls = BTreeMap::<Func, u32>::new();
        let mut shared = BTreeSet::new();
        for (func, body) in numbered() {
            let names = Module::named_by(body)?;
            if moved.contains(&func) {
                shared.extend(names.into_iter().filter(|name| !moved.contains(name)));
            } else {
                for name in names {
                    *calls.entry(name).or_default() += 1;
                    named.insert(name);
                }
            }
        }
        let entries: BTreeMap<Func, u32> = moved.intersection(&named).copied().zip(1..).collect();
        let once = entries.keys().copied().filter(|func| calls.get(func) == Some(&1) && !module.rooted.contains(func));
        Ok(Plan { once: once.collect(), moved, entries, shared })
    }

    /// Whether the first half has its body.
    pub fn keeps(&self, func: Func) -> bool {
        !self.moved.contains(&func)
    }

    /// Whether the first half has a body for it, its own or the few instructions.
    fn in_first(&self, func: Func) -> bool {
        !self.moved.contains(&func) || self.entries.contains_key(&func) && !self.once.contains(&func)
    }
}

/// Both halves.
pub fn cut(module: &Module, plan: &Plan, texts: &[Text<'_>]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    Ok((first(module, plan, texts)?, rest(module, plan, texts)?))
}

/// Apart from the memory's, the tables' and the globals' names, whatever the number.
fn name_of(func: Func) -> String {
    format!("~f{}", radix36(func))
}

fn radix36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

fn first(module: &Module, plan: &Plan, texts: &[Text<'_>]) -> Result<Vec<u8>, Error> {
    let mut numbers = BTreeMap::new();
    for func in (0..module.func_types.len() as u32).filter(|func| plan.in_first(*func)) {
        numbers.insert(func, numbers.len() as u32);
    }
    let mut first = First { module, plan, texts, ready: numbers.len() as u32, numbers };
    let mut out = wasm_encoder::Module::new();
    first.parse_core_module(&mut out, Parser::new(0), module.bytes)?;
    Ok(out.finish())
}

struct First<'m, 'a> {
    module: &'m Module<'a>,
    plan: &'m Plan,
    texts: &'m [Text<'m>],
    /// What a function's number becomes.
    numbers: BTreeMap<Func, u32>,
    /// The function that fetches the second half if it is not there, and gives its argument back.
    ready: u32,
}

impl First<'_, '_> {
    fn table(&self) -> u32 {
        self.module.tables.len() as u32
    }

    fn void_type(&self) -> u32 {
        self.module.types.len() as u32
    }

    fn stand_in(&self, func: Func, entry: u32) -> Function {
        let ty = self.module.func_types[func as usize];
        let mut function = Function::new([]);
        for local in 0..self.module.types[ty as usize].params().len() as u32 {
            function.instruction(&Instruction::LocalGet(local));
        }
        self.call(&mut function, ty, entry);
        function.instruction(&Instruction::End);
        function
    }

    /// Calls a function of the second half.
    fn call(&self, function: &mut Function, ty: u32, entry: u32) {
        function.instruction(&Instruction::I32Const(entry as i32));
        function.instruction(&Instruction::Call(self.ready));
        function.instruction(&Instruction::CallIndirect { type_index: ty, table_index: self.table() });
    }

    fn ready(&self) -> Function {
        let mut function = Function::new([]);
        for instruction in [
            Instruction::LocalGet(0),
            Instruction::TableGet(self.table()),
            Instruction::RefIsNull,
            Instruction::If(BlockType::Empty),
            Instruction::I32Const(0),
            Instruction::CallIndirect { type_index: self.void_type(), table_index: self.table() },
            Instruction::End,
            Instruction::LocalGet(0),
            Instruction::End,
        ] {
            function.instruction(&instruction);
        }
        function
    }
}

impl Reencode for First<'_, '_> {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, func: u32) -> Result<u32, Error> {
        Ok(self.numbers.get(&func).copied().unwrap_or(func))
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Result<(), Error> {
        utils::parse_type_section(self, types, section)?;
        types.ty().function([], []);
        types.ty().function([ValType::I32], [ValType::I32]);
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        _: wasmparser::FunctionSectionReader<'_>,
    ) -> Result<(), Error> {
        for func in self.numbers.keys().filter(|func| **func >= self.module.imported) {
            functions.function(self.module.func_types[*func as usize]);
        }
        functions.function(self.void_type() + 1);
        Ok(())
    }

    fn parse_table_section(
        &mut self,
        tables: &mut TableSection,
        section: wasmparser::TableSectionReader<'_>,
    ) -> Result<(), Error> {
        utils::parse_table_section(self, tables, section)?;
        tables.table(table_type(self.plan));
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: wasmparser::ExportSectionReader<'_>,
    ) -> Result<(), Error> {
        utils::parse_export_section(self, exports, section)?;
        exports.export(TABLE, ExportKind::Table, self.table());
        exports.export("~m", ExportKind::Memory, 0);
        for table in 0..self.table() {
            exports.export(&format!("~t{table}"), ExportKind::Table, table);
        }
        for global in 0..self.module.globals.len() as u32 {
            exports.export(&format!("~g{global}"), ExportKind::Global, global);
        }
        for func in &self.plan.shared {
            exports.export(&name_of(*func), ExportKind::Func, self.numbers[func]);
        }
        Ok(())
    }

    fn parse_function_body(&mut self, code: &mut CodeSection, body: FunctionBody<'_>) -> Result<(), Error> {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        for operator in body.get_operators_reader()? {
            match operator? {
                Operator::Call { function_index: func } if self.plan.once.contains(&func) => {
                    let ty = self.module.func_types[func as usize];
                    self.call(&mut function, ty, self.plan.entries[&func]);
                }
                other => {
                    function.instruction(&self.instruction(other)?);
                }
            }
        }
        code.function(&function);
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: wasmparser::CodeSectionReader<'_>,
    ) -> Result<(), Error> {
        for (func, body) in (self.module.imported..).zip(section) {
            if let Some(entry) = self.plan.entries.get(&func) {
                if !self.plan.once.contains(&func) {
                    code.function(&self.stand_in(func, *entry));
                }
            } else if !self.plan.moved.contains(&func) {
                self.parse_function_body(code, body?)?;
            }
        }
        code.function(&self.ready());
        Ok(())
    }

    /// Without the texts of the second half. Pieces of data keep their numbers.
    fn parse_data_section(
        &mut self,
        data: &mut DataSection,
        section: wasmparser::DataSectionReader<'_>,
    ) -> Result<(), Error> {
        let mut after = Vec::new();
        for (number, datum) in section.into_iter().enumerate() {
            let mut datum = datum?;
            let whole = datum.data;
            let mut of_this: Vec<&Text> = self.texts.iter().filter(|text| text.segment == number).collect();
            of_this.sort_by_key(|text| text.at);
            if let Some(text) = of_this.first() {
                datum.data = &whole[..text.at];
            }
            self.parse_data(data, datum)?;
            for (at, text) in of_this.iter().enumerate() {
                let next = of_this.get(at + 1).map_or(whole.len(), |next| next.at);
                let from = text.at + text.bytes.len();
                after.push((text.address as usize + text.bytes.len(), &whole[from..next]));
            }
        }
        for (address, bytes) in after {
            data.active(0, &ConstExpr::i32_const(address as i32), bytes.iter().copied());
        }
        Ok(())
    }

    fn data_count(&mut self, count: u32) -> Result<u32, Error> {
        Ok(count + self.texts.len() as u32)
    }

    /// Names of functions are kept where there are any, for the traces of a crash; other custom sections are not.
    fn parse_custom_section(
        &mut self,
        out: &mut wasm_encoder::Module,
        section: wasmparser::CustomSectionReader<'_>,
    ) -> Result<(), Error> {
        let wasmparser::KnownCustom::Name(subsections) = section.as_known() else { return Ok(()) };
        let mut kept = NameMap::new();
        for subsection in subsections {
            if let wasmparser::Name::Function(names) = subsection? {
                for name in names {
                    let name = name?;
                    if let Some(number) = self.numbers.get(&name.index) {
                        kept.append(*number, name.name);
                    }
                }
            }
        }
        let mut names = NameSection::new();
        names.functions(&kept);
        out.section(&names);
        Ok(())
    }
}

fn table_type(plan: &Plan) -> TableType {
    let entries = plan.entries.len() as u64 + 1;
    TableType {
        element_type: RefType::FUNCREF,
        minimum: entries,
        maximum: Some(entries),
        table64: false,
        shared: false,
    }
}

fn rest(module: &Module, plan: &Plan, texts: &[Text<'_>]) -> Result<Vec<u8>, Error> {
    let numbers = plan.shared.iter().chain(&plan.moved).copied().zip(0..).collect();
    let mut rest = Rest { numbers };

    let mut types = TypeSection::new();
    for ty in &module.types {
        let ty = rest.func_type(ty.clone())?;
        types.ty().func_type(&ty);
    }
    let mut imports = ImportSection::new();
    let memory = module.memory.ok_or(Error::UnexpectedNonCoreModuleSection)?;
    imports.import(FIRST, "~m", EntityType::Memory(rest.memory_type(memory)?));
    for (at, table) in module.tables.iter().enumerate() {
        imports.import(FIRST, &format!("~t{at}"), EntityType::Table(rest.table_type(*table)?));
    }
    imports.import(FIRST, TABLE, EntityType::Table(table_type(plan)));
    for (at, global) in module.globals.iter().enumerate() {
        imports.import(FIRST, &format!("~g{at}"), EntityType::Global(rest.global_type(*global)?));
    }
    for func in &plan.shared {
        imports.import(FIRST, &name_of(*func), EntityType::Function(module.func_types[*func as usize]));
    }
    let mut functions = FunctionSection::new();
    let mut code = CodeSection::new();
    for func in &plan.moved {
        functions.function(module.func_types[*func as usize]);
        rest.parse_function_body(&mut code, module.bodies[(func - module.imported) as usize].clone())?;
    }
    let mut elements = ElementSection::new();
    let entered: Vec<u32> = plan.entries.keys().map(|func| rest.numbers[func]).collect();
    elements.active(Some(module.tables.len() as u32), &ConstExpr::i32_const(1), Elements::Functions(entered.into()));
    let mut data = DataSection::new();
    for text in texts {
        data.active(0, &ConstExpr::i32_const(text.address as i32), text.bytes.iter().copied());
    }
    let mut out = wasm_encoder::Module::new();
    out.section(&types).section(&imports).section(&functions).section(&elements).section(&code).section(&data);
    Ok(out.finish())
}

struct Rest {
    numbers: BTreeMap<Func, u32>,
}

impl Reencode for Rest {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, func: u32) -> Result<u32, Error> {
        Ok(self.numbers.get(&func).copied().unwrap_or(func))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::count;
    use wasmi::{AsContext, AsContextMut, Caller, Engine, Extern, Func as HostFunc, Instance, Linker, Ref, Store};

    // `often` runs at first; `seldom` is called, stands in the table, and calls back into the first half.
    const WHOLE: &str = r#"
      (module
        (import "env" "say" (func $say (param i32)))
        (memory (export "memory") 1)
        (data (i32.const 100) "before told seldom after")
        (data (i32.const 200) "beside")
        (global $stack (mut i32) (i32.const 7))
        (table 2 funcref)
        (elem (i32.const 0) $seldom $deep)
        (type $t (func (param i32 i64) (result i64)))
        (func $often (export "often") (param i32) (result i64)
          (i64.store (i32.const 8) (i64.const 40))
          (if (result i64) (local.get 0)
            (then (call $seldom (local.get 0) (i64.const 2)))
            (else (i64.load (i32.const 8)))))
        (func $seldom (type $t)
          (call $say (global.get $stack))
          (call $say (i32.load8_u (i32.const 107)))
          (global.set $stack (i32.add (global.get $stack) (local.get 0)))
          (drop (call_indirect (type $t) (i32.const 0) (local.get 1) (i32.const 1)))
          (i64.add (call $often (i32.const 0)) (local.get 1)))
        (func $deep (type $t)
          (i32.store (i32.const 16) (i32.add (global.get $stack) (i32.load (i32.const 16))))
          (i32.store (i32.const 20) (i32.const 1))
          (i64.extend_i32_u (global.get $stack)))
        (func (export "indirect") (param i32) (result i64)
          (call_indirect (type $t) (local.get 0) (i64.const 0) (i32.const 1))))
    "#;

    struct Run {
        store: Store<Vec<i32>>,
        first: Instance,
    }

    fn instance(wasm: &[u8]) -> Run {
        let engine = Engine::default();
        let mut store = Store::new(&engine, Vec::new());
        let mut linker = Linker::new(&engine);
        linker.func_wrap("env", "say", |mut at: Caller<'_, Vec<i32>>, said: i32| at.data_mut().push(said)).unwrap();
        let module = wasmi::Module::new(&engine, wasm).unwrap();
        let first = linker.instantiate_and_start(&mut store, &module).unwrap();
        Run { store, first }
    }

    impl Run {
        fn call(&mut self, name: &str, argument: i32) -> i64 {
            let function = self.first.get_typed_func::<i32, i64>(&self.store, name).unwrap();
            function.call(&mut self.store, argument).unwrap()
        }

        /// Sets entry 0, as the worker does: it makes an instance of the second half and notes that it did.
        fn expect(&mut self, rest: Vec<u8>) {
            let first = self.first;
            let fetch = HostFunc::wrap(&mut self.store, move |mut at: Caller<'_, Vec<i32>>| {
                at.data_mut().push(-1);
                let engine = at.engine().clone();
                let mut linker = Linker::new(&engine);
                let exports: Vec<(String, Extern)> =
                    first.exports(at.as_context()).map(|e| (e.name().to_string(), e.into_extern())).collect();
                for (name, export) in exports {
                    linker.define(FIRST, &name, export).unwrap();
                }
                let module = wasmi::Module::new(&engine, &rest).unwrap();
                linker.instantiate_and_start(at.as_context_mut(), &module).unwrap();
            });
            let table = self.first.get_table(&self.store, TABLE).unwrap();
            table.set(&mut self.store, 0, Ref::Val(fetch).into()).unwrap();
        }
    }

    #[test]
    fn two_halves_do_what_the_whole_does() {
        let whole = wat::parse_str(WHOLE).unwrap();
        let module = Module::read(&whole).unwrap();

        let (counted, base) = count(&module).unwrap();
        let mut counting = instance(&counted);
        assert_eq!(counting.call("often", 0), 40);
        let memory = counting.first.get_memory(&counting.store, "memory").unwrap();
        let stretches: usize = crate::count::stretches(&module).unwrap().iter().sum();
        let marks = memory.data(&counting.store)[base as usize..][..stretches].to_vec();
        assert_eq!(marks, [1, 0, 1, 1, 0, 0, 0]);
        let (outlined, ran) = crate::outline::outline(&module, &marks).unwrap();
        assert_eq!(ran, [1, 0, 0, 0]);
        let module = Module::read(&outlined).unwrap();

        let plan = Plan::new(&module, &ran).unwrap();
        let texts = [b"told seldom".to_vec()];
        let texts = crate::texts::find(&module, &plan, &texts).unwrap();
        let (first, rest) = cut(&module, &plan, &texts).unwrap();
        assert!(!first.windows(11).any(|bytes| bytes == b"told seldom"));
        let (mut one, mut two) = (instance(&whole), instance(&first));
        two.expect(rest);
        for (name, argument) in [("often", 0), ("often", 5), ("indirect", 3), ("often", 1), ("indirect", 9)] {
            assert_eq!(one.call(name, argument), two.call(name, argument), "{name}({argument})");
        }
        assert_eq!(two.store.data().iter().filter(|said| **said == -1).count(), 1, "fetched once");
        two.store.data_mut().retain(|said| *said != -1);
        assert_eq!(one.store.data(), two.store.data());
        let memory_of = |run: &Run| run.first.get_memory(&run.store, "memory").unwrap().data(&run.store).to_vec();
        assert!(memory_of(&one) == memory_of(&two));
    }

    // A function's number in base 36 once was the name of a global.
    #[test]
    fn no_two_exports_have_one_name() {
        let many = "(func (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))".repeat(1300);
        let calls: String = (1..1300).map(|n| format!("(drop (call {n} (i32.const 1)))")).collect();
        let text = format!(
            "(module (memory 1) (table 1 funcref) (global (mut i32) (i32.const 0)) (global (mut i32) (i32.const 0))
               (func (export \"all\") {calls}) {many})"
        );
        let whole = wat::parse_str(text).unwrap();
        let module = Module::read(&whole).unwrap();
        let plan = Plan::new(&module, &[]).unwrap();
        assert!(plan.moved.contains(&0) && plan.shared.contains(&577) && plan.shared.contains(&1044));
        let (first, rest) = cut(&module, &plan, &[]).unwrap();
        wasmparser::validate(&first).unwrap();
        wasmparser::validate(&rest).unwrap();
    }

    #[test]
    fn where_all_ran_nothing_moves() {
        let whole = wat::parse_str(WHOLE).unwrap();
        let module = Module::read(&whole).unwrap();
        let plan = Plan::new(&module, &[1; 4]).unwrap();
        assert!(plan.moved.is_empty());
        let (first, rest) = cut(&module, &plan, &[]).unwrap();
        assert_eq!(instance(&first).call("often", 5), 42);
        wasmparser::validate(&rest).unwrap();
    }
}
