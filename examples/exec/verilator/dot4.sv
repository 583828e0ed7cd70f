// A unit that computes d = c + a0*b0 + a1*b1 + a2*b2 + a3*b3: a and b in bf16, c and d in f32.
//
// Its arithmetic, which dot4.toml says in the language of tcnum's models:
// - Products are exact. A product's exponent is the sum of its factors' exponents; a subnormal has exponent -126.
// - All terms that are not zero are aligned to the largest exponent among them, and cut BITS bits below it (RZ).
// - The sum of the cut terms is exact. It is rounded once to f32, ties to even. Subnormals are kept.
// - A sum of zero is +0. A sum that rounds to zero keeps its sign.
// - A NaN operand, infinity times zero, and opposite infinities give the NaN 0x7fc00000.
//
// A pipeline of three stages: it takes new operands in every cycle, and d follows three cycles later.

module dot4 #(
    // Fraction bits kept below the largest exponent of a term, at least 23.
    parameter int BITS = 26
) (
    input  logic             clk,
    input  logic             valid,
    input  logic [3:0][15:0] a,
    input  logic [3:0][15:0] b,
    input  logic      [31:0] c,
    output logic             done,
    output logic      [31:0] d
);
    localparam logic [31:0] NAN = 32'h7fc00000;

    // The fields of a bf16 number have the widths of those of an f32 number, except for the fraction.
    function automatic logic signed [9:0] exponent(input logic [7:0] field);
        return $signed({2'b0, field == 0 ? 8'd1 : field}) - 10'sd127;
    endfunction

    // Stage 1: products, and the infinities and NaNs of the operands.
    // Term 4 is c. Significands have BITS fraction bits.
    logic [4:0]               sign;
    logic [4:0][BITS+1:0]     significand;
    logic signed [4:0][9:0]   exponents;
    logic                     invalid, plus, minus, valid1;

    logic [4:0]               sign_in, infinite_in, nan_in;
    logic [4:0][BITS+1:0]     significand_in;
    logic signed [4:0][9:0]   exponents_in;

    always_comb begin
        for (int i = 0; i < 4; i++) begin
            logic [15:0] product;
            logic special_a, special_b;
            product = {8'd0, a[i][14:7] != 0, a[i][6:0]} * {8'd0, b[i][14:7] != 0, b[i][6:0]};
            special_a = a[i][14:7] == 8'hff;
            special_b = b[i][14:7] == 8'hff;
            sign_in[i] = a[i][15] ^ b[i][15];
            significand_in[i] = {product, {(BITS-14){1'b0}}};
            exponents_in[i] = exponent(a[i][14:7]) + exponent(b[i][14:7]);
            nan_in[i] = special_a && (a[i][6:0] != 0 || b[i][14:0] == 0) || special_b && (b[i][6:0] != 0 || a[i][14:0] == 0);
            infinite_in[i] = special_a || special_b;
        end
        sign_in[4] = c[31];
        significand_in[4] = {1'b0, c[30:23] != 0, c[22:0], {(BITS-23){1'b0}}};
        exponents_in[4] = exponent(c[30:23]);
        nan_in[4] = c[30:23] == 8'hff && c[22:0] != 0;
        infinite_in[4] = c[30:23] == 8'hff;
    end

    always_ff @(posedge clk) begin
        valid1 <= valid;
        sign <= sign_in;
        significand <= significand_in;
        exponents <= exponents_in;
        invalid <= nan_in != 0;
        plus <= (infinite_in & ~sign_in) != 0;
        minus <= (infinite_in & sign_in) != 0;
    end

    // Stage 2: alignment and sum. Five terms, each below 4, have a sum below 32.
    logic signed [9:0]        largest, largest_in;
    logic signed [BITS+5:0]   sum, sum_in;
    logic                     invalid2, plus2, minus2, valid2;

    always_comb begin
        largest_in = -10'sd512;
        for (int i = 0; i < 5; i++)
            if (significand[i] != 0 && $signed(exponents[i]) > largest_in) largest_in = $signed(exponents[i]);
        sum_in = 0;
        for (int i = 0; i < 5; i++) begin
            logic [9:0] distance;
            logic signed [BITS+5:0] aligned;
            distance = largest_in - $signed(exponents[i]);
            aligned = $signed({4'd0, significand[i] >> distance});
            sum_in = sign[i] ? sum_in - aligned : sum_in + aligned;
        end
    end

    always_ff @(posedge clk) begin
        valid2 <= valid1;
        largest <= largest_in;
        sum <= sum_in;
        {invalid2, plus2, minus2} <= {invalid, plus, minus};
    end

    // Stage 3: the sum as an f32 number. A unit of `magnitude` weighs 2^(largest - BITS), one of `kept` 2^unit.
    logic [31:0] d_in;

    always_comb begin
        logic [BITS+4:0] magnitude;
        logic [2*BITS+11:0] shifted;
        logic [24:0] kept;
        logic signed [11:0] lead, unit, shift;
        magnitude = sum < 0 ? (BITS+5)'(-sum) : (BITS+5)'(sum);
        lead = 0;
        for (int i = 0; i < BITS+5; i++) if (magnitude[i]) lead = 12'(i);
        unit = 12'(largest) - 12'(BITS) + lead - 12'sd23;
        if (unit < -12'sd149 || magnitude == 0) unit = -12'sd149;
        shift = unit - (12'(largest) - 12'(BITS));
        // A shift to the right leaves the half and what lies below it in the lower bits; a longer shift changes nothing.
        if (shift > 12'(BITS+7)) shift = 12'(BITS+7);
        shifted = {magnitude, {(BITS+7){1'b0}}};
        shifted = shift < 0 ? shifted << -shift : shifted >> shift;
        kept = shifted[BITS+31:BITS+7];
        if (shifted[BITS+6] && (shifted[BITS+5:0] != 0 || kept[0])) kept = kept + 1;
        // The leading bit of a normal number counts one in the field of the exponent.
        d_in = {9'(unit + 12'sd149), 23'd0} + {7'd0, kept};
        if (d_in[31:23] >= 9'd255) d_in = 32'h7f800000;
        d_in[31] = sum < 0;
        if (plus2 || minus2) d_in = {minus2, 31'h7f800000};
        if (invalid2 || plus2 && minus2) d_in = NAN;
    end

    always_ff @(posedge clk) begin
        done <= valid2;
        d <= d_in;
    end
endmodule
