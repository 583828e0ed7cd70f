//! Names of kernels in a profile, and the facts that they state about a matrix product.
//!
//! What a word means is data with its source: `schedules/kernels.toml`. [`KernelNames::of`] reads the names of the kernels of one call
//! together, since the name of a reduction says that the product before it is split. A name that the table lacks says nothing.
//!
//! ```
//! use tcnum_engine::product::kernel::KernelNames;
//! let names = KernelNames::of(&["nvjet_sm90_tst_128x8_64x12_4x1_v_bz_splitK_NNT".into()]);
//! assert_eq!(names.is_split(), Some(true));
//! assert_eq!(names.tile_k(), Some(64));
//! assert_eq!(
//!     names.sentence(),
//!     "nvjet kernel of cuBLAS for sm_90: wgmma, bf16 operands, sums in f32, D in bf16, tile 128 x 8 x 64, 12 stages, k split, \
//!      sums not promoted, no C"
//! );
//! ```

mod contradiction;
mod pattern;
mod reader;
mod sentence;
mod table;

use std::{collections::BTreeMap, sync::LazyLock};

pub use contradiction::Contradiction;
pub use table::KernelTable;

use super::{BiasEntry, CEntry, shipped::shipped};
use crate::{
    base::named::named,
    format::Format,
    isa::{Target, targets},
};

/// m, n and k.
type Numbers = [usize; 3];
/// Shapes of instructions by their digits.
type Shapes = BTreeMap<String, Numbers>;

/// Name of the table in messages.
const ORIGIN: &str = "schedules/kernels.toml";

/// The shipped table.
static SHIPPED: LazyLock<KernelTable> = LazyLock::new(|| {
    let text = shipped("kernels").expect("the build collects the files of schedules/");
    KernelTable::parse(text, ORIGIN).unwrap_or_else(|error| panic!("{error}"))
});

/// Names of the kernels of one call, and their facts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct KernelNames {
    /// The kernels, in the order of their names.
    pub kernels: Vec<KernelName>,
}

/// Name of a kernel, and its facts.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelName {
    /// The name in the profile.
    pub name: String,
    /// The spelling that it belongs to; `None`: the table lacks it, and nothing is known.
    pub spelling: Option<KernelSpelling>,
    /// The words that were read, in their order.
    pub words: Vec<KernelWord>,
    /// Words that the table lacks.
    pub unread: Vec<String>,
}

/// Library and role of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSpelling {
    /// Kind of kernel, as sentences name it: `nvjet kernel of cuBLAS`.
    pub title: String,
    /// Library: `cuBLAS`.
    pub library: String,
    /// Part in the call.
    pub role: KernelRole,
}

/// Word of a name, with its meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelWord {
    /// The word, as the name has it.
    pub word: String,
    /// True if the name lacks the word, which says something too.
    pub absent: bool,
    /// Facts that the word states; none for a word that concerns no bits.
    pub says: Vec<Says>,
    /// The meaning, in words.
    pub meaning: String,
    /// Source of the meaning, as `schedules/kernels.toml` writes it.
    pub source: String,
}

named! {
    /// Part of a kernel in a call.
    pub enum KernelRole {
        Product = "product": "makes the product, or the parts of it";
        Reduction = "reduction": "joins the parts of split-k";
        Scaling = "scaling": "prepares D before the product";
        Epilogue = "epilogue": "changes D after the product";
        Preparation = "preparation": "prepares A or B before the product";
    }
}

named! {
    /// Unit that multiplies and adds.
    pub enum KernelUnit {
        Fma = "fma": "fused multiply-adds of single products, without a matrix instruction";
        Mma = "mma": "mma.sync";
        Wmma = "wmma": "wmma.mma";
        Wgmma = "wgmma": "wgmma.mma_async";
        Tcgen05 = "tcgen05": "tcgen05.mma";
    }
}

