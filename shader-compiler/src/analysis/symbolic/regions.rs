//! Where values are defined, and which conditions control that.
//!
//! Control flow is nested, so the dominating edge that controls a statement is that of the
//! enclosing arm or body. A *region* is a block, or one of two edges without statements: the exit of
//! a loop, where its condition is false, and an operand of a select, which matters only if the
//! condition has the operand's truth value.

use crate::ir::{Block, Function, Loop, Op, Stmt, Type, Value};
use rustc_hash::FxHashMap;

/// A region, by index. A region follows the one that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region(u32);

/// The regions of a function.
pub(super) struct Regions<'f> {
    regions: Vec<RegionData>,
    /// For each value, the region that defines it.
    defined_in: Vec<Region>,
    /// For each value, its rank in the order of definitions.
    positions: Vec<u32>,
    /// The definitions of values that join several others.
    joins: FxHashMap<Value, Join>,
    pub loops: Vec<LoopRegions<'f>>,
    #[cfg(test)]
    blocks: FxHashMap<*const Block, Region>,
}

struct RegionData {
    /// The region that contains it. Its own index for the body of the function.
    outer: Region,
    /// The last region that it contains.
    last: Region,
    /// The condition that is known in it, and its value.
    condition: Option<(Value, bool)>,
}

/// A value on the edge on which it reaches a join.
#[derive(Clone, Copy)]
pub(super) struct Incoming {
    pub value: Value,
    pub edge: Region,
}

/// How a value that is not the result of a single operation is defined.
#[derive(Clone, Copy)]
pub(super) enum Join {
    /// A result of an if, or a select: one of two values.
    Merge([Incoming; 2]),
    /// A result of a loop.
    Exit(Incoming),
    /// A parameter of the loop with this index.
    Param { init: Incoming, next: Incoming, in_loop: u32 },
}

/// A loop with its regions.
pub(super) struct LoopRegions<'f> {
    pub node: &'f Loop,
    /// The region that contains the loop.
    pub outer: Region,
}

impl<'f> Regions<'f> {
    pub fn new(function: &'f Function) -> Regions<'f> {
        let body = Region(0);
        let mut regions = Regions {
            regions: vec![RegionData { outer: body, last: body, condition: None }],
            defined_in: vec![body; function.len()],
            positions: vec![0; function.len()],
            joins: FxHashMap::default(),
            loops: vec![],
            #[cfg(test)]
            blocks: FxHashMap::default(),
        };
        let mut position = 0;
        regions.block(function, &function.body, body, &mut position);
        regions.close(body);
        regions
    }

    fn block(
        &mut self,
        function: &'f Function,
        block: &'f Block,
        region: Region,
        position: &mut u32,
    ) {
        #[cfg(test)]
        self.blocks.insert(block, region);
        for stmt in &block.stmts {
            match stmt {
                Stmt::Op(value) => {
                    self.define(&[*value], region, position);
                    if let Some((Op::Select, &[cond, then, otherwise])) = function.operation(*value)
                        && function.ty(*value) == Type::I32
                    {
                        let arms = [(then, true), (otherwise, false)].map(|(value, truth)| {
                            let edge = self.open(region, Some((cond, truth)));
                            self.close(edge);
                            Incoming { value, edge }
                        });
                        self.joins.insert(*value, Join::Merge(arms));
                    }
                }
                Stmt::If(node) => {
                    let edges =
                        [(&node.then, true), (&node.otherwise, false)].map(|(arm, truth)| {
                            let edge = self.open(region, Some((node.cond, truth)));
                            self.block(function, arm, edge, position);
                            self.close(edge);
                            edge
                        });
                    self.define(&node.results, region, position);
                    for (k, &result) in node.results.iter().enumerate() {
                        let yields = [node.then.yields[k], node.otherwise.yields[k]];
                        let arms = [0, 1].map(|k| Incoming { value: yields[k], edge: edges[k] });
                        self.joins.insert(result, Join::Merge(arms));
                    }
                }
                Stmt::Loop(node) => {
                    let in_loop = self.loops.len() as u32;
                    self.loops.push(LoopRegions { node, outer: region });
                    let head = self.open(region, None);
                    self.define(&node.params, head, position);
                    self.block(function, &node.head, head, position);
                    let exit = self.open(head, Some((node.cond, false)));
                    self.close(exit);
                    let body = self.open(head, Some((node.cond, true)));
                    self.block(function, &node.body, body, position);
                    self.close(body);
                    self.close(head);
                    self.define(&node.results, region, position);
                    for (k, &param) in node.params.iter().enumerate() {
                        let init = Incoming { value: node.init[k], edge: region };
                        let next = Incoming { value: node.body.yields[k], edge: body };
                        self.joins.insert(param, Join::Param { init, next, in_loop });
                    }
                    for (&result, &value) in node.results.iter().zip(&node.head.yields) {
                        self.joins.insert(result, Join::Exit(Incoming { value, edge: exit }));
                    }
                }
            }
        }
    }

    fn define(&mut self, values: &[Value], region: Region, position: &mut u32) {
        for value in values {
            *position += 1;
            self.positions[value.index()] = *position;
            self.defined_in[value.index()] = region;
        }
    }

    fn open(&mut self, outer: Region, condition: Option<(Value, bool)>) -> Region {
        let region = Region(self.regions.len() as u32);
        self.regions.push(RegionData { outer, last: region, condition });
        region
    }

    fn close(&mut self, region: Region) {
        self.regions[region.0 as usize].last = Region(self.regions.len() as u32 - 1);
    }

    /// The region that defines a value.
    pub fn of(&self, value: Value) -> Region {
        self.defined_in[value.index()]
    }

    /// Rank of a value in the order of definitions.
    pub fn position(&self, value: Value) -> u32 {
        self.positions[value.index()]
    }

    pub fn join(&self, value: Value) -> Option<Join> {
        self.joins.get(&value).copied()
    }

    /// The condition that is known in a region but not outside of it.
    pub fn condition(&self, region: Region) -> Option<(Value, bool)> {
        self.regions[region.0 as usize].condition
    }

    /// The region that contains this one.
    pub fn outer(&self, region: Region) -> Option<Region> {
        Some(self.regions[region.0 as usize].outer).filter(|&outer| outer != region)
    }

    /// The region of a block.
    #[cfg(test)]
    pub fn of_block(&self, block: &Block) -> Region {
        self.blocks[&std::ptr::from_ref(block)]
    }

    /// Whether a value that is defined in `region` can be used in `user`.
    pub fn is_in_scope(&self, region: Region, user: Region) -> bool {
        region <= user && user <= self.regions[region.0 as usize].last
    }
}
