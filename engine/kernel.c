// The forward pass of a Llama-family decoder with 4-bit or 8-bit weights. engine/kernel.py compiles it,
// engine/panels.py and engine/fused.py call it; engine/decoder.py has the same pass in plain torch.
//
// Activations are rounded to 16-bit integers with one scale a group of 32 values, so that the product of a group with its
// weights is a sum of integers: exact, and the same whatever the processor, the number of threads or of rows. Scales and
// minima are the file's own fp16 values. Sums of groups are fp32, in the order of the groups.
//
// A matrix W [n, k] lies in panels of 32 rows. A panel holds, group after group of 32 columns,
//   4 bits: 16 pairs of columns x 32 bytes (byte 2 r + c: row r in the low half, row 16 + r in the high half), then 32
//           scales and 32 minima in fp16: w = scale q + minimum, q in 0..15;
//   8 bits: 16 pairs x 64 bytes (byte 2 r + c: row r), then 32 scales: w = scale q, q in -128..127.

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "team.h"

#define GROUP 32
#define PANEL 32
#define PAIRS (GROUP / 2)
#define ROWS_TOGETHER 16  // rows of a sequence that attend together
#define KEYS_TOGETHER 64
#define BYTES_AHEAD 4096  // of weights, fetched before they are needed
#define AHEAD 16  // tokens fetched before they are needed
#define BLOCK_ROWS 64  // rows of one task of a product: their integers stay in a core's cache

#ifdef __AVX512BW__
#define LANES 16
#define TILE 8  // rows that share an unpacked weight
typedef __m512i Ints;
typedef __m512 Floats;
#define zero_ints() _mm512_setzero_si512()
#define zero_floats() _mm512_setzero_ps()
#define splat(x) _mm512_set1_ps(x)
#define load(p) _mm512_loadu_ps(p)
#define store(p, x) _mm512_storeu_ps(p, x)
#define fma_(a, b, c) _mm512_fmadd_ps(a, b, c)
#define times(a, b) _mm512_mul_ps(a, b)
#define as_floats(x) _mm512_cvtepi32_ps(x)
#define unsigned_bytes(p) _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(p)))
#define signed_bytes(p) _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(p)))
#define low_half(x) _mm512_and_si512(x, _mm512_set1_epi16(15))
#define high_half(x) _mm512_srli_epi16(x, 4)
#define pair(p) _mm512_set1_epi32(*(const int32_t *)(p))
#define load_fp16(p) _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(p)))
#define load_bf16(p) \
    _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(p))), 16))
#define sum_of(x) _mm512_reduce_add_ps(x)
#define half_sum(x) \
    _mm256_add_ps(_mm512_castps512_ps256(x), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)))
#ifdef __AVX512VNNI__
#define dot(acc, w, x) _mm512_dpwssd_epi32(acc, w, x)
#else
#define dot(acc, w, x) _mm512_add_epi32(acc, _mm512_madd_epi16(w, x))
#endif
#else
#define LANES 8
#define TILE 4
typedef __m256i Ints;
typedef __m256 Floats;
#define zero_ints() _mm256_setzero_si256()
#define zero_floats() _mm256_setzero_ps()
#define splat(x) _mm256_set1_ps(x)
#define load(p) _mm256_loadu_ps(p)
#define store(p, x) _mm256_storeu_ps(p, x)
#define fma_(a, b, c) _mm256_fmadd_ps(a, b, c)
#define times(a, b) _mm256_mul_ps(a, b)
#define as_floats(x) _mm256_cvtepi32_ps(x)
#define unsigned_bytes(p) _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(p)))
#define signed_bytes(p) _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(p)))
#define low_half(x) _mm256_and_si256(x, _mm256_set1_epi16(15))
#define high_half(x) _mm256_srli_epi16(x, 4)
#define pair(p) _mm256_set1_epi32(*(const int32_t *)(p))
#define load_fp16(p) _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p)))
#define load_bf16(p) \
    _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(p))), 16))
#define half_sum(x) (x)
#define dot(acc, w, x) _mm256_add_epi32(acc, _mm256_madd_epi16(w, x))
static inline float sum_of(__m256 x) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
#endif
#define PARTS (16 / LANES)  // vectors that half a panel takes

typedef struct {
    int64_t bits, n, k;
    const uint8_t *panels;
    const float *bias;  // [n] or null
} Matrix;

typedef struct {
    Matrix qkv, out, gate_up, down;
    const float *attn_gain, *mlp_gain;  // [hidden]
    const float *q_gain, *k_gain;       // [head_dim] or null
} Layer;

