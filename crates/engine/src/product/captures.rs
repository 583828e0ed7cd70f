//! Captured products: operands, D and kernels of calls of a library, in one safetensors file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{Conversion, Extents, Factors, Matrix, ProductShape, read};
use crate::{
    Error, Result,
    array::{Array, ArrayFile, Content, StreamedArray},
    base::nearest::nearest,
};

/// Metadata key of a file that `tcnum.capture` wrote.
const MARK: &str = "tcnum.capture";
/// Version of the file that is read.
const VERSION: &str = "1";
/// Tensors that every product has.
const NEEDED: [&str; 3] = ["a", "b", "d"];

/// A file of captured products.
#[derive(Debug)]
pub struct Captures {
    path: PathBuf,
    file: ArrayFile,
    /// Names and descriptions, in the order of the file.
    products: Vec<(String, Description)>,
    /// Versions of libraries, names of the GPU and its driver.
    libraries: BTreeMap<String, String>,
}

/// A captured product.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// The operands: all of them, or a sample of rows of A and columns of B.
    pub factors: Factors,
    /// D, of the rows and columns of the operands.
    pub d: Matrix,
    /// The call in words; empty if unknown.
    pub call: String,
    /// Names of the kernels in the order of their launch; empty if unknown.
    pub kernels: Vec<String>,
    /// The shape of the whole product.
    pub shape: ProductShape,
}

/// Description of a product in the metadata, a JSON object.
#[derive(Debug, Deserialize)]
struct Description {
    #[serde(default)]
    call: String,
    #[serde(default)]
    kernels: Vec<String>,
    m: usize,
    n: usize,
    k: usize,
}

impl Captures {
    /// Opens a file and checks what its header says of every product.
    ///
    /// Any safetensors file with tensors `NAME.a`, `NAME.b` and `NAME.d` is a file of captures. Other tensors are left out.
    ///
    /// # Errors
    /// A file that cannot be read, is truncated or has no product; a product without one of these tensors; types without a format;
    /// shapes that do not fit; metadata of a product that are not understood.
    pub fn open(path: &Path) -> Result<Captures> {
        let file = ArrayFile::open(path)?;
        let within = |error: Error| error.within(path.display());
        file.arrays.iter().try_for_each(|array| file.complete(array))?;
        let marked = match file.metadata.get(MARK).map(String::as_str) {
            None => false,
            Some(VERSION) => true,
            Some(other) => {
                return Err(within(Error::request(format!(
                    "the captures have version {other:?}, and this tcnum reads version {VERSION}; use the tcnum that wrote the file"
                ))));
            }
        };
        let names = names(&file);
        if names.is_empty() {
            return Err(within(Error::request(
                "the file has no product; a product has the tensors NAME.a, NAME.b and NAME.d, as tcnum.capture writes them",
            )));
        }
        let describe = |name: &String| {
            let metadata = file.metadata.get(name).filter(|_| marked);
            match described(&file, name, metadata.map(String::as_str)) {
                Ok(description) => Ok((name.clone(), description)),
                Err(error) => Err(within(error.within(format!("product '{name}'")))),
            }
        };
        let products = names.iter().map(describe).collect::<Result<_>>()?;
        let library = |key: &String| marked && key != MARK && !names.contains(key);
        let libraries = file.metadata.iter().filter(|(key, _)| library(key));
        let libraries = libraries.map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Captures { path: path.to_path_buf(), file, products, libraries })
    }

    /// The names of the products, in the order of the file.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.products.iter().map(|(name, _)| name.as_str())
    }

    /// Versions of libraries (`torch`, `cuda`, `numpy`), the GPU (`gpu`) and its driver (`driver`).
    pub fn libraries(&self) -> &BTreeMap<String, String> {
        &self.libraries
    }

    /// Reads the product of this name.
    ///
    /// # Errors
    /// An unknown name; a file that cannot be read.
    pub fn read(&self, name: &str) -> Result<Capture> {
        let Some((_, description)) = self.products.iter().find(|(known, _)| known == name) else {
            let near = nearest(name, self.names(), 3).join(", ");
            let message = format!("there is no product '{name}'; the nearest names are {near}");
            return Err(Error::request(message).within(self.path.display()));
        };
        let optional = |part: &str| tensor(&self.file, name, part).map(|array| self.matrix(array)).transpose();
        let needed =
            |part: &str| self.matrix(tensor(&self.file, name, part).expect("checked when the file was opened"));
        Ok(Capture {
            factors: Factors {
                a: needed("a")?,
                b: needed("b")?,
                c: optional("c")?,
                bias: optional("bias")?,
                scale_a: optional("scale_a")?,
                scale_b: optional("scale_b")?,
            },
            d: needed("d")?,
            call: description.call.clone(),
            kernels: description.kernels.clone(),
            shape: ProductShape { m: description.m, n: description.n, k: description.k },
        })
    }

    fn matrix(&self, array: &StreamedArray) -> Result<Matrix> {
        let (rows, columns) = extent(array)?;
        let array = Array { shape: vec![rows, columns], ..self.file.array(array)? };
        let matrix = Matrix::of_array(&array, None, Conversion::Exact);
        Ok(matrix.map_err(|error| error.within(self.path.display()))?.0)
    }
}

