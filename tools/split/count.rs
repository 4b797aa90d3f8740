//! Marks in memory which stretches of code ran.

use crate::module::Module;
use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{Function, Instruction, MemArg};
use wasmparser::{BinaryReaderError, FunctionBody, Operator, Parser};

const PAGE: u64 = 65_536;

/// Whether a stretch of code begins behind this operator, which may run less often than what stands before.
pub fn begins_behind(operator: &Operator<'_>) -> bool {
    matches!(operator, Operator::If { .. } | Operator::Else | Operator::End | Operator::BrIf { .. })
}

/// How many stretches each body has: one begins with the body, one behind each of those operators but the last `end`.
pub fn stretches(module: &Module) -> Result<Vec<usize>, BinaryReaderError> {
    let of = |body: &FunctionBody| {
        let mut number = 0;
        for operator in body.get_operators_reader()? {
            number += usize::from(begins_behind(&operator?));
        }
        Ok(number)
    };
    module.bodies.iter().map(of).collect()
}

/// A module that does what `module` does and sets one byte a stretch, and the address of the first: the bytes lie
/// in pages of their own behind the memory's first ones, where the program's allocator, which only ever takes pages
/// that it asked for, never comes.
pub fn count(module: &Module) -> Result<(Vec<u8>, u64), Error> {
    let base = module.memory.map_or(0, |memory| memory.initial) * PAGE;
    let number: usize = stretches(module)?.iter().sum();
    let mut counted = Counted { next: base, pages: (number as u64).div_ceil(PAGE) };
    let mut out = wasm_encoder::Module::new();
    counted.parse_core_module(&mut out, Parser::new(0), module.bytes)?;
    Ok((out.finish(), base))
}

struct Counted {
    next: u64,
    pages: u64,
}

impl Counted {
    fn mark(&mut self, function: &mut Function) {
        function.instruction(&Instruction::I32Const(self.next as i32));
        function.instruction(&Instruction::I32Const(1));
        function.instruction(&Instruction::I32Store8(MemArg { offset: 0, align: 0, memory_index: 0 }));
        self.next += 1;
    }
}

impl Reencode for Counted {
    type Error = std::convert::Infallible;

    fn memory_type(&mut self, memory: wasmparser::MemoryType) -> Result<wasm_encoder::MemoryType, Error> {
        let mut memory = utils::memory_type(self, memory);
        memory.minimum += self.pages;
        Ok(memory)
    }

    fn parse_function_body(
        &mut self,
        code: &mut wasm_encoder::CodeSection,
        body: FunctionBody<'_>,
    ) -> Result<(), Error> {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        self.mark(&mut function);
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let begins = begins_behind(&operators.clone().read()?);
            let instruction = self.parse_instruction(&mut operators)?;
            function.instruction(&instruction);
            if begins && !operators.eof() {
                self.mark(&mut function);
            }
        }
        code.function(&function);
        Ok(())
    }
}