/// A fact that a word states.
#[derive(Debug, Clone, PartialEq)]
pub enum Says {
    /// The target: `sm` 90 is sm_90.
    /// With `later`, targets after it run the kernel too, which has the instructions of `sm` alone.
    Target {
        /// Number of the target.
        sm: usize,
        /// True if later targets run the kernel, too.
        later: bool,
    },
    /// The unit.
    Unit(KernelUnit),
    /// m, n and k of the instruction.
    Shape([usize; 3]),
    /// Formats of the operands, as the unit multiplies them; which of them is A is not certain.
    Operands([&'static Format; 2]),
    /// Format of the sums.
    Accumulator(&'static Format),
    /// Format of D of the kernel that makes the product.
    /// With split-k this can be the format of the parts.
    Output(&'static Format),
    /// m and n of a tile, where D is stored by column in most libraries.
    Tile([usize; 2]),
    /// k of a tile: the k of a slab.
    TileK(usize),
    /// Tiles of k in shared memory.
    Stages(usize),
    /// Warps, or warpgroups, that share the k of a tile: each sums a part of it.
    Slices(usize),
    /// True if k is split; false if it is certainly not.
    Split(bool),
    /// Format in which the parts of split-k are kept.
    Partials(&'static Format),
    /// Format in which the parts of split-k are added.
    Joined(&'static Format),
    /// Number of k after which sums are promoted; `None`: never.
    Promotion(Option<usize>),
    /// A bias is added, and where.
    Bias(BiasEntry),
    /// Where C is added; `None`: there is no C.
    C(Option<CEntry>),
    /// Layouts of A, B and D: `n` by column, `t` by row, as BLAS counts them.
    Layout(String),
}

impl KernelNames {
    /// Reads the names of the kernels of one call with the shipped table.
    pub fn of(names: &[String]) -> KernelNames {
        SHIPPED.read(names)
    }

    /// True if at least one name says something.
    pub fn is_known(&self) -> bool {
        self.kernels.iter().any(|kernel| kernel.spelling.is_some())
    }

    /// All facts, with the kernel and the word that states each.
    pub fn facts(&self) -> impl Iterator<Item = (&KernelName, &KernelWord, &Says)> {
        let words = self.kernels.iter().flat_map(|kernel| kernel.words.iter().map(move |word| (kernel, word)));
        words.flat_map(|(kernel, word)| word.says.iter().map(move |says| (kernel, word, says)))
    }

    /// True if the names say that k is split, false if they say that it is not; `None` if they say neither.
    pub fn is_split(&self) -> Option<bool> {
        self.facts().find_map(|(_, _, says)| match says {
            Says::Split(split) => Some(*split),
            _ => None,
        })
    }

    /// k of a tile: a candidate of a schedule's slab.
    pub fn tile_k(&self) -> Option<usize> {
        self.facts().find_map(|(_, _, says)| match says {
            Says::TileK(k) => Some(*k),
            _ => None,
        })
    }

    /// Targets that can be meant; all of NVIDIA's if the names say nothing.
    pub fn targets(&self) -> Vec<&'static Target> {
        let named = |sm: usize, later: bool, target: &&Target| {
            numbers(target).any(|number| if later { number >= sm } else { number == sm })
        };
        let mut targets: Vec<&'static Target> =
            targets::all().iter().filter(|target| !target.capabilities.is_empty()).collect();
        for (_, _, says) in self.facts() {
            if let Says::Target { sm, later } = says {
                targets.retain(|target| named(*sm, *later, target));
            }
        }
        targets
    }

    /// True if a kernel of this role is among them.
    fn has(&self, role: KernelRole) -> bool {
        self.kernels.iter().any(|kernel| kernel.role() == Some(role))
    }
}

impl KernelName {
    /// Part in the call; `None` if the name is not known.
    pub fn role(&self) -> Option<KernelRole> {
        self.spelling.as_ref().map(|spelling| spelling.role)
    }
}

impl KernelWord {
    /// True if nothing confirms the meaning or a part of it.
    pub fn is_assumed(&self) -> bool {
        self.source.contains(table::ASSUMED)
    }

    /// The word as the subject of a sentence.
    pub fn quoted(&self) -> String {
        if self.absent { format!("the name without `{}`", self.word) } else { format!("`{}`", self.word) }
    }
}

/// Numbers of a target's compute capabilities: 90 of 9.0.
fn numbers(target: &Target) -> impl Iterator<Item = usize> + '_ {
    target.capabilities.iter().filter_map(|((major, minor), _)| usize::try_from(major * 10 + minor).ok())
}