/// Names with at least one of the needed tensors, in the order of the file.
fn names(file: &ArrayFile) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for array in &file.arrays {
        let parts = array.name.rsplit_once('.').filter(|(_, part)| NEEDED.contains(part));
        if let Some((name, _)) = parts.filter(|(name, _)| !names.iter().any(|known| known == name)) {
            names.push(name.into());
        }
    }
    names
}

/// The tensor of a part of a product.
fn tensor<'a>(file: &'a ArrayFile, name: &str, part: &str) -> Option<&'a StreamedArray> {
    file.arrays.iter().find(|array| array.name.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')) == Some(part))
}

/// Rows and columns of a tensor; a single number is 1 x 1.
fn extent(array: &StreamedArray) -> Result<(usize, usize)> {
    match array.shape[..] {
        [] => Ok((1, 1)),
        _ => read::extent(&array.shape).map_err(|error| error.within(format!("tensor '{}'", array.name))),
    }
}

/// Checks the tensors of a product against each other and against its metadata.
fn described(file: &ArrayFile, name: &str, metadata: Option<&str>) -> Result<Description> {
    let part = |part: &str| -> Result<Option<(usize, usize)>> {
        let Some(array) = tensor(file, name, part) else { return Ok(None) };
        match array.kind {
            Content::Format(_) => Ok(Some(extent(array)?)),
            _ => Err(Error::request(format!(
                "tensor '{}' has a type without a format; write F64, F32, F16, BF16, an FP8 type, I8 or I32",
                array.name
            ))),
        }
    };
    let needed = |wanted: &str| {
        let missing = || {
            Error::request(format!("tensor '{name}.{wanted}' is missing; a product needs NAME.a, NAME.b and NAME.d"))
        };
        part(wanted)?.ok_or_else(missing)
    };
    let (a, b, d) = (needed("a")?, needed("b")?, needed("d")?);
    let words = |(rows, columns): (usize, usize)| format!("{rows} x {columns}");
    if a.1 != b.0 {
        return Err(Error::request(format!(
            "A is {} and B is {}; write A as m x k and B as k x n",
            words(a),
            words(b)
        )));
    }
    Extents { a, b, c: part("c")?, bias: part("bias")?, d: Some(d) }.fit()?;
    for (scale, (of, most)) in [("scale_a", ("A", a)), ("scale_b", ("B", b))] {
        if let Some(scales) = part(scale)?.filter(|scales| scales.0 > most.0 || scales.1 > most.1) {
            return Err(Error::request(format!(
                "tensor '{name}.{scale}' is {}, and {of} is {}; write one scale for each block of {of}",
                words(scales),
                words(most)
            )));
        }
    }
    let Some(metadata) = metadata else {
        return Ok(Description { call: String::new(), kernels: Vec::new(), m: a.0, n: b.1, k: a.1 });
    };
    let description: Description = serde_json::from_str(metadata).map_err(|error| {
        Error::request(format!(
            "its metadata are not understood: {error}; write a JSON object with call, kernels, m, n and k"
        ))
    })?;
    match description.k == a.1 && description.m >= a.0 && description.n >= b.1 {
        true => Ok(description),
        false => Err(Error::request(format!(
            "its metadata say m = {}, n = {} and k = {}, but A is {} and B is {}; write m, n and k of the whole product",
            description.m,
            description.n,
            description.k,
            words(a),
            words(b)
        ))),
    }
}
