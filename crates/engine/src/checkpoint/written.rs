//! Layouts by which a block format can be written.

use super::{
    Layout, Packing,
    layout::{ArrayParts, ArrayPlaces, Storage},
    tensor::GlobalScale,
};
use crate::{
    Error, Result,
    array::Content,
    format::block::{BlockFormat, BlockOffset},
    tensor::{ArrayNames, BlockBytes, Sharing, stored_scale},
};

/// Types of GGUF that are written.
const GGUF: [BlockBytes; 4] = [
    BlockBytes { stored: "MXFP4", format: "mxfp4", bytes: 17, codes_at: 1, minimum_at: None },
    BlockBytes { stored: "Q4_0", format: "q4-0", bytes: 18, codes_at: 2, minimum_at: None },
    BlockBytes { stored: "Q4_1", format: "q4-1", bytes: 20, codes_at: 4, minimum_at: Some(2) },
    BlockBytes { stored: "Q8_0", format: "q8-0", bytes: 34, codes_at: 2, minimum_at: None },
];
/// Family of the layouts of GGUF.
const GGUF_FAMILY: &str = "gguf";

/// Names in a GGUF file, whose blocks have codes and scales inside.
fn in_gguf(name: &str, format: &BlockFormat) -> Result<ArrayNames> {
    let fits = |inside: &&BlockBytes| {
        inside.format == format.name
            && [GGUF_FAMILY, &layout_of(inside)].iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    let Some(inside) = GGUF.iter().find(fits).filter(|inside| block_length(inside) == Some(format.length)) else {
        let known: Vec<&str> = GGUF.iter().map(|inside| inside.format).collect();
        return Err(Error::request(format!("‹layout={name}›: GGUF files hold {}, and not {format}", known.join(", "))));
    };
    // Two's complement becomes an integer from 0 on, but for whole bytes.
    let added = if format.element.format.bits == 4 && format.element.format.name == "s4" { 8 } else { 0 };
    Ok(ArrayNames {
        layout: Some(layout_of(inside)),
        whole_blocks: true,
        added,
        inside: Some(inside),
        ..ArrayNames::default()
    })
}

fn layout_of(inside: &BlockBytes) -> String {
    format!("{GGUF_FAMILY}-{}", inside.stored.to_lowercase())
}

fn block_length(inside: &BlockBytes) -> Option<usize> {
    crate::format::block::find(inside.format).map(|format| format.length)
}

impl Layout {
    /// The layouts whose names begin with that of a family.
    fn family(name: &str) -> Vec<Layout> {
        let start = format!("{}-", name.to_ascii_lowercase());
        Layout::all().into_iter().filter(|layout| layout.name.starts_with(&start)).collect()
    }

    /// Refuses the name of neither a layout nor a family.
    ///
    /// # Errors
    /// As [`Layout::find`].
    pub fn check_name(name: &str) -> Result<()> {
        if Layout::family(name).is_empty() { Layout::find(name).map(drop) } else { Ok(()) }
    }

    /// Names and types of the arrays of a block format in a layout, or in one of a family that holds it.
    ///
    /// A family has a name that those of its layouts begin with: `compressed-tensors`, `modelopt`, `gguf`.
    ///
    /// # Errors
    /// As [`Layout::find`] and [`Layout::written`]; a family without a layout of the format.
    pub fn names_for(name: &str, format: &BlockFormat) -> Result<ArrayNames> {
        if name.to_ascii_lowercase().starts_with(GGUF_FAMILY) {
            return in_gguf(name, format);
        }
        let members = Layout::family(name);
        if members.is_empty() || Layout::shipped().any(|shipped| shipped.eq_ignore_ascii_case(name)) {
            return Layout::find(name)?.written(format);
        }
        members.iter().find_map(|layout| layout.written(format).ok()).ok_or_else(|| {
            let names: Vec<&str> = members.iter().map(|layout| layout.name.as_str()).collect();
            let extents = format.extents();
            Error::request(format!("‹layout={name}›: none of {} holds {format} per {extents}", names.join(", ")))
        })
    }

    /// Names and types of the arrays that hold a tensor in a block format.
    ///
    /// # Errors
    /// A layout that holds other codes, scales or blocks, or that is read only.
    pub fn written(&self, format: &BlockFormat) -> Result<ArrayNames> {
        let refused = |what: String| Err(Error::request(format!("‹layout={}›: {what}", self.name)));
        let Storage::Arrays(parts) = &self.storage else { return in_gguf(&self.name, format) };
        let ArrayParts { codes, scale, .. } = &**parts;
        let plain = parts.places == ArrayPlaces::default()
            && parts.values.is_none()
            && parts.factor.is_none()
            && parts.nested.is_none()
            && parts.state.is_none()
            && parts.needs.is_empty()
            && self.metadata.is_empty()
            && matches!(self.codes.packing, Packing::Single | Packing::LowFirst);
        if !plain {
            return refused("it is read, not written".into());
        }
        let element = format.element.format;
        let holds = match self.codes.format {
            Some(held) if self.codes.offset != 0.0 => {
                // Codes from 0 on hold two's complement, or elements with a zero point.
                let shifted = matches!(format.offset, Some(BlockOffset::ZeroPoint(_))) == (held == element);
                element.is_integer() && element.bits == held.bits && shifted
            }
            Some(held) => held == element && self.codes.exponent == format.element.exponent,
            None => codes.takes(&Content::Format(element).type_name()),
        };
        if !holds {
            return refused(format!("it holds other elements than {element} of {format}"));
        }
        let sharing = Sharing::of_blocks(format.rows, format.length);
        if parts.block.is_some_and(|block| block != sharing) {
            return refused(format!(
                "it has scales for {}, and {format} for {sharing}",
                parts.block.unwrap_or(sharing)
            ));
        }
        let scale_type = Content::Format(stored_scale(format.scale)).type_name();
        let fits = |stored: &&String| **stored == scale_type || *stored == "U8" && format.scale.bytes() == 1;
        // The first type is the programs' own: compressed-tensors reads bytes of E8M0, and takes another type for numbers.
        let Some(stored) = scale.stored.iter().find(fits) else {
            return refused(format!("it has no scales of {}, as {format} has", format.scale));
        };
        match (&parts.global, format.tensor_scale) {
            (None, Some(_)) => return refused(format!("it has no scale of the tensor, as {format} has")),
            (Some(_), None) => return refused(format!("it has a scale of the tensor, and {format} has none")),
            _ => {}
        }
        let zero =
            parts.zero.as_ref().filter(|zero| zero.down && self.codes.offset != 0.0).map(|zero| zero.part.name.clone());
        if parts.zero.as_ref().is_some_and(|zero| zero.needed) && format.offset.is_none() {
            return refused(format!("it has zero points, and {format} has none"));
        }
        if format.offset.is_some() && zero.is_none() {
            return refused(format!("it has no offsets, as {format} has"));
        }
        let added = if self.codes.format == Some(element) { 0.0 } else { -self.codes.offset };
        let global = parts.global.as_ref();
        Ok(ArrayNames {
            layout: Some(self.name.clone()),
            tensor: parts.tensor.clone(),
            codes: codes.name.clone(),
            scale: scale.name.clone(),
            bytes: *stored != scale_type,
            tensor_scale: global.map_or(String::new(), |(part, _)| part.name.clone()),
            packed: self.codes.packing == Packing::LowFirst,
            whole_blocks: parts.whole_blocks,
            dimensions: parts.dimensions,
            added: added as u8,
            word: if *codes.stored == ["I32"] { 4 } else { 1 },
            flatten: parts.flatten,
            // So compressed-tensors initialises its parameters.
            arrays_of_one: self.config.values().any(|value| value == "compressed-tensors"),
            shape: parts.shape.clone(),
            zero: zero.filter(|_| format.offset.is_some()),
            divides: global.is_some_and(|(_, used)| *used == GlobalScale::Divides),
            config: self.config.clone().into_iter().collect(),
            ..ArrayNames::default()
        })
    }
}
