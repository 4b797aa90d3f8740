//! Texts that only functions of the second half read go with them.

use crate::cut::Plan;
use crate::module::Module;
use wasmparser::Operator;

/// A text and where it is.
pub struct Text<'t> {
    /// The number of the piece of data that it stands in.
    pub segment: usize,
    /// Where in that.
    pub at: usize,
    /// Where in memory.
    pub address: u32,
    /// The text itself.
    pub bytes: &'t [u8],
}

/// Finds in a module's data the texts that can go. One stays where a function of the first half knows an address in it,
/// or a number that could be one.
///
/// # Errors
/// A text is not there, or stands there twice.
pub fn find<'t>(
    module: &Module,
    plan: &Plan,
    texts: &'t [Vec<u8>],
) -> Result<Vec<Text<'t>>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    for (number, bytes) in texts.iter().enumerate() {
        let mut places = module.data.iter().enumerate().flat_map(|(segment, (start, data))| {
            let here = move |at: &usize| data[*at..].starts_with(bytes);
            (0..data.len()).filter(here).map(move |at| (segment, *start, at))
        });
        let (Some((segment, Some(start), at)), None) = (places.next(), places.next()) else {
            return Err(format!("text {number} is not there, or twice").into());
        };
        found.push(Text { segment, at, address: start + u32::try_from(at)?, bytes });
    }
    for (_, body) in (module.imported..).zip(&module.bodies).filter(|(func, _)| plan.keeps(*func)) {
        let mut number = None;
        for operator in body.get_operators_reader()? {
            let operator = operator?;
            if let Some(value) = number.filter(|_| !takes_no_address(&operator)) {
                found.retain(|text| (value as u32).wrapping_sub(text.address) as usize >= text.bytes.len());
            }
            number = if let Operator::I32Const { value } = operator { Some(value) } else { None };
        }
    }
    Ok(found)
}

/// Whether an operator makes of a number on top of the stack nothing that could be read from: it compares, masks
/// or multiplies (an `or` may be an addition).
fn takes_no_address(operator: &Operator<'_>) -> bool {
    use Operator::*;
    matches!(
        operator,
        I32Eq
            | I32Ne
            | I32LtS
            | I32LtU
            | I32GtS
            | I32GtU
            | I32LeS
            | I32LeU
            | I32GeS
            | I32GeU
            | I32And
            | I32Mul
            | I32DivS
            | I32DivU
            | I32RemS
            | I32RemU
            | I32Shl
            | I32ShrS
            | I32ShrU
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stays_where_a_function_that_stays_reads_it() {
        let module = |address: u32| {
            wat::parse_str(format!(
                r#"(module (memory 1) (data (i32.const 8) "a long text")
                     (func (export "reads") (result i64) (i64.load (i32.const {address}))
                       (drop (i64.const 1234567890123456)) (drop (i64.const 1234567890123456))))"#
            ))
            .unwrap()
        };
        let texts = [b"long".to_vec()];
        for (address, moves) in [(0, true), (9, true), (10, false), (13, false), (14, true)] {
            let whole = module(address);
            let module = Module::read(&whole).unwrap();
            let plan = Plan::new(&module, &[1]).unwrap();
            assert_eq!(find(&module, &plan, &texts).unwrap().len() == 1, moves, "{address}");
        }
        let whole = module(10);
        let module = Module::read(&whole).unwrap();
        let plan = Plan::new(&module, &[0]).unwrap();
        let found = find(&module, &plan, &texts).unwrap();
        assert_eq!((found[0].segment, found[0].at, found[0].address), (0, 2, 10));
        assert!(find(&module, &plan, &[b"longer".to_vec()]).is_err());
        // A number that happens to lie there is compared, and read from nowhere.
        for (then, moves) in
            [("i32.lt_u", true), ("i32.mul", true), ("i32.add", false), ("i32.and", true), ("i32.or", false)]
        {
            let whole = wat::parse_str(format!(
                r#"(module (memory 1) (data (i32.const 8) "a long text")
                     (func (export "compares") (param i32) (result i32) (local.get 0) (i32.const 11) ({then})
                       (drop (i64.const 1234567890123456)) (drop (i64.const 1234567890123456))))"#
            ))
            .unwrap();
            let module = Module::read(&whole).unwrap();
            let plan = Plan::new(&module, &[1]).unwrap();
            assert_eq!(find(&module, &plan, &texts).unwrap().len() == 1, moves, "{then}");
        }
    }
}
