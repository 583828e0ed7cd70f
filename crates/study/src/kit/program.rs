//! The text of a kit: a program with its instructions and operands, in one of four languages.

use std::path::Path;

use super::{KitInputs, amd, cuda, processor};
use crate::{Error, Result};

/// The language of a kit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// CUDA C++, for NVIDIA GPUs.
    Cuda,
    /// HIP, for AMD GPUs.
    Hip,
    /// C, for processors.
    C,
    /// Python, for NVIDIA GPUs without nvcc.
    Python,
}

/// The endings of files, and their languages.
const LANGUAGES: [(&str, Language); 4] =
    [("cu", Language::Cuda), ("hip", Language::Hip), ("c", Language::C), ("py", Language::Python)];

impl Language {
    /// The language of a file, by its ending.
    ///
    /// # Errors
    /// Another ending.
    pub fn of(file: &Path) -> Result<Language> {
        let ending = file.extension().and_then(|ending| ending.to_str());
        let language = LANGUAGES.into_iter().find(|(known, _)| Some(*known) == ending);
        language.map(|(_, language)| language).ok_or_else(|| {
            Error::request(format!(
                "{}: the ending says the language of a kit: .cu (CUDA C++), .py (Python, for NVIDIA GPUs), .hip (AMD GPUs) or .c (processors)",
                file.display()
            ))
        })
    }
}

/// The program that executes these tiles, and prints operands and results.
///
/// # Errors
/// An instruction is not one that kits of the language have.
pub fn program(language: Language, kits: &[KitInputs]) -> Result<String> {
    match language {
        Language::Cuda => cuda::program(kits),
        Language::Python => cuda::python(kits),
        Language::Hip => amd::program(kits),
        Language::C => processor::program(kits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_another_ending_is_refused() {
        assert_eq!(Language::of(Path::new("kit.cu")).unwrap(), Language::Cuda);
        assert_eq!(Language::of(Path::new("a.b/kit.hip")).unwrap(), Language::Hip);
        assert!(Language::of(Path::new("kit.rs")).unwrap_err().to_string().contains("the ending says the language"));
    }
}
