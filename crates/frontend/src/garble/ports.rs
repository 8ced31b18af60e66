//! Ports of the module from the types of Garble, and the order of their bits.
//!
//! Garble puts the most significant bit of a number first; a module has it last.

use std::collections::HashMap;

use cenote_program::{Kind, PathStep, PortPath, Shape};
use garble_lang::TypedProgram;
use garble_lang::ast::{EnumDef, Type, Variant};
use garble_lang::token::{SignedNumType, UnsignedNumType};

/// A port, and the place in Garble's order of each of its bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Port {
    pub(super) path: PortPath,
    pub(super) kind: Kind,
    pub(super) shape: Shape,
    pub(super) wires: Vec<usize>,
}

impl Port {
    /// A number that is no array.
    pub(super) fn word(name: &str, kind: Kind, wires: Vec<usize>) -> Port {
        let shape = Shape::word(small(wires.len()));
        Port { path: PortPath::flat(name, 1), kind, shape, wires }
    }
}

/// A count of a type; more than any module takes where it does not fit.
fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The definitions that the sizes of types depend on.
pub(super) struct Layout<'p> {
    pub(super) program: &'p TypedProgram,
    pub(super) sizes: &'p HashMap<String, usize>,
}

impl Layout<'_> {
    /// The element and the length of an array.
    pub(super) fn array<'t>(&self, ty: &'t Type) -> Option<(&'t Type, usize)> {
        match ty {
            Type::Array(element, size) => Some((element, *size)),
            Type::ArrayConst(element, size) => Some((element, self.sizes.get(size).copied()?)),
            _ => None,
        }
    }

    /// The ports of a value whose bits begin at `start`; gives where they end. Structs and tuples are
    /// records, an enum is bits.
    pub(super) fn flatten(
        &self,
        name: &str,
        ty: &Type,
        start: usize,
        ports: &mut Vec<Port>,
    ) -> usize {
        self.parts(&[], name, ty, vec![start], ports);
        start + self.size(ty)
    }

    /// The ports of all items of an array around, whose bits begin at `starts`.
    fn parts(
        &self,
        around: &[PathStep],
        name: &str,
        mut ty: &Type,
        mut starts: Vec<usize>,
        ports: &mut Vec<Port>,
    ) {
        if self.size(ty) == 0 {
            return;
        }
        let mut step = PathStep::word(name);
        while let Some((element, count)) = self.array(ty) {
            let size = self.size(element);
            let items = |start: usize| (0..count).map(move |i| start + i * size);
            starts = starts.into_iter().flat_map(items).collect();
            step.sizes.push(small(count));
            ty = element;
        }
        let path = [around, &[step]].concat();
        if let Some(fields) = self.fields(ty) {
            let mut offset = 0;
            for (field, ty) in &fields {
                let starts = starts.iter().map(|start| start + offset).collect();
                self.parts(&path, field, ty, starts, ports);
                offset += self.size(ty);
            }
            return;
        }
        let kind = match ty {
            Type::Bool => Kind::Bool,
            Type::Unsigned(_) => Kind::UInt,
            Type::Signed(_) => Kind::Int,
            _ => Kind::Bits,
        };
        let shape = Shape::vector(small(starts.len()), small(self.size(ty)));
        let wires = starts.into_iter().flat_map(|start| self.order(ty, start)).collect();
        ports.push(Port { path: PortPath::new(path), kind, shape, wires });
    }

    /// Names and types of the fields of a struct or tuple.
    fn fields(&self, ty: &Type) -> Option<Vec<(String, Type)>> {
        match ty {
            Type::Tuple(types) => {
                Some(types.iter().enumerate().map(|(i, ty)| (i.to_string(), ty.clone())).collect())
            }
            Type::Struct(name) => Some(
                self.program.struct_defs.get(name).map_or(Vec::new(), |def| def.fields.clone()),
            ),
            _ => None,
        }
    }

    fn size(&self, ty: &Type) -> usize {
        if let Some((element, count)) = self.array(ty) {
            return self.size(element).saturating_mul(count);
        }
        if let Some(fields) = self.fields(ty) {
            return fields.iter().map(|(_, ty)| self.size(ty)).sum();
        }
        match ty {
            Type::Bool => 1,
            Type::Unsigned(UnsignedNumType::U8) | Type::Signed(SignedNumType::I8) => 8,
            Type::Unsigned(UnsignedNumType::U16) | Type::Signed(SignedNumType::I16) => 16,
            Type::Unsigned(UnsignedNumType::U64) | Type::Signed(SignedNumType::I64) => 64,
            Type::Unsigned(_) | Type::Signed(_) => 32,
            Type::Enum(name) => self.program.enum_defs.get(name).map_or(0, |def| {
                let payload = |variant: &Variant| match variant {
                    Variant::Unit(_) => 0,
                    Variant::Tuple(_, types) => types.iter().map(|ty| self.size(ty)).sum(),
                };
                tag_bits(def) + def.variants.iter().map(payload).max().unwrap_or(0)
            }),
            _ => 0,
        }
    }

    /// The places of the bits of a number or an enum, from the least significant on. The payload of an
    /// enum stays in Garble's order, for its types differ by variant.
    fn order(&self, ty: &Type, start: usize) -> Vec<usize> {
        let end = start + self.size(ty);
        let tag = match ty {
            Type::Enum(name) => start + self.program.enum_defs.get(name).map_or(0, tag_bits),
            _ => end,
        };
        (start..tag).rev().chain(tag..end).collect()
    }
}

/// Bits that number the variants.
fn tag_bits(def: &EnumDef) -> usize {
    (0..).find(|bits| def.variants.len() <= 1 << bits).unwrap_or(0)
}
