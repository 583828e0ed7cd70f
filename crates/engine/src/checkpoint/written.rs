//! Layouts by which a block format can be written.

use super::{
    Layout, Packing,
    layout::{ArrayParts, ArrayPlaces, Storage},
    tensor::GlobalScale,
};
use crate::{
    Error, Result,
    array::Content,
    format::block::BlockFormat,
    tensor::{ArrayNames, Sharing, stored_scale},
};

impl Layout {
    /// Names and types of the arrays that hold a tensor in a block format.
    ///
    /// # Errors
    /// A layout that holds other codes, scales or blocks, or that is read only.
    pub fn written(&self, format: &BlockFormat) -> Result<ArrayNames> {
        let refused = |what: String| Err(Error::request(format!("‹layout={}›: {what}", self.name)));
        let Storage::Arrays(parts) = &self.storage else { return refused("it is read, not written".into()) };
        let ArrayParts { codes, scale, .. } = &**parts;
        let plain = parts.zero.is_none()
            && !parts.flatten
            && parts.shape.is_none()
            && parts.places == ArrayPlaces::default()
            && parts.values.is_none()
            && parts.factor.is_none()
            && parts.index.is_none()
            && self.metadata.is_empty()
            && self.codes.offset == 0.0
            && matches!(self.codes.packing, Packing::Single | Packing::LowFirst);
        if !plain {
            return refused("it is read, not written".into());
        }
        let element = format.element.format;
        let holds = match self.codes.format {
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
            divides: global.is_some_and(|(_, used)| *used == GlobalScale::Divides),
            config: self.config.clone().into_iter().collect(),
            ..ArrayNames::default()
        })
    }
}
