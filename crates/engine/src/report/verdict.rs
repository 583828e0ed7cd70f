//! Findings behind exit status 1.

use crate::base::named::named;

named! {
    /// The finding of a command whose claim does not hold, by its words.
    pub enum Verdict {
        Mismatch = "mismatch found": "Results differ from those that they are compared with";
        Differ = "they differ": "Both sides of a comparison differ";
        Unidentified = "no arithmetic gives every answer": "No arithmetic gives every answer";
        Refuted = "an output contradicts the model": "An output contradicts the model";
        Contradicted = "an output contradicts the order of the sum": "An output contradicts the order of the sum";
        Failed = "a check failed": "A check of a program failed";
        Unreproduced = "a published figure or finding was not reproduced": "A published figure or finding came out differently";
        OutsideBound = "an element is outside its bound": "An element of a product is outside the bound of what it claims to be";
        Undecided = "an element is not decided": "An element of a product has no bound";
        Unmatched = "no schedule gives this D": "No schedule gives a product";
        Unpredicted = "a product is not as predicted": "A library's product differs from the prediction";
        BatchDependent = "the first row depends on the batch size": "The first rows of a product depend on the number of rows";
        WithoutCode = "a value has no code in the format": "A value has no code in the format";
        Inexact = "a product of integers is not exact": "A product of integers is not exact";
        Unintended = "the machine code is not what was to be timed": "The timed machine code is not the intended one";
        Nothing = "nothing was executed or compared": "No instruction was executed, and no output compared";
        Unfinished = "the work was not finished": "A device failed, or a file could not be written, before the end";
    }
}
