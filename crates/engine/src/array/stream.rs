//! Arrays read piece by piece from files that may exceed memory.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Error as IoError, ErrorKind},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Array, Container, Content, LARGEST_EXTENT, gguf, npy, packed, safetensors,
    shards::{self, Shards},
    unnamed, wrong,
};
use crate::{
    Error, Result,
    base::{places, text},
    format::{Format, find},
};

/// An open file of arrays, or several files that make up one checkpoint.
#[derive(Debug)]
pub struct ArrayFile {
    files: Vec<Arc<OpenFile>>,
    /// Arrays, in the order of the files and of their data.
    pub arrays: Vec<StreamedArray>,
    /// Metadata; empty for an `.npy` file.
    pub metadata: BTreeMap<String, String>,
}

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    elements: Elements,
}

/// The bytes of the elements.
#[derive(Debug)]
enum Elements {
    File(File),
    /// In memory in C order, if the file has Fortran order.
    Ordered(Vec<u8>),
    /// Numbers of f32 that are computed when they are read.
    Computed(Box<dyn ComputedValues>),
}

/// Values of an array that are computed when they are read.
pub(crate) trait ComputedValues: std::fmt::Debug + Send + Sync {
    /// Writes the values from place `first` on.
    ///
    /// # Errors
    /// Values that cannot be computed.
    fn read(&self, first: usize, values: &mut [f32]) -> Result<()>;
}

/// An array whose values are computed.
pub(crate) struct ComputedArray {
    /// Name.
    pub(crate) name: String,
    /// Extents.
    pub(crate) shape: Vec<usize>,
    /// File that messages name.
    pub(crate) path: PathBuf,
    /// Number of arrays of the file that it is made of.
    pub(crate) made_of: usize,
    /// Its values.
    pub(crate) values: Box<dyn ComputedValues>,
}

/// An array of an open file.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamedArray {
    /// Name in the file; for an `.npy` file, the name of the file.
    pub name: String,
    /// Extents; empty for a single number.
    pub shape: Vec<usize>,
    /// Type of the elements.
    pub kind: Content,
    /// Bytes of an element as [`ArrayFile::read`] gives it; 0 for blocks of GGUF.
    pub width: usize,
    /// Bits of an element in the file; fewer than 8 where elements share bytes; 0 for blocks of GGUF.
    pub bits: usize,
    /// True if the file says only how many bytes a code has, not what it means.
    pub untyped: bool,
    /// First byte of the data in the file, and their length in bytes.
    pub data: (u64, u64),
    /// True if the file has all of them.
    pub complete: bool,
    /// True for a part of a quantised tensor: codes without a layout, and scales next to codes.
    pub part: bool,
    /// Number of arrays of the file that it is made of.
    pub made_of: usize,
    /// Number of the file, among those that were opened together.
    pub(crate) file: usize,
}

