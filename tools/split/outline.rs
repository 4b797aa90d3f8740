//! Takes what never ran out of functions that did: a region (see `body`) becomes a function of its own, which can lie
//! in the second half.
//!
//! The new function gets the locals that the region reads, and the values on the stack; it gives back which way the
//! region went on, the value taken along, and the locals that are read later. It returns one value at most and leaves
//! the others in globals, which the caller reads at once: V8 11.3 loses values of functions that return many.

use crate::body::{self, Body, Exit, Region};
use crate::liveness::{self, Locals, Seen};
use crate::module::{Func, Module};
use std::collections::{BTreeMap, BTreeSet};
use wasm_encoder::reencode::{Error, Reencode, RoundtripReencoder, utils};
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, Function, FunctionSection, GlobalSection, GlobalType, Instruction, TypeSection,
    ValType,
};
use wasmparser::{Operator, Parser};

/// What a region's bytes must exceed those that stand for it by: the second half's call is longer than a plain one.
const WORTH: usize = 16;

/// The module with its cold regions as functions behind its own, and which functions ran, one byte each.
pub fn outline(module: &Module, marks: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Error> {
    outline_worth(module, marks, WORTH)
}

fn outline_worth(module: &Module, marks: &[u8], worth: usize) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let mut outlined =
        Outlined { module, types: Vec::new(), cut: BTreeMap::new(), added: Vec::new(), globals: Vec::new() };
    let mut ran = vec![0; module.bodies.len()];
    let mut bodies = Vec::new();
    body::regions(module, marks, |at, body, regions| {
        ran[at] = 1;
        bodies.push((at, body, regions));
    })?;
    for (at, body, regions) in bodies {
        outlined.take_out(at, &body, regions, worth)?;
    }
    ran.extend(outlined.added.iter().map(|_| 0));
    let mut out = wasm_encoder::Module::new();
    outlined.parse_core_module(&mut out, Parser::new(0), module.bytes)?;
    Ok((out.finish(), ran))
}

struct Outlined<'m, 'a> {
    module: &'m Module<'a>,
    /// Parameters and results of the types that are added.
    types: Vec<(Vec<ValType>, Vec<ValType>)>,
    /// What the bodies become that lose something, by their place.
    cut: BTreeMap<usize, Function>,
    /// New functions, with their types.
    added: Vec<(u32, Function)>,
    /// Types of the globals that are added.
    globals: Vec<ValType>,
}

impl Outlined<'_, '_> {
    fn take_out(&mut self, at: usize, body: &Body<'_>, regions: Vec<Region>, worth: usize) -> Result<(), Error> {
        let seen = liveness::seen(body, &regions);
        let mut types = body.locals.iter().map(|ty| RoundtripReencoder.val_type(*ty)).collect::<Result<Vec<_>, _>>()?;
        let parameters =
            self.module.types[self.module.func_types[self.module.imported as usize + at] as usize].params().len();
        let mut sites = BTreeMap::new();
        let mut spare = None;
        for region in &regions {
            let Some(seen) = seen.get(&region.operators.start) else { continue };
            let own = types.len();
            let mut site = Site::new(body, region, seen)?;
            let numbers = [ValType::I32, ValType::I64, ValType::F32, ValType::F64];
            if site.left().iter().any(|ty| self.module.globals.is_empty() || !numbers.contains(ty)) {
                continue;
            }
            site.globals = self.globals_for(&site.left());
            let func = (self.module.func_types.len() + self.added.len()) as Func;
            let way = spare.unwrap_or(own as u32);
            let (stands, tells) = site.stands(func, way);
            let bytes = body.offsets[region.operators.end] - body.offsets[region.operators.start];
            if bytes <= byte_len(&stands) + worth {
                continue;
            }
            if tells && spare.is_none() {
                types.push(ValType::I32);
                spare = Some(way);
            }
            let ty = self
                .type_of(site.takes(), site.returns().map(|local| site.locals[local as usize]).into_iter().collect());
            self.added.push((ty, site.function()?));
            sites.insert(region.operators.start, (region.operators.end, stands));
        }
        if sites.is_empty() {
            return Ok(());
        }
        let mut function = Function::new_with_locals_types(types[parameters..].iter().copied());
        let mut next = 0;
        while let Some(operator) = body.operators.get(next) {
            if let Some((end, stands)) = sites.get(&next) {
                stands.iter().for_each(|instruction| {
                    function.instruction(instruction);
                });
                next = *end;
            } else {
                function.instruction(&RoundtripReencoder.instruction(operator.clone())?);
                next += 1;
            }
        }
        self.cut.insert(at, function);
        Ok(())
    }

