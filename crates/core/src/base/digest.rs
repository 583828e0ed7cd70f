//! A digest of bytes.

/// 64-bit FNV-1a digest of bytes: distinguishes inputs, gives no protection against forgery.
pub fn fnv1a<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
    bytes
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// FNV-1a digest of a text, as 16 hexadecimal digits.
pub fn of_text(text: &str) -> String {
    format!("{:016x}", fnv1a(text.as_bytes()))
}
