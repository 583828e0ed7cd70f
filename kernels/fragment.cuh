// Codes, the registers that hold them, and copies of codes between a tile in memory and a fragment.
//
// Precedes every kernel source, after the definitions that specialise it. A code has 1, 4, 8, 16, 32 or 64 bits; in
// memory, a code of 1 or 4 bits takes a byte. A register has 32 bits and holds 32 / BITS codes, the first in its lowest
// bits; a 64-bit code has a 64-bit register. Codes are copied as unsigned integers, so tf32 containers, NaN payloads
// and negative zeros arrive unchanged.

template <int BITS> struct Width;
template <> struct Width<1> { typedef unsigned char Code; typedef unsigned Register; static const int CODES = 32; };
template <> struct Width<4> { typedef unsigned char Code; typedef unsigned Register; static const int CODES = 8; };
template <> struct Width<8> { typedef unsigned char Code; typedef unsigned Register; static const int CODES = 4; };
template <> struct Width<16> { typedef unsigned short Code; typedef unsigned Register; static const int CODES = 2; };
template <> struct Width<32> { typedef unsigned Code; typedef unsigned Register; static const int CODES = 1; };
template <> struct Width<64> {
    typedef unsigned long long Code;
    typedef unsigned long long Register;
    static const int CODES = 1;
};

typedef Width<A_BITS> A;
typedef Width<B_BITS> B;
typedef Width<C_BITS> C;
typedef Width<D_BITS> D;

// Fills a fragment: code `i` of register `r` is tile[place(r, i)].
template <int BITS, int REGISTERS, class Place>
__device__ __forceinline__ void gather(typename Width<BITS>::Register (&fragment)[REGISTERS],
                                       const typename Width<BITS>::Code* tile, Place place) {
#pragma unroll
    for (int r = 0; r < REGISTERS; ++r) {
        fragment[r] = 0;
#pragma unroll
        for (int i = 0; i < Width<BITS>::CODES; ++i) {
            fragment[r] |= (typename Width<BITS>::Register)tile[place(r, i)] << (i * BITS);
        }
    }
}

// Empties a fragment: tile[place(r, i)] becomes code `i` of register `r`.
template <int BITS, int REGISTERS, class Place>
__device__ __forceinline__ void scatter(const typename Width<BITS>::Register (&fragment)[REGISTERS],
                                        typename Width<BITS>::Code* tile, Place place) {
#pragma unroll
    for (int r = 0; r < REGISTERS; ++r) {
#pragma unroll
        for (int i = 0; i < Width<BITS>::CODES; ++i) {
            tile[place(r, i)] = (typename Width<BITS>::Code)(fragment[r] >> (i * BITS));
        }
    }
}
