// Products of rows with a matrix of 4-bit or 8-bit weights, for engine/kernel.c.
//
// Activations are rounded to 16-bit integers with one scale a group of 32 values, so that the product of a group with its
// weights is a sum of integers: exact, and the same whatever the processor, the number of threads or of rows. Scales and
// minima are the file's own fp16 values. Sums of groups are fp32, in the order of the groups.
//
// A matrix W [n, k] lies in panels of 32 rows. A panel holds, group after group of 32 columns,
//   4 bits: 16 pairs of columns x 32 bytes (byte 2 r + c: row r in the low half, row 16 + r in the high half), then 32
//           scales and 32 minima in fp16: w = scale q + minimum, q in 0..15;
//   8 bits: 16 pairs x 64 bytes (byte 2 r + c: row r), then 32 scales: w = scale q, q in -128..127.

#pragma once

#include <stdlib.h>

#include "team.h"
#include "vectors.h"

#define GROUP 32
#define PANEL 32
#define PAIRS (GROUP / 2)
#define BLOCK_ROWS 64  // rows of one task of a product: their integers stay in a core's cache
#define BYTES_AHEAD 4096  // of weights, fetched before they are needed
#define PARTS (16 / LANES)  // vectors that half a panel takes

// A low-rank update (LoRA): y += B (A x), A [rank, k], B in panels [n / 32][rank][32]; rank 0 for none.
typedef struct {
    int64_t rank;
    const float *a, *b;
} Low;

typedef struct {
    int64_t bits, n, k;
    const uint8_t *panels;
    const float *bias;  // [n] or null
    Low low;
} Matrix;

// Rows of activations in 16-bit integers.
typedef struct {
    int64_t k;
    int16_t *q;    // [rows, k]
    float *scale;  // [rows, k / 32]
    float *sum;    // [rows, k / 32]: the group's sum, in its own units
} Rounded;

static Rounded rounded(int64_t rows, int64_t k) {
    const int64_t values = rows * k;
    int16_t *q = malloc(values * 2 + 2 * (values / GROUP) * 4);
    float *scale = q ? (float *)(q + values) : NULL;
    return (Rounded){k, q, scale, scale ? scale + values / GROUP : NULL};
}

static inline __attribute__((always_inline)) void round_group(const float *x, Rounded to, int64_t row, int64_t group) {
    float most = 0;
    for (int i = 0; i < GROUP; i++) most = fmaxf(most, fabsf(x[i]));
    const float scale = most / 32767.0f, inverse = most > 0 ? 32767.0f / most : 0;
    int16_t *q = to.q + row * to.k + group * GROUP;
    int32_t sum = 0;
    for (int i = 0; i < GROUP; i++) {
        const int32_t whole = (int32_t)rintf(x[i] * inverse);
        q[i] = (int16_t)whole;
        sum += whole;
    }
    to.scale[row * (to.k / GROUP) + group] = scale;
    to.sum[row * (to.k / GROUP) + group] = scale * (float)sum;
}

// One panel times `count` rows (at most TILE): y [count][32].
static inline __attribute__((always_inline)) void panel(
    int bits, const uint8_t *w, int64_t groups, Rounded x, int64_t row, int count, float y[][PANEL]) {
    const int64_t size = bits == 4 ? PAIRS * 32 + 128 : PAIRS * 64 + 64;
    Floats a[PARTS][TILE], b[PARTS][TILE];
    for (int part = 0; part < PARTS; part++)
        for (int t = 0; t < count; t++) a[part][t] = b[part][t] = zero_floats();
    for (int64_t g = 0; g < groups; g++) {
        const uint8_t *block = w + g * size;
        for (int64_t line = 0; line < size; line += 64) __builtin_prefetch(block + BYTES_AHEAD + line);
        for (int part = 0; part < PARTS; part++) {
            // 4 bits: the low and high halves of a byte; 8 bits: two neighbouring vectors.
            const int first = bits == 4 ? part * LANES : 2 * part * LANES;
            const int second = bits == 4 ? 16 + first : LANES + first;
            Ints m[TILE], n[TILE];
            for (int t = 0; t < count; t++) m[t] = n[t] = zero_ints();
            // Unrolled further, the sums of several rows no longer fit in the registers.
#pragma GCC unroll 4
            for (int p = 0; p < PAIRS; p++) {
                Ints u, v;
                if (bits == 4) {
                    const Ints both = unsigned_bytes(block + p * 32 + 2 * first);
                    u = low_half(both);
                    v = high_half(both);
                } else {
                    u = signed_bytes(block + p * 64 + 2 * first);
                    v = signed_bytes(block + p * 64 + 2 * second);
                }
                for (int t = 0; t < count; t++) {
                    const Ints values = pair(x.q + (row + t) * x.k + g * GROUP + 2 * p);
                    m[t] = dot(m[t], u, values);
                    n[t] = dot(n[t], v, values);
                }
            }
            const uint16_t *scales = (const uint16_t *)(block + PAIRS * (bits == 4 ? 32 : 64));
            const Floats sa = load_fp16(scales + first), sb = load_fp16(scales + second);
            for (int t = 0; t < count; t++) {
                const Floats scale = splat(x.scale[(row + t) * groups + g]);
                a[part][t] = fma_(times(as_floats(m[t]), scale), sa, a[part][t]);
                b[part][t] = fma_(times(as_floats(n[t]), scale), sb, b[part][t]);
                if (bits == 4) {
                    const Floats sum = splat(x.sum[(row + t) * groups + g]);
                    a[part][t] = fma_(load_fp16(scales + PANEL + first), sum, a[part][t]);
                    b[part][t] = fma_(load_fp16(scales + PANEL + second), sum, b[part][t]);
                }
            }
        }
    }
    for (int part = 0; part < PARTS; part++)
        for (int t = 0; t < count; t++) {
            store(y[t] + (bits == 4 ? part : 2 * part) * LANES, a[part][t]);
            store(y[t] + (bits == 4 ? 16 + part * LANES : (2 * part + 1) * LANES), b[part][t]);
        }
}

