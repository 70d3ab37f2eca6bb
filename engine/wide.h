// Products of many rows (a piece of a prompt) in bf16 with fp32 sums, for engine/kernel.c on processors with AVX512_BF16.
//
// A panel of 4-bit or 8-bit weights is widened to bf16 once for a block of rows and then lies in the core's cache. A row's
// sum goes through the columns in order, two at a time, so that it doesn't depend on the rows beside it.

#pragma once

#include "product.h"

#ifdef __AVX512BF16__
#define WIDE 1
typedef uint16_t Bf16;
#define WIDE_ROWS 12        // times two vectors of sums: they and a panel's line fill the registers
#define WIDE_BLOCK_ROWS 252  // rows that use a widened panel

static inline void store_bf16(Bf16 *to, __m512 x) { _mm256_storeu_si256((__m256i *)to, (__m256i)_mm512_cvtneps_pbh(x)); }

// e^x, to 2 ulp (Cephes).
static inline __m512 exps(__m512 x) {
    const __m512 n = _mm512_roundscale_ps(times(x, splat(1.44269504f)), 0);
    const __m512 r = fma_(n, splat(2.12194440e-4f), fma_(n, splat(-0.693359375f), x));
    __m512 p = fma_(splat(1.9875691500e-4f), r, splat(1.3981999507e-3f));
    p = fma_(p, r, splat(8.3334519073e-3f));
    p = fma_(p, r, splat(4.1665795894e-2f));
    p = fma_(p, r, splat(1.6666665459e-1f));
    p = fma_(p, r, splat(5.0000001201e-1f));
    p = fma_(times(p, r), r, _mm512_add_ps(r, splat(1.0f)));
    return _mm512_scalef_ps(p, n);
}

static inline __m512 silus(__m512 x) {
    const __m512 e = exps(_mm512_max_ps(_mm512_min_ps(_mm512_sub_ps(zero_floats(), x), splat(87.0f)), splat(-87.0f)));
    return _mm512_div_ps(x, _mm512_add_ps(e, splat(1.0f)));
}

// to [count][n vectors of 16] = a [count][2 pairs] b [pairs][16 n][2]: `a` and `b` in bf16, `b` with pairs of columns side
// by side; `from` and `line` are the distances of rows of `a` and of pairs of `b`, in values.
static inline __attribute__((always_inline)) void sums(
    int count, int n, const Bf16 *a, int64_t from, const Bf16 *b, int64_t line, int64_t pairs, Floats to[][4]) {
    for (int t = 0; t < count; t++)
        for (int i = 0; i < n; i++) to[t][i] = zero_floats();
    for (int64_t p = 0; p < pairs; p++) {
        __m512bh w[4];
        for (int i = 0; i < n; i++) w[i] = (__m512bh)_mm512_loadu_si512(b + p * line + i * 32);
        for (int t = 0; t < count; t++) {
            const __m512bh x = (__m512bh)pair(a + t * from + 2 * p);
            for (int i = 0; i < n; i++) to[t][i] = _mm512_dpbf16_ps(to[t][i], x, w[i]);
        }
    }
}

// Two vectors of fp32 as bf16, their lanes in turn: lane 0 of the first, of the second, lane 1 of the first …
static inline __m512i in_pairs(__m512 first, __m512 second) {
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5,
                                           20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(second, first));
}

// Pairs of whole numbers (16 bits each) times a scale, plus a minimum, as pairs of bf16.
static inline __m512i scaled(__m512i whole, __m512 scale, __m512 minimum) {
    const __m512 first = _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_slli_epi32(whole, 16), 16));
    const __m512 second = _mm512_cvtepi32_ps(_mm512_srai_epi32(whole, 16));
    return in_pairs(fma_(first, scale, minimum), fma_(second, scale, minimum));
}

// A panel as bf16 [k / 2][32][2].
static void widen_panel(const Matrix *w, int64_t index, Bf16 *to) {
    const int64_t groups = w->k / GROUP, lines = w->bits == 4 ? 32 : 64, size = PAIRS * lines + (w->bits == 4 ? 128 : 64);
    const uint8_t *block = w->panels + index * groups * size;
    for (int64_t g = 0; g < groups; g++, block += size) {
        const uint16_t *scales = (const uint16_t *)(block + PAIRS * lines);
        const __m512 sa = load_fp16(scales), sb = load_fp16(scales + 16);
        const __m512 ma = w->bits == 4 ? load_fp16(scales + 32) : zero_floats();
        const __m512 mb = w->bits == 4 ? load_fp16(scales + 48) : zero_floats();
        for (int64_t line = 0; line < size; line += 64) __builtin_prefetch(block + BYTES_AHEAD + line);
        for (int p = 0; p < PAIRS; p++, to += 2 * PANEL) {
            __m512i a, b;
            if (w->bits == 4) {
                const __m512i both = unsigned_bytes(block + p * 32);
                a = low_half(both);
                b = high_half(both);
            } else {
                a = signed_bytes(block + p * 64);
                b = signed_bytes(block + p * 64 + 32);
            }
            _mm512_storeu_si512(to, scaled(a, sa, ma));
            _mm512_storeu_si512(to + PANEL, scaled(b, sb, mb));
        }
    }
}