    /// A global for each of these types, none of them twice.
    fn globals_for(&mut self, types: &[ValType]) -> Vec<u32> {
        let mut taken = BTreeSet::new();
        let mut find = |ty: &ValType| {
            let free = (0..self.globals.len()).find(|at| self.globals[*at] == *ty && !taken.contains(at));
            let at = free.unwrap_or_else(|| {
                self.globals.push(*ty);
                self.globals.len() - 1
            });
            taken.insert(at);
            (self.module.globals.len() + at) as u32
        };
        types.iter().map(&mut find).collect()
    }

    fn type_of(&mut self, takes: Vec<ValType>, gives: Vec<ValType>) -> u32 {
        let ty = (takes, gives);
        let at = self.types.iter().position(|known| *known == ty).unwrap_or_else(|| {
            self.types.push(ty);
            self.types.len() - 1
        });
        (self.module.types.len() + at) as u32
    }
}

fn byte_len(instructions: &[Instruction<'_>]) -> usize {
    let mut function = Function::new([]);
    let empty = function.byte_len();
    for instruction in instructions {
        function.instruction(instruction);
    }
    function.byte_len() - empty
}

/// A region on its way out.
struct Site<'b, 'a> {
    body: &'b Body<'a>,
    region: &'b Region,
    /// Types of the values on the stack, and where each way out leads, with its value's type.
    stack: Vec<ValType>,
    exits: Vec<(Exit, Option<ValType>)>,
    /// Locals that it is given, and that it gives back.
    takes: Vec<u32>,
    gives: Vec<u32>,
    /// What they and the others that it uses become.
    numbers: BTreeMap<u32, u32>,
    /// Types of the new function's locals, parameters first.
    locals: Vec<ValType>,
    /// Its local that says which way out was taken, where there are several.
    way: Option<u32>,
    /// Its locals for the values taken along, in the order of their types.
    along: BTreeMap<u8, u32>,
    /// The globals for what it does not return.
    globals: Vec<u32>,
}

/// An order of types.
fn val_key(ty: ValType) -> u8 {
    match ty {
        ValType::I32 => 0,
        ValType::I64 => 1,
        ValType::F32 => 2,
        ValType::F64 => 3,
        ValType::V128 => 4,
        ValType::Ref(_) => 5,
    }
}

impl<'b, 'a> Site<'b, 'a> {
    fn new(body: &'b Body<'a>, region: &'b Region, seen: &Seen) -> Result<Self, Error> {
        let mut used = Locals::none(body.locals.len());
        let mut written = Locals::none(body.locals.len());
        for operator in &body.operators[region.operators.clone()] {
            match operator {
                Operator::LocalGet { local_index } => used.insert(*local_index),
                Operator::LocalSet { local_index } | Operator::LocalTee { local_index } => {
                    used.insert(*local_index);
                    written.insert(*local_index);
                }
                _ => {}
            }
        }
        let convert = |ty: wasmparser::ValType| RoundtripReencoder.val_type(ty);
        let takes: Vec<u32> = used.iter().filter(|local| seen.before.contains(*local)).collect();
        let gives = written.iter().filter(|local| seen.after.contains(*local)).collect();
        let stack = region.stack.iter().copied().map(convert).collect::<Result<Vec<_>, _>>()?;
        let mut exits = Vec::new();
        for (exit, value) in &region.exits {
            exits.push((*exit, value.map(convert).transpose()?));
        }
        let mut locals = stack.clone();
        let mut numbers = BTreeMap::new();
        let inner: Vec<u32> = used.iter().filter(|local| !seen.before.contains(*local)).collect();
        for local in takes.iter().chain(&inner) {
            numbers.insert(*local, locals.len() as u32);
            locals.push(convert(body.locals[*local as usize])?);
        }
        let mut add = |ty| {
            locals.push(ty);
            locals.len() as u32 - 1
        };
        let way = (exits.len() > 1).then(|| add(ValType::I32));
        let values: BTreeMap<u8, ValType> =
            exits.iter().filter_map(|(_, value)| value.map(|ty| (val_key(ty), ty))).collect();
        let along = values.into_iter().map(|(key, ty)| (key, add(ty))).collect();
        Ok(Site { body, region, stack, exits, takes, gives, numbers, locals, way, along, globals: Vec::new() })
    }

    /// Parameters of the new function.
    fn takes(&self) -> Vec<ValType> {
        self.locals[..self.stack.len() + self.takes.len()].to_vec()
    }

    /// Its local that it returns, if any: the way out or else the value taken along.
    fn returns(&self) -> Option<u32> {
        self.way.or_else(|| self.along.values().next().copied())
    }

    /// Its locals that it leaves in globals: the other values taken along, and the locals.
    fn left_locals(&self) -> Vec<u32> {
        let gives = if self.exits.is_empty() { &[][..] } else { &self.gives[..] };
        let along = self.along.values().copied().filter(|local| Some(*local) != self.returns());
        along.chain(gives.iter().map(|local| self.numbers[local])).collect()
    }

    fn left(&self) -> Vec<ValType> {
        self.left_locals().iter().map(|local| self.locals[*local as usize]).collect()
    }

    /// What stands in the region's place: calls the function and goes on where the region did; and whether it needs
    /// `way`, a local of the caller's that nothing else uses.
    fn stands(&self, func: Func, way: u32) -> (Vec<Instruction<'static>>, bool) {
        let mut out: Vec<_> = self.takes.iter().map(|local| Instruction::LocalGet(*local)).collect();
        out.push(Instruction::Call(func));
        let along = self.globals.len() - if self.exits.is_empty() { 0 } else { self.gives.len() };
        for (local, global) in self.gives.iter().zip(&self.globals[along..]) {
            out.extend([Instruction::GlobalGet(*global), Instruction::LocalSet(*local)]);
        }
        let branch = |exit: Exit, deeper: u32| match exit {
            Exit::Through => None,
            Exit::Label(label) => Some(label + deeper),
        };
        match self.exits.as_slice() {
            [] => out.push(Instruction::Unreachable),
            [(exit, _)] => out.extend(branch(*exit, 0).map(Instruction::Br)),
            [(first, None), (second, None)] => {
                out.extend(branch(*second, 0).map(Instruction::BrIf));
                out.extend(branch(*first, 0).map(Instruction::Br));
            }
            [(first, value), others @ ..] => {
                let bring = |value: &Option<ValType>| {
                    let at = self.along.keys().position(|key| value.is_some_and(|ty| val_key(ty) == *key))?;
                    Some(Instruction::GlobalGet(self.globals[at]))
                };
                out.push(Instruction::LocalSet(way));
                for (number, (exit, value)) in (1..).zip(others) {
                    out.extend([Instruction::LocalGet(way), Instruction::I32Const(number), Instruction::I32Eq]);
                    out.push(Instruction::If(BlockType::Empty));
                    out.extend(bring(value));
                    out.extend(branch(*exit, 1).map(Instruction::Br));
                    out.push(Instruction::End);
                }
                out.extend(bring(value));
                out.extend(branch(*first, 0).map(Instruction::Br));
                return (out, true);
            }
        }
        (out, false)
    }

    /// The new function.
    fn function(&mut self) -> Result<Function, Error> {
        let scratch = self.locals.len() as u32;
        self.locals.push(ValType::I32);
        let parameters = self.stack.len() + self.takes.len();
        let mut function = Function::new_with_locals_types(self.locals[parameters..].iter().copied());
        let mut out = vec![Instruction::Block(BlockType::Empty)];
        out.extend((0..self.stack.len() as u32).map(Instruction::LocalGet));
        let mut depth = 0;
        let operators = &self.body.operators[self.region.operators.clone()];
        for operator in operators {
            match operator {
                Operator::LocalGet { local_index } => out.push(Instruction::LocalGet(self.numbers[local_index])),
                Operator::LocalSet { local_index } => out.push(Instruction::LocalSet(self.numbers[local_index])),
                Operator::LocalTee { local_index } => out.push(Instruction::LocalTee(self.numbers[local_index])),
                Operator::Br { relative_depth } if *relative_depth >= depth => {
                    self.leave(&mut out, relative_depth - depth, depth, true);
                }
                Operator::BrIf { relative_depth } if *relative_depth >= depth => {
                    // The condition lies above the value, which stays on the stack where the branch is not taken.
                    if let Some(value) = self.exit(relative_depth - depth).1 {
                        out.push(Instruction::LocalSet(scratch));
                        out.push(Instruction::LocalTee(self.along[&val_key(value)]));
                        out.push(Instruction::LocalGet(scratch));
                    }
                    out.push(Instruction::If(BlockType::Empty));
                    self.leave(&mut out, relative_depth - depth, depth + 1, false);
                    out.push(Instruction::End);
                }
                Operator::BrTable { targets } => {
                    let all: Vec<u32> = targets.targets().collect::<Result<_, _>>()?;
                    let outside: BTreeSet<u32> =
                        all.iter().copied().chain([targets.default()]).filter(|target| *target >= depth).collect();
                    let outside: Vec<u32> = outside.into_iter().collect();
                    let wrapped = outside.len() as u32;
                    let to = |target: u32| {
                        outside.iter().position(|one| *one == target).map_or(target + wrapped, |at| at as u32)
                    };
                    out.push(Instruction::LocalSet(scratch));
                    out.extend((0..wrapped).map(|_| Instruction::Block(BlockType::Empty)));
                    out.push(Instruction::LocalGet(scratch));
                    out.push(Instruction::BrTable(
                        all.iter().map(|target| to(*target)).collect(),
                        to(targets.default()),
                    ));
                    for (at, target) in (1..).zip(&outside) {
                        out.push(Instruction::End);
                        self.leave(&mut out, target - depth, depth + wrapped - at, true);
                    }
                }
                Operator::Return => {
                    self.leave(&mut out, self.region.outermost, depth, true);
                }
                other => {
                    match other {
                        Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => depth += 1,
                        Operator::End => depth -= 1,
                        _ => {}
                    }
                    out.push(RoundtripReencoder.instruction(other.clone())?);
                }
            }
        }
        if self.region.through {
            let number = self.number(Exit::Through);
            if let Some(value) = self.exits[number].1 {
                out.push(Instruction::LocalSet(self.along[&val_key(value)]));
            }
            self.say(&mut out, number);
        }
        out.push(Instruction::End);
        for (local, global) in self.left_locals().into_iter().zip(&self.globals) {
            out.extend([Instruction::LocalGet(local), Instruction::GlobalSet(*global)]);
        }
        out.extend(self.returns().map(Instruction::LocalGet));
        out.push(Instruction::End);
        for instruction in &out {
            function.instruction(instruction);
        }
        Ok(function)
    }

    fn number(&self, exit: Exit) -> usize {
        self.exits.iter().position(|(one, _)| *one == exit).unwrap_or_default()
    }

    /// The exit by which a label of the region is left; the label of its own construct is the way through, but for a
    /// loop's.
    fn exit(&self, label: u32) -> (usize, Option<ValType>) {
        let exit = if label == 0 && !self.region.in_loop { Exit::Through } else { Exit::Label(label) };
        let number = self.number(exit);
        (number, self.exits[number].1)
    }

    fn say(&self, out: &mut Vec<Instruction<'_>>, number: usize) {
        if let Some(way) = self.way {
            out.push(Instruction::I32Const(number as i32));
            out.push(Instruction::LocalSet(way));
        }
    }

    /// Goes to the end of the new function from so deep in it, `taking` the value off the stack if there is one.
    fn leave(&self, out: &mut Vec<Instruction<'_>>, label: u32, depth: u32, taking: bool) {
        let (number, value) = self.exit(label);
        if let Some(value) = value.filter(|_| taking) {
            out.push(Instruction::LocalSet(self.along[&val_key(value)]));
        }
        self.say(out, number);
        out.push(Instruction::Br(depth));
    }
}

impl Reencode for Outlined<'_, '_> {
    type Error = std::convert::Infallible;

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: wasmparser::GlobalSectionReader<'_>,
    ) -> Result<(), Error> {
        utils::parse_global_section(self, globals, section)?;
        for val_type in &self.globals {
            let zero = match val_type {
                ValType::I64 => ConstExpr::i64_const(0),
                ValType::F32 => ConstExpr::f32_const(0.0.into()),
                ValType::F64 => ConstExpr::f64_const(0.0.into()),
                _ => ConstExpr::i32_const(0),
            };
            globals.global(GlobalType { val_type: *val_type, mutable: true, shared: false }, &zero);
        }
        Ok(())
    }

    fn parse_type_section(
        &mut self,
        types: &mut TypeSection,
        section: wasmparser::TypeSectionReader<'_>,
    ) -> Result<(), Error> {
        utils::parse_type_section(self, types, section)?;
        for (takes, gives) in &self.types {
            types.ty().function(takes.iter().copied(), gives.iter().copied());
        }
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: wasmparser::FunctionSectionReader<'_>,
    ) -> Result<(), Error> {
        utils::parse_function_section(self, functions, section)?;
        for (ty, _) in &self.added {
            functions.function(*ty);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: wasmparser::CodeSectionReader<'_>,
    ) -> Result<(), Error> {
        for (at, body) in section.into_iter().enumerate() {
            if let Some(function) = self.cut.get(&at) {
                code.function(function);
            } else {
                self.parse_function_body(code, body?)?;
            }
        }
        for (_, function) in &self.added {
            code.function(function);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::stretches;
    use wasmi::{Engine, Instance, Linker, Store};

    // Each function takes its ways out of regions: by values, by tables, round loops, through returns, with values on
    // the stack before.
    const WAYS: &str = r#"
      (module
        (memory (export "memory") 1)
        (global $g (mut i32) (i32.const 3))
        (func (export "arms") (param $n i32) (result i64) (local $a i64) (local $b i32)
          (local.set $b (i32.const 7))
          (i64.add
            (i64.extend_i32_u (local.get $b))
            (if (result i64) (i32.gt_u (local.get $n) (i32.const 4))
              (then
                (local.set $a (i64.extend_i32_u (i32.mul (local.get $n) (local.get $b))))
                (local.set $b (i32.sub (local.get $n) (i32.const 1)))
                (i64.add (local.get $a) (i64.const 1000)))
              (else
                (local.set $a (i64.extend_i32_u (i32.add (local.get $n) (local.get $b))))
                (if (i32.eqz (local.get $n)) (then (return (i64.add (local.get $a) (i64.const 5)))))
                (i64.mul (local.get $a) (i64.const 3)))))
          (i64.add (local.get $a))
          (i64.add (i64.extend_i32_u (local.get $b))))
        (func (export "values") (param $n i32) (result i64) (local $s i32)
          (local.set $s (i32.const 11))
          (i64.extend_i32_u
            (block $out (result i32)
              (block $other
                (br_if $other (i32.eq (local.get $n) (i32.const 1)))
                (local.set $s (i32.add (local.get $s) (local.get $n)))
                (drop (br_if $out (i32.const 77) (i32.eq (local.get $n) (i32.const 2))))
                (br_if $other (i32.eq (local.get $n) (i32.const 3)))
                (if (i32.eq (local.get $n) (i32.const 4)) (then (return (i64.const 44))))
                (if (i32.eq (local.get $n) (i32.const 5)) (then (br $out (local.get $s))))
                (global.set $g (i32.add (global.get $g) (local.get $s)))
                (br $out (i32.add (local.get $s) (i32.const 100))))
              (i32.mul (local.get $s) (i32.const 2)))))
        (func (export "tables") (param $n i32) (result i64) (local $s i64) (local $i i32)
          (block $a
            (block $b
              (loop $again
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $a (i32.gt_u (local.get $i) (i32.const 9)))
                (local.set $s (i64.add (local.get $s) (i64.extend_i32_u (local.get $i))))
                (block $c
                  (br_table $c $again $b $a $c (i32.rem_u (i32.add (local.get $i) (local.get $n)) (i32.const 6))))
                (local.set $s (i64.mul (local.get $s) (i64.const 2)))
                (br_if $again (i32.lt_u (local.get $i) (local.get $n)))
                (local.set $s (i64.add (local.get $s) (i64.const 500)))))
            (local.set $s (i64.add (local.get $s) (i64.const 10000))))
          (i64.add (local.get $s) (i64.extend_i32_u (local.get $i))))
        (func (export "stack") (param $n i32) (result i64) (local $k i32)
          (i64.extend_i32_u (local.get $n))
          (block $x
            (br_if $x (i32.lt_u (local.get $n) (i32.const 3)))
            (local.set $k (i32.mul (local.get $n) (i32.const 17))))
          (i64.extend_i32_u (local.get $k))
          (block $y (br_if $y (local.get $n)))
          (i64.const 3)
          (i64.mul)
          (i64.add)
          (local.set $k (i32.load (i32.const 8)))
          (i32.store (i32.const 8) (i32.add (local.get $k) (i32.const 1)))
          (i64.add (i64.extend_i32_u (local.get $k)))
          (if (i32.eq (local.get $n) (i32.const 6)) (then (unreachable)))))
    "#;

    const NAMES: [&str; 4] = ["arms", "values", "tables", "stack"];

    fn answers(wasm: &[u8]) -> Vec<Option<i64>> {
        let engine = Engine::default();
        let mut store = Store::new(&engine, ());
        let module = wasmi::Module::new(&engine, wasm).unwrap();
        let instance: Instance = Linker::new(&engine).instantiate_and_start(&mut store, &module).unwrap();
        let mut answers = Vec::new();
        for name in NAMES {
            let function = instance.get_typed_func::<i32, i64>(&store, name).unwrap();
            answers.extend((0..12).map(|n| function.call(&mut store, n).ok()));
        }
        answers
    }

    /// Every choice of what ran that leaves the functions themselves is right: it is about what is worth it only.
    #[test]
    fn whatever_is_taken_out_the_answers_stay() {
        let whole = wat::parse_str(WAYS).unwrap();
        let module = Module::read(&whole).unwrap();
        let expected = answers(&whole);
        assert!(expected.contains(&None) && expected.contains(&Some(77)));
        let stretches = stretches(&module).unwrap();
        let mut state = 1u64;
        let mut taken_out = 0;
        for round in 0..300 {
            let mut marks = Vec::new();
            for number in &stretches {
                for at in 0..*number {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    marks.push(u8::from(at == 0 || (state >> 33) % 300 < round));
                }
            }
            let (outlined, ran) = outline_worth(&module, &marks, 0).unwrap();
            wasmparser::validate(&outlined).unwrap();
            taken_out += ran.iter().filter(|ran| **ran == 0).count();
            assert_eq!(answers(&outlined), expected, "{marks:?}");
        }
        assert!(taken_out > 1000, "{taken_out}");
    }

    #[test]
    fn what_is_short_stays() {
        let whole = wat::parse_str(WAYS).unwrap();
        let module = Module::read(&whole).unwrap();
        let marks = vec![1; stretches(&module).unwrap().iter().sum()];
        let (outlined, ran) = outline(&module, &marks).unwrap();
        assert_eq!(ran, [1; NAMES.len()]);
        assert_eq!(outlined.len(), whole.len());
    }
}