typedef struct {
    int64_t n_layers, hidden, intermediate, n_heads, n_kv_heads, head_dim, threads;
    float floor, head_floor;  // sqrt(n eps) of the norms over the hidden state and over a head
    const float *cos, *sin;   // [context, head_dim]; the sign of the first half lies in sin
    const float *gain;        // [hidden], of the last norm
    const Layer *layers;
} Model;

// New rows: the position of each, the keys and values of its sequence (bf16, [layer][token][2 n_kv_heads][head_dim]) and
// how many values lie between two layers of it.
typedef struct {
    int64_t rows;
    const int64_t *positions;
    uint16_t *const *caches;
    const int64_t *strides;
} Batch;

// Rows of activations in 16-bit integers.
typedef struct {
    int64_t k;
    int16_t *q;    // [rows, k]
    float *scale;  // [rows, k / 32]
    float *sum;    // [rows, k / 32]: the group's sum, in its own units
} Rounded;

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

#define CASE(bits, count) \
    case count: panel(bits, w, groups, x, row, count, y); break;

static __attribute__((noinline)) void panel4(
    const uint8_t *w, int64_t groups, Rounded x, int64_t row, int count, float y[][PANEL]) {
    switch (count) {
        CASE(4, 1) CASE(4, 2) CASE(4, 3) CASE(4, 4)
#if TILE == 8
        CASE(4, 5) CASE(4, 6) CASE(4, 7) CASE(4, 8)
#endif
    }
}

static __attribute__((noinline)) void panel8(
    const uint8_t *w, int64_t groups, Rounded x, int64_t row, int count, float y[][PANEL]) {
    switch (count) {
        CASE(8, 1) CASE(8, 2) CASE(8, 3) CASE(8, 4)
#if TILE == 8
        CASE(8, 5) CASE(8, 6) CASE(8, 7) CASE(8, 8)
#endif
    }
}

static void one_panel(const Matrix *w, int64_t index, Rounded x, int64_t row, int count, float y[][PANEL]) {
    const int64_t groups = w->k / GROUP;
    if (w->bits == 4)
        panel4(w->panels + index * groups * (PAIRS * 32 + 128), groups, x, row, count, y);
    else
        panel8(w->panels + index * groups * (PAIRS * 64 + 64), groups, x, row, count, y);
    if (w->bias)
        for (int t = 0; t < count; t++)
            for (int i = 0; i < PANEL && index * PANEL + i < w->n; i++) y[t][i] += w->bias[index * PANEL + i];
}

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t panels_of(const Matrix *w) { return (w->n + PANEL - 1) / PANEL; }

// What the tasks of a pass work on.
typedef struct {
    const Model *m;
    const Batch *batch;
    int64_t index, rows, threads, longest;
    float *x;  // [rows, hidden], the residual stream
    Rounded in, mixed, inner;
    float *heads, *scores;
    int64_t *tiles, n_tiles;
} Pass;

// Rows and panels of a task of a product: with few rows some panels together, as many tasks as balance the threads.
typedef struct {
    const Matrix *w;
    Rounded x, to;
    int64_t rows, panels, blocks, together;
    float *y;
    int add;
} Product;

static Product product_of(const Matrix *w, Rounded x, int64_t rows, int64_t panels, int64_t threads) {
    const int64_t blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
    int64_t together = panels * blocks / (threads * 6);
    if (together < 1) together = 1;
    return (Product){.w = w, .x = x, .rows = rows, .panels = panels, .blocks = blocks, .together = together};
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
            one_panel(p->w, index, p->x, row, count, found);
            for (int t = 0; t < count; t++) {
                float *to = p->y + (row + t) * n + index * PANEL;
                for (int i = 0; i < width; i++) to[i] = p->add ? to[i] + found[t][i] : found[t][i];
            }
        }
    }
}

static void product(int together, Product p, float *y, int add) {
    p.y = y;
    p.add = add;
    share(together, multiply, &p, tasks(&p));
}

// e^x for x <= 0, to 2 ulp (Cephes).
static inline float exp_(float x) {
    x = fmaxf(x, -87.0f);
    const float n = rintf(x * 1.44269504f);
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    const union { int32_t i; float f; } power = {((int32_t)n + 127) << 23};
    return (p * r * r + r + 1.0f) * power.f;
}

static inline float silu(float x) {
    const float e = exp_(-fabsf(x));
    return x >= 0 ? x / (1.0f + e) : x * e / (1.0f + e);
}

static inline float size_of(const float *x, int64_t n, float floor) {
    Floats sum = zero_floats();
    for (int64_t i = 0; i < n; i += LANES) sum = fma_(load(x + i), load(x + i), sum);
    return sqrtf(sum_of(sum) + floor * floor);
}

