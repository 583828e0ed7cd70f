//! Machine code in CUBIN files, which are ELF files of 64 bits.

/// Name and machine code of each function of a CUBIN; `None` if it is no such file.
pub(super) fn functions(cubin: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let number = |at: usize, bytes: usize| {
        let bytes = cubin.get(at..at.checked_add(bytes)?)?;
        usize::try_from(bytes.iter().rev().fold(0, |number: u64, byte| number << 8 | u64::from(*byte))).ok()
    };
    cubin.strip_prefix(b"\x7fELF\x02\x01")?;
    let (headers, length, count, names) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?, number(0x3e, 2)?);
    let header = |section: usize| headers.checked_add(section.checked_mul(length)?);
    let names = number(header(names)?.checked_add(0x18)?, 8)?;
    let mut functions = Vec::new();
    for section in 0..count {
        let header = header(section)?;
        let name = cubin.get(names.checked_add(number(header, 4)?)?..)?.split(|byte| *byte == 0).next()?;
        if let Some(name) = std::str::from_utf8(name).ok()?.strip_prefix(".text.") {
            let (at, size) = (number(header.checked_add(0x18)?, 8)?, number(header.checked_add(0x20)?, 8)?);
            functions.push((name, cubin.get(at..at.checked_add(size)?)?));
        }
    }
    Some(functions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of three sections: none, names, and the machine code of `k`.
    fn file() -> Vec<u8> {
        let names = b"\0.names\0.text.k\0";
        let mut file = vec![0; 0x40];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file.extend(names);
        file.extend(*b"code");
        let headers = file.len() as u64;
        for (name, at, size) in [(0u32, 0u64, 0u64), (1, 0x40, names.len() as u64), (8, 0x40 + names.len() as u64, 4)] {
            let mut header = [0; 0x40];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[0x18..0x20].copy_from_slice(&at.to_le_bytes());
            header[0x20..0x28].copy_from_slice(&size.to_le_bytes());
            file.extend(header);
        }
        file[0x28..0x30].copy_from_slice(&headers.to_le_bytes());
        file[0x3a..0x40].copy_from_slice(&[0x40, 0, 3, 0, 1, 0]);
        file
    }

    #[test]
    fn the_machine_code_of_each_function_is_found_and_a_file_that_ends_early_has_none() {
        let file = file();
        assert_eq!(functions(&file), Some(vec![("k", &b"code"[..])]));
        for end in 0..file.len() - 0x18 {
            assert_eq!(functions(&file[..end]), None, "{end}");
        }
    }

    #[test]
    fn no_byte_of_a_file_makes_it_panic() {
        let file = file();
        for at in 0..file.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut other = file.clone();
                other[at] = byte;
                let _ = functions(&other);
            }
        }
    }
}
