//! Random numbers of TestFloat's cases, glibc's `rand` after `srand(1)`, from any place on.

/// Length of glibc's state: z[i] = z[i - 3] + z[i - 31] modulo 2^32.
pub(crate) const LAG: usize = 31;

/// Polynomial in x of degree below 31, lowest coefficient first, modulo x^31 = x^28 + 1 and 2^32.
/// Multiplication by x is a step of the sequence.
type Polynomial = [u32; LAG];

fn product(a: &Polynomial, b: &Polynomial) -> Polynomial {
    let mut long = [0u32; 2 * LAG - 1];
    for (i, p) in a.iter().enumerate() {
        for (j, q) in b.iter().enumerate() {
            long[i + j] = long[i + j].wrapping_add(p.wrapping_mul(*q));
        }
    }
    for i in (LAG..long.len()).rev() {
        long[i - 3] = long[i - 3].wrapping_add(long[i]);
        long[i - LAG] = long[i - LAG].wrapping_add(long[i]);
    }
    std::array::from_fn(|i| long[i])
}

/// z[0], z[1], ... after `srand(1)`: the first 310 are not used.
fn seeded() -> Vec<u32> {
    let mut z: Vec<u32> = vec![1];
    for i in 1..LAG {
        z.push((u64::from(z[i - 1]) * 16807 % 0x7fff_ffff) as u32);
    }
    for i in 0..3 {
        z.push(z[i]);
    }
    while z.len() < LAG + 3 + 310 + 2 * LAG {
        z.push(z[z.len() - 3].wrapping_add(z[z.len() - LAG]));
    }
    z.split_off(LAG + 3 + 310)
}

/// The next 31 numbers of the sequence after `drawn` of them; `rand` returns the upper 31 bits of one.
pub(crate) fn state(drawn: u64) -> [u32; LAG] {
    let (mut power, mut step) = ([0; LAG], [0; LAG]);
    (power[0], step[1]) = (1, 1);
    for bit in 0..u64::BITS {
        if drawn >> bit & 1 == 1 {
            power = product(&power, &step);
        }
        step = product(&step, &step);
    }
    let z = seeded();
    let term = |k: usize| power.iter().zip(&z[k..]).fold(0u32, |sum, (p, z)| sum.wrapping_add(p.wrapping_mul(*z)));
    std::array::from_fn(term)
}

#[test]
fn the_sequence_is_that_of_glibc() {
    let outputs = state(0).map(|z| z >> 1);
    assert_eq!(outputs[..5], [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915, 1_957_747_793]);
}

#[test]
fn the_state_at_a_place_is_that_of_as_many_steps() {
    let mut stepped = state(0);
    for drawn in 0..1000 {
        assert_eq!(stepped, state(drawn), "after {drawn}");
        stepped.rotate_left(1);
        stepped[LAG - 1] = stepped[LAG - 1].wrapping_add(stepped[LAG - 4]);
    }
    // Far places: one step later is the next state.
    for drawn in [1 << 20, 2_015_459_999_999, u64::MAX - 1] {
        assert_eq!(state(drawn)[1..], state(drawn + 1)[..LAG - 1], "after {drawn}");
    }
}
