// The terms of general steps, made from codes when they are needed. Behind model_wide.cuh and model_operands.cuh.

// The factors of a product, as the rule unpacks them.
template <class FROM, class TO> MODEL Held factor_held(Word code) {
    return UNPACKED ? widened(unpacked<FROM, TO>(code), TO::TRAILING_BITS)
                    : widened(decode<FROM, OPERAND_SUBNORMALS>(code), FROM::TRAILING_BITS);
}
MODEL Held a_held(const Operands& x, int k) { return factor_held<FormatA, FactorA>(x.a_code(k)); }
MODEL Held b_held(const Operands& x, int k) { return factor_held<FormatB, FactorB>(x.b_code(k)); }

// c, as the rule unpacks it.
MODEL Held c_held(Word code) {
    return C_UNPACKED ? widened(unpacked<FormatC, FormatAddend>(code), FormatAddend::TRAILING_BITS)
                      : widened(decode<FormatC, OPERAND_SUBNORMALS>(code), FormatC::TRAILING_BITS);
}

// A product at or above the limit is infinite.
MODEL Held limited(Held p) {
    if (HAS_PRODUCT_LIMIT && p.kind == FINITE && p.significand != 0 &&
        p.exponent + 127 - leading_zeros(p.significand) >= PRODUCT_LIMIT) {
        p.kind = INFINITE;
    }
    return p;
}

// The exact product at a stored k, without scales.
MODEL Held exact_product(const Operands& x, int k) { return times(a_held(x, k), b_held(x, k)); }
