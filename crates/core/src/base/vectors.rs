//! Functions compiled for several instruction sets.

/// Sets of vector instructions that functions are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vectors {
    /// AVX-512 with 8-bit to 64-bit integers and leading zeros.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// AVX2 and fused multiply-adds.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The instructions of every machine of the target.
    Portable,
}

impl Vectors {
    /// The widest set of this machine.
    #[inline]
    pub fn here() -> Vectors {
        #[cfg(debug_assertions)]
        if let Some(forced) = FORCED.get() {
            return forced;
        }
        static WIDEST: std::sync::OnceLock<Vectors> = std::sync::OnceLock::new();
        *WIDEST.get_or_init(Vectors::widest)
    }

    /// True if the set has fused multiply-adds.
    #[inline]
    pub fn have_fma(self) -> bool {
        self != Vectors::Portable || cfg!(target_arch = "aarch64")
    }

    fn widest() -> Vectors {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512cd");
            match (avx2, avx512) {
                (true, true) => return Vectors::Avx512,
                (true, false) => return Vectors::Avx2,
                _ => {}
            }
        }
        Vectors::Portable
    }
}

#[cfg(debug_assertions)]
impl Vectors {
    /// All sets of this machine.
    pub fn all() -> Vec<Vectors> {
        match Vectors::here() {
            Vectors::Portable => vec![Vectors::Portable],
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2 => vec![Vectors::Portable, Vectors::Avx2],
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512 => vec![Vectors::Portable, Vectors::Avx2, Vectors::Avx512],
        }
    }
}

#[cfg(debug_assertions)]
thread_local! {
    /// Set that a test forces; the machine must have it.
    pub static FORCED: std::cell::Cell<Option<Vectors>> = const { std::cell::Cell::new(None) };
}

/// Defines a function compiled for each set of [`Vectors`]; a call runs the widest one of this machine.
/// Its callees must be inlined to be compiled for the same instructions. On x86-64 a second, smaller body may be given
/// for the machines that have none of the sets.
#[doc(hidden)]
#[macro_export]
macro_rules! vectorised {
    (
        $(#[$about:meta])*
        $visible:vis fn $name:ident $(<$($generic:ident: $bound:ident),+>)? ($($argument:ident: $type:ty),* $(,)?)
        $(-> $result:ty)? $body:block
        $(or on any other x86-64 $small:block)?
    ) => {
        $(#[$about])*
        #[allow(unsafe_code)]
        $visible fn $name $(<$($generic: $bound),+>)? ($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn portable $(<$($generic: $bound),+>)? ($($argument: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,fma,bmi1,bmi2,lzcnt")]
            fn avx512 $(<$($generic: $bound),+>)? ($($argument: $type),*) $(-> $result)? {
                portable($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt")]
            fn avx2 $(<$($generic: $bound),+>)? ($($argument: $type),*) $(-> $result)? {
                portable($($argument),*)
            }

            match $crate::base::vectors::Vectors::here() {
                // SAFETY: this machine has the instruction set.
                #[cfg(target_arch = "x86_64")]
                $crate::base::vectors::Vectors::Avx512 => unsafe { avx512($($argument),*) },
                // SAFETY: this machine has the instruction set.
                #[cfg(target_arch = "x86_64")]
                $crate::base::vectors::Vectors::Avx2 => unsafe { avx2($($argument),*) },
                $(#[cfg(target_arch = "x86_64")]
                $crate::base::vectors::Vectors::Portable => $small,)?
                #[allow(unreachable_patterns)]
                $crate::base::vectors::Vectors::Portable => portable($($argument),*),
            }
        }
    };
}
pub use crate::vectorised;