// `count` rows times a widened panel: y [count][32].
static inline __attribute__((always_inline)) void rows_times(
    int count, const Bf16 *x, const Bf16 *panel, int64_t k, float y[][PANEL]) {
    Floats found[WIDE_ROWS][4];
    sums(count, 2, x, k, panel, 2 * PANEL, k / 2, found);
    for (int t = 0; t < count; t++)
        for (int i = 0; i < 2; i++) store(y[t] + i * 16, found[t][i]);
}

#define ROWS_CASE(count) \
    case count: rows_times(count, x, panel, k, y); break;
static __attribute__((noinline)) void wide_tile(int count, const Bf16 *x, const Bf16 *panel, int64_t k, float y[][PANEL]) {
    switch (count) {
        ROWS_CASE(1) ROWS_CASE(2) ROWS_CASE(3) ROWS_CASE(4) ROWS_CASE(5) ROWS_CASE(6)
        ROWS_CASE(7) ROWS_CASE(8) ROWS_CASE(9) ROWS_CASE(10) ROWS_CASE(11) ROWS_CASE(12)
    }
}

// A product of many rows: x [rows, k] in bf16. `panel` holds two widened panels for each thread.
typedef struct {
    const Matrix *w;
    const Bf16 *x;
    Bf16 *panel, *inner;  // inner [rows, intermediate]: where silu(gate) up goes
    int64_t rows, panels, blocks;
    float *y, *lowered;
    int add;
} Wide;

static Wide wide_of(const Matrix *w, const Bf16 *x, int64_t rows, int64_t panels, Bf16 *panel, float *lowered) {
    const int64_t blocks = (rows + WIDE_BLOCK_ROWS - 1) / WIDE_BLOCK_ROWS;
    return (Wide){.w = w, .x = x, .panel = panel, .rows = rows, .panels = panels, .blocks = blocks, .lowered = lowered};
}

static void multiply_wide(const void *with, int64_t task, int who) {
    const Wide *p = with;
    const int64_t index = task % p->panels, first = task / p->panels * WIDE_BLOCK_ROWS, n = p->w->n, k = p->w->k;
    const int width = (int)least(PANEL, n - index * PANEL);
    Bf16 *panel = p->panel + who * 4 * PANEL * (k / 2);
    widen_panel(p->w, index, panel);
    for (int64_t row = first; row < least(p->rows, first + WIDE_BLOCK_ROWS); row += WIDE_ROWS) {
        const int count = (int)least(WIDE_ROWS, least(p->rows, first + WIDE_BLOCK_ROWS) - row);
        float found[WIDE_ROWS][PANEL];
        wide_tile(count, p->x + row * k, panel, k, found);
        add_rest(p->w, index, p->lowered + row * p->w->low.rank, count, found);
        for (int t = 0; t < count; t++) {
            float *to = p->y + (row + t) * n + index * PANEL;
            if (p->add)
                for (int i = 0; i < width; i++) to[i] += found[t][i];
            else
                for (int i = 0; i < width; i++) to[i] = found[t][i];
        }
    }
}

static void gate_wide(const void *with, int64_t task, int who) {
    const Wide *p = with;
    const int64_t index = task % p->panels, first = task / p->panels * WIDE_BLOCK_ROWS, k = p->w->k;
    Bf16 *gate = p->panel + who * 4 * PANEL * (k / 2), *up = gate + 2 * PANEL * (k / 2);
    widen_panel(p->w, index, gate);
    widen_panel(p->w, p->panels + index, up);
    for (int64_t row = first; row < least(p->rows, first + WIDE_BLOCK_ROWS); row += WIDE_ROWS) {
        const int count = (int)least(WIDE_ROWS, least(p->rows, first + WIDE_BLOCK_ROWS) - row);
        float gates[WIDE_ROWS][PANEL], ups[WIDE_ROWS][PANEL];
        wide_tile(count, p->x + row * k, gate, k, gates);
        wide_tile(count, p->x + row * k, up, k, ups);
        add_rest(p->w, index, p->lowered + row * p->w->low.rank, count, gates);
        add_rest(p->w, p->panels + index, p->lowered + row * p->w->low.rank, count, ups);
        for (int t = 0; t < count; t++) {
            Bf16 *to = p->inner + ((row + t) * p->panels + index) * PANEL;
            for (int i = 0; i < PANEL; i += 16) store_bf16(to + i, times(silus(load(gates[t] + i)), load(ups[t] + i)));
        }
    }
}

// A x of a row.
static void lower_wide(const void *with, int64_t row, int who) {
    const Wide *p = with;
    const Low *low = &p->w->low;
    const int64_t k = p->w->k;
    (void)who;
    for (int64_t r = 0; r < low->rank; r++) {
        Floats sum = zero_floats();
        for (int64_t i = 0; i < k; i += 16) sum = fma_(load_bf16(p->x + row * k + i), load(low->a + r * k + i), sum);
        p->lowered[row * low->rank + r] = sum_of(sum);
    }
}

static void product_wide(int together, Wide p, float *y, int add) {
    p.y = y;
    p.add = add;
    if (p.w->low.rank) share(together, lower_wide, &p, p.rows);
    share(together, multiply_wide, &p, p.panels * p.blocks);
}
#endif