// RMSNorm of a row, rounded for the next product.
static void norm_row(const float *x, const float *gain, float floor, int64_t row, Rounded to) {
    const float *from = x + row * to.k;
    const float size = size_of(from, to.k, floor);
    for (int64_t g = 0; g < to.k / GROUP; g++) {
        float part[GROUP];
        for (int i = 0; i < GROUP; i++) part[i] = from[g * GROUP + i] / size * gain[g * GROUP + i];
        round_group(part, to, row, g);
    }
}

static void norm_before_attention(const void *with, int64_t row, int who) {
    const Pass *p = with;
    (void)who;
    norm_row(p->x, p->m->layers[p->index].attn_gain, p->m->floor, row, p->in);
}

static void norm_before_mlp(const void *with, int64_t row, int who) {
    const Pass *p = with;
    (void)who;
    norm_row(p->x, p->m->layers[p->index].mlp_gain, p->m->floor, row, p->in);
}

static void norm_at_the_end(const void *with, int64_t row, int who) {
    const Pass *p = with;
    float *own = p->x + row * p->m->hidden;
    const float size = size_of(own, p->m->hidden, p->m->floor);
    (void)who;
    for (int64_t i = 0; i < p->m->hidden; i++) own[i] = own[i] / size * p->m->gain[i];
}

static inline uint16_t bf16(float x) {
    union { float f; uint32_t i; } bits = {x};
    return (uint16_t)((bits.i + 0x7fff + ((bits.i >> 16) & 1)) >> 16);
}

static void turn(float *head, int64_t dim, const float *gain, float floor, const float *cos, const float *sin) {
    if (gain) {
        const float size = size_of(head, dim, floor);
        for (int64_t i = 0; i < dim; i++) head[i] = head[i] / size * gain[i];
    }
    const int64_t half = dim / 2;
    for (int64_t i = 0; i < half; i++) {
        const float a = head[i], b = head[half + i];
        head[i] = a * cos[i] + b * sin[i];
        head[half + i] = b * cos[half + i] + a * sin[half + i];
    }
}

// Norms and rotates the heads of a row; keys and values go to its cache in bf16.
static void place(const void *with, int64_t row, int who) {
    const Pass *p = with;
    const Model *m = p->m;
    const Layer *layer = m->layers + p->index;
    const int64_t dim = m->head_dim, kv = m->n_kv_heads, at = p->batch->positions[row];
    float *own = p->heads + row * (m->n_heads + 2 * kv) * dim;
    uint16_t *to = p->batch->caches[row] + p->index * p->batch->strides[row] + at * 2 * kv * dim;
    (void)who;
    for (int64_t h = 0; h < m->n_heads + kv; h++)
        turn(own + h * dim, dim, h < m->n_heads ? layer->q_gain : layer->k_gain, m->head_floor, m->cos + at * dim,
             m->sin + at * dim);
    for (int64_t i = 0; i < 2 * kv * dim; i++) to[i] = bf16(own[m->n_heads * dim + i]);
}

// Keys or values of one head, `count` tokens from `from` on, as fp32 [count, dim].
static void widen(const uint16_t *from, int64_t count, int64_t step, int64_t dim, float *to) {
    // Tokens lie further apart than processors look ahead by themselves: without the nudge each would be waited for.
    for (int64_t t = 0; t < count; t++) {
        for (int64_t d = 0; d < dim; d += 32)
            __builtin_prefetch((const char *)(from + t * step + d) + 2 * AHEAD * step);
        for (int64_t d = 0; d < dim; d += LANES) store(to + t * dim + d, load_bf16(from + t * step + d));
    }
}

// The products of q [dim] with four keys, one after another in memory.
static inline __m128 four_dots(const float *q, const float *keys, int64_t dim) {
    Floats sum[4] = {zero_floats(), zero_floats(), zero_floats(), zero_floats()};
    for (int64_t d = 0; d < dim; d += LANES)
        for (int t = 0; t < 4; t++) sum[t] = fma_(load(q + d), load(keys + t * dim + d), sum[t]);
    const __m256 pairs = _mm256_hadd_ps(half_sum(sum[0]), half_sum(sum[1]));
    const __m256 all = _mm256_hadd_ps(pairs, _mm256_hadd_ps(half_sum(sum[2]), half_sum(sum[3])));
    return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}

// Scores to shares of one that add up to 1.
static void softmax(float *scores, int64_t count) {
    float most = -3e38f, total = 0;  // scores are finite
    for (int64_t t = 0; t < count; t++) most = fmaxf(most, scores[t]);
    for (int64_t t = 0; t < count; t++) scores[t] = exp_(scores[t] - most);
    for (int64_t t = 0; t < count; t++) total += scores[t];
    const float share = 1.0f / total;
    for (int64_t t = 0; t < count; t++) scores[t] *= share;
}

