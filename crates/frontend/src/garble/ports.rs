//! Ports of the module from the types of Garble, and the order of their bits.
//!
//! Garble puts the most significant bit of a number first; a module has it last.

use std::collections::HashMap;

use cenote_program::{Kind, Shape};
use garble_lang::TypedProgram;
use garble_lang::ast::{EnumDef, Type, Variant};
use garble_lang::token::{SignedNumType, UnsignedNumType};

/// A port, and the place in Garble's order of each of its bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Port {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) shape: Shape,
    pub(super) wires: Vec<usize>,
}

/// What the sizes of types depend on.
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

    /// The ports of a value whose bits begin at `start`; gives where they end. A field of a struct
    /// or tuple is a port of its own, an array of scalars a vector, anything else bits.
    pub(super) fn flatten(
        &self,
        name: &str,
        ty: &Type,
        start: usize,
        ports: &mut Vec<Port>,
    ) -> usize {
        let end = start + self.size(ty);
        if end == start {
            return end;
        }
        if let Some(fields) = self.fields(ty) {
            return fields.iter().fold(start, |at, (field, ty)| {
                self.flatten(&format!("{name}.{field}"), ty, at, ports)
            });
        }
        let (lanes, element) = match self.array(ty) {
            Some((element, count)) => (count, element),
            None => (1, ty),
        };
        let kind = match element {
            Type::Bool => Kind::Bool,
            Type::Unsigned(_) => Kind::UInt,
            Type::Signed(_) => Kind::Int,
            _ => Kind::Bits,
        };
        let mut wires = Vec::with_capacity(end - start);
        self.order(ty, start, &mut wires);
        let small = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        let shape = Shape::vector(small(lanes), small((end - start) / lanes));
        ports.push(Port { name: name.to_owned(), kind, shape, wires });
        end
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

    /// The places of the bits of a value, from the least significant on. The payload of an enum
    /// stays in Garble's order, for its types differ by variant.
    fn order(&self, ty: &Type, start: usize, wires: &mut Vec<usize>) {
        let end = start + self.size(ty);
        if let Some((element, count)) = self.array(ty) {
            let size = self.size(element);
            (0..count).for_each(|i| self.order(element, start + i * size, wires));
        } else if let Some(fields) = self.fields(ty) {
            let mut at = start;
            for (_, ty) in &fields {
                self.order(ty, at, wires);
                at += self.size(ty);
            }
        } else if let Type::Enum(name) = ty {
            let tag = self.program.enum_defs.get(name).map_or(0, tag_bits);
            wires.extend((start..start + tag).rev());
            wires.extend(start + tag..end);
        } else {
            wires.extend((start..end).rev());
        }
    }
}

/// Bits that number the variants.
fn tag_bits(def: &EnumDef) -> usize {
    (0..).find(|bits| def.variants.len() <= 1 << bits).unwrap_or(0)
}