// The loops over rows are unrolled for each number of them.
#define CASE(bits, count) \
    case count: panel(bits, w, groups, x, row, count, y); break;
#if TILE == 8
#define MORE_CASES(bits) CASE(bits, 5) CASE(bits, 6) CASE(bits, 7) CASE(bits, 8)
#else
#define MORE_CASES(bits)
#endif
#define PANEL_OF(bits)                                                                             \
    static __attribute__((noinline)) void panel##bits(                                             \
        const uint8_t *w, int64_t groups, Rounded x, int64_t row, int count, float y[][PANEL]) {   \
        switch (count) { CASE(bits, 1) CASE(bits, 2) CASE(bits, 3) CASE(bits, 4) MORE_CASES(bits) } \
    }
PANEL_OF(4)
PANEL_OF(8)

// What a matrix adds to `count` rows of a panel's product: its bias, and its update of `lowered` (A x) [count][rank].
static inline void add_rest(const Matrix *w, int64_t index, const float *lowered, int count, float y[][PANEL]) {
    if (w->bias)
        for (int t = 0; t < count; t++)
            for (int i = 0; i < PANEL && index * PANEL + i < w->n; i++) y[t][i] += w->bias[index * PANEL + i];
    for (int t = 0; t < (w->low.rank ? count : 0); t++)
        for (int64_t r = 0; r < w->low.rank; r++) {
            const Floats share = splat(lowered[t * w->low.rank + r]);
            for (int i = 0; i < PANEL; i += LANES)
                store(y[t] + i, fma_(share, load(w->low.b + (index * w->low.rank + r) * PANEL + i), load(y[t] + i)));
        }
}

// `lowered`: A x of all rows, where the matrix has an update.
static void one_panel(
    const Matrix *w, int64_t index, Rounded x, int64_t row, int count, const float *lowered, float y[][PANEL]) {
    const int64_t groups = w->k / GROUP;
    if (w->bits == 4)
        panel4(w->panels + index * groups * (PAIRS * 32 + 128), groups, x, row, count, y);
    else
        panel8(w->panels + index * groups * (PAIRS * 64 + 64), groups, x, row, count, y);
    add_rest(w, index, lowered + row * w->low.rank, count, y);
}

static inline int64_t panels_of(const Matrix *w) { return (w->n + PANEL - 1) / PANEL; }

// Rows and panels of a task of a product: with few rows some panels together, as many tasks as balance the threads.
typedef struct {
    const Matrix *w;
    Rounded x, to;
    int64_t rows, panels, blocks, together;
    float *y, *lowered;  // lowered [rows, rank]: room for A x
    int add;
} Product;

static Product product_of(const Matrix *w, Rounded x, int64_t rows, int64_t panels, int64_t threads, float *lowered) {
    const int64_t blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    int64_t together = panels * blocks / (threads * 6);
    if (together < 1) together = 1;
    return (Product){
        .w = w, .x = x, .rows = rows, .panels = panels, .blocks = blocks, .together = together, .lowered = lowered};
}

static inline int64_t tasks(const Product *p) { return p->blocks * ((p->panels + p->together - 1) / p->together); }

// y [rows, n] = x W^T + bias, or += with `add`.
static void multiply(const void *with, int64_t task, int who) {
    const Product *p = with;
    const int64_t block = task % p->blocks, first = task / p->blocks * p->together;
    const int64_t end = least(p->rows, (block + 1) * BLOCK_ROWS), n = p->w->n;
    (void)who;
    for (int64_t index = first; index < least(p->panels, first + p->together); index++) {
        const int width = (int)least(PANEL, n - index * PANEL);
        for (int64_t row = block * BLOCK_ROWS; row < end; row += TILE) {
            const int count = (int)least(TILE, end - row);
            float found[TILE][PANEL];
            one_panel(p->w, index, p->x, row, count, p->lowered, found);
            for (int t = 0; t < count; t++) {
                float *to = p->y + (row + t) * n + index * PANEL;
                for (int i = 0; i < width; i++) to[i] = p->add ? to[i] + found[t][i] : found[t][i];
            }
        }
    }
}

// A x of a row.
static void lower(const void *with, int64_t row, int who) {
    const Product *p = with;
    const Low *low = &p->w->low;
    const int64_t k = p->w->k;
    (void)who;
    for (int64_t r = 0; r < low->rank; r++) {
        Floats sum = zero_floats();
        for (int64_t i = 0; i < k; i += LANES) {
            const Floats x = times(load_int16(p->x.q + row * k + i), splat(p->x.scale[(row * k + i) / GROUP]));
            sum = fma_(x, load(low->a + r * k + i), sum);
        }
        p->lowered[row * low->rank + r] = sum_of(sum);
    }
}

static void product(int together, Product p, float *y, int add) {
    p.y = y;
    p.add = add;
    if (p.w->low.rank) share(together, lower, &p, p.rows);
    share(together, multiply, &p, tasks(&p));
}