// to [dim] += shares [count] x values [count, dim], token after token; `n` vectors of a token at a time.
static inline __attribute__((always_inline)) void mix_part(
    const float *shares, const float *values, int64_t count, int64_t dim, int n, float *to) {
    Floats sum[8];
    for (int i = 0; i < n; i++) sum[i] = load(to + i * LANES);
    for (int64_t t = 0; t < count; t++) {
        const Floats share = splat(shares[t]);
        for (int i = 0; i < n; i++) sum[i] = fma_(share, load(values + t * dim + i * LANES), sum[i]);
    }
    for (int i = 0; i < n; i++) store(to + i * LANES, sum[i]);
}

static void mix(const float *shares, const float *values, int64_t count, int64_t dim, float *to) {
    int64_t d = 0;
    for (; d + 64 <= dim; d += 64) mix_part(shares, values + d, count, dim, 64 / LANES, to + d);
    for (; d < dim; d += 32) mix_part(shares, values + d, count, dim, 32 / LANES, to + d);
}

// softmax(q K^T / sqrt(dim)) V of some rows of one sequence, for the query heads that share one head of keys; rounded for
// the next product. Keys and values are read in blocks that stay in a core's cache while all queries pass over them.
static void attend(const void *with, int64_t task, int who) {
    const Pass *p = with;
    const Model *m = p->m;
    const int64_t dim = m->head_dim, kv = m->n_kv_heads, group = m->n_heads / kv, shared = task % kv;
    const int64_t first = p->tiles[task / kv], rows = p->tiles[task / kv + 1] - first;
    const int64_t *at = p->batch->positions + first, step = 2 * kv * dim, last = at[rows - 1] + 1;
    const uint16_t *keys = p->batch->caches[first] + p->index * p->batch->strides[first] + shared * dim;
    const float *heads = p->heads + first * (m->n_heads + 2 * kv) * dim + shared * group * dim;
    const float scale = 1.0f / sqrtf((float)dim);
    const int64_t pitch = p->longest + 3;
    float *scores = p->scores + who * ROWS_TOGETHER * group * pitch;
    float block[KEYS_TOGETHER * dim], found[rows * group * dim];
    memset(found, 0, sizeof found);
    for (int64_t start = 0; start < last; start += KEYS_TOGETHER) {
        widen(keys + start * step, least(KEYS_TOGETHER, last - start), step, dim, block);
        for (int64_t q = 0; q < rows * group; q++) {
            const float *query = heads + q / group * (m->n_heads + 2 * kv) * dim + q % group * dim;
            const int64_t seen = least(KEYS_TOGETHER, at[q / group] + 1 - start);
            // Up to three products with what lies behind the last key are overwritten or never looked at.
            for (int64_t t = 0; t < seen; t += 4)
                _mm_storeu_ps(scores + q * pitch + start + t,
                              _mm_mul_ps(four_dots(query, block + t * dim, dim), _mm_set1_ps(scale)));
        }
    }
    for (int64_t q = 0; q < rows * group; q++) softmax(scores + q * pitch, at[q / group] + 1);
    for (int64_t start = 0; start < last; start += KEYS_TOGETHER) {
        widen(keys + kv * dim + start * step, least(KEYS_TOGETHER, last - start), step, dim, block);
        for (int64_t q = 0; q < rows * group; q++)
            mix(scores + q * pitch + start, block, least(KEYS_TOGETHER, at[q / group] + 1 - start), dim, found + q * dim);
    }
    for (int64_t q = 0; q < rows * group; q++)
        for (int64_t g = 0; g < dim / GROUP; g++)
            round_group(found + q * dim + g * GROUP, p->mixed, first + q / group,
                        ((shared * group + q % group) * dim) / GROUP + g);
}

// Rows of one sequence that stand together, at most ROWS_TOGETHER: where each tile begins, and the end. Returns how many.
static int64_t tiles_of(const Batch *batch, int64_t *tiles) {
    int64_t count = 0;
    for (int64_t row = 0; row < batch->rows; row++) {
        const int same = row && batch->caches[row] == batch->caches[row - 1];
        if (!same || row - tiles[count - 1] == ROWS_TOGETHER) tiles[count++] = row;
    }
    tiles[count] = batch->rows;
    return count;
}

