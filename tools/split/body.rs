//! A function's body as constructs within constructs, and the regions of it that never ran.

use crate::count::begins_behind;
use crate::module::Module;
use std::collections::BTreeMap;
use std::ops::Range;
use wasmparser::{
    BinaryReaderError, BlockType, FuncValidator, FuncValidatorAllocations, FunctionBody, Operator, Parser, ValType,
    ValidPayload, Validator, WasmModuleResources,
};

/// A function with a body.
pub struct Body<'a> {
    /// The types of its locals, parameters first.
    pub locals: Vec<ValType>,
    /// Its operators, its own `end` included.
    pub operators: Vec<Operator<'a>>,
    /// Where each begins; one more for the end of the last.
    pub offsets: Vec<usize>,
    /// For the `end` of a construct: what opened it.
    pub partner: BTreeMap<usize, usize>,
    /// For an `if` with an `else`: where that is.
    pub otherwise: BTreeMap<usize, usize>,
}

/// Where a region goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Behind the construct it stands in.
    Through,
    /// At a label, as a branch from where the region begins would count it.
    Label(u32),
}

/// Operators that never ran, up to the end of the construct that they stand in.
#[derive(Debug)]
pub struct Region {
    /// Which.
    pub operators: Range<usize>,
    /// The values that the construct's earlier operators leave to them.
    pub stack: Vec<ValType>,
    /// Where it goes on, in order, and with a value of which type.
    pub exits: Vec<(Exit, Option<ValType>)>,
    /// Whether its end is reached.
    pub through: bool,
    /// Whether the construct is a loop, whose label leads back.
    pub in_loop: bool,
    /// Which of the labels is the function's own.
    pub outermost: u32,
}

/// What each body of a module is, with its regions, of which `marks` tells whether a stretch ran; nothing for a
/// function that never ran.
pub fn regions<'a>(
    module: &Module<'a>,
    marks: &[u8],
    mut each: impl FnMut(usize, Body<'a>, Vec<Region>),
) -> Result<(), BinaryReaderError> {
    let mut validator = Validator::new();
    let mut allocations = FuncValidatorAllocations::default();
    let stretches = crate::count::stretches(module)?;
    let mut first = 0;
    let mut number = 0;
    for payload in Parser::new(0).parse_all(module.bytes) {
        if let ValidPayload::Func(function, body) = validator.payload(&payload?)? {
            let marks = marks.get(first..).unwrap_or_default();
            let mut checker = function.into_validator(allocations);
            if marks.first().is_some_and(|mark| *mark != 0) {
                let (body, regions) = read(module, &mut checker, &body, marks)?;
                each(number, body, regions);
            }
            allocations = checker.into_allocations();
            first += stretches[number];
            number += 1;
        }
    }
    Ok(())
}

/// A construct that is open.
struct Open {
    at: usize,
    is_loop: bool,
    /// What a branch to it takes along, and what it leaves.
    branch: Vec<ValType>,
    leaves: Vec<ValType>,
}