impl StreamedArray {
    /// Makes a complete array of elements of `bytes` bytes each, in the only file.
    ///
    /// Its data are `length` bytes from the byte `first` on.
    pub(super) fn whole_elements(
        name: String,
        shape: Vec<usize>,
        kind: Content,
        bytes: usize,
        first: u64,
        length: u64,
    ) -> StreamedArray {
        StreamedArray {
            name,
            shape,
            kind,
            width: bytes,
            bits: 8 * bytes,
            untyped: false,
            data: (first, length),
            complete: true,
            part: false,
            made_of: 1,
            file: 0,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if several elements share a byte in the file.
    pub fn is_packed(&self) -> bool {
        self.bits > 0 && !self.bits.is_multiple_of(8)
    }
}

/// The content of one file.
struct FileContents {
    arrays: Vec<StreamedArray>,
    metadata: BTreeMap<String, String>,
    /// The elements in C order, if the file has Fortran order.
    ordered: Option<Vec<u8>>,
}

impl ArrayFile {
    /// Opens the file at `path` and reads its header: `.npy`, `.safetensors` or `.gguf`.
    /// A folder of safetensors files, or an index of them (`model.safetensors.index.json`), is opened as one file.
    /// If a safetensors or GGUF file is truncated, its incomplete arrays are not [complete](StreamedArray::complete). An `.npy` file
    /// in Fortran order is read completely.
    ///
    /// # Errors
    /// A request error that names the path and the malformed or missing part.
    pub fn open(path: &Path) -> Result<ArrayFile> {
        let mut all = ArrayFile { files: Vec::new(), arrays: Vec::new(), metadata: BTreeMap::new() };
        let Some(Shards { files, named_in }) = shards::of(path)? else {
            all.add(path, |_| true)?;
            return Ok(all);
        };
        for file in &files {
            let here = |name: &str| named_in.get(name).is_none_or(|other| other == file);
            all.add(file, here)?;
        }
        shards::check(path, &named_in, &files, all.arrays.iter().map(|array| (array.name.as_str(), array.file)))?;
        Ok(all)
    }

    /// Opens a file and adds those of its arrays that `here` accepts by name.
    fn add(&mut self, path: &Path, here: impl Fn(&str) -> bool) -> Result<()> {
        let wrong = |cause: String| wrong(path, &cause);
        let (file, length) = text::open(path).map_err(wrong)?;
        let contents = FileContents::read(path, BufReader::new(&file), length)?;
        // An extent of 0 leaves the other extents unbounded by the file's size.
        let extents = || contents.arrays.iter().flat_map(|array| array.shape.iter().map(move |extent| (array, extent)));
        if let Some((array, extent)) = extents().find(|(_, extent)| **extent > LARGEST_EXTENT) {
            return Err(wrong(format!("array '{}' has the extent {extent}, which is too large", array.name)));
        }
        let number = self.files.len();
        let arrays = contents.arrays.into_iter().filter(|array| here(&array.name));
        self.arrays.extend(arrays.map(|array| StreamedArray { file: number, ..array }));
        for (key, value) in contents.metadata {
            self.metadata.entry(key).or_insert(value);
        }
        let elements = contents.ordered.map_or(Elements::File(file), Elements::Ordered);
        self.files.push(Arc::new(OpenFile { path: path.to_path_buf(), elements }));
        Ok(())
    }

    /// The same open files with one of the arrays.
    pub(crate) fn only(&self, array: usize) -> ArrayFile {
        let arrays = vec![self.arrays[array].clone()];
        ArrayFile { files: self.files.clone(), arrays, metadata: BTreeMap::new() }
    }

    /// The same open files, with computed arrays of f32 in the places of some, and without metadata.
    ///
    /// Other arrays stay if `keep` accepts their names.
    pub(crate) fn with_computed(
        &self,
        keep: impl Fn(&str) -> bool,
        mut computed: BTreeMap<usize, ComputedArray>,
    ) -> ArrayFile {
        let f32 = find("f32").expect("a format of the table");
        let mut all = ArrayFile { files: self.files.clone(), arrays: Vec::new(), metadata: BTreeMap::new() };
        for (place, array) in self.arrays.iter().enumerate() {
            match computed.remove(&place) {
                Some(ComputedArray { name, shape, path, made_of, values }) => {
                    let bytes = 4 * shape.iter().product::<usize>() as u64;
                    let array = StreamedArray::whole_elements(name, shape, Content::Format(f32), 4, 0, bytes);
                    all.arrays.push(StreamedArray { file: all.files.len(), made_of, ..array });
                    all.files.push(Arc::new(OpenFile { path, elements: Elements::Computed(values) }));
                }
                None if keep(&array.name) => all.arrays.push(array.clone()),
                None => {}
            }
        }
        all
    }

    /// Takes the codes that the file gives no meaning for codes of `format`.
    ///
    /// # Errors
    /// Without a format: an array of codes that the file does not name. With one: such codes of another width.
    pub fn name_codes(&mut self, format: Option<&'static Format>) -> Result<()> {
        let of_array = |name: &str, what: String| Err(Error::request(format!("array '{name}': {what}")));
        let Some(format) = format else {
            return match self.arrays.iter().find(|array| array.untyped) {
                Some(array) => of_array(&array.name, unnamed(array.width)),
                None => Ok(()),
            };
        };
        for array in self.arrays.iter_mut().filter(|array| matches!(array.kind, Content::Unsigned(_))) {
            if array.width == format.bytes() {
                (array.kind, array.untyped) = (Content::Format(format), false);
            } else if array.untyped {
                let message =
                    format!("its codes have {} bytes, and codes of {format} have {}", array.width, format.bytes());
                return of_array(&array.name, message);
            }
        }
        Ok(())
    }

    /// Takes unsigned integers for codes of `format`, in arrays whose names `is_code` accepts.
    pub(crate) fn take_for_codes(&mut self, format: &'static Format, is_code: impl Fn(&str) -> bool) {
        for array in self.arrays.iter_mut().filter(|array| is_code(&array.name)) {
            if array.kind == Content::Unsigned(format.bytes()) {
                array.kind = Content::Format(format);
            }
        }
    }

    /// The path of the file that has `array`.
    pub fn path(&self, array: &StreamedArray) -> &Path {
        &self.files[array.file].path
    }

    /// Refuses an array that a truncated file lacks a part of.
    ///
    /// # Errors
    /// A request error that names the path and the array.
    pub fn complete(&self, array: &StreamedArray) -> Result<()> {
        match array.complete {
            true => Ok(()),
            false => Err(wrong(self.path(array), &format!("the file ends in the data of array '{}'", array.name))),
        }
    }

    /// Reads all of `array`; packed elements come one to a byte.
    ///
    /// # Errors
    /// As [`ArrayFile::complete`]; a file that cannot be read, or has been shortened.
    pub fn array(&self, array: &StreamedArray) -> Result<Array<'static>> {
        self.complete(array)?;
        let length = if array.is_packed() { array.len() } else { array.data.1 as usize };
        let mut bytes = vec![0; length];
        match array.is_packed() {
            true => self.read(array, 0, &mut bytes)?,
            false => self.read_bytes(array, 0, &mut bytes)?,
        }
        Ok(Array { name: array.name.clone(), shape: array.shape.clone(), kind: array.kind, bytes: bytes.into() })
    }

    /// Reads the bytes of `array` from its element `first` on; packed elements come one to a byte.
    ///
    /// # Errors
    /// A file that cannot be read, or has been shortened.
    pub fn read(&self, array: &StreamedArray, first: usize, bytes: &mut [u8]) -> Result<()> {
        if !array.is_packed() {
            return self.read_bytes(array, (first * array.width) as u64, bytes);
        }
        let (start, length) = packed::place(first, bytes.len(), array.bits);
        let mut shared = vec![0; length];
        self.read_bytes(array, start, &mut shared)?;
        packed::unpack(&shared, first, array.bits, bytes);
        Ok(())
    }

    /// Reads the bytes of `array` as the file has them, from its byte `first` on.
    ///
    /// # Errors
    /// As [`ArrayFile::read`].
    pub fn read_bytes(&self, array: &StreamedArray, first: u64, bytes: &mut [u8]) -> Result<()> {
        let at = array.data.0 + first;
        let read = match &self.files[array.file].elements {
            Elements::File(file) => places::read_at(file, at, bytes),
            Elements::Ordered(data) => match data.get(at as usize..).and_then(|rest| rest.get(..bytes.len())) {
                Some(stored) => {
                    bytes.copy_from_slice(stored);
                    Ok(())
                }
                None => Err(IoError::from(ErrorKind::UnexpectedEof)),
            },
            Elements::Computed(values) => {
                let mut read = vec![0.0; bytes.len() / 4];
                values.read(at as usize / 4, &mut read).map_err(|error| error.within(self.path(array).display()))?;
                bytes.as_chunks_mut().0.iter_mut().zip(&read).for_each(|(word, value)| *word = value.to_le_bytes());
                Ok(())
            }
        };
        read.map_err(|error| Error::request(format!("{}: cannot be read: {error}", self.path(array).display())))
    }
}

impl FileContents {
    fn read(path: &Path, start: BufReader<&File>, length: u64) -> Result<FileContents> {
        let wrong = |cause: String| wrong(path, &cause);
        let (arrays, metadata, ordered) = match Container::of(path)? {
            Container::Gguf => {
                let (arrays, metadata) = gguf::streamed(start, length).map_err(wrong)?;
                (arrays, metadata, None)
            }
            Container::Npy => {
                let name = path.file_stem().map_or("array".into(), |stem| stem.to_string_lossy().into_owned());
                let (array, ordered) = npy::streamed(name, start, length).map_err(wrong)?;
                (vec![array], BTreeMap::new(), ordered)
            }
            Container::Safetensors => {
                let (arrays, metadata) = safetensors::streamed(start, length).map_err(wrong)?;
                (arrays, metadata, None)
            }
        };
        Ok(FileContents { arrays, metadata, ordered })
    }
}