// silu(gate) up, rounded for the last product of a layer.
static void gate(const void *with, int64_t task, int who) {
    const Product *p = with;
    const int64_t block = task % p->blocks, first = task / p->blocks * p->together;
    const int64_t end = least(p->rows, (block + 1) * BLOCK_ROWS);
    (void)who;
    for (int64_t index = first; index < least(p->panels, first + p->together); index++)
        for (int64_t row = block * BLOCK_ROWS; row < end; row += TILE) {
            const int count = (int)least(TILE, end - row);
            float gates[TILE][PANEL], ups[TILE][PANEL];
            one_panel(p->w, index, p->x, row, count, gates);
            one_panel(p->w, p->panels + index, p->x, row, count, ups);
            for (int t = 0; t < count; t++) {
                for (int i = 0; i < PANEL; i++) gates[t][i] = silu(gates[t][i]) * ups[t][i];
                round_group(gates[t], p->to, row + t, index);
            }
        }
}

static void layer_of(Pass *p, int together) {
    const Layer *layer = p->m->layers + p->index;
    const int64_t rows = p->rows, threads = p->threads;
    share(together, norm_before_attention, p, rows);
    product(together, product_of(&layer->qkv, p->in, rows, panels_of(&layer->qkv), threads), p->heads, 0);
    share(together, place, p, rows);
    share(together, attend, p, p->n_tiles * p->m->n_kv_heads);
    product(together, product_of(&layer->out, p->mixed, rows, panels_of(&layer->out), threads), p->x, 1);
    share(together, norm_before_mlp, p, rows);
    Product gated = product_of(&layer->gate_up, p->in, rows, p->m->intermediate / PANEL, threads);
    gated.to = p->inner;
    share(together, gate, &gated, tasks(&gated));
    product(together, product_of(&layer->down, p->inner, rows, panels_of(&layer->down), threads), p->x, 1);
}

static Rounded rounded(int64_t rows, int64_t k) {
    const int64_t values = rows * k;
    int16_t *q = malloc(values * 2 + 2 * (values / GROUP) * 4);
    float *scale = q ? (float *)(q + values) : NULL;
    return (Rounded){k, q, scale, scale ? scale + values / GROUP : NULL};
}

typedef struct {
    const float *x;
    Rounded to;
} Rows;

static void round_row(const void *with, int64_t row, int who) {
    const Rows *r = with;
    (void)who;
    for (int64_t g = 0; g < r->to.k / GROUP; g++) round_group(r->x + row * r->to.k + g * GROUP, r->to, row, g);
}

// y [rows, n] = x W^T + bias for x [rows, k]. Returns 0, or 1 when memory is short.
int kernel_product(const Matrix *w, const float *x, int64_t rows, float *y, int64_t threads) {
    const Rows given = {x, rounded(rows, w->k)};
    if (!given.to.q) return 1;
    const int together = gather(threads);
    share(together, round_row, &given, rows);
    product(together, product_of(w, given.to, rows, panels_of(w), threads), y, 0);
    dismiss(together);
    free(given.to.q);
    return 0;
}

// x [rows, hidden]: the embedded tokens going in, the last norm's hidden states coming out; keys and values are written.
// Returns 0, or 1 when memory is short.
int kernel_forward(const Model *m, const Batch *batch, float *x) {
    const int64_t rows = batch->rows, dim = m->head_dim;
    int64_t longest = 0;
    for (int64_t row = 0; row < rows; row++)
        if (batch->positions[row] >= longest) longest = batch->positions[row] + 1;
    Pass p = {.m = m, .batch = batch, .rows = rows, .threads = m->threads, .longest = longest, .x = x};
    p.in = rounded(rows, m->hidden);
    p.mixed = rounded(rows, m->n_heads * dim);
    p.inner = rounded(rows, m->intermediate);
    p.heads = malloc(rows * (m->n_heads + 2 * m->n_kv_heads) * dim * sizeof(float));
    p.scores = malloc(m->threads * ROWS_TOGETHER * (m->n_heads / m->n_kv_heads) * (longest + 3) * sizeof(float));
    p.tiles = malloc((rows + 1) * sizeof(int64_t));
    const int short_of_memory = !p.in.q || !p.mixed.q || !p.inner.q || !p.heads || !p.scores || !p.tiles;
    if (!short_of_memory) {
        p.n_tiles = tiles_of(batch, p.tiles);
        const int together = gather(m->threads);
        for (p.index = 0; p.index < m->n_layers; p.index++) layer_of(&p, together);
        share(together, norm_at_the_end, &p, rows);
        dismiss(together);
    }
    free(p.in.q);
    free(p.mixed.q);
    free(p.inner.q);
    free(p.heads);
    free(p.scores);
    free(p.tiles);
    return short_of_memory;
}