fn read<'a>(
    module: &Module<'a>,
    checker: &mut FuncValidator<impl WasmModuleResources>,
    code: &FunctionBody<'a>,
    marks: &[u8],
) -> Result<(Body<'a>, Vec<Region>), BinaryReaderError> {
    let mut reader = code.get_binary_reader();
    checker.read_locals(&mut reader)?;
    let locals = (0..checker.len_locals()).filter_map(|local| checker.get_local_type(local)).collect();
    let mut body = Body {
        locals,
        operators: Vec::new(),
        offsets: Vec::new(),
        partner: BTreeMap::new(),
        otherwise: BTreeMap::new(),
    };
    let results = module.types[module.func_types[checker.index() as usize] as usize].results().to_vec();
    let mut open = vec![Open { at: 0, is_loop: false, branch: results.clone(), leaves: results }];
    let mut cold: Option<(usize, usize, Option<Vec<ValType>>)> = None;
    let mut regions = Vec::new();
    let mut stretch = 0;
    let mut operators = code.get_operators_reader()?;
    while !operators.eof() {
        let (operator, offset) = operators.read_with_offset()?;
        let at = body.operators.len();
        if matches!(operator, Operator::Else | Operator::End)
            && let Some((start, _, stack)) = cold.take_if(|(_, depth, _)| *depth == open.len())
            && let Some(stack) = stack
        {
            let through = checker.get_control_frame(0).is_some_and(|frame| !frame.unreachable);
            regions.extend(region(&body.operators, start..at, stack, through, &open));
        }
        checker.op(offset, &operator)?;
        match &operator {
            Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                let is_loop = matches!(operator, Operator::Loop { .. });
                let (takes, leaves) = signature(module, *blockty);
                let branch = if is_loop { takes } else { leaves.clone() };
                open.push(Open { at, is_loop, branch, leaves });
            }
            Operator::Else => {
                if let Some(construct) = open.last() {
                    body.otherwise.insert(construct.at, at);
                }
            }
            Operator::End => {
                if let Some(construct) = open.pop().filter(|_| !open.is_empty()) {
                    body.partner.insert(at, construct.at);
                }
            }
            _ => {}
        }
        let begins = begins_behind(&operator);
        body.offsets.push(offset);
        body.operators.push(operator);
        if begins && !operators.eof() {
            stretch += 1;
            if cold.is_none() && marks.get(stretch).is_none_or(|mark| *mark == 0) {
                cold = Some((at + 1, open.len(), standing(checker)));
            }
        }
    }
    body.offsets.push(code.range().end);
    Ok((body, regions))
}

/// The values that stand on the stack above the construct's base; nothing where no operator is reached.
fn standing(checker: &FuncValidator<impl WasmModuleResources>) -> Option<Vec<ValType>> {
    let frame = checker.get_control_frame(0).filter(|frame| !frame.unreachable)?;
    let height = checker.operand_stack_height() as usize - frame.height;
    (0..height).rev().map(|depth| checker.get_operand_type(depth).flatten()).collect()
}

fn signature(module: &Module<'_>, block: BlockType) -> (Vec<ValType>, Vec<ValType>) {
    match block {
        BlockType::Empty => (Vec::new(), Vec::new()),
        BlockType::Type(one) => (Vec::new(), vec![one]),
        BlockType::FuncType(index) => {
            let ty = &module.types[index as usize];
            (ty.params().to_vec(), ty.results().to_vec())
        }
    }
}

/// A region, if one value at most is taken along, and none where a table of branches leads out.
fn region(
    all: &[Operator<'_>],
    operators: Range<usize>,
    stack: Vec<ValType>,
    through: bool,
    open: &[Open],
) -> Option<Region> {
    let own = open.last()?;
    let mut exits = BTreeMap::new();
    let mut leave = |label: u32| {
        let (exit, types) = match open.get(open.len().checked_sub(1 + label as usize)?)? {
            construct if label == 0 && !construct.is_loop => (Exit::Through, &construct.leaves),
            construct => (Exit::Label(label), &construct.branch),
        };
        let value = one(types)?;
        exits.insert(exit, value);
        Some(value)
    };
    let mut depth = 0;
    for operator in &all[operators.clone()] {
        match operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => depth += 1,
            Operator::End => depth -= 1,
            Operator::Br { relative_depth } | Operator::BrIf { relative_depth } if *relative_depth >= depth => {
                leave(relative_depth - depth)?;
            }
            Operator::BrTable { targets } => {
                for target in targets.targets().flatten().chain([targets.default()]).filter(|target| *target >= depth) {
                    if leave(target - depth)?.is_some() {
                        return None;
                    }
                }
            }
            Operator::Return => {
                leave(open.len() as u32 - 1)?;
            }
            Operator::ReturnCall { .. } | Operator::ReturnCallIndirect { .. } => return None,
            _ => {}
        }
    }
    if through {
        exits.insert(Exit::Through, one(&own.leaves)?);
    }
    let exits = exits.into_iter().collect();
    Some(Region { operators, stack, exits, through, in_loop: own.is_loop, outermost: open.len() as u32 - 1 })
}

fn one(types: &[ValType]) -> Option<Option<ValType>> {
    match types {
        [] => Some(None),
        [one] => Some(Some(*one)),
        _ => None,
    }
}
