//! The files of `blocks/`: names and texts.

use serde::Deserialize;
use toml::Spanned;

use crate::collect::File;

#[derive(Deserialize)]
struct Head {
    name: Spanned<String>,
}

/// Rust expression of the block formats: name and text.
///
/// A file is refused if its name differs from the one that it states. A test reads the rest.
pub(crate) fn table(files: &[File]) -> Result<String, String> {
    let mut rows = String::new();
    for file in files {
        let head: Head = toml::from_str(&file.text).map_err(|error| file.refused(&error))?;
        if *head.name.get_ref() != file.name {
            return Err(file.error(head.name.span().start, &format!("'name' must be '{}', like the file's", file.name)));
        }
        rows += &format!("({:?}, {}),\n", file.path, file.included());
    }
    Ok(format!("&[\n{rows}]"))
}
